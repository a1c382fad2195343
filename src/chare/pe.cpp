// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/pe.hpp"

#include <sys/random.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

#include "sys/os.hpp"
#include "sys/seat.hpp"

namespace nigh::chare {

namespace {

constexpr std::uint32_t first_lines = 16;  // of each producer's ring: 112 messages before it grows
constexpr std::size_t most_taken = 128, most_own = 64;  // messages in a round

static_assert(offsetof(Header, next) == offsetof(message::Link, next));
static_assert(offsetof(Header, producer) == offsetof(message::Link, producer));

// The PUs that this thread may use.
plan::Seat seat_here() {
  const auto cpus = sys::affinity();
  if (!cpus) return {};
  const sys::CpuSeat seat = sys::seat_of(cpus->words().data(), cpus->words().size());
  return {seat.cache, seat.node, seat.socket};
}

const char* text(message::PoolFault::Kind kind) {
  switch (kind) {
    case message::PoolFault::Kind::given_twice: return "was freed twice";
    case message::PoolFault::Kind::written_after: return "was written to after it was freed";
    default: return "was freed, but is none";
  }
}

}  // namespace

Mailbox* Mailbox::make(space::Space& space, std::uint32_t producers) {
  void* const mailbox = space.alloc(sizeof(Mailbox), alignof(Mailbox));
  void* const rings = space.alloc(message::InboxMemory<>::bytes(producers, first_lines), 64);
  if (!mailbox || !rings) return nullptr;
  auto* const out = new (mailbox) Mailbox;
  out->inbox = message::InboxMemory<>::make(rings, producers, first_lines);
  return out;
}

Pe::Pe(space::Space& space, message::Waiter& waiter, const Kind& kind, Cluster* cluster)
    : space_(space),
      waiter_(waiter),
      entries_(Entries::all()),
      number_(static_cast<std::uint32_t>(space.rank()) + (cluster ? cluster->first() : 0)),
      count_(cluster ? cluster->pes() : static_cast<std::uint32_t>(space.size())),
      first_(cluster ? cluster->first() : 0),
      local_(cluster ? cluster->local() : count_),
      rank_(number_ - first_),
      kind_(kind),
      cluster_(cluster),
      reductions_(*this),
      waves_(*this),
      balancer_(*this),
      saver_(*this),
      extents_(kind.range, kind.processes, number_, count_),
      fetcher_(entries_.entries.size()) {
  for (const core::Entry* entry : entries_.entries)
    small_.push_back(entry->travel <= core::Entry::Travel::in_shared_memory && !kind.by_pointer ? 1 : 0);
  if (kind.processes)
    for (const core::Entry* entry : entries_.entries)
      written_.push_back(entry->travel >= core::Entry::Travel::written ? 1 : 0);
  if (rank_ == 0) forget_what_was_told();
  if (kind.debug)
    debug_.found = [this](const message::PoolFault& fault) {
      fail(what_is(fault.tag) + " " + text(fault.kind));
    };
}

// The description of a block in the debug mode.
std::string Pe::what_is(std::uint32_t tag) const {
  if (tag < entries_.entries.size()) return "a message for " + name_of(*entries_.entries[tag]);
  return tag == buffer_tag ? "a buffer" : "a message";
}

Pe::~Pe() {
  if (here_ == this) here_ = nullptr;
}

bool Pe::open() {
  const auto ranks = static_cast<std::uint32_t>(space_.size());
  mailbox_ = Mailbox::make(space_, ranks);
  if (!mailbox_) {
    std::fprintf(stderr, "nigh chare: PE %u: there is no memory for its inbox\n", number_);
    return false;
  }
  mailbox_->digest = entries_.digest;
  mailbox_->seat = seat_here();
  static_cast<void>(::getrandom(&mailbox_->mark, sizeof mailbox_->mark, 0));
  mailbox_->free_places = kind_.range->free_places();
  if (kind_.processes && rank_ == 0) {
    const std::string file = kind_.range->make_file();
    file.copy(mailbox_->range_file, sizeof mailbox_->range_file - 1);
  }
  pool_ =
      std::make_unique<message::Pool>(&mailbox_->door, rank_, ranks, kind_.pool,
                                      debug_.found ? &debug_ : nullptr, kind_.trace ? &accounting : nullptr);
  inbox_ = std::make_unique<message::Inbox<>>(mailbox_->inbox);
  space_.publish(space::Root::chare, mailbox_);
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    auto box = [&] { return static_cast<Mailbox*>(space_.root(static_cast<int>(rank), space::Root::chare)); };
    if (waiter_.until([&] { return box() != nullptr; }, static_cast<int>(rank)) ==
        message::Waited::peer_dead) {
      if (kind_.processes) std::fprintf(stderr, "nigh chare: PE %u died before the job began\n", rank);
      return false;
    }
    mailboxes_.push_back(box());
    message::InboxMemory<> inbox = mailboxes_.back()->inbox;
    inbox.more = kind_.rings;  // functions of this process
    peers_.push_back(std::make_unique<Peer>(inbox, rank_));
    if (mailboxes_.back()->digest == entries_.digest) continue;
    std::fprintf(stderr, "nigh chare: PE %u runs another program than PE %u\n", rank, number_);
    return false;
  }
  if (kind_.processes) share_range();
  if (!cluster_) return true;
  if (cluster_->driver() == rank_)
    gate_ = std::make_unique<Gate>(*cluster_, *pool_,
                                   Gate::Use{[this](std::uint32_t pe, Header* message) {
                                               pe == number_ ? arrive(message) : push(pe - first_, message);
                                             },
                                             [this](std::uint32_t pe, Header* message) {
                                               if (pe == number_) return arrive_in_frame(message);
                                               Header* const own = gate_->copy(message);
                                               if (own) push(pe - first_, own);
                                               return own != nullptr;
                                             },
                                             [this](std::size_t bytes) { no_memory(bytes); }});
  return rank_ != 0 || meet();
}

// All processes of the space keep the same addresses, and see the same memory there.
void Pe::share_range() {
  std::uint32_t free_places = kind_.range->free_places();
  for (const Mailbox* box : mailboxes_) free_places &= box->free_places;
  if (kind_.range->settle(free_places)) kind_.range->share(mailboxes_[0]->range_file);
}

int Pe::run(void (*main)(void*), void* argument) {
  here_ = this;
  if (kind_.trace)
    recorder_ = std::make_unique<Recorder>(cluster_          ? cluster_->transport->process()
                                           : kind_.processes ? number_
                                                             : 0,
                                           number_);
  is_traced_ = recorder_ != nullptr;
  if (number_ == 0 && kind_.progress > 0) {
    if (cluster_ && !cluster_->transport->told().empty())
      std::fprintf(stderr, "nigh chare: messages go %s\n", cluster_->transport->told().c_str());
    after(kind_.progress, {tell_progress, {}, 0, {}});
  }
  if (number_ == 0 && main) run_main(main, argument);
  while (!stop_) {
    waiter_.until([&] { return round(); });
  }
  // Nobody sends any more from stage 1 on, nobody has others' memory from stage 2 on, all are done with it
  // at 3.
  for (const auto& elements : arrays_)
    if (elements)
      for (Header* message : elements->take_all_waiting()) drop(message);
  write_trace();
  reach(1);
  drop_messages();
  if (gate_) gate_->close();
  merge_trace();
  arrays_.clear();  // not before: there may be elements in the messages
  pool_->flush();
  reach(2);
  pool_->trim();
  pool_->each_in_use([&](const void*, std::uint32_t tag) {
    std::fprintf(stderr, "nigh chare: PE %u: %s was made, but neither sent nor freed\n", number_,
                 what_is(tag).c_str());
  });
  reach(3);
  peers_.clear();
  int status = 0;
  for (Mailbox* box : mailboxes_) status = std::max(status, box->status.load(std::memory_order_relaxed));
  here_ = nullptr;
  return status;
}

void Pe::reach(std::uint32_t stage) {
  publish();
  mailbox_->stage.store(stage, std::memory_order_release);
  for (std::uint32_t rank = 0; rank < mailboxes_.size(); ++rank) waiter_.ring(static_cast<int>(rank));
  for (std::uint32_t rank = 0; rank < mailboxes_.size(); ++rank)  // or dead
    waiter_.until([&] { return mailboxes_[rank]->stage.load(std::memory_order_acquire) >= stage; },
                  static_cast<int>(rank));
}

// --- the loop ---

bool Pe::round() {
  bool did = inbox_->take(Arrivals{*this}, most_taken) > 0;
  if (gate_) did |= gate_->progress();
  if (did) publish();  // answers are on their way while the PE's own messages run
  if (!ranked_.empty()) did |= run_urgent(0);
  did |= run_own();
  if (!did && !ranked_.empty()) did = run_urgent(std::numeric_limits<int>::max());
  ++rounds_;
  if (!timers_.empty() && (!did || rounds_ % 16 == 0)) did |= look_at_timers();
  publish();
  idle_rounds_ = did ? 0 : idle_rounds_ + 1;
  const bool seldom = idle_rounds_ % 64 == 0;  // the clock takes longer than a look for messages
  if (!did && (seldom || idle_rounds_ > 2000)) rest();
  stop_ = stop_ || mailbox_->stop.load(std::memory_order_relaxed);
  return did || stop_;
}

// For a while there was nothing to do.
void Pe::rest() {
  if (kind_.processes || gate_) look_for_the_dead();
  if (number_ == 0) waves_.idle(idle_rounds_ == 64);
}

void Pe::look_for_the_dead() {
  const std::int64_t now = message::now_ns();
  if (now < next_look_) return;
  next_look_ = now + 20'000'000;
  if (gate_) {
    const std::uint32_t dead = gate_->first_dead();
    const bool tells = dead == 0 || cluster_->transport->process() == 0;  // the first tells of all others
    if (dead < cluster_->transport->processes() && tells && !stop_)
      fail("PE " + std::to_string(cluster_->first_of[dead]) + " has died");
    return;
  }
  for (std::uint32_t pe = 0; pe < count_ && !stop_; ++pe)
    if (!space_.alive(static_cast<int>(pe)) && mailboxes_[pe]->stage.load(std::memory_order_acquire) == 0)
      fail("PE " + std::to_string(pe) + " has died");
}

// Above `below` one at a time, so that what comes in meanwhile has its chance.
bool Pe::run_urgent(int below) {
  bool did = false;
  while (!ranked_.empty() && ranked_.top().message->priority < below && !stop_) {
    Header* const message = ranked_.top().message;
    ranked_.pop();
    deliver(message);
    did = true;
    if (below > 0) break;
  }
  return did;
}

bool Pe::run_own() {
  std::size_t count = 0;
  while (own_first_ && count < most_own && !stop_) {
    Header* const message = own_first_;
    own_first_ = static_cast<Header*>(message->next);
    if (!own_first_) own_last_ = nullptr;
    deliver(message);
    ++count;
    if (!ranked_.empty()) run_urgent(0);
  }
  return count > 0;
}

bool Pe::look_at_timers() {
  bool did = false;
  const std::int64_t now = message::now_ns();
  while (!timers_.empty() && timers_.top().at <= now && !stop_) {
    const Callback then = timers_.top().then;
    timers_.pop();
    call(then);
    did = true;
  }
  return did;
}

bool Pe::publish() {
  if (gate_) gate_->flush();
  if (staged_.empty()) return false;
  for (const std::uint32_t rank : staged_) {
    peers_[rank]->lane.flush();
    peers_[rank]->lane.take_copied([this](message::Link* copied) { pool_->give(copied); });
    peers_[rank]->staged = false;
    waiter_.ring(static_cast<int>(rank));
  }
  staged_.clear();
  return true;
}

void Pe::arrive(std::uint32_t producer, const char* copy) {
  alignas(64) char here[message::copied_whole];
  std::memcpy(here + message::copied_from, copy, message::copied_bytes);
  auto* const first = reinterpret_cast<Header*>(here);
  if (is_traced_) [[unlikely]]
    read_stamp(first, producer);
  first->producer = producer;
  if (core::ElementBase* const element = ready_for(first)) [[likely]]
    return run_here(element, first);
  auto* const message = static_cast<Header*>(pool_->get(sizeof here, message_tag));
  if (!message) return no_memory(sizeof here);
  std::memcpy(static_cast<void*>(message), here, sizeof here);
  arrive(message);
}

void Pe::arrive(Header* message) {
  if (is_traced_) [[unlikely]]
    read_stamp(message);
  if (message->flags & parcel) [[unlikely]]
    return drive(message);
  if (stop_) [[unlikely]]
    return drop(message);
  if (message->priority != 0)
    ranked_.push({message, ranked_ever_++});
  else
    deliver(message);
}

// For one of several.
void Pe::run_shared(core::ElementBase* element, const Header* message) {
  running_ = entries_.entries[message->entry];
  runs_on_ = element;
  if (fits(*running_, *element))
    run_paced(*element, message, [&] { running_->run_shared(element, message); });
  running_ = nullptr;
}

void Pe::deliver_slowly(Header* message) {
  if (message->flags & written_out) {
    Header* const in = read_in(message);
    pool_->give(message);
    return in ? deliver(in) : void();
  }
  if (message->flags & to_all) return on_all(message);
  if (message->flags & to_some) return on_some(message);
  if (message->flags & of_the_system) return on_system(message);
  Elements* const elements = this->elements(message->array);
  if (!elements) return early_[message->array].push_back(message);
  Elements::Place& place = elements->place(message->element);
  if (message->flags & constructor) {
    if (place.element)
      fail("element " + text_of(place.element->index()) + " of a sparse array was inserted twice");
    else
      make_element(*elements, message->element, message);
    return consume(message);
  }
  if (place.pe != number_) return forward(place.pe, message);
  elements->park(message->element, message);
}

// --- what the runtime itself says ---

void Pe::on_system(Header* message) {
  switch (static_cast<System>(message->entry)) {
    case System::declare: declare(message); break;
    case System::partial: reductions_.on_partial(message); break;
    case System::quiescence: waves_.ask(payload_of<Callback>(message)); break;
    case System::done_inserting: done_inserting({message->array}, payload_of<Callback>(message)); break;
    case System::tally: tally(message); break;
    case System::tallied: on_tallied(message->array, payload_of<std::uint64_t>(message)); break;
    case System::measure: balancer_.on_measure(message); break;
    case System::measured: balancer_.on_measured(message); break;
    case System::moves: balancer_.on_moves(message); break;
    case System::element: balancer_.on_element(message); return ++done_, pool_->give(message);
    case System::save: saver_.on_save(message); break;
    case System::saved: saver_.on_saved(message); break;
    case System::restore: saver_.on_restore(message); break;
    case System::settled: balancer_.on_settled(message->array); break;
    case System::count: waves_.on_count(message); return pool_->give(message);
    case System::counted: waves_.on_counted(message); return pool_->give(message);
    case System::stop: stop_here(payload_of<int>(message)); return pool_->give(message);
    case System::goodbye: return pool_->give(message);  // is for drivers
  }
  consume(message);
}

// --- callbacks, and the end ---

void Pe::call(const Callback& then, const void* result, std::size_t bytes) {
  if (then.kind == Callback::Kind::nothing) return;
  if (then.kind == Callback::Kind::finish) return finish(0);
  if (then.kind == tell_progress) {
    waves_.tell();
    return after(kind_.progress, then);
  }
  if (then.kind == tally_elements) { return begin_tally(then.array.number); }
  if (then.kind == save_elements) {
    const char* const asked = static_cast<const char*>(result);
    return in_turn(then.array.number,
                   [this, array = then.array.number, what = std::vector<char>(asked, asked + bytes)] {
                     saver_.begin(array, what.data(), what.size());
                   });
  }
  if (then.kind == balance_elements) {
    Callback next;
    if (result && bytes == sizeof next) std::memcpy(static_cast<void*>(&next), result, sizeof next);
    return in_turn(then.array.number,
                   [this, array = then.array.number, next] { balancer_.begin(array, next); });
  }
  const core::Entry& entry = *entries_.entries[then.entry];
  std::size_t size = 0;
  if (!entry.from_result || !entry.from_result(result, bytes, nullptr, &size))
    return fail(name_of(entry) + " can't take a result of " + std::to_string(bytes) + " bytes");
  Header* const message = get(size, then.entry);
  if (!message) return;
  entry.from_result(result, bytes, message, &size);
  if (then.kind == Callback::Kind::all)
    post_to_all(message, then.array);
  else
    post(message, then.array, then.index);
}

void Pe::in_turn(std::uint16_t array, std::function<void()> begin) {
  auto& turns = turns_[array];
  turns.push_back(std::move(begin));
  if (turns.size() > 1) return;
  const std::function<void()> now = turns.front();  // it may be over at once
  now();
}

void Pe::turn_is_over(std::uint16_t array) {
  auto& turns = turns_[array];
  turns.pop_front();
  if (turns.empty()) return void(turns_.erase(array));
  const std::function<void()> now = turns.front();
  now();
}

void Pe::on_quiescence(const Callback& then) {
  if (number_ == 0) return waves_.ask(then);
  if (Header* message = system(System::quiescence, 0, then)) send(0, message);
}

void Pe::after(double seconds, const Callback& then) {
  const double ns = std::min(std::max(seconds, 0.0) * 1e9, 4e18);
  timers_.push({message::now_ns() + static_cast<std::int64_t>(ns), then});
}

void Pe::finish(int status) {
  if (stop_) return;
  stop_here(status);
  for (std::uint32_t process = 0; cluster_ && process < cluster_->transport->processes(); ++process)
    if (process != cluster_->transport->process())
      if (Header* const message = system(System::stop, 0, status))
        forward(cluster_->first_of[process], message);
}

void Pe::stop_here(int status) {
  mailbox_->status.store(std::max(status, mailbox_->status.load(std::memory_order_relaxed)),
                         std::memory_order_relaxed);
  stop_ = true;
  for (std::uint32_t rank = 0; rank < mailboxes_.size(); ++rank) {
    mailboxes_[rank]->stop.store(true, std::memory_order_relaxed);
    waiter_.ring(static_cast<int>(rank));
  }
}

void Pe::failed(const char* what) {
  if (!restoring_.empty())
    return fail("restore: " + restoring_ + ": element " + text_of(being_made_.index) + ": " + what);
  std::string where = "PE " + std::to_string(number_);
  if (running_ && runs_on_)
    where += ": " + name_of(*running_) + " of element " + text_of(runs_on_->index());
  else if (running_)
    where += ": " + name_of(*running_);
  fail(where + ": " + what);
}

namespace core {

// The entry points of every message, apart from its own code.
Header* get(std::size_t bytes, const Entry& entry) { return Pe::mine().get(bytes, entry.number); }
void* get_memory(std::size_t bytes) { return Pe::mine().get_memory(bytes); }
void give_memory(void* memory) {
  if (Pe* const pe = Pe::here()) pe->give_memory(memory);  // else it has gone with its pool
}
void post(Header* message, ArrayId array, const Index& index) { Pe::mine().post(message, array, index); }

}  // namespace core
}  // namespace nigh::chare
