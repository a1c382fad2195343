// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A group's life, its calls in order, and how they wait. Cells outlive their group until every peer has left,
// too: leaving is one count in each peer's cells, and whoever makes or leaves a group later releases what
// nobody can read any more. So nobody waits at the end of a group.
#include <algorithm>
#include <mutex>
#include <new>

#include "message/collective_state.hpp"

namespace nigh::message {
namespace {

// Cells of groups that are gone, of every rank in this process.
struct Graveyard {
  struct Grave {
    space::Space* space;
    Cells* cells;
  };
  std::mutex mutex;
  std::vector<Grave> graves;

  void bury(space::Space& space, Cells* cells) {
    std::lock_guard lock(mutex);
    try {
      graves.push_back({&space, cells});
    } catch (const std::bad_alloc&) {
      return;  // these cells are never released
    }
  }
  // Cells of this rank that nobody can read any more.
  Cells* open(space::Space& space) {
    std::lock_guard lock(mutex);
    for (auto grave = graves.begin(); grave != graves.end(); ++grave) {
      Cells* cells = grave->cells;
      if (grave->space != &space || !cells->left()) continue;
      graves.erase(grave);
      return cells;
    }
    return nullptr;
  }
  void sweep(space::Space& space) {
    while (Cells* cells = open(space)) space.release(cells);
  }
};

Graveyard& graveyard() {
  static auto* yard = new Graveyard;  // never destroyed: groups may be as late as exit handlers
  return *yard;
}

constexpr std::int64_t patience_ns = 10'000'000;  // between two looks of advance() whether a peer lives

}  // namespace

Group::State::State(space::Space& space, Waiter& waiter, int member, std::vector<Cells*> cells,
                    std::vector<int> ranks, const plan::Levels& levels)
    : space(space),
      waiter(waiter),
      me(member),
      size(static_cast<int>(cells.size())),
      cells(std::move(cells)),
      ranks(std::move(ranks)),
      tree(levels, size),
      small_tree(tree.flat() && size > flat_members ? eights(size) : levels, size),
      in(static_cast<std::size_t>(size)),
      out(static_cast<std::size_t>(size)),
      cards(static_cast<std::size_t>(size)) {
  family.reserve(static_cast<std::size_t>(size));
}

Cells* Group::make_cells(space::Space& space, int members, bool crowded) {
  graveyard().sweep(space);
  const std::size_t area_bytes = crowded ? crowded_area_room : area_room;
  void* memory = space.alloc(Cells::total_bytes(area_bytes), alignof(Cells));
  if (!memory) return nullptr;
  Cells* cells = new (memory) Cells;
  cells->members = static_cast<std::uint64_t>(members);
  cells->area_bytes = area_bytes;
  return cells;
}

Group::Group(space::Space& space, Waiter& waiter, int member, std::vector<Cells*> cells,
             std::vector<int> space_ranks, const plan::Levels& levels)
    : state_(
          std::make_unique<State>(space, waiter, member, std::move(cells), std::move(space_ranks), levels)) {}

Group::~Group() {
  State& g = *state_;
  for (auto& stage : g.stages) g.space.release(stage->data);
  if (g.cells.empty()) return;                                                // departed
  if (std::find(g.cells.begin(), g.cells.end(), nullptr) != g.cells.end()) {  // nobody has met this group
    if (Cells* own = cells()) g.space.release(own);
    return;
  }
  graveyard().bury(g.space, depart());
  graveyard().sweep(g.space);
}

Cells* Group::depart() {
  State& g = *state_;
  Cells* own = cells();
  close(own);
  for (Cells* peer : g.cells)
    if (peer != own) leave_peer(peer);
  g.cells.clear();
  return own;
}

void Group::close(Cells* own) { own->closed.store(1, std::memory_order_release); }
void Group::leave_peer(Cells* peers) { peers->departed.fetch_add(1, std::memory_order_acq_rel); }
void Group::visit(Cells* peers) { peers->visited.store(1, std::memory_order_relaxed); }
bool Group::visited(const Cells* own) { return own->visited.load(std::memory_order_relaxed) != 0; }
bool Group::left(const Cells* own) { return own->left(); }

void Group::renew(Cells* own, int members, bool met) {
  const std::uint64_t area_bytes = own->area_bytes;
  if (met) new (own) Cells;
  own->departed.store(0, std::memory_order_relaxed);
  own->visited.store(0, std::memory_order_relaxed);
  own->closed.store(0, std::memory_order_relaxed);
  own->members = static_cast<std::uint64_t>(members);
  own->area_bytes = area_bytes;
}

int Group::member() const { return state_->me; }
int Group::size() const { return state_->size; }
void Group::set_reproducible(bool on) { state_->reproducible = on; }
const Group::Counts& Group::counts() const { return state_->counts; }
bool Group::progress() { return state_->progress(); }

Group::Pending* Group::start(const Call& call) try {
  State& g = *state_;
  Pending* p = g.new_pending();
  ++g.counts.calls;
  if (g.broken != Outcome::ok) {
    p->outcome = g.broken;
    return p;
  }
  g.enlist(*p, call);
  g.progress();
  return p;
} catch (const std::bad_alloc&) {
  state_->give_up(Outcome::no_memory);  // peers wait for a call that is not made
  return nullptr;
}

Outcome Group::advance(Pending* pending) {
  State& g = *state_;
  if (pending->outcome == Outcome::pending && !g.progress()) g.look_for_dead();
  const Outcome outcome = pending->outcome;
  if (outcome != Outcome::pending) g.spare.push_back(pending);
  return outcome;
}

Group::Pending* Group::State::new_pending() {
  if (spare.empty()) {
    made.push_back(std::make_unique<Pending>());
    spare.reserve(made.size());  // so that giving it back can't fail
    spare.push_back(made.back().get());
  }
  Pending* p = spare.back();
  spare.pop_back();
  *p = Pending{};
  return p;
}

void Group::State::enlist(Pending& p, const Call& call) {
  p.call = call;
  p.engine = engine_for(call);
  active.push_back(&p);
  p.number = ++number;
}

bool Group::State::grant(std::uint64_t call, int& awaited) {
  if (call <= granted) return true;
  const std::uint64_t need = must_be_done(call);
  if (done < need) return false;
  for (int member = 0; member < size; ++member)
    if (member != me && !is_done(ring_of(member), need)) {
      awaited = member;
      if (failed(member)) give_up(Outcome::peer_dead);
      return false;
    }
  granted = batch_end(call);
  return true;
}

void Group::State::drive(Pending& p) {
  if (!p.granted) {
    p.granted = grant(p.number, p.awaited);
    if (!p.granted) return;
    ++p.moved;
  }
  p.engine(*this, p);
}

bool Group::State::progress() {
  if (busy || active.empty()) return false;
  busy = true;
  bool moved = false;
  for (std::size_t i = 0; i < active.size(); ++i) {
    Pending& p = *active[i];
    const std::uint64_t before = p.moved;
    if (p.outcome == Outcome::pending) drive(p);
    moved = moved || p.moved != before;
    if (p.outcome != Outcome::pending || p.granted) continue;
    // Its cell is in use, and so are those of all later calls: they await whom it awaits.
    if (p.awaited < 0) p.awaited = active[0]->awaited;
    for (std::size_t later = i + 1; later < active.size(); ++later) active[later]->awaited = p.awaited;
    break;
  }
  std::erase_if(active, [](const Pending* p) { return p->outcome != Outcome::pending; });
  busy = false;
  return moved;
}

void Group::State::wait_for(Pending& p) {
  while (p.outcome == Outcome::pending) {
    progress();
    const int awaited = p.awaited;
    const int peer = awaited < 0 || awaited == me ? Waiter::nobody : ranks[static_cast<std::size_t>(awaited)];
    auto changed = [&] {
      if (!progress()) look_for_dead();
      return p.outcome != Outcome::pending || p.awaited != awaited;
    };
    if (waiter.until(changed, peer) == Waited::peer_dead && p.outcome == Outcome::pending)
      give_up(Outcome::peer_dead);
  }
  std::erase(active, &p);
}

// A call beside which there is no other: no list to keep.
void Group::State::run_lone(Pending& p, Pending::Engine engine) {
  p.engine = engine;
  p.number = ++number;
  lone = &p;
  while (p.outcome == Outcome::pending) {
    drive(p);
    if (p.outcome != Outcome::pending) break;
    const int awaited = p.awaited;
    const int peer = awaited < 0 || awaited == me ? Waiter::nobody : ranks[static_cast<std::size_t>(awaited)];
    auto changed = [&] {
      if (p.outcome != Outcome::pending) return true;  // given up: no engine may see it again
      const std::uint64_t before = p.moved;
      drive(p);
      if (p.moved == before && p.outcome == Outcome::pending) look_for_dead();
      return p.outcome != Outcome::pending || p.awaited != awaited;
    };
    if (waiter.until(changed, peer) == Waited::peer_dead && p.outcome == Outcome::pending)
      give_up(Outcome::peer_dead);
  }
  lone = nullptr;
}

bool Group::State::await(Pending& p, int member) {
  p.awaited = member;
  if (failed(member)) give_up(Outcome::peer_dead);
  return false;
}

void Group::State::end(Pending& p, Outcome outcome) {
  for (Stage** stage : {&p.stage, &p.stage_result}) {
    if (*stage) (*stage)->used = false;
    *stage = nullptr;
  }
  p.outcome = outcome;
  ++p.moved;
  finish_number(p.number);
}

void Group::State::finish_number(std::uint64_t call) {
  done_ahead |= std::uint64_t{1} << (call - done - 1);
  const std::uint64_t before = done;
  for (; done_ahead & 1; done_ahead >>= 1) ++done;
  if (done / cell_batch == before / cell_batch) return;
  leave(ring_of(me), done);
  ring_all();
}

void Group::State::give_up(Outcome why) {
  if (broken != Outcome::ok) return;
  broken = why;
  const Failure failure = why == Outcome::no_memory ? Failure::no_memory : Failure::peer_dead;
  cells[static_cast<std::size_t>(me)]->failed.store(static_cast<std::uint32_t>(failure),
                                                    std::memory_order_release);
  ring_all();
  for (Pending* p : active)
    if (p->outcome == Outcome::pending) p->outcome = why;
  if (lone) lone->outcome = why;
}

void Group::State::look_for_dead() {
  if (++idle % 64 != 0) return;
  const std::int64_t now = now_ns();
  if (now - looked_ns < patience_ns) return;
  looked_ns = now;
  auto look = [this](const Pending& p) {
    for (const int awaited : {p.awaited, p.also_awaited})
      if (awaited >= 0 && awaited != me && waiter.hopeless(ranks[static_cast<std::size_t>(awaited)]))
        give_up(Outcome::peer_dead);
  };
  for (Pending* p : active) look(*p), let_go(*p);
  if (lone) look(*lone), let_go(*lone);
  std::erase_if(active, [](const Pending* p) { return p->outcome != Outcome::pending; });
}

// A member that only gives is not held up by one that will never take: the wrong arguments of a root that
// went on to MPI_Finalize. Libraries that send a few KiB ahead end such a call, too.
void Group::State::let_go(Pending& p) {
  const bool root = me == p.call.root;
  const bool gives = root ? p.call.kind == Kind::bcast || p.call.kind == Kind::scatter
                          : p.call.kind == Kind::reduce || p.call.kind == Kind::gather;
  const int member = p.awaited;
  if (!gives || p.outcome != Outcome::pending || member < 0 || member == me || !closed(member)) return;
  const std::uint64_t before = p.moved;
  drive(p);  // it may have taken just before it closed
  if (p.outcome == Outcome::pending && p.moved == before) end(p);
}

Stage* Group::State::take_stage(std::size_t bytes) {
  for (auto& stage : stages)
    if (!stage->used && stage->bytes >= bytes) {
      stage->used = true;
      return stage.get();
    }
  std::size_t room = std::size_t{64} << 10;
  while (room < bytes) room *= 2;
  void* data = space.alloc(room, 4096);
  if (!data) return nullptr;
  try {
    stages.push_back(std::make_unique<Stage>(Stage{as_bytes(data), room, true}));
  } catch (const std::bad_alloc&) {
    space.release(data);
    return nullptr;
  }
  return stages.back().get();
}

bool Group::State::stage_for(Pending& p, Stage*& stage, std::size_t bytes) {
  stage = take_stage(bytes);
  if (stage) {
    ++counts.staged;
    return true;
  }
  give_up(Outcome::no_memory);
  p.outcome = Outcome::no_memory;
  return false;
}

bool Group::State::may_regroup(const Call& call, const Tree& over) const {
  if (over.flat()) return false;
  if (reproducible && (call.combine->floating_sum || call.combine->ordered || call.combine->user))
    return false;
  return call.combine->commutative || over.contiguous();
}

void Group::State::count_crossing(int other, std::size_t bytes) {
  const int levels = std::min(tree.top(), Counts::borders);
  for (int level = 0; level < levels; ++level)
    if (tree.domain(level, me) != tree.domain(level, other)) counts.crossed[level] += bytes;
}

bool Group::validate() const {
  State& g = *state_;
  if (g.done > g.number || g.granted % cell_batch != 0 || g.done_ahead & 1) return false;
  if (g.done_ahead >> cell_count != 0) return false;
  std::uint64_t last = 0;
  for (const Pending* p : g.active) {
    if (p->number <= last || p->number > g.number || p->number <= g.done) return false;
    if (p->granted && p->number > g.granted) return false;
    last = p->number;
  }
  for (int member = 0; member < g.size; ++member) {
    const Cells& cells = *g.cells[static_cast<std::size_t>(member)];
    if (cells.members != static_cast<std::uint64_t>(g.size)) return false;
    const std::uint64_t left = cells.ring.done.load(std::memory_order_acquire);
    for (std::uint64_t slot = 0; slot < cell_count; ++slot) {
      const CallCell& cell = cells.ring.cell[slot];
      const std::uint64_t call = cell.posted.load(std::memory_order_acquire);
      if (call != 0 && call % cell_count != slot) return false;
      if (member == g.me && call > g.granted) return false;
      const std::uint64_t taken = cell.taken.load(std::memory_order_acquire) >> 24;
      if (taken != 0 && taken % cell_count != slot) return false;
    }
    if (member == g.me && left > g.done) return false;
  }
  return true;
}

}  // namespace nigh::message
