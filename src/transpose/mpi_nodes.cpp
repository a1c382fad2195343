// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Reach is tried from the best: memory of nigh_transpose_alloc() (a window of MPI's), the space of `nigh run
// --mpi`, the kernel. Ranks of a node agree on one of them, since those that read others in place wait for
// the same barrier.
#include "transpose/mpi_nodes.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <list>
#include <mutex>

#include "transpose/plan.hpp"
#pragma GCC visibility push(default)
#include <nigh/transpose_mpi.h>
#pragma GCC visibility pop

// Of `nigh run --mpi`, where it is.
extern "C" __attribute__((weak)) void* nigh_space_global(const void* data, std::size_t bytes);

namespace nigh::transpose {

namespace {
struct Window {
  std::byte* memory;  // what was given out: pages of the part that the library gave us, wherever that begins
  std::size_t bytes;
  std::byte* part;
  MPI_Comm node;
  MPI_Win window;
  std::uint64_t number;  // the same on all ranks of the node
};
constexpr std::size_t page = 4096;
std::mutex windows_mutex;
std::list<Window> windows;

MPI_Comm split_node(MPI_Comm all) {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  const char* const text = std::getenv("NIGH_MPI_FAKE_NODES");
  const int pretended = text != nullptr ? std::atoi(text) : 0;
  if (pretended < 2) return node;
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  MPI_Comm part = MPI_COMM_NULL;
  MPI_Comm_split(node, static_cast<int>(static_cast<long>(rank) * pretended / size), rank, &part);
  MPI_Comm_free(&node);
  return part;
}

bool all_of_node(const Nodes& nodes, bool mine) {
  int here = mine ? 1 : 0, all = 0;
  MPI_Allreduce(&here, &all, 1, MPI_INT, MPI_LAND, nodes.node());
  return all != 0;
}

const Window* find_window(const std::byte* a, std::size_t bytes) {
  for (const Window& window : windows)
    if (a >= window.memory && a + bytes <= window.memory + window.bytes) return &window;
  return nullptr;
}

// One value of each neighbour.
std::vector<std::uint64_t> gather(const Nodes& nodes, std::uint64_t mine) {
  std::vector<std::uint64_t> all(nodes.neighbours().size());
  MPI_Allgather(&mine, 1, MPI_UINT64_T, all.data(), 1, MPI_UINT64_T, nodes.node());
  return all;
}

// Each rank's rows may lie anywhere in its part of the window.
bool by_window(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  const std::lock_guard lock(windows_mutex);
  const Window* window = find_window(a, bytes);
  const std::vector<std::uint64_t> numbers = gather(nodes, window != nullptr ? window->number + 1 : 0);
  bool same = window != nullptr &&
              std::all_of(numbers.begin(), numbers.end(), [&](auto n) { return n == numbers[0]; });
  if (same) {
    int relation = MPI_UNEQUAL;
    MPI_Comm_compare(window->node, nodes.node(), &relation);
    same = relation == MPI_IDENT || relation == MPI_CONGRUENT;
  }
  const std::vector<std::uint64_t> offsets =
      gather(nodes, same ? static_cast<std::uint64_t>(a - window->part) : 0);
  if (!all_of_node(nodes, same)) return false;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    MPI_Aint size = 0;
    int unit = 1;
    void* base = nullptr;
    MPI_Win_shared_query(window->window, static_cast<int>(i), &size, &unit, &base);
    peers[i] = {Reach::memory, 0, static_cast<const std::byte*>(base) + offsets[i]};
  }
  return true;
}

bool by_space(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  const void* global = nigh_space_global != nullptr && bytes > 0 ? nigh_space_global(a, bytes) : nullptr;
  const std::vector<std::uint64_t> addresses = gather(nodes, reinterpret_cast<std::uint64_t>(global));
  if (!all_of_node(nodes, global != nullptr || (bytes == 0 && nigh_space_global != nullptr))) return false;
  for (std::size_t i = 0; i < peers.size(); ++i)
    peers[i] = {Reach::memory, 0, reinterpret_cast<const std::byte*>(addresses[i])};
  return true;
}

bool by_kernel(const Nodes& nodes, const std::byte* a, std::size_t bytes, std::vector<Peer>& peers) {
  const std::vector<std::uint64_t> processes = gather(nodes, static_cast<std::uint64_t>(getpid()));
  const std::vector<std::uint64_t> addresses =
      gather(nodes, reinterpret_cast<std::uint64_t>(bytes > 0 ? a : nullptr));
  bool all = true;
  for (std::size_t i = 0; i < peers.size(); ++i) {
    peers[i] = {Reach::process_memory, static_cast<pid_t>(processes[i]),
                reinterpret_cast<const std::byte*>(addresses[i])};
    all = all && (peers[i].a == nullptr || readable(peers[i].process, peers[i].a));
  }
  return all_of_node(nodes, all);
}
}  // namespace

Nodes::Nodes(MPI_Comm comm) {
  MPI_Comm_dup(comm, &all_);
  MPI_Comm_rank(all_, &rank_);
  MPI_Comm_size(all_, &size_);
  node_ = split_node(all_);
  int here = 1;
  MPI_Comm_size(node_, &here);
  neighbours_.resize(static_cast<std::size_t>(here));
  MPI_Allgather(&rank_, 1, MPI_INT, neighbours_.data(), 1, MPI_INT, node_);
}

Nodes::~Nodes() {
  MPI_Comm_free(&node_);
  MPI_Comm_free(&all_);
}

std::string Nodes::agree(const std::string& wrong) const {
  int mine = wrong.empty() ? size_ : rank_, first = size_;
  MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, all_);
  if (first == size_) return "";
  char text[400] = {};
  std::strncpy(text, wrong.c_str(), sizeof text - 1);
  MPI_Bcast(text, sizeof text, MPI_CHAR, first, all_);
  return size_ == 1 ? text : "rank " + std::to_string(first) + ": " + text;
}

std::vector<Peer> find_peers(const Nodes& nodes, const std::byte* a, std::size_t bytes) {
  std::vector<Peer> peers(nodes.neighbours().size());
  if (by_window(nodes, a, bytes, peers) || by_space(nodes, a, bytes, peers) ||
      by_kernel(nodes, a, bytes, peers)) {
    int here = 0;
    MPI_Comm_rank(nodes.node(), &here);
    peers[static_cast<std::size_t>(here)] = {Reach::memory, 0, a};
  } else {
    peers.assign(peers.size(), Peer());
  }
  return peers;
}

}  // namespace nigh::transpose

using namespace nigh::transpose;

// MPI may hang where one rank's part does not fit: so that is found out before it is asked.
static bool fits_node(std::size_t room, MPI_Comm node) {
  double mine = static_cast<double>(room), all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, node);
  struct statvfs shm{};
  return ::statvfs("/dev/shm", &shm) != 0 ||
         all <= static_cast<double>(shm.f_bavail) * static_cast<double>(shm.f_frsize);
}

static void* allocate(std::size_t bytes, MPI_Comm comm) {
  MPI_Comm node = split_node(comm);
  void* memory = nullptr;
  MPI_Win window = MPI_WIN_NULL;
  MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN);
  const std::size_t most = std::size_t{1} << 60, room = (std::min(bytes, most) + page) / page * page + page;
  int status = MPI_ERR_NO_MEM;
  int wrong = fits_node(room, node) && bytes <= most ? 0 : 1, any = 0;
  MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, comm);
  if (any == 0) {
    MPI_Info apart = MPI_INFO_NULL;  // each part on pages of its own, near the rank that touches it
    MPI_Info_create(&apart);
    MPI_Info_set(apart, "alloc_shared_noncontig", "true");
    status = MPI_Win_allocate_shared(static_cast<MPI_Aint>(room), 1, apart, node, &memory, &window);
    MPI_Info_free(&apart);
    wrong = status != MPI_SUCCESS ? 1 : 0;
    MPI_Allreduce(&wrong, &any, 1, MPI_INT, MPI_MAX, comm);
  }
  if (any != 0) {
    set_why("there is no shared memory of " + std::to_string(bytes) +
            " bytes, on this rank or another (df /dev/shm)");
    if (status == MPI_SUCCESS) MPI_Win_free(&window);
    MPI_Comm_free(&node);
    return nullptr;
  }
  const std::lock_guard lock(windows_mutex);
  static std::uint64_t last = 0;
  std::uint64_t number = ++last;
  MPI_Bcast(&number, 1, MPI_UINT64_T, 0, node);
  auto* part = static_cast<std::byte*>(memory);
  auto* given = part + (page - reinterpret_cast<std::uintptr_t>(part) % page) % page;
  windows.push_back({given, room - page, part, node, window, number});
  return given;
}

void* nigh_transpose_alloc(size_t bytes, MPI_Comm comm) {
  try {
    return allocate(bytes, comm);
  } catch (const std::exception& error) {
    set_why(error.what());
    return nullptr;
  }
}

void nigh_transpose_free(void* memory) {
  const std::lock_guard lock(windows_mutex);
  const auto at =
      std::find_if(windows.begin(), windows.end(), [&](const Window& w) { return w.memory == memory; });
  if (memory == nullptr || at == windows.end()) return;
  MPI_Win_free(&at->window);
  MPI_Comm_free(&at->node);
  windows.erase(at);
}
