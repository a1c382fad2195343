// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of one MPI_Waitall or the like, while the library looks at them: what is ours is taken out of
// the user's array, what is a receive of ours is pinned; and all that is as it should be again at the end of
// the call, or when a handler of the program's is about to leave it.
#pragma once

#include <cstdlib>
#include <cstring>
#include <utility>

#include "mpi/handlers.hpp"
#include "mpi/receives_small.hpp"

namespace nigh::mpi {

inline constexpr int few = 128;  // requests of one call for which no memory must be got

// The fields that the library writes of the requests that it has completed, before it raises an error of one
// of them.
struct Written {
  const MPI_Status* statuses = nullptr;  // in the order of the array, or of the indices
  const int* indices = nullptr;
  const int* ended = nullptr;
};

// The user's array, and which of its requests are ours.
class Batch final : public Unsettled {
 public:
  Batch(int count, MPI_Request* requests, Later& errors) : later(errors), count_(count), requests_(requests) {
    auto* memory =
        count <= few ? first_ : static_cast<char*>(std::malloc(each * static_cast<std::size_t>(count)));
    ok_ = memory != nullptr;
    if (!ok_) return;
    records_ = reinterpret_cast<Record**>(memory);
    statuses_ = reinterpret_cast<MPI_Status*>(memory + sizeof(Record*) * static_cast<std::size_t>(count));
    hidden_ = reinterpret_cast<MPI_Request*>(statuses_ + count);
    were_ = hidden_ + count;
    indices_ = reinterpret_cast<int*>(were_ + count);
    std::memcpy(were_, requests, sizeof(MPI_Request) * static_cast<std::size_t>(count));
    if (no_requests()) {
      std::memset(static_cast<void*>(records_), 0, sizeof(Record*) * static_cast<std::size_t>(count));
      return;
    }
    for (int i = 0; i < count; ++i) {
      Record* record = find_request(requests[i]);
      if (record && !record->active) {
        unpin(*record);
        record = nullptr;
      }
      records_[i] = record;
      if (!record) continue;
      ++ours;
      if (record->placeholder) {
        ++placeholders;
        requests[i] = MPI_REQUEST_NULL;
      } else if (record->large) {
        ++large;
      }
    }
    hold();
  }
  // Requests that have not ended are the user's again.
  ~Batch() {
    give_back();
    if (ok_ && count_ > few) std::free(static_cast<void*>(records_));
  }
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;

  [[nodiscard]] bool ok() const { return ok_; }
  // The library can be left to it; but if small receives were posted, statuses must be looked at.
  [[nodiscard]] bool none() const { return ours == 0 && !must_drive(); }
  [[nodiscard]] bool whole() const { return none() && !g_small_posted; }
  [[nodiscard]] MPI_Status* statuses() { return statuses_; }
  [[nodiscard]] int* indices() { return indices_; }
  [[nodiscard]] int* more_indices() { return indices_ + count_; }
  [[nodiscard]] Record* at(int i) const { return records_[i]; }

  // MPI_Testsome (MPI_Waitsome) on what the library sees.
  int look(int& ended, bool wait = false) {
    written = {.statuses = statuses_, .indices = indices_, .ended = &ended};
    return (wait ? real().Waitsome : real().Testsome)(count_, requests_, &ended, indices_, statuses_);
  }
  // The same, but of the library's own requests only on the first that has not ended.
  int look_in_turn(int& ended) {
    int turn = 0;
    while (turn < count_ && (records_[turn] || requests_[turn] == MPI_REQUEST_NULL)) ++turn;
    bool hidden = false;
    for (int i = turn + 1; i < count_; ++i) {
      if (records_[i]) continue;
      hidden = hidden || requests_[i] != MPI_REQUEST_NULL;
      hidden_[i] = std::exchange(requests_[i], MPI_REQUEST_NULL);
    }
    turn_ = turn;
    const int error = look(ended);
    show_hidden();
    const bool inactive = ended == MPI_UNDEFINED && hidden;  // a persistent one that is not started
    return inactive ? look(ended) : error;
  }
  // The library has completed request i.
  int received(int i, MPI_Status& status, int error) {
    Record* record = records_[i];
    if (!record) return settle_other(were_[i], status, error, later);
    if (record->placeholder) return error;
    records_[i] = nullptr;
    --ours;
    return mpi::settle(*record, status, error, later);
  }
  // The library says that request i is complete, but has left it in the array.
  [[nodiscard]] bool keeps(int i) const {
    return requests_[i] != MPI_REQUEST_NULL && !(records_[i] && records_[i]->placeholder);
  }
  void correct(int i, MPI_Status& status) const { correct_status(records_[i], requests_[i], status); }
  // The placeholder at i, if its operation has ended; -1: it has not, or it is none.
  int try_placeholder(int i, MPI_Status& status, bool attend = false) {
    Record* record = records_[i];
    if (!record || !record->placeholder || !advance(*record->operation, attend)) return -1;
    return conclude_at(i, status);
  }
  int conclude_at(int i, MPI_Status& status) {
    Record* record = records_[i];
    records_[i] = nullptr;
    --ours;
    --placeholders;
    requests_[i] = record->handle;
    return conclude(*record, &requests_[i], status, later);
  }
  bool all_placeholders_ended() {
    bool all = true;
    for (int i = 0; placeholders != 0 && i < count_; ++i)
      if (records_[i] && records_[i]->placeholder && !advance(*records_[i]->operation)) all = false;
    return all;
  }

  int ours = 0, placeholders = 0, large = 0;
  Later& later;  // raised when the array is the user's again
  Written written;

 private:
  void show_hidden() {
    for (int i = turn_ + 1; turn_ >= 0 && i < count_; ++i)
      if (!records_[i]) requests_[i] = hidden_[i];
    turn_ = -1;
  }
  void give_back() {
    for (int i = 0; ours != 0 && i < count_; ++i)
      if (records_[i]) {
        if (records_[i]->placeholder) requests_[i] = records_[i]->handle;
        unpin(*records_[i]);
        records_[i] = nullptr;
      }
    ours = placeholders = 0;
  }
  // Requests that the library has completed are settled, the others are as before.
  void settle(int code) override {
    show_hidden();
    const int number = !written.indices ? count_ : *written.ended == MPI_UNDEFINED ? 0 : *written.ended;
    for (int k = 0; k < number && written.statuses; ++k) {
      const int i = written.indices ? written.indices[k] : k;
      if (i < 0 || i >= count_ || !records_[i] || records_[i]->placeholder ||
          requests_[i] != MPI_REQUEST_NULL)
        continue;
      MPI_Status status = written.statuses[k];
      const bool alone = written.indices && number == 1;
      received(i, status, alone ? code : status.MPI_ERROR);
    }
    give_back();
    later = {};  // the library's error is raised
  }

  static constexpr std::size_t each =
      sizeof(Record*) + sizeof(MPI_Status) + 2 * sizeof(int) + 2 * sizeof(MPI_Request);
  int count_;
  MPI_Request* requests_;
  Record** records_ = nullptr;
  MPI_Status* statuses_ = nullptr;
  MPI_Request* hidden_ = nullptr;
  MPI_Request* were_ = nullptr;
  int* indices_ = nullptr;
  bool ok_ = false;
  int turn_ = -1;  // what follows is hidden from the library
  alignas(16) char first_[few * each];
};

}  // namespace nigh::mpi
