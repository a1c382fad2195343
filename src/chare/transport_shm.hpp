// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Processes that one has forked, over plain POSIX shared memory: for each two of them and each direction a
// ring of bytes; the sender copies messages in, the receiver out. (The layer that Mei's talk (2008) ends
// with, Charm++'s pxshm; without its locks, since each ring has one writer.) A message may be larger than its
// ring.
#pragma once

#include <sys/types.h>

#include <deque>
#include <memory>

#include "base/result.hpp"
#include "chare/transport.hpp"
#include "message/atomic.hpp"

namespace nigh::chare {

class ShmTransport final : public Transport {
 public:
  // Before the others are forked, or for others to open(). Errors: no memory (a full /dev/shm).
  static Result<std::unique_ptr<ShmTransport>> make(std::uint32_t processes);
  // Opens the file of another process of this user and node, while that has it open. Errors: io.
  static Result<std::unique_ptr<ShmTransport>> open(const std::string& path, std::uint32_t processes);
  [[nodiscard]] std::string path() const;
  void close_path();
  // Another process's end, in this one: for tests.
  [[nodiscard]] std::unique_ptr<ShmTransport> beside() const;
  // This is process `process` from now on; `first` is the pid of the first.
  void become(std::uint32_t process, pid_t first);
  // At the first: that it has forked another; whether one has ended, with its status (128 + signal).
  void forked(std::uint32_t process, pid_t pid) { children_[process].pid = pid; }
  int status_of(std::uint32_t process);  // waits for it

  std::vector<std::string> exchange(const std::string& mine) override;
  void send(std::uint32_t to, core::Header* message, Owner& owner) override;
  void flush() override;
  bool progress(Owner& owner) override;
  [[nodiscard]] bool all_sent() const override { return unsent_ == 0; }
  [[nodiscard]] bool is_dead(std::uint32_t process) override;
  void abandon() override;

 private:
  struct alignas(128) Ring {
    message::atomic<std::uint64_t> written = 0;
    char line[128 - sizeof(written)];
    message::atomic<std::uint64_t> read = 0;
  };
  struct Out {
    Ring* ring = nullptr;
    char* bytes = nullptr;
    std::uint64_t written = 0, published = 0, read = 0;  // read: as last seen
    std::deque<core::Header*> waiting;
    std::size_t done = 0;  // bytes of the first
    bool staged = false;
  };
  struct In {
    Ring* ring = nullptr;
    const char* bytes = nullptr;
    std::uint64_t read = 0;
    core::Header* message = nullptr;  // that has come in part
    std::size_t done = 0;
  };
  struct Child {
    pid_t pid = 0;
    int status = -1;  // it has not ended
  };

  struct Memory {
    Memory(void* at, std::size_t size) : data(at), bytes(size) {}
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;
    ~Memory();
    void* data;
    std::size_t bytes;
    int file = -1;  // that others may open
  };

  ShmTransport(std::uint32_t processes, std::shared_ptr<Memory> memory, std::size_t ring_bytes);
  std::size_t put(Out& out, const char* from, std::size_t bytes);
  std::size_t get(In& in, std::uint64_t written, char* to, std::size_t bytes) const;
  void publish(Out& out);
  bool go_on(Out& out, Owner& owner);
  bool take(In& in, Owner& owner);
  void reap(Child& child, bool waits);

  [[nodiscard]] Ring* rings() const { return static_cast<Ring*>(memory_->data); }

  std::shared_ptr<Memory> memory_;
  std::size_t ring_bytes_;
  std::vector<Out> out_;
  std::vector<In> in_;
  std::vector<std::uint32_t> staged_;
  std::size_t unsent_ = 0;
  pid_t first_ = 0;
  std::vector<Child> children_;
};

}  // namespace nigh::chare
