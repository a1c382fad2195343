// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "transpose/mpi_memory.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <memory>
#include <mutex>
#include <string>

#include "sys/memory.hpp"
#include "sys/variables.hpp"
#include "transpose/mpi_check.hpp"
#include "transpose/mpi_nodes.hpp"
#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

namespace nigh::transpose {

namespace {
constexpr std::size_t page = 4096;

bool all_of(MPI_Comm comm, bool mine) {
  int here = mine ? 1 : 0, all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_LAND, comm);
  return all != 0;
}

// True if the wish of all ranks of a node is less than the memory that each of them sees free.
bool fits(MPI_Comm node, std::size_t bytes, double room) {
  double mine = static_cast<double>(bytes), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, node);
  return all_of(node, all <= room);
}

struct Part {
  Given given;
  std::unique_ptr<NodeMemory> memory;
};
std::mutex given_mutex;
std::list<Part> given;
}  // namespace

MPI_Comm split_node(MPI_Comm all) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  const long pretended = sys::pretended_nodes();
  if (pretended < 2) return node;
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(node, static_cast<int>(rank * pretended / size), rank, &part);
  MPI_Comm_free(&node);
  return part;
}

NodeMemory::NodeMemory(MPI_Comm node, std::size_t bytes) {
  const double room = static_cast<double>(sys::memory_headroom(sys::Os()));
  if (!fits(node, bytes, bytes <= most_bytes ? room : 0)) return;
  if (!by_pages(node, bytes) && !by_window(node, bytes)) parts_.clear();
}

NodeMemory::~NodeMemory() {
  if (window_ != MPI_WIN_NULL && !mpi_has_ended()) MPI_Win_free(&window_);
}

bool NodeMemory::by_pages(MPI_Comm node, std::size_t bytes) {
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  SharedPages mine = SharedPages::make(bytes);
  SharedPages::Name name = mine.name();
  static_assert(sizeof name == 5 * sizeof(std::uint64_t));
  std::vector<SharedPages::Name> names(static_cast<std::size_t>(size));
  MPI_Allgather(&name, 5, MPI_UINT64_T, names.data(), 5, MPI_UINT64_T, node);
  bool all = true;
  for (int i = 0; i < size; ++i) {
    pages_.push_back(i == rank ? SharedPages() : SharedPages::open(names[static_cast<std::size_t>(i)]));
    if (i == rank) std::swap(pages_.back(), mine);
    parts_.push_back(pages_.back().at());
    all = all && parts_.back() != nullptr;
  }
  all = all_of(node, all);  // and nobody opens any of them from here on
  pages_[static_cast<std::size_t>(rank)].seal();
  if (!all) {
    pages_.clear();
    parts_.clear();
  }
  return all;
}

// MPI may hang where one rank's part does not fit: so that is found out before it is asked.
bool NodeMemory::by_window(MPI_Comm node, std::size_t bytes) {
  struct statvfs shm{};
  const bool known = ::statvfs("/dev/shm", &shm) == 0;
  const std::size_t room = (bytes + page - 1) / page * page + page;
  if (!fits(node, room,
            known ? static_cast<double>(shm.f_bavail) * static_cast<double>(shm.f_frsize) : 1e300))
    return false;
  int size = 1;
  MPI_Comm_size(node, &size);
  void* memory = nullptr;
  MPI_Info apart = MPI_INFO_NULL;  // each part on pages of its own, near the rank that touches it
  MPI_Info_create(&apart);
  MPI_Info_set(apart, "alloc_shared_noncontig", "true");
  MPI_Errhandler before = MPI_ERRHANDLER_NULL;
  MPI_Comm_get_errhandler(node, &before);
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  const int status = MPI_Win_allocate_shared(static_cast<MPI_Aint>(room), 1, apart, node, &memory, &window_);
  MPI_Comm_set_errhandler(node, before);
  MPI_Errhandler_free(&before);
  MPI_Info_free(&apart);
  if (status != MPI_SUCCESS) window_ = MPI_WIN_NULL;
  if (!all_of(node, status == MPI_SUCCESS)) return false;
  std::memset(memory, 0, room);
  for (int i = 0; i < size; ++i) {
    MPI_Aint part_bytes = 0;
    int unit = 1;
    MPI_Win_shared_query(window_, i, &part_bytes, &unit, &memory);
    // Libraries put a header before the first part, at the start of a page in all processes.
    auto* const part = static_cast<std::byte*>(memory);
    parts_.push_back(part + (page - reinterpret_cast<std::uintptr_t>(part) % page) % page);
  }
  MPI_Barrier(node);
  return true;
}

Given find_given(const std::byte* at, std::size_t bytes) {
  const std::lock_guard lock(given_mutex);
  for (const Part& part : given) {
    const auto before =
        reinterpret_cast<std::uintptr_t>(at) - reinterpret_cast<std::uintptr_t>(part.given.memory);
    if (before <= part.given.bytes && bytes <= part.given.bytes - before) return part.given;
  }
  return {};
}

Given find_given(std::uint64_t number) {
  const std::lock_guard lock(given_mutex);
  for (const Part& part : given)
    if (part.given.number == number) return part.given;
  return {};
}

}  // namespace nigh::transpose

using namespace nigh::transpose;

static void* allocate(std::size_t bytes, MPI_Comm comm) {
  MPI_Comm node = split_node(comm);
  auto memory = std::make_unique<NodeMemory>(node, bytes);
  if (!all_of(comm, memory->there())) {
    set_why("there is no shared memory of " + std::to_string(bytes) +
            " bytes, on this rank or another (free, df /dev/shm)");
    memory.reset();
    MPI_Comm_free(&node);
    return nullptr;
  }
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  const std::lock_guard lock(given_mutex);
  static std::uint64_t last = 0;
  std::uint64_t number = (static_cast<std::uint64_t>(::getpid()) << 32) | ++last;
  MPI_Bcast(&number, 1, MPI_UINT64_T, 0, node);
  std::byte* const mine = memory->part(rank);
  given.push_back({{mine, bytes, node, number, memory.get()}, std::move(memory)});
  return mine;
}

void* nigh_transpose_alloc(size_t bytes, MPI_Comm comm) {
  return nigh::guarded(
      [&]() -> void* {
        if (auto usable = check_comm(comm); !usable) return set_why(usable.error().message), nullptr;
        return allocate(bytes, comm);
      },
      set_why, nullptr);
}

void nigh_transpose_free(void* memory) {
  const std::lock_guard lock(given_mutex);
  const auto at =
      std::find_if(given.begin(), given.end(), [&](const Part& part) { return part.given.memory == memory; });
  if (memory == nullptr || at == given.end()) return;
  MPI_Comm node = at->given.node;
  given.erase(at);
  if (!mpi_has_ended()) MPI_Comm_free(&node);
}
