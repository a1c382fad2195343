// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between processes by MPI, compiled once for each library's ABI. Small ones to one process go
// together, as many as there are when flush() is called; MPI's order of messages is theirs.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <utility>

#include "chare/carrier.hpp"

namespace nigh::chare {

namespace {

constexpr std::size_t frame_bytes = std::size_t{64} << 10;
constexpr std::size_t most_framed = std::size_t{8} << 10;  // larger messages go alone, from where they lie
enum Tag { framed = 1, alone = 2 };

using Frame = std::unique_ptr<char[]>;

class MpiCarrier final : public Carrier {
 public:
  // Empty: it has begun.
  std::string begin(bool serialized);
  ~MpiCarrier() override;

  std::vector<std::string> exchange(const std::string& mine) override;
  void send(std::uint32_t to, core::Header* message, Owner& owner) override;
  void flush() override;
  bool progress(Owner& owner) override;
  [[nodiscard]] bool all_sent() const override { return sends_.empty() && staged_.empty(); }
  [[nodiscard]] bool is_dead(std::uint32_t) override { return false; }  // the launcher ends the job
  void abandon() override { MPI_Abort(all_, 1); }

 private:
  struct Out {
    Frame frame;
    std::size_t bytes = 0;
    bool staged = false;
  };
  struct Send {
    MPI_Request request;
    Frame frame;  // or
    core::Header* message = nullptr;
  };
  struct Receive {
    MPI_Request request;
    Frame frame;  // or
    core::Header* message = nullptr;
    std::size_t bytes = 0;
  };

  Frame frame();
  void flush(std::uint32_t to);
  bool look_at_sends(Owner& owner);
  bool look_for_more(Owner& owner);
  bool look_at_receives(Owner& owner);
  static bool is_done(MPI_Request& request);
  bool split(Receive& receive, Owner& owner) const;
  void find_neighbours();

  MPI_Comm all_ = MPI_COMM_NULL;
  bool ours_ = false;  // MPI was begun here
  std::vector<Out> out_;
  std::vector<std::uint32_t> staged_;
  std::deque<Send> sends_;
  std::deque<Receive> receives_;  // in the order in which they are handed in
  std::vector<Frame> free_;
};

std::string MpiCarrier::begin(bool serialized) {
  int begun = 0, over = 0, level = 0;
  const int needed = serialized ? MPI_THREAD_SERIALIZED : MPI_THREAD_FUNNELED;
  MPI_Initialized(&begun);
  MPI_Finalized(&over);
  if (over)
    return "MPI has ended in this process (MPI_Finalize; run() itself ends it if the program has not begun "
           "it)";
  if (begun) {
    MPI_Query_thread(&level);
  } else {
    if (MPI_Init_thread(nullptr, nullptr, needed, &level) != MPI_SUCCESS) return "MPI_Init_thread has failed";
    ours_ = true;
  }
  if (level < needed)
    return serialized ? "this MPI can't be called by a communication thread (MPI_THREAD_SERIALIZED)"
                      : "this MPI can't be called by a program with threads (MPI_THREAD_FUNNELED)";
  MPI_Comm_dup(MPI_COMM_WORLD, &all_);
  int rank = 0, size = 1;
  MPI_Comm_rank(all_, &rank);
  MPI_Comm_size(all_, &size);
  process_ = static_cast<std::uint32_t>(rank);
  processes_ = static_cast<std::uint32_t>(size);
  out_.resize(processes_);
  find_neighbours();
  return {};
}

// Those of this node, if they may all use the same CPUs: launchers may have given each its own.
void MpiCarrier::find_neighbours() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  sched_getaffinity(0, sizeof cpus, &cpus);
  std::vector<cpu_set_t> of_all(static_cast<std::size_t>(size));
  MPI_Allgather(&cpus, static_cast<int>(sizeof cpus), MPI_BYTE, of_all.data(), static_cast<int>(sizeof cpus),
                MPI_BYTE, node);
  const bool same = std::all_of(of_all.begin(), of_all.end(),
                                [&](const cpu_set_t& other) { return CPU_EQUAL(&cpus, &other) != 0; });
  if (same) neighbour_ = static_cast<std::uint32_t>(rank), neighbours_ = static_cast<std::uint32_t>(size);
  MPI_Comm_free(&node);
}

MpiCarrier::~MpiCarrier() {
  if (all_ != MPI_COMM_NULL) MPI_Comm_free(&all_);
  if (ours_) MPI_Finalize();
}

std::vector<std::string> MpiCarrier::exchange(const std::string& mine) {
  const int bytes = static_cast<int>(mine.size());
  std::vector<int> sizes(processes_), at(processes_);
  MPI_Allgather(&bytes, 1, MPI_INT, sizes.data(), 1, MPI_INT, all_);
  for (std::size_t i = 1; i < at.size(); ++i) at[i] = at[i - 1] + sizes[i - 1];
  std::string of_all(static_cast<std::size_t>(at.back() + sizes.back()), 0);
  MPI_Allgatherv(mine.data(), bytes, MPI_BYTE, of_all.data(), sizes.data(), at.data(), MPI_BYTE, all_);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < at.size(); ++i)
    out.push_back(of_all.substr(static_cast<std::size_t>(at[i]), static_cast<std::size_t>(sizes[i])));
  return out;
}

Frame MpiCarrier::frame() {
  if (free_.empty()) return Frame(new char[frame_bytes]);
  Frame out = std::move(free_.back());
  free_.pop_back();
  return out;
}

void MpiCarrier::send(std::uint32_t to, core::Header* message, Owner& owner) {
  Out& out = out_[to];
  const std::size_t bytes = message->bytes();
  if (out.bytes > 0 && (bytes > most_framed || out.bytes + bytes > frame_bytes)) flush(to);
  if (bytes > most_framed) {
    Send& sent = sends_.emplace_back(Send{MPI_REQUEST_NULL, nullptr, message});
    MPI_Isend(message, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), alone, all_, &sent.request);
    return;
  }
  if (!out.frame) out.frame = frame();
  std::memcpy(out.frame.get() + out.bytes, message, bytes);
  out.bytes += bytes;
  if (!out.staged) staged_.push_back(to);
  out.staged = true;
  owner.sent(message);
}

void MpiCarrier::flush(std::uint32_t to) {
  Out& out = out_[to];
  if (out.bytes == 0) return;
  Send& sent = sends_.emplace_back(Send{MPI_REQUEST_NULL, std::move(out.frame), nullptr});
  MPI_Isend(sent.frame.get(), static_cast<int>(out.bytes), MPI_BYTE, static_cast<int>(to), framed, all_,
            &sent.request);
  out.bytes = 0;
}

void MpiCarrier::flush() {
  for (const std::uint32_t to : staged_) {
    out_[to].staged = false;
    flush(to);
  }
  staged_.clear();
}

bool MpiCarrier::is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

bool MpiCarrier::look_at_sends(Owner& owner) {
  bool did = false;
  while (!sends_.empty() && is_done(sends_.front().request)) {
    Send& sent = sends_.front();
    if (sent.message) owner.sent(sent.message);
    if (sent.frame) free_.push_back(std::move(sent.frame));
    sends_.pop_front();
    did = true;
  }
  return did;
}

bool MpiCarrier::look_for_more(Owner& owner) {
  bool did = false;
  for (int i = 0; i < 16; ++i) {
    int found = 0, bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, all_, &found, &message, &status);
    if (!found) break;
    did = true;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Receive& receive = receives_.emplace_back();
    receive.bytes = static_cast<std::size_t>(bytes);
    void* into = nullptr;
    if (status.MPI_TAG == alone)
      into = receive.message = owner.memory(receive.bytes);
    else
      into = (receive.frame = frame()).get();
    if (!into) {  // it can't be left there, since it was matched
      abandon();
      return did;
    }
    MPI_Imrecv(into, bytes, MPI_BYTE, &message, &receive.request);
  }
  return did;
}

bool MpiCarrier::split(Receive& receive, Owner& owner) const {
  for (std::size_t at = 0; at < receive.bytes;) {
    core::Header head;
    std::memcpy(static_cast<void*>(&head), receive.frame.get() + at, sizeof head);
    core::Header* const message = owner.memory(head.bytes());
    if (!message) return false;
    std::memcpy(static_cast<void*>(message), receive.frame.get() + at, head.bytes());
    at += head.bytes();
    owner.came(message);
  }
  return true;
}

bool MpiCarrier::look_at_receives(Owner& owner) {
  bool did = false;
  while (!receives_.empty() && is_done(receives_.front().request)) {
    Receive& receive = receives_.front();
    if (receive.message)
      owner.came(receive.message);
    else if (!split(receive, owner))
      abandon();
    if (receive.frame) free_.push_back(std::move(receive.frame));
    receives_.pop_front();
    did = true;
  }
  return did;
}

bool MpiCarrier::progress(Owner& owner) {
  bool did = look_for_more(owner);
  did |= look_at_receives(owner);
  if (!sends_.empty()) did |= look_at_sends(owner);
  return did;
}

}  // namespace

Carrier* nigh_chare_carrier(std::uint32_t version, bool serialized, char* why, std::size_t why_bytes) {
  if (version != carrier_version) {
    std::snprintf(why, why_bytes, "libnigh-chare-" NIGH_MPI_ABI ".so is of another version of nigh");
    return nullptr;
  }
  auto carrier = std::make_unique<MpiCarrier>();
  const std::string wrong = carrier->begin(serialized);
  if (wrong.empty()) return carrier.release();
  std::snprintf(why, why_bytes, "%s", wrong.c_str());
  return nullptr;
}

}  // namespace nigh::chare
