"""Puts behind a shared module what DuckDB asks of an extension: eight fields of 32 bytes, the last one first, and room
for a signature, which stays empty.   footer.py MODULE EXTENSION PLATFORM VERSION"""

import pathlib
import sys

module, extension, platform, version = sys.argv[1:]
C_INTERFACE = "v1.2.0"  # of DuckDB's, which every later 1.x has
fields = ["4", platform, C_INTERFACE, version, "C_STRUCT", "", "", ""]
footer = b"".join(field.encode().ljust(32, b"\0") for field in reversed(fields)) + bytes(256)
pathlib.Path(extension).write_bytes(pathlib.Path(module).read_bytes() + footer)
