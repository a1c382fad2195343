# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""A writer of "newc" cpio archives, the form that the Linux kernel unpacks as its first root file system."""

from __future__ import annotations

import stat


class Archive:
    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._seen: set[str] = set()

    def _entry(self, name: str, mode: int, data: bytes) -> None:
        label = name.encode() + b"\0"
        fields = (len(self._seen) + 1, mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(label), 0)
        head = b"070701" + b"".join(b"%08x" % value for value in fields) + label
        self._parts.append(head + b"\0" * (-len(head) % 4) + data + b"\0" * (-len(data) % 4))
        self._seen.add(name)

    def folder(self, name: str) -> None:
        if not name or name in self._seen:
            return
        if "/" in name:
            self.folder(name.rsplit("/", 1)[0])
        self._entry(name, stat.S_IFDIR | 0o755, b"")

    def file(self, name: str, data: bytes, mode: int = 0o644) -> None:
        if "/" in name:
            self.folder(name.rsplit("/", 1)[0])
        self._entry(name, stat.S_IFREG | mode, data)

    def bytes(self) -> bytes:
        parts = list(self._parts)
        self._entry("TRAILER!!!", 0, b"")
        whole = b"".join(self._parts)
        self._parts = parts
        return whole + b"\0" * (-len(whole) % 512)
