// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A file of memory that gets huge pages at first touch. The kernel gives them to a memfd only if
// /sys/kernel/mm/transparent_hugepage/shmem_enabled says so, which is `never` nearly everywhere; but the
// mount option huge= of a tmpfs is honoured (Documentation/filesystems/tmpfs.rst), and in a user and mount
// namespace of its own anybody may mount one. A child enters such namespaces, makes a tmpfs that is mounted
// nowhere, opens an unnamed file there and ends; namespaces and tmpfs live as long as the file.
#pragma once

#include <cstdint>

namespace nigh::sys {

// A sparse file of so many bytes as raw_memory_file() makes it, where MADV_HUGEPAGE is honoured; or -errno:
// user namespaces are forbidden (EPERM, ENOSPC), the kernel is older than 5.2 (ENOSYS) or without huge pages
// (EINVAL). Uses no libc, and is safe beside other threads.
long raw_huge_memory_file(std::uint64_t bytes);

}  // namespace nigh::sys
