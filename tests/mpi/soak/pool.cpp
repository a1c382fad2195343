// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Making communicators, and checking that each is what the standard says it must be.
#include "pool.hpp"

#include <algorithm>
#include <numeric>

#include "check.hpp"
#include "quirks.hpp"

namespace soak {

namespace {
constexpr int most_comms = 10;

std::vector<int> shuffled(Rng& rng, int n) {
  std::vector<int> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  for (int i = n; i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  return order;
}
}  // namespace

Pool::Pool(MPI_Comm world, bool threads) : threads_(threads) {
  int size = 0;
  MPI_OK(MPI_Comm_size(world, &size));
  MPI_OK(MPI_Comm_rank(world, &my_world_));
  std::vector<int> all(static_cast<std::size_t>(size));
  std::iota(all.begin(), all.end(), 0);
  add(world, all);
  if (threads) return;
  for (int r = 0; r < size; ++r) add(r == my_world_ ? MPI_COMM_SELF : MPI_COMM_NULL, {r});
}

Pool::~Pool() {
  int finalized = 0;
  MPI_Finalized(&finalized);
  if (finalized) return;
  for (Comm& comm : comms_)
    if (comm.handle != MPI_COMM_NULL && comm.handle != MPI_COMM_SELF && comm.number > 0)
      MPI_Comm_free(&comm.handle);
}

void Pool::add(MPI_Comm handle, std::vector<int> members) {
  Comm comm;
  comm.handle = handle;
  comm.members = std::move(members);
  comm.number = made_++;
  auto mine = std::find(comm.members.begin(), comm.members.end(), my_world_);
  if (mine != comm.members.end()) comm.me = static_cast<int>(mine - comm.members.begin());
  EXPECT((handle == MPI_COMM_NULL) == (comm.me < 0));
  if (comm.me >= 0) {
    int rank = -1;
    int size = -1;
    int inter = -1;
    MPI_OK(MPI_Comm_rank(handle, &rank));
    MPI_OK(MPI_Comm_size(handle, &size));
    MPI_OK(MPI_Comm_test_inter(handle, &inter));
    EXPECT(rank == comm.me);
    EXPECT(size == comm.size());
    EXPECT(inter == 0);
    // Ask the members themselves: this is the communicator's first collective.
    std::vector<int> said(comm.members.size(), -1);
    MPI_OK(MPI_Allgather(&my_world_, 1, MPI_INT, said.data(), 1, MPI_INT, handle));
    EXPECT(said == comm.members);
  }
  comms_.push_back(std::move(comm));
}

void Pool::duplicate(Rng& rng, const Comm& parent) {
  MPI_Comm made = MPI_COMM_NULL;
  int how = rng.below(3);
  std::vector<int> members = parent.members;
  if (parent.me >= 0) {
    operation("make communicator %d: dup of %d, form %d", made_, parent.number, how);
    if (how == 0) {
      MPI_OK(MPI_Comm_dup(parent.handle, &made));
    } else if (how == 1) {
      MPI_OK(MPI_Comm_dup_with_info(parent.handle, MPI_INFO_NULL, &made));
    } else {
      MPI_Request request = MPI_REQUEST_NULL;
      MPI_OK(MPI_Comm_idup(parent.handle, &made, &request));
      MPI_OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
    int compared = -1;
    MPI_OK(MPI_Comm_compare(parent.handle, made, &compared));
    EXPECT(compared == MPI_CONGRUENT);
  }
  add(made, members);
}

void Pool::split(Rng& rng, const Comm& parent) {
  int colors = rng.in(1, 3);
  int size = parent.size();
  std::vector<int> color(static_cast<std::size_t>(size));
  std::vector<int> key(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) {
    color[i] = rng.percent(10) ? MPI_UNDEFINED : rng.below(colors);
    key[i] = rng.in(-3, 3);
  }
  std::vector<int> before = parent.members;
  MPI_Comm made = MPI_COMM_NULL;
  int me = parent.me;
  if (me >= 0) {
    operation("make communicator %d..: split of %d into %d", made_, parent.number, colors);
    MPI_OK(MPI_Comm_split(parent.handle, color[me], key[me], &made));
  }
  for (int c = 0; c < colors; ++c) {
    std::vector<int> places;
    for (int i = 0; i < size; ++i)
      if (color[i] == c) places.push_back(i);
    if (places.empty()) continue;
    std::stable_sort(places.begin(), places.end(), [&](int a, int b) { return key[a] < key[b]; });
    std::vector<int> members;
    for (int place : places) members.push_back(before[place]);
    add(me >= 0 && color[me] == c ? made : MPI_COMM_NULL, members);
  }
}

void Pool::subset(Rng& rng, const Comm& parent) {
  std::vector<int> order = shuffled(rng, parent.size());
  order.resize(static_cast<std::size_t>(rng.in(1, parent.size())));
  bool only_members = rng.percent(50);
  std::vector<int> members;
  for (int place : order) members.push_back(parent.members[place]);
  MPI_Comm made = MPI_COMM_NULL;
  bool in = parent.me >= 0 && std::find(order.begin(), order.end(), parent.me) != order.end();
  if (parent.me >= 0 && (in || !only_members)) {
    operation("make communicator %d: %s of %zu of %d", made_, only_members ? "create_group" : "create",
              order.size(), parent.number);
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_OK(MPI_Comm_group(parent.handle, &all));
    MPI_OK(MPI_Group_incl(all, static_cast<int>(order.size()), order.data(), &some));
    if (only_members)
      MPI_OK(MPI_Comm_create_group(parent.handle, some, made_ & 1023, &made));
    else
      MPI_OK(MPI_Comm_create(parent.handle, some, &made));
    MPI_OK(MPI_Group_free(&all));
    MPI_OK(MPI_Group_free(&some));
  }
  add(made, members);
}

void Pool::cart(Rng& rng, const Comm& parent) {
  int size = parent.size();
  int rows = size > 1 && size % 2 == 0 && rng.percent(50) ? 2 : 1;
  int dims[2] = {rows, size / rows};
  int periods[2] = {rng.below(2), rng.below(2)};
  std::vector<int> members = parent.members;
  MPI_Comm made = MPI_COMM_NULL;
  if (parent.me >= 0) {
    operation("make communicator %d: cart of %d", made_, parent.number);
    MPI_OK(MPI_Cart_create(parent.handle, 2, dims, periods, 0, &made));
  }
  add(made, members);
}

// Two halves, an inter-communicator between them with some traffic, and the merged one.
void Pool::merge(Rng& rng, const Comm& parent) {
  int size = parent.size();
  if (size < 2) return;
  int cut = rng.in(1, size - 1);
  bool upper_first = rng.percent(50);
  std::vector<int> low(parent.members.begin(), parent.members.begin() + cut);
  std::vector<int> high(parent.members.begin() + cut, parent.members.end());
  MPI_Comm made = MPI_COMM_NULL;
  if (parent.me >= 0) {
    operation("make communicator %d: inter-communicator of %d cut at %d", made_, parent.number, cut);
    bool mine_low = parent.me < cut;
    MPI_Comm half = MPI_COMM_NULL;
    MPI_Comm inter = MPI_COMM_NULL;
    MPI_OK(MPI_Comm_split(parent.handle, mine_low, 0, &half));
    MPI_OK(MPI_Intercomm_create(half, 0, parent.handle, mine_low ? cut : 0, 77, &inter));
    int remote = 0;
    MPI_OK(MPI_Comm_remote_size(inter, &remote));
    EXPECT(remote == (mine_low ? size - cut : cut));
    std::vector<int> theirs(static_cast<std::size_t>(remote), -1);
    MPI_OK(MPI_Allgather(&my_world_, 1, MPI_INT, theirs.data(), 1, MPI_INT, inter));
    EXPECT(theirs == (mine_low ? high : low));
    int sum = -1;
    MPI_OK(MPI_Allreduce(&my_world_, &sum, 1, MPI_INT, MPI_SUM, inter));
    EXPECT(sum == std::accumulate(theirs.begin(), theirs.end(), 0));
    std::vector<char> big(70000, static_cast<char>(mine_low ? 1 : 2));
    int root = mine_low ? (half != MPI_COMM_NULL && parent.me == 0 ? MPI_ROOT : MPI_PROC_NULL) : 0;
    MPI_OK(MPI_Bcast(big.data(), static_cast<int>(big.size()), MPI_CHAR, root, inter));
    EXPECT(big.front() == 1 || root == MPI_PROC_NULL);
    if (!mine_low) EXPECT(std::count(big.begin(), big.end(), 1) == 70000);
    MPI_OK(MPI_Barrier(inter));
    // Point to point across it: the first of each side, large enough for any protocol.
    bool first = parent.me == 0 || parent.me == cut;
    if (first) {
      std::vector<char> out(50000, static_cast<char>(mine_low ? 3 : 4));
      std::vector<char> in(50000, 0);
      MPI_Status status;
      MPI_OK(
          MPI_Sendrecv(out.data(), 50000, MPI_CHAR, 0, 9, in.data(), 50000, MPI_CHAR, 0, 9, inter, &status));
      EXPECT(status.MPI_SOURCE == 0 && status.MPI_TAG == 9);
      EXPECT(std::count(in.begin(), in.end(), mine_low ? 4 : 3) == 50000);
    }
    MPI_OK(MPI_Intercomm_merge(inter, mine_low ? upper_first : !upper_first, &made));
    MPI_OK(MPI_Comm_free(&inter));
    MPI_OK(MPI_Comm_free(&half));
  }
  std::vector<int> members = upper_first ? high : low;
  const std::vector<int>& rest = upper_first ? low : high;
  members.insert(members.end(), rest.begin(), rest.end());
  add(made, members);
}

void Pool::change(Rng& rng) {
  bool full = count() >= most_comms + (threads_ ? 0 : comms_[0].size());
  if (full || rng.percent(25)) {
    int victim = rng.below(count());
    Comm& comm = comms_[static_cast<std::size_t>(victim)];
    if (comm.number < (threads_ ? 1 : 1 + comms_[0].size())) return;  // given, not made
    if (comm.me >= 0) {
      operation("free communicator %d", comm.number);
      MPI_OK(rng.percent(80) || quirks::disconnects_never ? MPI_Comm_free(&comm.handle)
                                                          : MPI_Comm_disconnect(&comm.handle));
      EXPECT(comm.handle == MPI_COMM_NULL);
    } else {
      rng.percent(80);
    }
    comms_.erase(comms_.begin() + victim);
    return;
  }
  Comm parent = comms_[static_cast<std::size_t>(rng.below(count()))];
  int how = rng.below(10);
  if (how < 3)
    duplicate(rng, parent);
  else if (how < 6)
    split(rng, parent);
  else if (how < 8)
    subset(rng, parent);
  else if (how < 9)
    cart(rng, parent);
  else
    merge(rng, parent);
}

}  // namespace soak
