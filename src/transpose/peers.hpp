// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A rank's access to the rows of another: by plain loads where its memory is in reach, else through the
// kernel a panel at a time, else by messages. The choice is made once, when a transpose is planned.
#pragma once

#include <sys/types.h>

#include "transpose/slabs.hpp"

namespace nigh::transpose {

enum class Reach : std::uint8_t { message, process_memory, memory };
const char* reach_name(Reach reach);

struct Peer {
  Reach reach = Reach::message;
  pid_t process = 0;
  const std::byte* a = nullptr;  // its array: an address here (memory) or there (process_memory)
};

// True if that byte of the process can be read by process_vm_readv(2).
bool readable(pid_t process, const std::byte* at);

// Like take(), of rows that lie in another process: a panel of them is read into a buffer that a core's cache
// holds and turned from there. nullptr, or what is wrong: the process is gone, or no longer lets us, or there
// is no memory; b is spoiled then.
const char* take_from_process(const Slabs& slabs, std::size_t from, pid_t process, const From& a,
                              std::size_t to, const To& b, const Panel& panel, int part, int parts,
                              const CopyOptions& way);

}  // namespace nigh::transpose
