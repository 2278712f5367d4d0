"""What a thread asked of the scheduler: slices of the processor, as sched_setattr(2) of Linux 6.12 and later knows them."""

import ctypes
import os
import platform

SHORTEST = 100_000  # nanoseconds
CALLS = {"x86_64": (314, 315), "aarch64": (274, 275)}  # sched_setattr, sched_getattr


class Attributes(ctypes.Structure):
    """sched_attr of the kernel."""
    _fields_ = [("size", ctypes.c_uint32), ("policy", ctypes.c_uint32), ("flags", ctypes.c_uint64), ("nice", ctypes.c_int32),
                ("priority", ctypes.c_uint32), ("slice", ctypes.c_uint64), ("rest", ctypes.c_uint64 * 2)]


def call(which, *arguments):
    if platform.machine() not in CALLS:
        raise OSError("another processor")
    if ctypes.CDLL(None).syscall(CALLS[platform.machine()][which], *arguments) != 0:
        raise OSError("sched_setattr or sched_getattr")


def attributes_of(thread=0):
    attributes = Attributes()
    call(1, thread, ctypes.byref(attributes), ctypes.sizeof(Attributes), 0)
    return attributes


def be_prompt():
    """Short slices for this thread; nothing where there are none."""
    try:
        attributes = attributes_of()
        attributes.slice = SHORTEST
        call(0, 0, ctypes.byref(attributes), 0)
    except OSError:
        pass


def slices_of(pid):
    """Of each thread; nothing where the kernel does not know of slices."""
    try:
        if attributes_of().slice == 0:
            return []
    except OSError:
        return []
    slices = []
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            slices.append(attributes_of(int(thread)).slice)
        except OSError:
            pass  # it has ended
    return slices
