// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Messages between processes by MPI, compiled once for each library's ABI. What one round sends to a process
// goes as one frame, and each frame finds a receive that waits for it, so nothing is probed for. A large
// message goes from where it lies to where it will be used, in no frame: there stands only, in its place,
// that it comes.
//
//     frame:  message | message | mark of a large one | message          then the large ones, in their order
//
// Memory that a message points to is attached to it: it goes as large messages do, and its mark stands in
// front of the message.
// So MPI's order of frames, and of large messages, is the order in which all of them were sent.
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <deque>
#include <memory>
#include <new>
#include <utility>

#include "chare/transport.hpp"
#include "chare/transport_mpi_tune.hpp"

namespace nigh::chare {

namespace {

constexpr unsigned frames_at_once = 8;   // that receives wait for: the others wait in MPI
constexpr std::uint16_t attachment = 1;  // a mark's `array`
enum Tag { framed = 1, alone = 2, measured = 3 };

using Frame = std::unique_ptr<char[]>;

// The size of an entry of a frame: a message, or the mark of a large one.
std::size_t bytes_of(const char* at) {
  const auto* const head = reinterpret_cast<const core::Header*>(at);
  return head->units > 0 ? head->bytes() : sizeof *head;
}

class MpiTransport final : public Transport {
 public:
  // Empty: it has begun.
  std::string begin(bool serialized);
  ~MpiTransport() override;

  std::vector<std::string> exchange(const std::string& mine) override;
  void send(std::uint32_t to, core::Header* message, Owner& owner) override;
  void* room(std::uint32_t to, std::size_t bytes) override;
  [[nodiscard]] bool attaches(std::uint32_t /*to*/, std::size_t bytes) const override {
    return bytes > framing_.most_framed;
  }
  void attach(std::uint32_t to, void* data, std::size_t bytes, std::size_t offset) override;
  Framing measure(std::uint32_t partner) override {
    return measure_framing(all_, process_, partner, measured);
  }
  void set_framing(const Framing& framing) override { framing_ = framing; }
  void flush() override;
  bool progress(Owner& owner) override;
  [[nodiscard]] bool all_sent() const override { return sends_.empty() && staged_.empty(); }
  [[nodiscard]] bool is_dead(std::uint32_t) override { return false; }  // the launcher ends the job
  void abandon() override { MPI_Abort(all_, 1); }

 private:
  struct Large {  // a message, or what belongs to one
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  struct Out {
    Frame frame;
    std::size_t bytes = 0;
    std::vector<Large> large;  // that are marked in it
    bool staged = false;
  };
  struct Send {
    MPI_Request request;
    Frame frame;  // or
    void* memory = nullptr;
  };
  struct In {
    Frame frame;
    MPI_Request request = MPI_REQUEST_NULL;
    std::size_t bytes = 0, done = 0;
    int from = 0;
  };
  struct Coming {
    MPI_Request request;
    void* memory = nullptr;
  };
  struct Attached {
    void* memory = nullptr;
    std::size_t offset = 0;
  };

  Frame frame();
  void* place(std::uint32_t to, std::size_t bytes);
  core::Header* mark(std::uint32_t to, void* memory, std::size_t bytes);
  void flush(std::uint32_t to);
  void send_piece(std::uint32_t to, const char* from, std::size_t bytes);
  bool look_at_sends(Owner& owner);
  bool look_for_frames(Owner& owner);
  bool ask_for_large(const In& in, Owner& owner);
  bool take_large(In& in, const core::Header& mark, Owner& owner);
  void complete(core::Header* message, int from, Owner& owner);
  bool take(In& in, Owner& owner);
  In& in(unsigned number) { return in_[(oldest_ + number) % frames_at_once]; }
  static bool is_done(MPI_Request& request);
  void find_neighbours();

  MPI_Comm all_ = MPI_COMM_NULL;
  bool ours_ = false;           // MPI was begun here
  bool several_nodes_ = false;  // really, not as it is pretended
  Framing framing_;
  std::vector<Out> out_;
  std::vector<std::uint32_t> staged_;
  std::deque<Send> sends_;
  std::array<In, frames_at_once> in_;  // in the order in which frames come, from the oldest on
  unsigned left_ = 0;                  // that may be taken in this round
  unsigned oldest_ = 0, came_ = 0;     // the one that is taken now or next, and how many of them have come
  std::deque<Coming> large_;           // that these frames name, in their order
  std::vector<std::vector<Attached>> attached_;  // from each process, to the message that comes next
  std::vector<Frame> free_;
};

std::string MpiTransport::begin(bool serialized) {
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
  MPI_Comm_set_errhandler(all_, MPI_ERRORS_ARE_FATAL);  // the program's may throw, which no frame here awaits
  int rank = 0, size = 1;
  MPI_Comm_rank(all_, &rank);
  MPI_Comm_size(all_, &size);
  process_ = static_cast<std::uint32_t>(rank);
  processes_ = static_cast<std::uint32_t>(size);
  out_.resize(processes_);
  attached_.resize(processes_);
  find_neighbours();
  for (In& in : in_) {
    in.frame = frame();
    MPI_Recv_init(in.frame.get(), static_cast<int>(Framing::most), MPI_BYTE, MPI_ANY_SOURCE, framed, all_,
                  &in.request);
    MPI_Start(&in.request);
  }
  return {};
}

// Those of this node, if they may all use the same CPUs: launchers may have given each its own.
void MpiTransport::find_neighbours() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(all_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0, size = 1;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_size(node, &size);
  several_nodes_ = static_cast<std::uint32_t>(size) < processes_;
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

MpiTransport::~MpiTransport() {
  // Receives that still wait get an empty frame each, from here: libraries are at their best with what is
  // usual.
  for (unsigned i = 0; i < frames_at_once && in(i).request != MPI_REQUEST_NULL; ++i) {
    if (i >= came_) {
      MPI_Send(nullptr, 0, MPI_BYTE, static_cast<int>(process_), framed, all_);
      MPI_Wait(&in(i).request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&in(i).request);
  }
  if (all_ != MPI_COMM_NULL) {
    MPI_Barrier(all_);
    MPI_Comm_free(&all_);
  }
#ifdef NIGH_ABI_MPICH
  // Over UCX's TCP (4.0) a process that makes progress while another closes their connection waits for that
  // one in MPI_Finalize, forever. So all make none for a while, in which all have left the barrier.
  if (ours_ && several_nodes_) ::usleep(50'000);
#endif
  if (ours_) MPI_Finalize();
}

std::vector<std::string> MpiTransport::exchange(const std::string& mine) {
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

Frame MpiTransport::frame() {
  if (free_.empty()) return Frame(new char[Framing::most]);
  Frame out = std::move(free_.back());
  free_.pop_back();
  return out;
}

// In the frame that goes there next.
void* MpiTransport::place(std::uint32_t to, std::size_t bytes) {
  Out& out = out_[to];
  if (out.bytes + bytes > Framing::most) flush(to);
  if (!out.frame) out.frame = frame();
  void* const at = out.frame.get() + out.bytes;
  out.bytes += bytes;
  if (!out.staged) staged_.push_back(to);
  out.staged = true;
  return at;
}

void* MpiTransport::room(std::uint32_t to, std::size_t bytes) {
  bytes = (bytes + 15) / 16 * 16;
  return bytes <= framing_.most_framed ? place(to, bytes) : nullptr;
}

void MpiTransport::send(std::uint32_t to, core::Header* message, Owner& owner) {
  const std::size_t bytes = message->bytes();
  if (bytes <= framing_.most_framed) {
    std::memcpy(place(to, bytes), static_cast<const void*>(message), bytes);
    return owner.sent(message);
  }
  mark(to, message, bytes);
}

// For a PE that is not here, which `units` says.
core::Header* MpiTransport::mark(std::uint32_t to, void* memory, std::size_t bytes) {
  auto* const out = new (place(to, sizeof(core::Header))) core::Header{};
  out->element = bytes;
  out_[to].large.push_back({memory, bytes});
  return out;
}

void MpiTransport::attach(std::uint32_t to, void* data, std::size_t bytes, std::size_t offset) {
  core::Header* const one = mark(to, data, bytes);
  one->array = attachment;
  one->producer = static_cast<std::uint32_t>(offset);
}

void MpiTransport::flush(std::uint32_t to) {
  Out& out = out_[to];
  if (out.bytes == 0) return;
  const char* const frame = out.frame.get();
  const std::size_t piece = framing_.piece_of(static_cast<std::uint32_t>(out.bytes));
  std::size_t from = 0;
  if (out.bytes > piece)  // cut where a message ends
    for (std::size_t at = 0; at < out.bytes;) {
      const std::size_t bytes = bytes_of(frame + at);
      if (at + bytes - from > piece && at > from) send_piece(to, frame + from, at - from), from = at;
      at += bytes;
    }
  send_piece(to, frame + from, out.bytes - from);
  sends_.back().frame = std::move(out.frame);  // until all of them have left: they do in their order
  out.bytes = 0;
  for (const Large& one : out.large) {
    Send& sent = sends_.emplace_back(Send{MPI_REQUEST_NULL, nullptr, one.memory});
    MPI_Isend(one.memory, static_cast<int>(one.bytes), MPI_BYTE, static_cast<int>(to), alone, all_,
              &sent.request);
  }
  out.large.clear();
}

void MpiTransport::send_piece(std::uint32_t to, const char* from, std::size_t bytes) {
  Send& sent = sends_.emplace_back(Send{MPI_REQUEST_NULL, nullptr, nullptr});
  MPI_Isend(from, static_cast<int>(bytes), MPI_BYTE, static_cast<int>(to), framed, all_, &sent.request);
}

void MpiTransport::flush() {
  for (const std::uint32_t to : staged_) {
    out_[to].staged = false;
    flush(to);
  }
  staged_.clear();
}

bool MpiTransport::is_done(MPI_Request& request) {
  int done = 0;
  MPI_Test(&request, &done, MPI_STATUS_IGNORE);
  return done != 0;
}

bool MpiTransport::look_at_sends(Owner& owner) {
  bool did = false;
  while (!sends_.empty() && is_done(sends_.front().request)) {
    Send& sent = sends_.front();
    if (sent.memory) owner.sent(sent.memory);
    if (sent.frame) free_.push_back(std::move(sent.frame));
    sends_.pop_front();
    did = true;
  }
  return did;
}

// Those that a frame names are on their way: into memory of their own.
bool MpiTransport::ask_for_large(const In& in, Owner& owner) {
  for (std::size_t at = 0; at < in.bytes; at += bytes_of(in.frame.get() + at)) {
    const auto* const head = reinterpret_cast<const core::Header*>(in.frame.get() + at);
    if (head->units > 0) continue;
    void* const memory = owner.memory(head->element);
    if (!memory) return false;
    Coming& large = large_.emplace_back(Coming{MPI_REQUEST_NULL, memory});
    MPI_Irecv(memory, static_cast<int>(head->element), MPI_BYTE, in.from, alone, all_, &large.request);
  }
  return true;
}

bool MpiTransport::look_for_frames(Owner& owner) {
  bool did = false;
  while (came_ < frames_at_once) {
    In& next = in(came_);
    int done = 0, bytes = 0;
    MPI_Status status;
    MPI_Test(&next.request, &done, &status);
    if (!done) break;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    next.bytes = static_cast<std::size_t>(bytes);
    next.done = 0;
    ++came_;
    did = true;
    next.from = status.MPI_SOURCE;
    if (!ask_for_large(next, owner)) abandon();
  }
  return did;
}

// The first of those that come. False: it is still on its way.
bool MpiTransport::take_large(In& in, const core::Header& mark, Owner& owner) {
  if (!is_done(large_.front().request)) return false;
  void* const memory = large_.front().memory;
  large_.pop_front();
  if (mark.array != attachment) {
    auto* const message = static_cast<core::Header*>(memory);
    complete(message, in.from, owner);
    owner.came(message);
  } else {
    attached_[static_cast<std::size_t>(in.from)].push_back({memory, mark.producer});
  }
  return true;
}

// All that belongs to it has come.
void MpiTransport::complete(core::Header* message, int from, Owner& owner) {
  std::vector<Attached>& attached = attached_[static_cast<std::size_t>(from)];
  for (const Attached& one : attached) {
    std::memcpy(reinterpret_cast<char*>(message) + one.offset, &one.memory, sizeof one.memory);
    if (owner.drops()) owner.sent(one.memory);
  }
  attached.clear();
}

// True: all of the frame is done with.
bool MpiTransport::take(In& in, Owner& owner) {
  for (; in.done < in.bytes; --left_) {
    if (left_ == 0) return false;
    auto* const message = reinterpret_cast<core::Header*>(in.frame.get() + in.done);
    if (message->units == 0) {
      if (!take_large(in, *message, owner)) return false;
      in.done += sizeof *message;
      continue;
    }
    in.done += message->bytes();
    complete(message, in.from, owner);
    if (!owner.came_in_frame(message)) abandon();
  }
  return true;
}

bool MpiTransport::progress(Owner& owner) {
  bool did = look_for_frames(owner);
  left_ = most_at_once;
  while (came_ > 0) {
    In& first = in(0);
    const std::size_t before = first.done;
    const bool all = take(first, owner);
    did |= first.done != before;
    if (!all) break;
    MPI_Start(&first.request);
    oldest_ = (oldest_ + 1) % frames_at_once;
    --came_;
  }
  if (!sends_.empty()) did |= look_at_sends(owner);
  return did;
}

}  // namespace

Transport* nigh_chare_transport(std::uint32_t version, bool serialized, char* why, std::size_t why_bytes) {
  if (version != transport_version) {
    std::snprintf(why, why_bytes, "libnigh-chare-" NIGH_MPI_ABI ".so is of another version of nigh");
    return nullptr;
  }
  auto transport = std::make_unique<MpiTransport>();
  const std::string wrong = transport->begin(serialized);
  if (wrong.empty()) return transport.release();
  std::snprintf(why, why_bytes, "%s", wrong.c_str());
  return nullptr;
}

}  // namespace nigh::chare
