// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Ranks that are processes. Loaded code (libnigh-space.so, or libnigh-mpi.so which holds the same) makes the
// slot when the process starts, since the heap must be in it from the first malloc on; the ranks find and map
// each other later, in join(), when it is known that all have started. Libraries of other rooms that live in
// the same process (the MPI halves, OpenSHMEM) reach it through one C function with a version, because each
// carries its own C++ runtime.
#pragma once

#include <cstdint>

#include "space/space.hpp"

namespace nigh::space {

// Changes with anything that ranks of one job, or libraries of one process, must agree on.
inline constexpr std::uint32_t abi_version = 3;

struct Job {
  unsigned char key[16] =
      {};        // the same in all ranks of the job, and in no other: ranks with another key are refused
  int rank = 0;  // among the ranks of the job on this node
  int size = 1;
  // Every rank of the job that has us is known to have called prepare() before this call of join(): then who
  // does not listen is without us, and is not waited for.
  bool all_prepared = false;
};

class ProcessSpace : public Space {
 public:
  // Makes this process the one that peers find as this rank; cheap. An MPI library's MPI_Init is the place:
  // before the library's own initialisation, which ends in no rank before it has begun in all, so that join()
  // after it may set all_prepared. join() does it where nobody did. (Not at start: a rank is often started by
  // a script, which has us too, and only the program that the script starts may claim the rank.)
  virtual bool prepare(const Job& job) = 0;
  // Maps every peer that has us, over private sockets, memfds passed by SCM_RIGHTS. Returns when each of the
  // other ranks has been mapped, refused, found to be without us (nobody listens) or dead, or after
  // `timeout_ms`. Collective among the ranks that have us, once per process. False: stands aside, why() says
  // so.
  virtual bool join(const Job& job, int timeout_ms) = 0;
  // One sentence: why there is no space, or "" when all is as it should be.
  [[nodiscard]] virtual const char* why() const = 0;
  // A block as malloc or calloc would make it, shared in any case, in huge pages where they pay. For
  // release().
  virtual void* alloc_block(std::size_t bytes, std::size_t align, bool zeroed) = 0;
  // Asks for huge pages (MADV_COLLAPSE) behind these bytes once they were touched; cheap when it was done
  // before.
  virtual void collapse(const void* data, std::size_t bytes) = 0;
  // Shares the .data and .bss of the program and its libraries (what --share data does at start); false:
  // why().
  virtual bool share_data() = 0;
  // Appends one line per finding for --explain: what is shared, what fell back and how often. Returns the
  // characters written (like snprintf).
  virtual int explain(char* text, std::size_t bytes) const = 0;
};

}  // namespace nigh::space

extern "C" {
// The space of this process, or nullptr: none was made (see nigh_space_why() in nigh/space.h) or `version`
// differs.
__attribute__((visibility("default"))) nigh::space::ProcessSpace* nigh_space_object(std::uint32_t version);
}
