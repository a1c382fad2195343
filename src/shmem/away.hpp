// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// PEs on other nodes, as libnigh-shmem.so sees them: one transport, made by a library of its own for each MPI
// ABI (libnigh-shmem-openmpi.so, -mpich.so) and opened only when the job is larger than the node. Bytes go by
// MPI's one-sided operations; atomics go as short messages that the target itself carries out with its
// processor's atomics, so that they are coherent with those of its own node, which stay plain instructions.
// A PE serves such messages whenever it waits for something (docs/decisions/0014-shmem-between-nodes.md).
#pragma once

#include <cstddef>
#include <cstdint>

#include "message/collective.hpp"

namespace nigh::shmem {

inline constexpr std::uint32_t away_version = 1;

// Symmetric memory of this PE. `number` is the same on all PEs for what corresponds: 0 the heap, else a
// module's data.
struct Segment {
  std::byte* begin = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;
};

enum class Amo : std::uint32_t {
  load,
  store,
  swap,
  compare_swap,
  add,
  fetch_and,
  fetch_or,
  fetch_xor,
  count
};

// One atomic operation: on `bytes` (4 or 8) at what lies at `at` in our own memory.
struct AmoCall {
  Amo amo = Amo::load;
  int bytes = 8;
  const void* at = nullptr;
  std::uint64_t value = 0, condition = 0;
};

// Calls `ready` until it is true, yielding meanwhile, as message::Waiter does.
using Wait = void (*)(bool (*ready)(void*), void* argument);

class Away {
 public:
  Away() = default;
  Away(const Away&) = delete;
  Away& operator=(const Away&) = delete;
  virtual ~Away() = default;

  // Starts MPI unless the program did, and shows the parts to the others. Collective over all PEs. False:
  // why().
  virtual bool start(int rank, int size, const Segment* parts, int count, Wait wait) = 0;
  [[nodiscard]] virtual const char* why() const = 0;
  [[nodiscard]] virtual bool threads() const = 0;  // whether several may call at once
  // True if these bytes are symmetric, on all PEs.
  [[nodiscard]] virtual bool symmetric(const void* at, std::size_t bytes) const = 0;

  // Access to symmetric memory. Blocking: the local side may be used again; else quiet() says so.
  virtual void put(int pe, void* at, const void* source, std::size_t bytes, bool blocking) = 0;
  virtual void get(int pe, void* dest, const void* at, std::size_t bytes, bool blocking) = 0;
  // Blocking; steps in bytes.
  struct Steps {
    std::size_t element, count;
    std::ptrdiff_t dest, source;
  };
  virtual void put_strided(int pe, void* at, const void* source, const Steps& steps) = 0;
  virtual void get_strided(int pe, void* dest, const void* at, const Steps& steps) = 0;

  // The old value; or without waiting for it.
  virtual std::uint64_t amo(int pe, const AmoCall& call) = 0;
  virtual void post(int pe, const AmoCall& call) = 0;

  // Everything that was put or posted to that PE, or to all, is done there.
  virtual void quiet_of(int pe) = 0;
  virtual void quiet() = 0;
  // Serves what has come, and keeps MPI going. Never waits.
  virtual void poll() = 0;

  // A team; collective over its members, as all that follows.
  virtual void* make_team(const int* pes, int count) = 0;
  virtual void end_team(void* team) = 0;
  virtual void barrier(void* team) = 0;
  virtual void bcast(void* team, void* data, std::size_t bytes, int root) = 0;
  virtual void allgather(void* team, const void* send, void* receive, std::size_t bytes) = 0;
  // sizes[m] bytes of each member at offsets[m]
  virtual void allgatherv(void* team, const void* send, void* receive, const std::size_t* sizes,
                          const std::size_t* offsets) = 0;
  virtual void alltoall(void* team, const void* send, void* receive, std::size_t bytes) = 0;
  // send == receive: in place. False: this reduction is not defined.
  virtual bool reduce(void* team, const void* send, void* receive, std::size_t count, message::Op op,
                      message::Element element) = 0;

  virtual void finish() = 0;  // collective; ends MPI if start() began it
  [[noreturn]] virtual void abort(int status) = 0;
};

// The transport of the MPI library that started this job; nullptr: `why` (of `bytes`) says what is missing.
// `mpi`: that of World.
Away* open_away(const char* mpi, char* why, std::size_t bytes);

}  // namespace nigh::shmem

extern "C" {
// Exported by a transport library; nullptr when `version` is not its own.
__attribute__((visibility("default"))) nigh::shmem::Away* nigh_shmem_away(std::uint32_t version);
}
