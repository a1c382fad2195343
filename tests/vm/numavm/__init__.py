# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""NUMA guests: run any host binary on a virtual machine that has the nodes, cores and distances of a model.

A machine file (docs/machine-json.md) becomes a `Guest` (model.py), the Guest becomes ACPI tables that the guest
kernel reads from its initrd (acpi.py), and `run` (guest.py) boots it under QEMU with the host's / shared read-only.
"""


class VmError(Exception):
    """One clear sentence for the user: what is wrong, where, and what to do."""


class MissingTool(VmError):
    """QEMU, busybox or a kernel can't be had here: a test that needs a guest skips, with this reason."""
