// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Memory of another process, read by the kernel for us: a copy and a system call, but no mapping.
#pragma once

#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>

#include "sys/raw.h"

namespace nigh::sys {

// From `count` places there (at most IOV_MAX) to one here: the bytes read, or -errno: -ESRCH, it is gone;
// -EPERM, it may not be read.
inline long read_process(pid_t process, void* here, std::size_t bytes, const iovec* there,
                         std::size_t count) {
  const iovec local{here, bytes};
  return nigh_raw_syscall6(SYS_process_vm_readv, process, reinterpret_cast<long>(&local), 1,
                           reinterpret_cast<long>(there), static_cast<long>(count), 0);
}

}  // namespace nigh::sys
