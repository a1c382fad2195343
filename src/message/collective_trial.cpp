// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See collective_trial.hpp. The reference is as plain as can be: operands are made anew from the seed and
// combined one after the other.
#include "message/collective_trial.hpp"

#include <algorithm>
#include <cstring>
#include <thread>

namespace nigh::message::testing {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

void compose(void* const* out, int outs, const void* const* in, int ins, std::size_t first, std::size_t last,
             void*) {
  for (std::size_t i = first; i < last; ++i) {
    std::uint32_t result[2], next[2];
    std::memcpy(result, static_cast<const char*>(in[0]) + i * 8, 8);
    for (int k = 1; k < ins; ++k) {
      std::memcpy(next, static_cast<const char*>(in[k]) + i * 8, 8);
      result[1] += result[0] * next[1];
      result[0] *= next[0];
    }
    for (int o = 0; o < outs; ++o) std::memcpy(static_cast<char*>(out[o]) + i * 8, result, 8);
  }
}

constexpr unsigned char gap = 0xEE;
const char* const names[] = {"barrier", "bcast",     "reduce",   "allreduce", "reduce_scatter", "gather",
                             "scatter", "allgather", "alltoall", "scan",      "exscan"};

bool reduces(Kind kind) {
  return kind == Kind::reduce || kind == Kind::allreduce || kind == Kind::reduce_scatter ||
         kind == Kind::scan || kind == Kind::exscan;
}

}  // namespace

const Combine affine_combine = {.kernel = compose, .element_bytes = 8};

PartlyPrivate::PartlyPrivate(space::ThreadSpace::Common& common, int rank) : threads_(common, rank) {
  rank_ = rank;
  size_ = static_cast<int>(common.members.size());
}

void PartlyPrivate::hide(const void* data, std::size_t bytes) {
  if (bytes) hidden_.push_back({static_cast<const unsigned char*>(data), bytes});
}
void PartlyPrivate::show(const void* data) {
  std::erase_if(hidden_, [&](const Range& range) { return range.data == data; });
}
void* PartlyPrivate::alloc(std::size_t bytes, std::size_t align) {
  if (allocated + bytes > limit) return nullptr;
  ++allocs;
  allocated += bytes;
  return threads_.alloc(bytes, align);
}
void* PartlyPrivate::global_slow(const void* data, std::size_t bytes) const {
  const auto* first = static_cast<const unsigned char*>(data);
  for (const Range& range : hidden_)
    if (first < range.data + range.bytes && range.data < first + bytes) return nullptr;
  return const_cast<void*>(data);
}

void run_job(int ranks, const plan::Levels& levels, const std::function<void(Rank&)>& body) {
  space::ThreadSpace::Common common(ranks);
  std::vector<std::unique_ptr<PartlyPrivate>> spaces;
  std::vector<std::unique_ptr<Waiter>> waiters;
  std::vector<Cells*> cells;
  std::vector<int> numbers;
  const bool crowd = ranks % 2 == 1;  // so that more ranks than CPUs occur on a machine of any size
  for (int rank = 0; rank < ranks; ++rank) {
    spaces.push_back(std::make_unique<PartlyPrivate>(common, rank));
    waiters.push_back(std::make_unique<Waiter>(
        *spaces.back(), crowd ? 1 : static_cast<int>(std::thread::hardware_concurrency())));
    cells.push_back(Group::make_cells(*spaces.back(), ranks, waiters.back()->patience().crowded));
    numbers.push_back(rank);
  }
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      const auto index = static_cast<std::size_t>(rank);
      Group group(*spaces[index], *waiters[index], rank, cells, numbers, levels);
      Rank self{*spaces[index], *waiters[index], group};
      body(self);
    });
  for (std::thread& thread : threads) thread.join();
  for (int rank = 0; rank < ranks; ++rank) {  // release what the groups left: the next sweep does it
    Cells* last = Group::make_cells(*spaces[static_cast<std::size_t>(rank)], 1);
    spaces[static_cast<std::size_t>(rank)]->release(last);
  }
}

Trial random_trial(std::mt19937_64& random, int ranks, std::size_t most) {
  Trial t;
  t.seed = random();
  t.kind = static_cast<Kind>(random() % 11);
  t.ranks = ranks;
  t.root = static_cast<int>(random() % static_cast<unsigned>(ranks));
  t.in_place = random() % 3 == 0;
  t.varied = random() % 2 == 0;
  t.affine = random() % 3 == 0;
  const std::size_t edges[] = {0,
                               1,
                               8,
                               47,
                               48,
                               49,
                               1023,
                               1024,
                               1025,
                               4096,
                               4097,
                               random() % 256,
                               random() % 8192,
                               random() % 65536,
                               random() % (most + 1)};
  t.bytes = std::min(most, edges[random() % std::size(edges)]);
  t.hidden = random() % 2 ? static_cast<unsigned>(random()) : 0;
  return t;
}

Side::Side(const Trial& trial, PartlyPrivate& space, int me) : trial_(trial), space_(space), me_(me) {
  Trial& t = trial_;
  if (reduces(t.kind)) {
    call_.combine = t.affine ? &affine_combine : find_combine(Op::sum, Element::u32);
    t.bytes = (t.bytes + 7) / 8 * 8;
  }
  if (t.kind == Kind::barrier || t.kind == Kind::bcast) t.in_place = false;
  if (t.kind == Kind::bcast || t.kind == Kind::reduce || t.kind == Kind::allreduce || t.kind == Kind::scan ||
      t.kind == Kind::exscan || t.kind == Kind::barrier)
    t.varied = false;
  call_.kind = t.kind;
  call_.root = t.root;
  call_.bytes = t.bytes;
  name_ = std::string(names[static_cast<int>(t.kind)]) + " of " + std::to_string(t.bytes) + " bytes, root " +
          std::to_string(t.root) + " of " + std::to_string(t.ranks) + (t.in_place ? ", in place" : "") +
          (t.varied ? ", varied" : "") + (t.affine ? ", affine" : "") + ", hidden " +
          std::to_string(t.hidden) + ", on rank " + std::to_string(me);
  lay_out();
  fill_operand();
  expect();
  if (t.in_place) use_in_place();
  if (trial.hidden >> (2 * me % 32) & 1) space_.hide(send_.data(), send_.size());
  if (trial.hidden >> ((2 * me + 1) % 32) & 1) space_.hide(receive_.data(), receive_.size());
}

Side::~Side() {
  space_.show(send_.data());
  space_.show(receive_.data());
}

// Bytes that `from` has for `to`.
std::size_t Side::block(int from, int to) const {
  if (!trial_.varied) return trial_.bytes;
  // In place, an exchange is symmetric.
  const int a = trial_.in_place ? std::min(from, to) : from, b = trial_.in_place ? std::max(from, to) : to;
  const bool pairs = trial_.kind == Kind::alltoall;
  const bool receiver = trial_.kind == Kind::scatter || trial_.kind == Kind::reduce_scatter;
  const auto key = static_cast<std::uint64_t>(pairs ? a * 1000 + b : receiver ? to : from);
  const std::uint64_t draw = mix(trial_.seed ^ mix(key + 77));
  std::size_t bytes = draw % 5 == 0 ? 0 : draw / 8 % (trial_.bytes + 1);
  return reduces(trial_.kind) ? bytes / 8 * 8 : bytes;
}

std::size_t Side::operand_bytes() const {
  if (trial_.kind != Kind::reduce_scatter) return trial_.bytes;
  std::size_t sum = 0;
  for (int r = 0; r < trial_.ranks; ++r) sum += block(0, r);
  return sum;
}

void Side::fill(unsigned char* to, int from, int dest, std::size_t bytes) const {
  std::uint64_t state =
      mix(trial_.seed ^ mix(static_cast<std::uint64_t>(from) * 1000 + static_cast<std::uint64_t>(dest)));
  for (std::size_t i = 0; i < bytes; i += 8) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t word = state ^ (state >> 29);
    std::memcpy(to + i, &word, std::min<std::size_t>(8, bytes - i));
  }
}

// Buffers, counts and offsets; the receive buffer starts as gaps all over.
void Side::lay_out() {
  const Trial& t = trial_;
  std::size_t send = 0, receive = 0;
  const bool root = me_ == t.root;
  auto blocks = [&](auto length, std::vector<std::size_t>& bytes, std::vector<std::size_t>& offsets,
                    bool gaps) {
    std::size_t at = 0;
    for (int r = 0; r < t.ranks; ++r) {
      if (gaps && t.varied) at += mix(t.seed + static_cast<std::uint64_t>(r)) % 40;
      bytes.push_back(length(r));
      offsets.push_back(at);
      at += length(r);
    }
    return at;
  };
  auto from = [&](int r) { return block(r, me_); };
  auto to = [&](int r) { return block(me_, r); };
  switch (t.kind) {
    case Kind::barrier: break;
    case Kind::bcast: receive = t.bytes; break;
    case Kind::reduce: send = t.bytes, receive = root ? t.bytes : 0; break;
    case Kind::allreduce:
    case Kind::scan:
    case Kind::exscan: send = receive = t.bytes; break;
    case Kind::reduce_scatter:
      send = blocks([&](int r) { return block(0, r); }, receive_bytes_, receive_offsets_, false);
      receive = t.in_place ? send : block(0, me_);
      break;
    case Kind::gather:
      call_.bytes = send = block(me_, t.root);
      if (root) receive = blocks(from, receive_bytes_, receive_offsets_, true);
      break;
    case Kind::scatter:
      call_.bytes = receive = block(t.root, me_);
      if (root) send = blocks(to, send_bytes_, send_offsets_, true);
      break;
    case Kind::allgather:
      send = block(me_, 0);
      receive = blocks(from, receive_bytes_, receive_offsets_, true);
      break;
    case Kind::alltoall:
      send = blocks(to, send_bytes_, send_offsets_, true);
      receive = blocks(from, receive_bytes_, receive_offsets_, true);
      call_.sparse = t.varied && t.seed / 8 % 2 == 0;
      break;
  }
  send_.assign(send, gap);
  receive_.assign(receive, gap);
  call_.send = send_.data();
  call_.receive = receive_.data();
  if (!t.varied) return;
  if (!send_bytes_.empty()) call_.send_bytes = send_bytes_.data(), call_.send_offsets = send_offsets_.data();
  if (receive_bytes_.empty()) return;
  call_.receive_bytes = receive_bytes_.data();
  if (t.kind != Kind::reduce_scatter) call_.receive_offsets = receive_offsets_.data();
}

void Side::fill_operand() {
  const Trial& t = trial_;
  if (t.kind == Kind::bcast) {
    if (me_ == t.root) fill(receive_.data(), me_, 0, t.bytes);
  } else if (!send_bytes_.empty()) {
    for (int r = 0; r < t.ranks; ++r)
      fill(send_.data() + send_offsets_[static_cast<std::size_t>(r)], me_, r,
           send_bytes_[static_cast<std::size_t>(r)]);
  } else {
    fill(send_.data(), me_, 0, send_.size());
  }
}

// The combined operands of ranks first .. last - 1.
std::vector<unsigned char> Side::combined(int first, int last) const {
  std::vector<unsigned char> sum(operand_bytes()), next(sum.size());
  fill(sum.data(), first, 0, sum.size());
  for (int r = first + 1; r < last; ++r) {
    fill(next.data(), r, 0, next.size());
    void* out[] = {sum.data()};
    const void* in[] = {sum.data(), next.data()};
    if (trial_.affine) {
      compose(out, 1, in, 2, 0, sum.size() / 8, nullptr);
      continue;
    }
    for (std::size_t i = 0; i < sum.size(); i += 4) {
      std::uint32_t a, b;
      std::memcpy(&a, sum.data() + i, 4);
      std::memcpy(&b, next.data() + i, 4);
      a += b;
      std::memcpy(sum.data() + i, &a, 4);
    }
  }
  return sum;
}

void Side::expect() {
  const Trial& t = trial_;
  expected_ = receive_;
  auto each = [&](int dest) {
    for (int r = 0; r < t.ranks; ++r)
      fill(expected_.data() + receive_offsets_[static_cast<std::size_t>(r)], r, dest,
           receive_bytes_[static_cast<std::size_t>(r)]);
  };
  switch (t.kind) {
    case Kind::barrier: break;
    case Kind::bcast: fill(expected_.data(), t.root, 0, t.bytes); break;
    case Kind::reduce:
      if (me_ == t.root) expected_ = combined(0, t.ranks);
      break;
    case Kind::allreduce: expected_ = combined(0, t.ranks); break;
    case Kind::scan: expected_ = combined(0, me_ + 1); break;
    case Kind::exscan:
      if (me_ > 0) expected_ = combined(0, me_);
      break;
    case Kind::reduce_scatter: {
      const std::vector<unsigned char> all = combined(0, t.ranks);
      const auto from =
          all.begin() + static_cast<std::ptrdiff_t>(receive_offsets_[static_cast<std::size_t>(me_)]);
      std::copy_n(from, block(0, me_), expected_.begin());
      break;
    }
    case Kind::gather:
      if (me_ == t.root) each(0);
      break;
    case Kind::scatter: fill(expected_.data(), t.root, me_, receive_.size()); break;
    case Kind::allgather: each(0); break;
    case Kind::alltoall: each(me_); break;
  }
}

// Moves the operand to where an in-place call looks for it.
void Side::use_in_place() {
  const Trial& t = trial_;
  const auto mine = static_cast<std::size_t>(me_);
  const bool root = me_ == t.root;
  switch (t.kind) {
    case Kind::gather:
    case Kind::reduce:
      if (!root) return;
      break;
    case Kind::scatter:
      if (!root) return;
      receive_.clear();
      expected_.clear();
      call_.receive = const_cast<void*>(message::in_place);
      return;
    default: break;
  }
  if (t.kind == Kind::gather || t.kind == Kind::allgather)
    std::copy(send_.begin(), send_.end(),
              receive_.begin() + static_cast<std::ptrdiff_t>(receive_offsets_[mine]));
  else if (t.kind == Kind::alltoall)
    for (std::size_t r = 0; r < receive_bytes_.size(); ++r)
      std::copy_n(send_.begin() + static_cast<std::ptrdiff_t>(send_offsets_[r]), send_bytes_[r],
                  receive_.begin() + static_cast<std::ptrdiff_t>(receive_offsets_[r]));
  else
    std::copy(send_.begin(), send_.end(), receive_.begin());
  if (t.kind == Kind::exscan && me_ == 0) expected_ = receive_;
  call_.send = message::in_place;
  call_.send_bytes = call_.send_offsets = nullptr;
}

std::string Side::check() const {
  std::size_t compare = expected_.size();
  if (trial_.kind == Kind::reduce_scatter && trial_.in_place) compare = block(0, me_);  // the rest is free
  const auto wrong = std::mismatch(
      expected_.begin(), expected_.begin() + static_cast<std::ptrdiff_t>(compare), receive_.begin());
  if (wrong.first == expected_.begin() + static_cast<std::ptrdiff_t>(compare)) return "";
  return name_ + ": byte " + std::to_string(wrong.first - expected_.begin()) + " of " +
         std::to_string(compare) + " is wrong (seed " + std::to_string(trial_.seed) + ")";
}

}  // namespace nigh::message::testing
