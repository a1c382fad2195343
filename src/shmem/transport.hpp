// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The transport of one MPI library (see away.hpp). Every call of MPI is made under one lock, so that threads
// of the program need no more than MPI_THREAD_SERIALIZED of it (one-sided operations of Open MPI over TCP
// offer no more), and no wait happens within MPI but flushes, which depend on nothing that we serve: all
// others are loops of test, serve, yield. Hence two PEs that wait for each other's atomics both go on.
#pragma once

#include <mpi.h>

#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "shmem/away.hpp"

namespace nigh::shmem {

class Cargo;

class Transport final : public Away {
 public:
  bool start(int rank, int size, const Segment* parts, int count, Wait wait) override;
  [[nodiscard]] const char* why() const override { return why_; }
  [[nodiscard]] bool threads() const override { return level_ >= MPI_THREAD_SERIALIZED; }
  [[nodiscard]] bool symmetric(const void* at, std::size_t bytes) const override {
    std::size_t offset = 0;
    return part_of(at, bytes, offset) >= 0;
  }
  void put(int pe, void* at, const void* source, std::size_t bytes, bool blocking) override;
  void get(int pe, void* dest, const void* at, std::size_t bytes, bool blocking) override;
  void put_strided(int pe, void* at, const void* source, const Steps& steps) override;
  void get_strided(int pe, void* dest, const void* at, const Steps& steps) override;
  std::uint64_t amo(int pe, const AmoCall& call) override;
  void post(int pe, const AmoCall& call) override;
  void quiet_of(int pe) override;
  void quiet() override;
  void poll() override;
  void* make_team(const int* pes, int count) override;
  void end_team(void* team) override;
  void barrier(void* team) override;
  void bcast(void* team, void* data, std::size_t bytes, int root) override;
  void allgather(void* team, const void* send, void* receive, std::size_t bytes) override;
  void allgatherv(void* team, const void* send, void* receive, const std::size_t* sizes,
                  const std::size_t* offsets) override;
  void alltoall(void* team, const void* send, void* receive, std::size_t bytes) override;
  bool reduce(void* team, const void* send, void* receive, std::size_t count, message::Op op,
              message::Element element) override;
  void finish() override;
  [[noreturn]] void abort(int status) override;

 private:
  struct Window {
    std::byte* begin;
    std::size_t bytes;
    MPI_Win win;
    bool dirty;
  };
  struct Team {
    MPI_Comm comm = MPI_COMM_NULL;
    int members = 0;
  };
  // A request to another PE: an atomic operation, an answer alone, or to take or give bytes. `ticket` 0:
  // nobody waits for an answer. For bytes: `value` of them, or that many elements of `bytes` each `condition`
  // bytes apart; a put with a ticket has its bytes in the same message.
  struct Errand {
    std::uint32_t kind, bytes;  // kind: an Amo, or one of these
    std::int32_t part, ticket;
    std::uint64_t offset, value, condition;
  };
  enum Kind : std::uint32_t { answer_kind = static_cast<std::uint32_t>(Amo::count), put_kind, get_kind };
  enum Tag : int { errand_tag = 1, meet_tag = 2, parcel_tag = 3, answer_tag = 16 };
  static constexpr int tickets = 16384, most_posted = 512;
  static constexpr std::size_t most_inside = 2048;  // within every library's eager limit
  struct Letter {
    Errand errand;
    std::byte inside[most_inside];
  };
  struct Arrival {
    int from;
    MPI_Request request;
  };
  struct Answer {
    int to, ticket;
    std::uint64_t old;
  };

  bool fail(const char* format, ...) __attribute__((format(printf, 2, 3)));
  bool begin_mpi(int rank, int size);
  bool show(const Segment* parts, int count);
  std::vector<std::uint64_t> numbers_of_all(const Segment* parts, int count);

  // The window in which these bytes of ours lie, -1: none.
  int part_of(const void* at, std::size_t bytes, std::size_t& offset) const;
  Window& window_of(const void* at, std::size_t bytes, std::size_t& offset);
  template <class Ready>
  void until(Ready&& ready) {
    wait_([](void* argument) { return (*static_cast<std::remove_reference_t<Ready>*>(argument))(); }, &ready);
  }
  // Waits for it, serving meanwhile; it was made under the lock.
  void end(MPI_Request& request);
  // `operation(request)` makes it.
  template <class Operation>
  void run(Operation&& operation) {
    MPI_Request request = MPI_REQUEST_NULL;
    {
      std::lock_guard guard(lock_);
      operation(&request);
    }
    end(request);
  }
  Errand errand(const AmoCall& call) const;
  std::uint64_t ask(int pe, Errand errand);
  void settle(int pe);  // waits until all errands of ours to it are done
  void meet(const int* pes, int count, int member);

  // Under the lock.
  int next_ticket() { return last_ticket_ = last_ticket_ % tickets + 1; }
  bool note_posted(int pe);  // true: many are open there
  void serve();
  void take(const Letter& letter, int from);
  void take_bytes(const Letter& letter, int from);
  void answer(int to, int ticket, std::uint64_t old);
  void tend();  // what has arrived or gone meanwhile

  // Bytes as messages, where windows are not to be trusted.
  Errand bytes_errand(Kind kind, const void* at, std::size_t bytes) const;
  Errand steps_errand(Kind kind, const void* at, const Steps& steps, std::ptrdiff_t step) const;
  void send(int pe, const Errand& errand, const void* source, const Cargo& cargo, bool blocking);
  void fetch(int pe, Errand errand, void* dest, const Cargo& cargo, bool blocking);
  void end_all(std::vector<MPI_Request>& requests);

  const char* why_ = "";
  char text_[320] = "";
  int level_ = MPI_THREAD_SINGLE, rank_ = 0, size_ = 1;
  bool ours_ = false;  // MPI_Init was
  Wait wait_ = nullptr;
  std::mutex lock_;
  MPI_Comm all_ = MPI_COMM_NULL, talk_ = MPI_COMM_NULL;
  std::vector<Window> windows_;
  struct Posted {
    std::uint64_t sent = 0, done = 0;  // errands without an answer of their own
  };
  std::vector<Posted> posted_;  // by PE
  int open_ = 0;                // PEs of which not all is done
  Letter come_ = {};
  MPI_Request coming_ = MPI_REQUEST_NULL;
  int last_ticket_ = 0;
  bool messages_ = false;  // bytes go as messages
  std::vector<Arrival> arriving_;
  std::vector<int> arriving_from_;                // how many of each PE
  std::vector<Answer> held_;                      // until what their PEs put before has arrived
  std::vector<MPI_Request> puts_, gets_, given_;  // ours that are open; what others fetch here
  unsigned turns_ = 0;
};

// Bytes as MPI names them, whatever int can hold: so many, or `count` elements of `element` bytes every
// `step`.
class Cargo {
 public:
  explicit Cargo(std::size_t bytes);
  Cargo(std::size_t element, std::size_t count, std::ptrdiff_t step);
  ~Cargo();
  Cargo(const Cargo&) = delete;
  Cargo& operator=(const Cargo&) = delete;
  int count = 1;
  MPI_Datatype type = MPI_BYTE;
};

}  // namespace nigh::shmem
