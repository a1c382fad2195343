// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/transport_mpi_tune.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace nigh::chare {

namespace {

constexpr std::uint32_t least_piece = 2048, least_alone = 1024;
constexpr std::size_t mark_bytes = sizeof(core::Header);
constexpr int rounds = 9;  // of what is compared, in turn
constexpr double clearly = 0.95;

class Trial {
 public:
  Trial(MPI_Comm all, std::uint32_t process, std::uint32_t partner, int tag)
      : all_(all), partner_(static_cast<int>(partner)), tag_(tag), begins_(process < partner) {
    requests_.reserve(1 + Framing::most / least_alone);
  }

  // The best of `count` ways, each timed in turn; the first one if none is clearly better. The measurement of
  // the process that begins counts.
  template <class Way>
  int best(int count, Way way) {
    std::vector<std::array<double, rounds>> times(static_cast<std::size_t>(count));
    for (int round = -1; round < rounds; ++round)  // the first one warms up
      for (int i = 0; i < count; ++i) {
        const double begun = MPI_Wtime();
        if (begins_) way(i, true);
        way(i, false);
        if (!begins_) way(i, true);
        if (round >= 0)
          times[static_cast<std::size_t>(i)][static_cast<std::size_t>(round)] = MPI_Wtime() - begun;
      }
    int out = 0;
    double least = median(times[0]) * clearly;
    for (int i = 1; i < count; ++i)
      if (const double time = median(times[static_cast<std::size_t>(i)]); time < least) least = time, out = i;
    if (begins_)
      MPI_Send(&out, 1, MPI_INT, partner_, tag_, all_);
    else
      MPI_Recv(&out, 1, MPI_INT, partner_, tag_, all_, MPI_STATUS_IGNORE);
    return out;
  }

  // A frame in pieces. Whoever sends writes it once; whoever receives copies it once.
  void framed(std::size_t frame, std::size_t piece, bool sends) {
    if (sends) {
      std::memcpy(out_.data(), messages_.data(), frame);
      begin_sends(out_.data(), piece, frame / piece);
      return end();
    }
    for (std::size_t at = 0; at < frame; at += piece) {
      receive(in_.data() + at, piece);
      std::memcpy(messages_.data() + at, in_.data() + at, piece);
    }
  }

  // Messages that were written once, too: marks of them in a frame, and they themselves behind it.
  void alone(std::size_t bytes, std::size_t count, bool sends) {
    if (sends) {
      std::memcpy(out_.data(), messages_.data(), bytes * count);
      begin_sends(in_.data(), count * mark_bytes, 1);
      begin_sends(out_.data(), bytes, count);
      return end();
    }
    receive(in_.data(), count * mark_bytes);
    for (std::size_t i = 0; i < count; ++i)
      MPI_Irecv(messages_.data() + i * bytes, static_cast<int>(bytes), MPI_BYTE, partner_, tag_, all_,
                &requests_.emplace_back());
    end();
  }

 private:
  static double median(std::array<double, rounds>& times) {
    std::sort(times.begin(), times.end());
    return times[rounds / 2];
  }
  void begin_sends(const char* from, std::size_t bytes, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      MPI_Isend(from + i * bytes, static_cast<int>(bytes), MPI_BYTE, partner_, tag_, all_,
                &requests_.emplace_back());
  }
  void receive(char* into, std::size_t bytes) {
    MPI_Recv(into, static_cast<int>(bytes), MPI_BYTE, partner_, tag_, all_, MPI_STATUS_IGNORE);
  }
  void end() {
    MPI_Waitall(static_cast<int>(requests_.size()), requests_.data(), MPI_STATUSES_IGNORE);
    requests_.clear();
  }

  MPI_Comm all_;
  int partner_, tag_;
  bool begins_;
  std::vector<char> messages_ = std::vector<char>(Framing::most), out_ = messages_, in_ = messages_;
  std::vector<MPI_Request> requests_;  // their places are kept: there is room for all
};

}  // namespace

Framing measure_framing(MPI_Comm all, std::uint32_t process, std::uint32_t partner, int tag) {
  Trial trial(all, process, partner, tag);
  Framing out;
  for (std::uint32_t i = 0; i < Framing::sizes; ++i) {
    const std::uint32_t frame = Framing::least << i;
    int ways = 1;
    while ((frame >> ways) >= least_piece) ++ways;
    out.piece[i] =
        frame >> trial.best(ways, [&](int way, bool sends) { trial.framed(frame, frame >> way, sends); });
  }
  out.most_framed = least_alone / 2;
  for (std::uint32_t bytes = least_alone; bytes <= Framing::most / 2; bytes *= 2) {
    const std::uint32_t frame = std::max(Framing::most / 4, 2 * bytes);
    const std::uint32_t piece = std::max(out.piece_of(frame), bytes);
    if (trial.best(2, [&](int way, bool sends) {
          way == 0 ? trial.framed(frame, piece, sends) : trial.alone(bytes, frame / bytes, sends);
        }) != 0)
      break;
    out.most_framed = bytes;
  }
  return out;
}

}  // namespace nigh::chare
