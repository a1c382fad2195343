// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/transport_shm.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <new>
#include <utility>

namespace nigh::chare {

namespace {

// All rings together; each is a power of two within these bounds.
constexpr std::size_t wanted = std::size_t{32} << 20, least = std::size_t{4} << 10,
                      most = std::size_t{1} << 20;

std::size_t bytes_of_ring(std::uint32_t processes) {
  return std::clamp(std::bit_floor(wanted / (std::size_t{processes} * processes)), least, most);
}

tl::unexpected<Error> no_memory(std::size_t bytes, std::uint32_t processes, int error) {
  return fail(Errc::io,
              "/dev/shm gives no " + std::to_string(bytes >> 20) + " MiB for the messages of " +
                  std::to_string(processes) + " PEs: " + std::strerror(error),
              error);
}

}  // namespace

Result<std::unique_ptr<ShmTransport>> ShmTransport::make(std::uint32_t processes) {
  const std::size_t ring_bytes = bytes_of_ring(processes), rings = std::size_t{processes} * processes;
  const std::size_t bytes = rings * (sizeof(Ring) + ring_bytes);
  const std::string name = "/nigh-chare-" + std::to_string(::getpid());
  const int file = ::shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return no_memory(bytes, processes, errno);
  ::shm_unlink(
      name.c_str());  // the mapping, or the descriptor, is handed on: nothing is left whatever happens
  // All of it now: a full file system would show as SIGBUS later.
  const int error = ::posix_fallocate(file, 0, static_cast<off_t>(bytes));
  void* const memory =
      error != 0 ? MAP_FAILED : ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) {
    const int failed = error != 0 ? error : errno;
    ::close(file);
    return no_memory(bytes, processes, failed);
  }
  auto owner = std::make_shared<Memory>(memory, bytes);
  owner->file = file;
  for (std::size_t i = 0; i < rings; ++i) new (static_cast<Ring*>(memory) + i) Ring;
  return std::unique_ptr<ShmTransport>(new ShmTransport(processes, std::move(owner), ring_bytes));
}

Result<std::unique_ptr<ShmTransport>> ShmTransport::open(const std::string& path, std::uint32_t processes) {
  const std::size_t ring_bytes = bytes_of_ring(processes);
  const std::size_t bytes = std::size_t{processes} * processes * (sizeof(Ring) + ring_bytes);
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  struct stat is{};
  const bool fits = file >= 0 && ::fstat(file, &is) == 0 && static_cast<std::size_t>(is.st_size) == bytes;
  void* const memory =
      fits ? ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0) : MAP_FAILED;
  const int failed = errno;
  if (file >= 0) ::close(file);
  if (memory == MAP_FAILED) return fail(Errc::io, path + " can't be mapped", failed);
  return std::unique_ptr<ShmTransport>(
      new ShmTransport(processes, std::make_shared<Memory>(memory, bytes), ring_bytes));
}

std::string ShmTransport::path() const {
  return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(memory_->file);
}

void ShmTransport::close_path() {
  if (memory_->file >= 0) ::close(std::exchange(memory_->file, -1));
}

std::unique_ptr<ShmTransport> ShmTransport::beside() const {
  return std::unique_ptr<ShmTransport>(new ShmTransport(processes_, memory_, ring_bytes_));
}

ShmTransport::Memory::~Memory() {
  ::munmap(data, bytes);
  if (file >= 0) ::close(file);
}

// Ring (from, to) is number from * processes + to; their bytes lie behind all of them.
ShmTransport::ShmTransport(std::uint32_t processes, std::shared_ptr<Memory> memory, std::size_t ring_bytes)
    : memory_(std::move(memory)),
      ring_bytes_(ring_bytes),
      out_(processes),
      in_(processes),
      children_(processes) {
  processes_ = neighbours_ = processes;
}

void ShmTransport::become(std::uint32_t process, pid_t first) {
  process_ = neighbour_ = process;
  first_ = first;
  char* const bytes = reinterpret_cast<char*>(rings() + std::size_t{processes_} * processes_);
  for (std::uint32_t other = 0; other < processes_; ++other) {
    const std::size_t out = std::size_t{process} * processes_ + other,
                      in = std::size_t{other} * processes_ + process;
    out_[other].ring = rings() + out, out_[other].bytes = bytes + out * ring_bytes_;
    in_[other].ring = rings() + in, in_[other].bytes = bytes + in * ring_bytes_;
  }
}

std::size_t ShmTransport::put(Out& out, const char* from, std::size_t bytes) {
  if (out.written + bytes - out.read > ring_bytes_) out.read = out.ring->read.load(std::memory_order_acquire);
  const std::size_t now = std::min<std::size_t>(bytes, ring_bytes_ - (out.written - out.read));
  const std::size_t at = out.written & (ring_bytes_ - 1), first = std::min(now, ring_bytes_ - at);
  std::memcpy(out.bytes + at, from, first);
  std::memcpy(out.bytes, from + first, now - first);
  out.written += now;
  return now;
}

std::size_t ShmTransport::get(In& in, std::uint64_t written, char* to, std::size_t bytes) const {
  const std::size_t now = std::min<std::size_t>(bytes, written - in.read);
  const std::size_t at = in.read & (ring_bytes_ - 1), first = std::min(now, ring_bytes_ - at);
  std::memcpy(to, in.bytes + at, first);
  std::memcpy(to + first, in.bytes, now - first);
  in.read += now;
  return now;
}

void ShmTransport::publish(Out& out) {
  out.ring->written.store(out.written, std::memory_order_release);
  out.published = out.written;
}

std::vector<std::string> ShmTransport::exchange(const std::string& mine) {
  std::vector<std::string> all(processes_);
  all[process_] = mine;
  std::string sent(sizeof(std::uint64_t), 0);
  const std::uint64_t size = mine.size();
  std::memcpy(sent.data(), &size, sizeof size);
  sent += mine;
  std::vector<std::size_t> out_done(processes_), in_done(processes_);
  std::vector<std::string> came(processes_);
  for (std::uint32_t left = 2 * (processes_ - 1); left > 0;) {
    for (std::uint32_t other = 0; other < processes_; ++other) {
      if (other == process_) continue;
      if (out_done[other] < sent.size()) {
        out_done[other] += put(out_[other], sent.data() + out_done[other], sent.size() - out_done[other]);
        publish(out_[other]);
        if (out_done[other] == sent.size()) --left;
      }
      In& in = in_[other];
      std::string& text = came[other];
      if (text.empty()) text.resize(sizeof size);
      const std::size_t before = in_done[other];
      if (before == text.size()) continue;
      in_done[other] += get(in, in.ring->written.load(std::memory_order_acquire), text.data() + before,
                            text.size() - before);
      in.ring->read.store(in.read, std::memory_order_release);
      std::uint64_t length = 0;
      std::memcpy(&length, text.data(), sizeof length);
      if (before < sizeof size && in_done[other] == sizeof size) text.resize(sizeof size + length);
      if (in_done[other] == text.size() && in_done[other] >= sizeof size + length) {
        all[other] = text.substr(sizeof size);
        --left;
      }
      if (is_dead(other)) return all;  // who misses it, sees an empty text
    }
    ::sched_yield();
  }
  return all;
}

// The rest of the first message that waits. True: some of it went.
bool ShmTransport::go_on(Out& out, Owner& owner) {
  bool did = false;
  while (!out.waiting.empty()) {
    core::Header* const message = out.waiting.front();
    const std::size_t went =
        put(out, reinterpret_cast<const char*>(message) + out.done, message->bytes() - out.done);
    did |= went > 0;
    out.done += went;
    if (out.done < message->bytes()) break;
    out.done = 0;
    out.waiting.pop_front();
    --unsent_;
    owner.sent(message);
  }
  return did;
}

void ShmTransport::send(std::uint32_t to, core::Header* message, Owner& owner) {
  Out& out = out_[to];
  out.waiting.push_back(message);
  ++unsent_;
  if (out.waiting.size() == 1) go_on(out, owner);
  if (out.written - out.published > ring_bytes_ / 4) publish(out);
  if (!out.staged) staged_.push_back(to);
  out.staged = true;
}

void ShmTransport::flush() {
  for (const std::uint32_t to : staged_) {
    out_[to].staged = false;
    if (out_[to].written != out_[to].published) publish(out_[to]);
  }
  staged_.clear();
}

bool ShmTransport::take(In& in, Owner& owner) {
  const std::uint64_t written = in.ring->written.load(std::memory_order_acquire);
  if (written == in.read) return false;
  for (unsigned count = 0; written != in.read && count < most_at_once; ++count) {
    if (!in.message) {  // a header is never cut: rings and messages are multiples of 16 bytes, so it may wrap
      core::Header head;
      if (written - in.read < sizeof head) break;
      get(in, written, reinterpret_cast<char*>(&head), sizeof head);
      in.message = owner.memory(head.bytes());
      if (!in.message) {
        in.read -= sizeof head;  // for later
        break;
      }
      std::memcpy(static_cast<void*>(in.message), &head, sizeof head);
      in.done = sizeof head;
    }
    in.done += get(in, written, reinterpret_cast<char*>(in.message) + in.done, in.message->bytes() - in.done);
    if (in.done < in.message->bytes()) break;
    owner.came(std::exchange(in.message, nullptr));
  }
  in.ring->read.store(in.read, std::memory_order_release);
  return true;
}

bool ShmTransport::progress(Owner& owner) {
  bool did = false;
  for (std::uint32_t other = 0; other < processes_; ++other) {
    if (other == process_) continue;
    Out& out = out_[other];
    if (!out.waiting.empty() && go_on(out, owner)) {
      publish(out);
      did = true;
    }
    did |= take(in_[other], owner);
  }
  return did;
}

void ShmTransport::reap(Child& child, bool waits) {
  int status = 0;
  if (child.pid <= 0 || child.status >= 0 || ::waitpid(child.pid, &status, waits ? 0 : WNOHANG) <= 0) return;
  child.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// The first asks the system about those it forked, and marks it at the ring that nobody uses.
bool ShmTransport::is_dead(std::uint32_t process) {
  Ring& mark = rings()[std::size_t{process} * processes_ + process];
  if (process_ == 0) {
    reap(children_[process], false);
    if (children_[process].status >= 0) mark.written.store(1, std::memory_order_relaxed);
  }
  const bool dead = process == 0 ? process_ != 0 && ::getppid() != first_
                                 : mark.written.load(std::memory_order_relaxed) != 0;
  if (dead) {
    unsent_ -= out_[process].waiting.size();
    out_[process].waiting.clear();
  }
  return dead;
}

int ShmTransport::status_of(std::uint32_t process) {
  reap(children_[process], true);
  return std::max(children_[process].status, 0);
}

void ShmTransport::abandon() {
  if (process_ != 0) ::_exit(1);
  for (Child& child : children_) {
    if (child.pid <= 0 || child.status >= 0) continue;
    ::kill(child.pid, SIGKILL);
    reap(child, true);
  }
}

}  // namespace nigh::chare
