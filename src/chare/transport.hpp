// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Transport of messages between processes that share no memory: as bytes, in their order. One thread of a
// process drives it. Two exist: transport_shm.hpp (POSIX shared memory, copied in and out) and, in libraries
// of their own for each MPI, transport_mpi.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "nigh/chare/core.hpp"

namespace nigh::chare {

inline constexpr std::uint32_t transport_version = 2;

// Sizes, in bytes, by which messages to one process are put into frames.
struct Framing {
  static constexpr std::uint32_t least = 4096, sizes = 5;  // 4 to 64 KiB
  static constexpr std::uint32_t most = least << (sizes - 1);
  // Frame size while all that waits is at most least << i bytes.
  std::uint32_t piece[sizes] = {most, most, most, most, most};
  std::uint32_t most_framed = 8192;  // longer messages go alone, from where they lie
  Framing() = default;
  Framing(std::uint32_t any_piece, std::uint32_t most) : most_framed(most) {
    for (std::uint32_t& one : piece) one = any_piece;
  }
  [[nodiscard]] std::uint32_t piece_of(std::uint32_t bytes) const {
    std::uint32_t i = 0;
    while (i + 1 < sizes && (least << i) < bytes) ++i;
    return piece[i];
  }
};

class Transport {
 public:
  static constexpr unsigned most_at_once = 64;  // they run meanwhile
  // The owner of the messages.
  class Owner {
   public:
    Owner() = default;
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;
    // For a message that comes; null: there is none, and the job ends.
    virtual core::Header* memory(std::size_t bytes) = 0;
    virtual void came(core::Header* message) = 0;
    // It lies in the transport's memory until this returns. False: there is no memory, and the job ends.
    virtual bool came_in_frame(core::Header* message) {
      core::Header* const own = memory(message->bytes());
      if (!own) return false;
      std::memcpy(static_cast<void*>(own), static_cast<const void*>(message), message->bytes());
      came(own);
      return true;
    }
    virtual void sent(void* memory) = 0;  // of a message, or attached: it may be used again
    // All messages that arrive are dropped.
    [[nodiscard]] virtual bool drops() const { return false; }

   protected:
    ~Owner() = default;
  };

  Transport() = default;
  Transport(const Transport&) = delete;
  Transport& operator=(const Transport&) = delete;
  virtual ~Transport() = default;

  // This process among those of the job; among those of the job that may use the same CPUs.
  [[nodiscard]] std::uint32_t process() const { return process_; }
  [[nodiscard]] std::uint32_t processes() const { return processes_; }
  [[nodiscard]] std::uint32_t neighbour() const { return neighbour_; }
  [[nodiscard]] std::uint32_t neighbours() const { return neighbours_; }

  // Every process contributes a text, all at the same time and before any message; a few kilobytes.
  virtual std::vector<std::string> exchange(const std::string& mine) = 0;
  virtual void send(std::uint32_t to, core::Header* message, Owner& owner) = 0;
  // Memory aligned to 16 where such a message can be written instead, before the next call here, and is sent
  // by that; null: it has to go by send().
  virtual void* room(std::uint32_t /*to*/, std::size_t /*bytes*/) { return nullptr; }
  // True if that many bytes which a message to `to` points to had better go with it, from where they lie.
  // They then belong to the next message to `to`, which holds the address of the memory for them at that
  // offset.
  [[nodiscard]] virtual bool attaches(std::uint32_t /*to*/, std::size_t /*bytes*/) const { return false; }
  virtual void attach(std::uint32_t /*to*/, void* /*data*/, std::size_t /*bytes*/, std::size_t /*offset*/) {}
  // The framing that is best to `partner`, which makes the same call at the same time, as measured; it is
  // used from now on.
  virtual Framing measure(std::uint32_t /*partner*/) { return {}; }
  virtual void set_framing(const Framing& /*framing*/) {}
  // For the user: how messages go. Empty: there is nothing to choose.
  [[nodiscard]] virtual std::string told() const { return {}; }
  // Messages that were sent leave without another send().
  virtual void flush() = 0;
  // Sends and receives what it can at once, of what has come up to most_at_once from each. False: there was
  // nothing to do.
  virtual bool progress(Owner& owner) = 0;
  [[nodiscard]] virtual bool all_sent() const = 0;
  // That process has ended without a word.
  [[nodiscard]] virtual bool is_dead(std::uint32_t process) = 0;
  // This process can't go on, and the others wait for it.
  virtual void abandon() = 0;

 protected:
  std::uint32_t process_ = 0, processes_ = 1, neighbour_ = 0, neighbours_ = 1;
};

// Exported by libnigh-chare-MPI.so. Null, and `why`: the transport can't be made.
using MakeTransport = Transport* (*)(std::uint32_t version, bool serialized, char* why,
                                     std::size_t why_bytes);
extern "C" __attribute__((visibility("default"))) Transport* nigh_chare_transport(std::uint32_t version,
                                                                                  bool serialized, char* why,
                                                                                  std::size_t why_bytes);

}  // namespace nigh::chare
