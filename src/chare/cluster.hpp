// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A job of several processes that share no memory. PEs are numbered through all of them; those of one process
// are threads, which hand what is for another process to the one that drives the transport: the first PE, or
// a communication thread.
//
//     PE ─ lane ─► driver ─ transport ═══► transport ─ driver ─ lane ─► PE
//
// Such a message is a parcel: its arguments are bytes, and the number of the PE it is for stands behind them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <vector>

#include "chare/transport.hpp"
#include "message/atomic.hpp"
#include "message/pool.hpp"
#include "plan/levels.hpp"

namespace nigh::chare {

struct Cluster {
  Transport* transport = nullptr;
  std::vector<std::uint32_t> first_of;  // PE of each process, and how many there are in all
  bool has_thread = false;
  std::vector<plan::Seat> seats;            // of all PEs; for the first of this process
  message::atomic<bool> met = false;        // the driver may begin
  message::atomic<std::uint64_t> mark = 0;  // of the first process, random

  [[nodiscard]] std::uint32_t first() const { return first_of[transport->process()]; }
  [[nodiscard]] std::uint32_t local() const { return first_of[transport->process() + 1] - first(); }
  [[nodiscard]] std::uint32_t pes() const { return first_of.back(); }
  [[nodiscard]] std::uint32_t process_of(std::uint32_t pe) const {
    return static_cast<std::uint32_t>(std::upper_bound(first_of.begin(), first_of.end(), pe) -
                                      first_of.begin() - 1);
  }
  // Among the ranks of this process's space.
  [[nodiscard]] std::uint32_t driver() const { return has_thread ? local() : 0; }
};

// The producer of messages from other processes. (Queues write a producer's number themselves when they need
// it.)
inline constexpr std::uint32_t far_producer = UINT32_MAX;

struct alignas(16) Address {  // the last of a parcel
  std::uint32_t pe = 0;
  std::uint32_t attached = 0;  // so many stand in front of it
};
// The contents of a buffer in a parcel: the driver's on its way, then the transport's.
struct alignas(16) Attached {
  void* data = nullptr;
  std::uint32_t bytes = 0;
  std::uint32_t offset = 0;  // of its address
};

inline Address address_of(const core::Header* parcel) {
  Address out;
  std::memcpy(&out, reinterpret_cast<const char*>(parcel) + parcel->bytes() - sizeof out, sizeof out);
  return out;
}
inline std::size_t bytes_behind(const Address& address) {
  return sizeof address + address.attached * sizeof(Attached);
}
template <class Use>
void each_attached(const core::Header* parcel, Use&& use) {
  const Address address = address_of(parcel);
  const char* at = reinterpret_cast<const char*>(parcel) + parcel->bytes() - bytes_behind(address);
  for (std::uint32_t i = 0; i < address.attached; ++i, at += sizeof(Attached)) {
    Attached one;
    std::memcpy(&one, at, sizeof one);
    use(one);
  }
}

// The gate through which parcels leave and enter, used by the driver alone.
class Gate final : public Transport::Owner {
 public:
  // The driver's actions for a message to a PE of this process, and for one that there is no memory for.
  struct Use {
    std::function<void(std::uint32_t pe, core::Header*)> hand_in;
    // The same of one that lies in the transport's memory. False: there is no memory.
    std::function<bool(std::uint32_t pe, core::Header*)> hand_in_frame;
    std::function<void(std::size_t bytes)> no_memory;
  };
  Gate(Cluster& cluster, message::Pool& pool, Use use)
      : cluster_(cluster), pool_(pool), use_(std::move(use)) {}

  void send(core::Header* parcel);
  // Memory into which a parcel for `pe` may be written instead (Transport::room).
  void* room(std::uint32_t pe, std::size_t bytes) {
    return cluster_.transport->room(cluster_.process_of(pe), bytes);
  }
  // Belongs to the next parcel to there.
  void attach(std::uint32_t pe, const Attached& what) {
    cluster_.transport->attach(cluster_.process_of(pe), what.data, what.bytes, what.offset);
  }
  void flush() { cluster_.transport->flush(); }
  bool progress() { return cluster_.transport->progress(*this); }
  // The first process that has ended without a word; all of them: none has.
  [[nodiscard]] std::uint32_t first_dead() const;
  // Until nothing comes any more: what does is dropped.
  void close();

  core::Header* copy(const core::Header* message);  // null, and told: there is no memory
  core::Header* memory(std::size_t bytes) override;
  void came(core::Header* message) override;
  bool came_in_frame(core::Header* message) override;
  void sent(void* memory) override { pool_.give(memory); }
  [[nodiscard]] bool drops() const override { return closing_; }

 private:
  bool is_for_nobody(const core::Header* message, std::uint32_t pe);

  Cluster& cluster_;
  message::Pool& pool_;
  Use use_;
  std::vector<bool> has_left_ = std::vector<bool>(cluster_.transport->processes());
  bool closing_ = false;
};

}  // namespace nigh::chare
