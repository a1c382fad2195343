// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Puts and gets by MPI. Blocking ones are requests (MPI_Rput, MPI_Rget) that are tested in our own loop, so
// that the PE serves others meanwhile and gives its CPU away where PEs outnumber CPUs.
#include <algorithm>
#include <climits>
#include <cstdint>

#include "shmem/transport.hpp"

namespace nigh::shmem {

namespace {

constexpr std::size_t piece = std::size_t{1} << 30;  // of what one call of MPI counts in an int

}  // namespace

Cargo::Cargo(std::size_t bytes) {
  if (bytes <= INT_MAX) {
    count = static_cast<int>(bytes);
    return;
  }
  constexpr std::size_t large = std::size_t{1} << 20;
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(large), MPI_BYTE, &row);
  int counts[] = {static_cast<int>(bytes / large), static_cast<int>(bytes % large)};
  MPI_Aint places[] = {0, static_cast<MPI_Aint>(bytes / large * large)};
  MPI_Datatype types[] = {row, MPI_BYTE};
  MPI_Type_create_struct(2, counts, places, types, &type);
  MPI_Type_commit(&type);
  MPI_Type_free(&row);
}

Cargo::Cargo(std::size_t element, std::size_t elements, std::ptrdiff_t step) {
  MPI_Type_create_hvector(static_cast<int>(elements), static_cast<int>(element), step, MPI_BYTE, &type);
  MPI_Type_commit(&type);
}

Cargo::~Cargo() {
  if (type != MPI_BYTE) MPI_Type_free(&type);
}

int Transport::part_of(const void* at, std::size_t bytes, std::size_t& offset) const {
  const auto* byte = static_cast<const std::byte*>(at);
  for (std::size_t i = 0; i < windows_.size(); ++i) {
    const auto within =
        reinterpret_cast<std::uintptr_t>(byte) - reinterpret_cast<std::uintptr_t>(windows_[i].begin);
    if (within >= windows_[i].bytes || bytes > windows_[i].bytes - within) continue;
    offset = within;
    return static_cast<int>(i);
  }
  return -1;
}

Transport::Window& Transport::window_of(const void* at, std::size_t bytes, std::size_t& offset) {
  return windows_[static_cast<std::size_t>(part_of(at, bytes, offset))];
}

void Transport::end(MPI_Request& request) {
  until([&] {
    if (!lock_.try_lock()) return false;
    int done = 0;
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (!done) serve();
    lock_.unlock();
    return done != 0;
  });
}

void Transport::put(int pe, void* at, const void* source, std::size_t bytes, bool blocking) {
  if (messages_) return send(pe, bytes_errand(put_kind, at, bytes), source, Cargo(bytes), blocking);
  std::size_t offset = 0;
  Window& window = window_of(at, bytes, offset);
  const auto* from = static_cast<const std::byte*>(source);
  for (std::size_t done = 0, now = 0; done < bytes; done += now) {
    now = std::min(bytes - done, piece);
    const auto place = static_cast<MPI_Aint>(offset + done);
    const int count = static_cast<int>(now);
    if (blocking) {
      run([&](MPI_Request* request) {
        window.dirty = true;
        MPI_Rput(from + done, count, MPI_BYTE, pe, place, count, MPI_BYTE, window.win, request);
      });
    } else {
      std::lock_guard guard(lock_);
      window.dirty = true;
      MPI_Put(from + done, count, MPI_BYTE, pe, place, count, MPI_BYTE, window.win);
    }
  }
}

void Transport::get(int pe, void* dest, const void* at, std::size_t bytes, bool blocking) {
  if (messages_) return fetch(pe, bytes_errand(get_kind, at, bytes), dest, Cargo(bytes), blocking);
  std::size_t offset = 0;
  Window& window = window_of(at, bytes, offset);
  auto* to = static_cast<std::byte*>(dest);
  for (std::size_t done = 0, now = 0; done < bytes; done += now) {
    now = std::min(bytes - done, piece);
    const auto place = static_cast<MPI_Aint>(offset + done);
    const int count = static_cast<int>(now);
    if (blocking) {
      run([&](MPI_Request* request) {
        MPI_Rget(to + done, count, MPI_BYTE, pe, place, count, MPI_BYTE, window.win, request);
      });
    } else {
      std::unique_lock guard(lock_);
      gets_.push_back(MPI_REQUEST_NULL);
      MPI_Rget(to + done, count, MPI_BYTE, pe, place, count, MPI_BYTE, window.win, &gets_.back());
      const bool enough = gets_.size() >= most_posted;
      guard.unlock();
      if (enough) end_all(gets_);
    }
  }
}

void Transport::put_strided(int pe, void* at, const void* source, const Steps& steps) {
  if (messages_)
    return send(pe, steps_errand(put_kind, at, steps, steps.dest), source,
                Cargo(steps.element, steps.count, steps.source), true);
  std::size_t offset = 0;
  Window& window = window_of(at, steps.element, offset);
  run([&](MPI_Request* request) {
    const Cargo to(steps.element, steps.count, steps.dest), from(steps.element, steps.count, steps.source);
    window.dirty = true;
    MPI_Rput(source, 1, from.type, pe, static_cast<MPI_Aint>(offset), 1, to.type, window.win, request);
  });
}

void Transport::get_strided(int pe, void* dest, const void* at, const Steps& steps) {
  if (messages_)
    return fetch(pe, steps_errand(get_kind, at, steps, steps.source), dest,
                 Cargo(steps.element, steps.count, steps.dest), true);
  std::size_t offset = 0;
  Window& window = window_of(at, steps.element, offset);
  run([&](MPI_Request* request) {
    const Cargo to(steps.element, steps.count, steps.dest), from(steps.element, steps.count, steps.source);
    MPI_Rget(dest, 1, to.type, pe, static_cast<MPI_Aint>(offset), 1, from.type, window.win, request);
  });
}

}  // namespace nigh::shmem
