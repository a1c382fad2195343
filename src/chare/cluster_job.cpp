// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Jobs of several processes that share no memory: those that this one forks, and those that mpirun has
// started.
#include <dlfcn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
#include <string>

#include "chare/entries.hpp"
#include "chare/job.hpp"
#include "chare/pe.hpp"
#include "chare/transport_node.hpp"
#include "chare/transport_shm.hpp"
#include "sys/launchers.hpp"
#include "sys/mpi_library.hpp"
#include "sys/variables.hpp"

namespace nigh::chare {

namespace {

// The launcher that started this process, if it says of which MPI it is.
const sys::LauncherVariables* launcher() {
  for (const sys::LauncherVariables& one : sys::launcher_variables)
    if (one.size && *one.mpi && std::getenv(one.size)) return &one;
  return nullptr;
}

// The description of its PEs that a process gives to others.
struct Card {
  std::uint64_t digest = 0;
  std::uint32_t free_places = 0;  // space::CommonRange
  std::uint64_t mark = 0;         // of its first mailbox
  char host[64] = {};
};

}  // namespace

int started_by_mpi() {
  const sys::LauncherVariables* const one = launcher();
  return one ? std::max(sys::launcher_number(sys::lookup_variable, nullptr, one->size), 0) : 0;
}

bool spans_nodes(int here) {
  return started_by_mpi() > here || (started_by_mpi() > 1 && sys::pretended_nodes() > 1);
}

// Tells all PEs where the others run, and that they run one program.
bool Pe::meet() {
  Card card;
  card.digest = entries_.digest;
  std::uint32_t free_places = card.free_places = kind_.range->free_places();
  card.mark = mailboxes_[0]->mark;
  ::gethostname(card.host, sizeof card.host - 1);
  std::string mine(reinterpret_cast<const char*>(&card), sizeof card);
  for (std::uint32_t rank = 0; rank < local_; ++rank)
    mine.append(reinterpret_cast<const char*>(&mailboxes_[rank]->seat), sizeof(plan::Seat));
  const std::vector<std::string> all = cluster_->transport->exchange(mine);
  std::vector<std::string> hosts;
  for (std::size_t process = 0; process < all.size(); ++process) {
    const std::uint32_t pes = cluster_->first_of[process + 1] - cluster_->first_of[process];
    if (all[process].size() != sizeof card + pes * sizeof(plan::Seat)) {
      std::fprintf(stderr, "nigh chare: PE %u died before the job began\n", cluster_->first_of[process]);
      return false;
    }
    std::memcpy(&card, all[process].data(), sizeof card);
    if (card.digest != entries_.digest) {
      std::fprintf(stderr, "nigh chare: PE %u runs another program than PE %u\n", cluster_->first_of[process],
                   number_);
      return false;
    }
    if (process == 0) cluster_->mark.store(card.mark, std::memory_order_relaxed);
    free_places &= card.free_places;
    const auto found = std::find(hosts.begin(), hosts.end(), card.host);
    const int host = static_cast<int>(found - hosts.begin());
    if (found == hosts.end()) hosts.emplace_back(card.host);
    for (std::uint32_t i = 0; i < pes; ++i) {
      plan::Seat seat;
      std::memcpy(&seat, all[process].data() + sizeof card + i * sizeof seat, sizeof seat);
      constexpr int most = 1 << 16;  // of a host's caches, nodes and sockets
      if (seat.cache >= 0) seat.cache += host * most;
      if (seat.node >= 0) seat.node += host * most;
      seat.socket = std::max(seat.socket, 0) + host * most;
      cluster_->seats.push_back(seat);
    }
  }
  if (!kind_.range->settled()) kind_.range->settle(free_places);  // else they were forked with it
  cluster_->met.store(true, std::memory_order_release);
  waiter_.ring(static_cast<int>(cluster_->driver()));
  return true;
}

int run_forked(const core::Settings& settings, void (*main)(void*), void* argument) {
  const CpuSet usable = sys::usable_cpus();
  const int pes = settings.pes > 0 ? settings.pes : usable.count();
  if (pes > 256) {
    std::fprintf(stderr, "nigh chare: at most 256 PEs can be processes of --mode shm, not %d\n", pes);
    return 1;
  }
  const auto count = static_cast<std::uint32_t>(pes);
  auto transport = ShmTransport::make(count);
  if (!transport) {
    std::fprintf(stderr, "nigh chare: %s\n", transport.error().message.c_str());
    return 1;
  }
  (*transport)->close_path();
  space::CommonRange range;
  static_cast<void>(range.settle_alone());
  Cluster cluster;
  cluster.transport = transport->get();
  cluster.has_thread = settings.comm_thread;
  for (std::uint32_t pe = 0; pe <= count; ++pe) cluster.first_of.push_back(pe);
  const int threads = settings.comm_thread ? 2 : 1;  // of each process
  std::fflush(nullptr);                              // else each of them writes what is left in its buffers
  const pid_t first = ::getpid();
  sys::Places places = sys::plan_places(usable, 0, pes * threads, static_cast<sys::Bind>(settings.bind));
  std::uint32_t process = 0;
  for (std::uint32_t next = 1; next < count && process == 0; ++next) {
    const pid_t pid = ::fork();
    if (pid < 0) {
      std::fprintf(stderr, "nigh chare: PE %u of %d can't be started: %s\n", next, pes, std::strerror(errno));
      (*transport)->abandon();
      return 1;
    }
    if (pid == 0)
      process = next;
    else
      (*transport)->forked(next, pid);
  }
  (*transport)->become(process, first);
  places.first = static_cast<int>(process) * threads;
  int status = run_threads(settings, places, range, &cluster, process == 0 ? main : nullptr, argument);
  if (process != 0) {
    std::fflush(nullptr);
    ::_exit(status);
  }
  for (std::uint32_t other = 1; other < count; ++other)
    status = std::max(status, (*transport)->status_of(other));
  return status;
}

int run_by_mpi(const core::Settings& settings, void (*main)(void*), void* argument) {
  const sys::LauncherVariables* const started = launcher();
  char why[512];
  void* const library = sys::open_by_mpi("chare", started ? started->mpi : "",
                                         reinterpret_cast<const void*>(&run_by_mpi), why, sizeof why);
  if (!library) {
    std::fprintf(stderr, "nigh chare: --mode mpi: %s\n", why);
    return 1;
  }
  const auto make = reinterpret_cast<MakeTransport>(::dlsym(library, "nigh_chare_transport"));
  std::unique_ptr<Transport> mpi(make ? make(transport_version, settings.comm_thread, why, sizeof why)
                                      : nullptr);
  if (!mpi) {
    std::fprintf(stderr, "nigh chare: %s\n", make ? why : "a transport of another version was found");
    return 1;
  }
  std::optional<Framing> framing;
  if (settings.piece > 0) framing = Framing(settings.piece, settings.most_framed);
  const auto transport = std::make_unique<NodeTransport>(std::move(mpi), framing);
  const CpuSet usable = sys::usable_cpus();
  const int thread = settings.comm_thread ? 1 : 0, neighbours = static_cast<int>(transport->neighbours());
  const int pes = settings.pes > 0 ? settings.pes : std::max(usable.count() / neighbours - thread, 1);
  if (pes > most_pes) {
    std::fprintf(stderr, "nigh chare: at most %d PEs can be in a process, not %d\n", most_pes, pes);
    transport->abandon();
    return 1;
  }
  Cluster cluster;
  cluster.transport = transport.get();
  cluster.has_thread = settings.comm_thread;
  cluster.first_of.push_back(0);
  for (const std::string& one : transport->exchange(std::to_string(pes)))
    cluster.first_of.push_back(cluster.first_of.back() + static_cast<std::uint32_t>(std::atoi(one.c_str())));
  const sys::Places places =
      sys::plan_places(usable, static_cast<int>(transport->neighbour()) * (pes + thread),
                       neighbours * (pes + thread), static_cast<sys::Bind>(settings.bind));
  space::CommonRange range;  // settled when all have met
  return run_threads(settings, places, range, &cluster, transport->process() == 0 ? main : nullptr, argument);
}

}  // namespace nigh::chare
