// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/transport_node.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "sys/variables.hpp"

namespace nigh::chare {

namespace {

// MPI's poll takes longer than a look at all rings.
constexpr unsigned rounds_a_poll = 8;

std::string name_of_node(const Transport& transport) {
  char host[256] = {};
  ::gethostname(host, sizeof host - 1);
  std::string out = host;
  const auto nodes = static_cast<std::uint64_t>(sys::pretended_nodes());
  if (nodes > 1) out += "/" + std::to_string(transport.process() * nodes / transport.processes());
  return out;
}

}  // namespace

NodeTransport::NodeTransport(std::unique_ptr<Transport> mpi, const std::optional<Framing>& framing)
    : mpi_(std::move(mpi)), in_node_(mpi_->processes()) {
  process_ = mpi_->process(), processes_ = mpi_->processes();
  neighbour_ = mpi_->neighbour(), neighbours_ = mpi_->neighbours();
  const std::string here = name_of_node(*mpi_);
  const std::vector<std::string> nodes = mpi_->exchange(here);
  std::uint32_t count = 0;
  for (std::uint32_t process = 0; process < processes_; ++process)
    in_node_[process] = nodes[process] == here ? count++ : away;
  const auto first = static_cast<std::size_t>(std::find(nodes.begin(), nodes.end(), here) - nodes.begin());
  // The first of a node makes the memory, the others find it through its descriptor: there is no name to be
  // left.
  std::string path;
  if (count > 1 && process_ == first)
    if (auto made = ShmTransport::make(count)) {
      shm_ = std::move(*made);
      path = shm_->path();
    }
  path = mpi_->exchange(path)[first];
  if (count > 1 && process_ != first && !path.empty())
    if (auto opened = ShmTransport::open(path, count)) shm_ = std::move(*opened);
  // Says if the process has that memory, and its wish for frames: the first wish decides for all.
  std::string mine = shm_ ? "y" : "n";
  if (framing) mine.append(reinterpret_cast<const char*>(&*framing), sizeof *framing);
  std::optional<Framing> given;
  const std::vector<std::string> all = mpi_->exchange(mine);
  for (std::uint32_t process = 0; process < processes_; ++process) {
    if (in_node_[process] != away && all[process][0] != 'y') shm_.reset();
    if (!given && all[process].size() == 1 + sizeof(Framing))
      std::memcpy(&given.emplace(), all[process].data() + 1, sizeof(Framing));
  }
  if (shm_) {
    shm_->close_path();
    shm_->become(in_node_[process_], 0);
  } else {
    std::fill(in_node_.begin(), in_node_.end(), away);
    in_node_[process_] = 0;
  }
  has_away_ = std::find(in_node_.begin(), in_node_.end(), away) != in_node_.end();
  if (!has_away_) return;
  const Framing how = given ? *given : measured(nodes);
  mpi_->set_framing(how);
  const auto [least, most] = std::minmax_element(std::begin(how.piece), std::end(how.piece));
  told_ = "between nodes in frames of at most " + std::to_string(*least) +
          (*least == *most ? "" : " to " + std::to_string(*most)) + " bytes, messages above " +
          std::to_string(how.most_framed) + " bytes alone" + (given ? "" : ", as measured");
}

// Two nodes each measure it between their first processes; all take the median of what these have found.
Framing NodeTransport::measured(const std::vector<std::string>& nodes) {
  std::vector<std::uint32_t> firsts;
  const bool one_node = std::equal(nodes.begin() + 1, nodes.end(), nodes.begin());  // without shared memory
  for (std::uint32_t process = 0; process < processes_; ++process)
    if (one_node || std::find(nodes.begin(), nodes.end(), nodes[process]) == nodes.begin() + process)
      firsts.push_back(process);
  const auto mine =
      static_cast<std::size_t>(std::find(firsts.begin(), firsts.end(), process_) - firsts.begin());
  std::string found;
  if (mine < firsts.size() && (mine ^ 1U) < firsts.size()) {
    const Framing best = mpi_->measure(firsts[mine ^ 1U]);
    found.assign(reinterpret_cast<const char*>(&best), sizeof best);
  }
  std::vector<Framing> all;
  for (const std::string& text : mpi_->exchange(found))
    if (text.size() == sizeof(Framing)) std::memcpy(&all.emplace_back(), text.data(), sizeof(Framing));
  if (all.empty()) return {};
  auto median = [&all](auto of) {
    std::vector<std::uint32_t> values;
    for (const Framing& one : all) values.push_back(of(one));
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
  };
  Framing out;
  for (std::uint32_t i = 0; i < Framing::sizes; ++i)
    out.piece[i] = median([i](const Framing& one) { return one.piece[i]; });
  out.most_framed = median([](const Framing& one) { return one.most_framed; });
  return out;
}

void* NodeTransport::room(std::uint32_t to, std::size_t bytes) {
  return in_node_[to] != away ? shm_->room(in_node_[to], bytes) : mpi_->room(to, bytes);
}

void NodeTransport::send(std::uint32_t to, core::Header* message, Owner& owner) {
  if (in_node_[to] != away)
    shm_->send(in_node_[to], message, owner);
  else
    mpi_->send(to, message, owner);
}

void NodeTransport::flush() {
  if (shm_) shm_->flush();
  if (has_away_) mpi_->flush();
}

bool NodeTransport::progress(Owner& owner) {
  bool did = shm_ && shm_->progress(owner);
  if (has_away_ && (!did || ++rounds_ % rounds_a_poll == 0)) did |= mpi_->progress(owner);
  return did;
}

}  // namespace nigh::chare
