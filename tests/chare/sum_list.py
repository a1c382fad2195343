# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""sum_list.py FILE: the list of a checkpoint, as it is now, gets the checksum that belongs to it."""

import sys

with open(sys.argv[1], "rb") as file:
    text = file.read()
text = text[: text.rfind(b"\nsum ") + 1]
total = 0xCBF29CE484222325
for at in range(0, len(text), 8):
    total = (total ^ int.from_bytes(text[at : at + 8].ljust(8, b"\0"), "little")) * 0x100000001B3 % 2**64
    total ^= total >> 29
with open(sys.argv[1], "wb") as file:
    file.write(text + b"sum %d\n" % total)
