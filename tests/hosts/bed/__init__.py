# Copyright (c) 2026, the nigh authors.
# SPDX-License-Identifier: BSD-3-Clause
"""A test bed of several hosts made of namespaces: `bed` sets it up and takes it down, `host` is process 1 of each host,
`agent` starts commands there, `links` joins them, `settings` tells the MPI libraries of them."""
