// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/cluster.hpp"

#include <chrono>
#include <cstring>
#include <new>
#include <thread>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {

void unpack(Header* message) {
  const std::size_t behind = bytes_behind(address_of(message));
  if (!Stamp::of(message->next).is_one()) message->next = nullptr;
  message->producer = far_producer;
  message->units = (message->units - behind / 16) & 0x3ffffff;
  message->flags &= ~unsigned{parcel} & 0x3f;
}

}  // namespace

void Gate::send(Header* parcel) {
  const std::uint32_t pe = address_of(parcel).pe;
  each_attached(parcel, [&](const Attached& one) { attach(pe, one); });
  cluster_.transport->send(cluster_.process_of(pe), parcel, *this);
}

Header* Gate::memory(std::size_t bytes) {
  void* const out = pool_.get(bytes, message_tag);
  if (!out) closing_ ? cluster_.transport->abandon() : use_.no_memory(bytes);
  return static_cast<Header*>(out);
}

Header* Gate::copy(const Header* message) {
  Header* const out = memory(message->bytes());
  if (out) std::memcpy(static_cast<void*>(out), static_cast<const void*>(message), message->bytes());
  return out;
}

bool Gate::is_for_nobody(const Header* message, std::uint32_t pe) {
  if (static_cast<System>(message->entry) != System::goodbye) return closing_;
  has_left_[pe] = true;  // of that process
  return true;
}

void Gate::came(Header* message) {
  const std::uint32_t pe = address_of(message).pe;
  if (is_for_nobody(message, pe)) return pool_.give(message);
  unpack(message);
  use_.hand_in(pe, message);
}

bool Gate::came_in_frame(Header* message) {
  const std::uint32_t pe = address_of(message).pe;
  if (is_for_nobody(message, pe)) return true;
  unpack(message);
  return use_.hand_in_frame(pe, message);
}

std::uint32_t Gate::first_dead() const {
  for (std::uint32_t process = 0; process < cluster_.transport->processes(); ++process)
    if (!has_left_[process] && cluster_.transport->is_dead(process)) return process;
  return cluster_.transport->processes();
}

void Gate::close() {
  closing_ = true;
  Transport& transport = *cluster_.transport;
  has_left_[transport.process()] = true;
  for (std::uint32_t process = 0; process < transport.processes(); ++process) {
    if (process == transport.process()) continue;
    Header* const message = memory(sizeof(Header) + sizeof(Address));
    if (!message) return;
    new (message) Header{};
    message->entry = static_cast<std::uint16_t>(System::goodbye);
    message->flags = of_the_system | parcel;
    message->units = (sizeof(Header) + sizeof(Address)) / 16;
    const Address from{transport.process()};
    std::memcpy(static_cast<void*>(message + 1), &from, sizeof from);
    transport.send(process, message, *this);
  }
  transport.flush();
  auto is_over = [&] {
    return transport.all_sent() && std::find(has_left_.begin(), has_left_.end(), false) == has_left_.end();
  };
  for (unsigned idle = 0; !is_over();) {
    idle = progress() ? 0 : idle + 1;
    if (idle % 1000 == 999) {
      const std::uint32_t dead = first_dead();
      if (dead < transport.processes()) has_left_[dead] = true;
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    } else if (idle % 16 == 15) {
      std::this_thread::yield();
    }
  }
}

}  // namespace nigh::chare
