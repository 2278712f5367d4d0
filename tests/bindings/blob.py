"""Reads what a saved state holds, by docs/reference/state-format.md and by nothing of ours."""

import math
import struct


def sections(data, magic):
    """[(kind, body)] of a file that begins with so many letters."""
    assert data[:8] == magic, data[:8]
    found = []
    at = 24
    while at < len(data) - 8:
        kind, _, length = struct.unpack_from("<IIQ", data, at)
        found.append((kind, data[at + 16 : at + 16 + length]))
        at += 16 + length
    return found


def state_of_message(data):
    """What a device sent, without who it is."""
    return dict(sections(data, b"MIXSDEVS"))[2]


class State:
    def __init__(self, data):
        self.sections = sections(data, b"MIXSTATE")
        self.d, self.constant = struct.unpack_from("<II", self.section(1))
        self.m = self.d + (1 if self.constant else 2)
        self.rows, = struct.unpack_from("<Q", self.section(2), 4)
        self.source, = struct.unpack_from("<Q", self.section(2), 4 + 64)

    def section(self, kind):
        return next(body for one, body in self.sections if one == kind)

    def sample(self):
        """{hash: numbers of the row} of everything kept, one row more than the sample."""
        body = self.section(4)
        sums = math.comb(self.m + 5, 6)
        at = 0
        for _ in range(4):
            rows, = struct.unpack_from("<Q", body, at)
            at += 8
            if rows == 0:
                continue
            at += 8 + 16 * sums
            pending, = struct.unpack_from("<I", body, at)
            at += 4 + pending * 8 * (self.m + 1)
        entries, = struct.unpack_from("<Q", body, at)
        at += 8
        kept = {}
        for _ in range(entries):
            _, row_hash, _, _ = struct.unpack_from("<dQdI", body, at)
            at += 28
            kept[row_hash] = struct.unpack_from(f"<{self.d + 1}d", body, at)
            at += 8 * (self.d + 1)
        assert at == len(body), "the format page and the bytes disagree"
        return kept
