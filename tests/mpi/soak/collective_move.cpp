// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Collectives that move data, blocking and non-blocking, with another layout and another memory on every
// rank, in place or not. Arguments that the standard calls not significant are garbage on purpose.
#include <algorithm>
#include <numeric>
#include <string>

#include "check.hpp"
#include "engine.hpp"
#include "quirks.hpp"

namespace soak {

namespace {
// Everything that must live until a non-blocking collective is complete.
struct Transfer {
  Layout out, in;
  Buffer from, to;
  std::vector<int> out_counts, out_places, in_counts, in_places;
  std::vector<Layout> out_layouts, in_layouts;
  std::vector<MPI_Datatype> out_types, in_types;
};

constexpr int garbage_count = -77;
#define FORMS(Now, Later, ...) MPI_OK(later ? MPI_##Later(__VA_ARGS__, &request) : MPI_##Now(__VA_ARGS__))

// Layouts and element counts for blocks of `items`.
int fit(Rng& rng, Layout& layout, Kind kind, int items) {
  int inside = items == 0 ? rng.in(0, 4) : divisor(rng, items, items);
  bool plain = quirks::own_block_beyond_64k && item_bytes(kind) * static_cast<std::size_t>(items) > 60000;
  layout = Layout::make(rng, kind, inside, plain);
  return items == 0 ? 0 : items / inside;
}
std::uint64_t part(std::uint64_t id, int from, int to) {
  return mix(id, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to) + 100000);
}
}  // namespace

void Engine::finish(bool later, MPI_Request request, std::function<void()> check) {
  if (!later) {
    check();
    return;
  }
  std::string name = where.operation;
  enlist(request, false, false, [check = std::move(check), name](const MPI_Status*) {
    operation("%.200s, completed", name.c_str());
    check();
  });
}

void Engine::collective(std::uint64_t seed) {
  Rng rng(seed);
  Comm& comm = pool_[rng.below(pool_.count())];
  bool later = (options_.kinds & nonblocking) && rng.percent(45);
  int which = rng.below(100);
  if (comm.me < 0) return;
  if (which < 8) {
    operation("%sbarrier on communicator %d (%d ranks)", later ? "I" : "", comm.number, comm.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_OK(later ? MPI_Ibarrier(comm.handle, &request) : MPI_Barrier(comm.handle));
    finish(later, request, [] {});
  } else if (which < 36) {
    move_rooted(rng, comm, rng.below(4), later);
  } else if (which < 50) {
    move_all(rng, comm, rng.below(2), later);
  } else if (which < 68) {
    move_ragged(rng, comm, rng.below(5), later);
  } else {
    compute(rng, comm, rng.below(6), later);
  }
}

// Bcast (twice as likely), Gather, Scatter.
void Engine::move_rooted(Rng& rng, Comm& comm, int which, bool later) {
  static const char* const names[] = {"bcast", "bcast", "gather", "scatter"};
  int size = comm.size();
  Kind kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
  budget_ = 3e6 / (which < 2 ? 1 : size);  // the members' own, and the same on all of them
  int items = draw_items(rng, kind);
  int root = rng.below(size);
  bool in_place = which >= 2 && rng.percent(30);
  std::uint64_t id = rng.next();
  Rng& mine = local_;
  bool am_root = comm.me == root;
  std::size_t bytes = item_bytes(kind) * static_cast<std::size_t>(items);
  operation("%s%s on communicator %d (%d ranks), root %d, %zu bytes%s, kind %d", later ? "i" : "",
            names[which], comm.number, size, root, bytes, in_place ? ", in place" : "",
            static_cast<int>(kind));
  auto t = std::make_shared<Transfer>();
  MPI_Request request = MPI_REQUEST_NULL;
  int n = fit(mine, t->out, kind, items);  // what I send, or get from the root
  int m = fit(mine, t->in, kind, items);   // one of the root's blocks
  std::ptrdiff_t step = m * t->in.extent;
  if (which < 2) {
    std::vector<char> stream = stream_of(id, kind, items);
    t->from = Buffer::make(mine, arenas_, t->out, n, am_root ? stream.data() : nullptr, am_root ? bytes : 0);
    if (am_root && mine.percent(20) && !quirks::bcast_writes_at_root) t->from.protect();
    FORMS(Bcast, Ibcast, t->from.data(), n, t->out.type, root, comm.handle);
    t->from.expect(t->out, stream.data(), bytes);
    count(mix(id, static_cast<std::uint64_t>(comm.me)), stream.data(), bytes);
  } else if (which == 2) {
    std::vector<char> stream = stream_of(part(id, comm.me, 0), kind, items);
    t->from = Buffer::make(mine, arenas_, t->out, n, stream.data(), bytes);
    if (mine.percent(20)) t->from.protect();
    if (am_root) t->to = Buffer::make(mine, arenas_, t->in, m * size);
    if (am_root && in_place) t->in.scatter(stream.data(), bytes, t->to.data() + root * step);
    FORMS(Gather, Igather, am_root && in_place ? MPI_IN_PLACE : t->from.data(),
          am_root && in_place ? garbage_count : n, am_root && in_place ? MPI_DATATYPE_NULL : t->out.type,
          am_root ? t->to.data() : nullptr, am_root ? m : garbage_count,
          am_root ? t->in.type : MPI_DATATYPE_NULL, root, comm.handle);
    for (int r = 0; am_root && r < size; ++r) {
      std::vector<char> theirs = stream_of(part(id, r, 0), kind, items);
      t->to.expect(t->in, theirs.data(), bytes, r * step);
    }
    count(part(id, comm.me, 0), stream.data(), bytes);
  } else {
    if (am_root) {
      t->to = Buffer::make(mine, arenas_, t->in, m * size);
      for (int r = 0; r < size; ++r) {
        std::vector<char> theirs = stream_of(part(id, 0, r), kind, items);
        t->in.scatter(theirs.data(), bytes, t->to.data() + r * step);
      }
      t->to.snapshot();
      if (mine.percent(20)) t->to.protect();
    }
    t->from = Buffer::make(mine, arenas_, t->out, n);
    FORMS(Scatter, Iscatter, am_root ? t->to.data() : nullptr, am_root ? m : garbage_count,
          am_root ? t->in.type : MPI_DATATYPE_NULL, am_root && in_place ? MPI_IN_PLACE : t->from.data(),
          am_root && in_place ? garbage_count : n, am_root && in_place ? MPI_DATATYPE_NULL : t->out.type,
          root, comm.handle);
    std::vector<char> stream = stream_of(part(id, 0, comm.me), kind, items);
    if (!(am_root && in_place)) t->from.expect(t->out, stream.data(), bytes);
    count(part(id, 0, comm.me), stream.data(), bytes);
  }
  if (later && mine.percent(20)) {
    t->out.free_type();
    t->in.free_type();
  }
  finish(later, request, [t, am_root, which] {
    t->from.same(which == 2 ? "send buffer" : "buffer");
    if (am_root && which >= 2) t->to.same("root's buffer");
  });
}

// Allgather, Alltoall.
void Engine::move_all(Rng& rng, Comm& comm, int which, bool later) {
  int size = comm.size();
  Kind kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
  budget_ = 3e6 / size;
  int items = draw_items(rng, kind);
  bool in_place = rng.percent(30);
  std::uint64_t id = rng.next();
  Rng& mine = local_;
  std::size_t bytes = item_bytes(kind) * static_cast<std::size_t>(items);
  operation("%s%s on communicator %d (%d ranks), %zu bytes%s, kind %d", later ? "i" : "",
            which == 0 ? "allgather" : "alltoall", comm.number, size, bytes, in_place ? ", in place" : "",
            static_cast<int>(kind));
  auto t = std::make_shared<Transfer>();
  MPI_Request request = MPI_REQUEST_NULL;
  int n = fit(mine, t->out, kind, items);
  int m = fit(mine, t->in, kind, items);
  int me = comm.me;
  std::ptrdiff_t out_step = n * t->out.extent;
  std::ptrdiff_t in_step = m * t->in.extent;
  int blocks = which == 0 ? 1 : size;
  auto from_me = [&](int r) {
    return stream_of(which == 0 ? part(id, me, 0) : part(id, me, r), kind, items);
  };
  t->from = Buffer::make(mine, arenas_, t->out, n * blocks);
  t->to = Buffer::make(mine, arenas_, t->in, m * size);
  for (int r = 0; r < blocks; ++r) {
    std::vector<char> stream = from_me(r);
    t->out.scatter(stream.data(), bytes, t->from.data() + r * out_step);
    if (in_place) t->in.scatter(stream.data(), bytes, t->to.data() + (which == 0 ? me : r) * in_step);
  }
  t->from.snapshot();
  if (mine.percent(20)) t->from.protect();
  void* from = in_place ? MPI_IN_PLACE : t->from.data();
  int from_count = in_place ? garbage_count : n;
  MPI_Datatype from_type = in_place ? MPI_DATATYPE_NULL : t->out.type;
  if (which == 0)
    FORMS(Allgather, Iallgather, from, from_count, from_type, t->to.data(), m, t->in.type, comm.handle);
  else
    FORMS(Alltoall, Ialltoall, from, from_count, from_type, t->to.data(), m, t->in.type, comm.handle);
  for (int r = 0; r < size; ++r) {
    std::vector<char> stream = stream_of(which == 0 ? part(id, r, 0) : part(id, r, me), kind, items);
    t->to.expect(t->in, stream.data(), bytes, r * in_step);
    count(part(id, r, me), stream.data(), bytes);
  }
  if (later && mine.percent(20)) {
    t->out.free_type();
    t->in.free_type();
  }
  finish(later, request, [t] {
    t->from.same("send buffer");
    t->to.same("receive buffer");
  });
}

namespace {
// Counts and places, in elements of `layout`, of blocks with gaps in random order; returns what they span.
int ragged(Rng& rng, const std::vector<int>& elements, std::vector<int>& places) {
  std::vector<int> order(elements.size());
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i)
    std::swap(order[i - 1], order[rng.below(static_cast<int>(i))]);
  places.assign(elements.size(), 0);
  int at = 0;
  for (int r : order) {
    at += rng.percent(50) ? rng.in(0, 3) : 0;
    places[r] = at;
    at += elements[r];
  }
  return at;
}
}  // namespace

// Gatherv, Scatterv, Allgatherv, Alltoallv, Alltoallw.
void Engine::move_ragged(Rng& rng, Comm& comm, int which, bool later) {
  static const char* const names[] = {"gatherv", "scatterv", "allgatherv", "alltoallv", "alltoallw"};
  int size = comm.size();
  int me = comm.me;
  if (which == 4 && (size == 1 || later) && quirks::alltoallw_crashes) which = 3;
  Kind kind = static_cast<Kind>(rng.below(static_cast<int>(Kind::count)));
  int unit = rng.percent(50) ? rng.in(1, 6) : 1;  // all counts are its multiples
  int root = rng.below(size);
  bool all = which >= 3;
  bool in_place = rng.percent(30) &&
                  !(all && quirks::alltoall_in_place && (later || which == 4 || size == 1)) &&
                  !(which == 4 && later && quirks::ialltoallw_in_place);
  std::uint64_t id = rng.next();
  std::vector<int> items(static_cast<std::size_t>(size) * static_cast<std::size_t>(size));
  auto table = [&](int from, int to) -> int& { return items[static_cast<std::size_t>(from) * size + to]; };
  for (int a = 0; a < size; ++a)
    for (int b = 0; b < (all ? size : 1); ++b) {
      budget_ = 2e6 / size / (all ? size : 1);
      int n = rng.percent(15) ? 0 : draw_items(rng, kind);
      if (which == 2 && quirks::chunks_by_extent)
        n = std::min(n, std::max(0, 30000 / size / static_cast<int>(item_bytes(kind)) - unit));
      table(a, b) = all && in_place && b < a ? table(b, a) : (n + unit - 1) / unit * unit;
    }
  operation("%s%s on communicator %d (%d ranks), root %d, %d.. items%s, kind %d", later ? "i" : "",
            names[which], comm.number, size, root, items[0], in_place ? ", in place" : "",
            static_cast<int>(kind));
  Rng& mine = local_;
  auto t = std::make_shared<Transfer>();
  MPI_Request request = MPI_REQUEST_NULL;
  auto bytes = [&](int n) { return item_bytes(kind) * static_cast<std::size_t>(n); };
  // The side with many blocks: elements of one layout of `unit` items (Alltoallw: all in bytes of their own).
  bool plain = quirks::own_block_beyond_64k &&
               std::any_of(items.begin(), items.end(), [&](int n) { return bytes(n) > 60000; });
  t->in = Layout::make(mine, kind, unit, plain);
  t->out = Layout::make(mine, kind, unit, plain);
  auto many = [&](Layout& layout, Buffer& buffer, std::vector<int>& counts, std::vector<int>& places,
                  auto n_of) {
    counts.clear();
    for (int r = 0; r < size; ++r) counts.push_back(n_of(r) / unit);
    int span = ragged(mine, counts, places);
    if (size == 1 && quirks::lone_allgatherv_ignores_places) places[0] = 0;
    buffer = Buffer::make(mine, arenas_, layout, span);
  };
  auto put = [&](Layout& layout, Buffer& buffer, std::ptrdiff_t place, std::uint64_t what, int n) {
    std::vector<char> stream = stream_of(what, kind, n);
    layout.scatter(stream.data(), stream.size(), buffer.data() + place * layout.extent);
  };
  auto want = [&](Layout& layout, Buffer& buffer, std::ptrdiff_t place, std::uint64_t what, int n) {
    std::vector<char> stream = stream_of(what, kind, n);
    buffer.expect(layout, stream.data(), bytes(n), place * layout.extent);
    count(what, stream.data(), stream.size());
  };
  bool am_root = me == root;
  if (which == 0 || which == 2) {
    bool receives = which == 2 || am_root;
    bool placed = in_place && receives;
    Layout single;
    int n = fit(mine, single, kind, table(me, 0));
    t->from = Buffer::make(mine, arenas_, single, n);
    std::vector<char> stream = stream_of(part(id, me, 0), kind, table(me, 0));
    single.scatter(stream.data(), stream.size(), t->from.data());
    t->from.snapshot();
    if (receives) many(t->in, t->to, t->in_counts, t->in_places, [&](int r) { return table(r, 0); });
    if (placed) put(t->in, t->to, t->in_places[me], part(id, me, 0), table(me, 0));
    void* from = placed ? MPI_IN_PLACE : t->from.data();
    int from_count = placed ? garbage_count : n;
    MPI_Datatype from_type = placed ? MPI_DATATYPE_NULL : single.type;
    void* to = receives ? t->to.data() : nullptr;
    MPI_Datatype to_type = receives ? t->in.type : MPI_DATATYPE_NULL;
    if (which == 0)
      FORMS(Gatherv, Igatherv, from, from_count, from_type, to, t->in_counts.data(), t->in_places.data(),
            to_type, root, comm.handle);
    else
      FORMS(Allgatherv, Iallgatherv, from, from_count, from_type, to, t->in_counts.data(),
            t->in_places.data(), to_type, comm.handle);
    for (int r = 0; receives && r < size; ++r)
      want(t->in, t->to, t->in_places[r], part(id, r, 0), table(r, 0));
    t->out_layouts.push_back(std::move(single));
  } else if (which == 1) {
    Layout single;
    int n = fit(mine, single, kind, table(me, 0));
    t->from = Buffer::make(mine, arenas_, single, n);
    if (am_root) {
      many(t->in, t->to, t->in_counts, t->in_places, [&](int r) { return table(r, 0); });
      for (int r = 0; r < size; ++r) put(t->in, t->to, t->in_places[r], part(id, 0, r), table(r, 0));
      t->to.snapshot();
    }
    bool placed = in_place && am_root;
    FORMS(Scatterv, Iscatterv, am_root ? t->to.data() : nullptr, t->in_counts.data(), t->in_places.data(),
          am_root ? t->in.type : MPI_DATATYPE_NULL, placed ? MPI_IN_PLACE : t->from.data(),
          placed ? garbage_count : n, placed ? MPI_DATATYPE_NULL : single.type, root, comm.handle);
    if (!placed)
      want(single, t->from, 0, part(id, 0, me), table(me, 0));
    else
      t->from.snapshot();
    t->out_layouts.push_back(std::move(single));
  } else if (which == 3) {
    many(t->in, t->to, t->in_counts, t->in_places, [&](int r) { return table(r, me); });
    many(t->out, t->from, t->out_counts, t->out_places, [&](int r) { return table(me, r); });
    for (int r = 0; r < size; ++r) {
      put(t->out, t->from, t->out_places[r], part(id, me, r), table(me, r));
      if (in_place) put(t->in, t->to, t->in_places[r], part(id, me, r), table(me, r));
    }
    t->from.snapshot();
    if (mine.percent(20)) t->from.protect();
    FORMS(Alltoallv, Ialltoallv, in_place ? MPI_IN_PLACE : t->from.data(), t->out_counts.data(),
          t->out_places.data(), t->out.type, t->to.data(), t->in_counts.data(), t->in_places.data(),
          t->in.type, comm.handle);
    for (int r = 0; r < size; ++r) want(t->in, t->to, t->in_places[r], part(id, r, me), table(r, me));
  } else {
    auto side = [&](std::vector<Layout>& layouts, std::vector<MPI_Datatype>& types, std::vector<int>& counts,
                    std::vector<int>& places, Buffer& buffer, auto n_of) {
      std::ptrdiff_t at = 0;
      for (int r = 0; r < size; ++r) {
        Layout layout;
        counts.push_back(fit(mine, layout, kind, n_of(r)));
        std::ptrdiff_t first = 0;
        std::ptrdiff_t end = 0;
        layout.reach(counts.back(), first, end);
        places.push_back(static_cast<int>(at - first));
        at += end - first + mine.in(0, 30);
        types.push_back(layout.type);
        layouts.push_back(std::move(layout));
      }
      buffer = Buffer::make(mine, arenas_, 0, at);
    };
    side(t->in_layouts, t->in_types, t->in_counts, t->in_places, t->to, [&](int r) { return table(r, me); });
    side(t->out_layouts, t->out_types, t->out_counts, t->out_places, t->from,
         [&](int r) { return table(me, r); });
    for (int r = 0; r < size; ++r) {
      std::vector<char> stream = stream_of(part(id, me, r), kind, table(me, r));
      t->out_layouts[r].scatter(stream.data(), stream.size(), t->from.data() + t->out_places[r]);
      if (in_place) t->in_layouts[r].scatter(stream.data(), stream.size(), t->to.data() + t->in_places[r]);
    }
    t->from.snapshot();
    FORMS(Alltoallw, Ialltoallw, in_place ? MPI_IN_PLACE : t->from.data(), t->out_counts.data(),
          t->out_places.data(), t->out_types.data(), t->to.data(), t->in_counts.data(), t->in_places.data(),
          t->in_types.data(), comm.handle);
    for (int r = 0; r < size; ++r) {
      std::vector<char> stream = stream_of(part(id, r, me), kind, table(r, me));
      t->to.expect(t->in_layouts[r], stream.data(), stream.size(), t->in_places[r]);
      count(part(id, r, me), stream.data(), stream.size());
    }
  }
  bool has_to = which >= 2 || am_root;
  finish(later, request, [t, has_to] {
    t->from.same("first buffer");
    if (has_to) t->to.same("second buffer");
  });
}

}  // namespace soak
