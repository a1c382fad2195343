// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/pe.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "sys/os.hpp"
#include "sys/seat.hpp"

namespace nigh::chare {

namespace {

constexpr std::uint32_t first_lines = 16;  // of each producer's ring: 112 messages before it grows
constexpr std::size_t most_taken = 128, most_own = 64;  // messages in a round
constexpr std::int64_t long_ns = 1000;                  // several times what it takes to publish a message
constexpr unsigned until_short = 32, sampled = 127;     // runs in a row; one of so many

static_assert(offsetof(Header, next) == offsetof(message::Link, next));
static_assert(offsetof(Header, producer) == offsetof(message::Link, producer));
Header* header_of(message::Link* link) { return reinterpret_cast<Header*>(link); }

struct alignas(16) Original {  // in front of the arguments of a message that was written out
  std::uint64_t bytes = 0;
};

// All but what is the new one's own.
void take_header(Header& to, const Header& from, unsigned flags) {
  to.array = from.array;
  to.element = from.element;
  to.priority = from.priority;
  to.flags = flags & 0x1f;
}

// Where this thread may run.
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

Pe::Pe(space::Space& space, message::Waiter& waiter, const Kind& kind)
    : space_(space),
      waiter_(waiter),
      entries_(Entries::all()),
      number_(static_cast<std::uint32_t>(space.rank())),
      count_(static_cast<std::uint32_t>(space.size())),
      kind_(kind),
      reductions_(*this),
      waves_(*this),
      balancer_(*this),
      saver_(*this) {
  for (const core::Entry* entry : entries_.entries) paced_.push_back({entry});
  if (kind.processes)
    for (const core::Entry* entry : entries_.entries)
      written_.push_back(entry->travel == core::Entry::Travel::as_it_lies ? 0 : 1);
  if (kind.debug)
    debug_.found = [this](const message::PoolFault& fault) {
      fail(what_is(fault.tag) + " " + text(fault.kind));
    };
}

// What the debug mode knows of a block.
std::string Pe::what_is(std::uint32_t tag) const {
  if (tag < entries_.entries.size()) return "a message for " + name_of(*entries_.entries[tag]);
  return tag == buffer_tag ? "a buffer" : "a message";
}

Pe::~Pe() {
  if (here_ == this) here_ = nullptr;
}

bool Pe::open() {
  void* const mailbox = space_.alloc(sizeof(Mailbox), alignof(Mailbox));
  void* const rings = space_.alloc(message::InboxMemory<>::bytes(count_, first_lines), 64);
  if (!mailbox || !rings) {
    std::fprintf(stderr, "nigh chare: PE %u: there is no memory for its inbox\n", number_);
    return false;
  }
  mailbox_ = new (mailbox) Mailbox;
  mailbox_->inbox = message::InboxMemory<>::make(rings, count_, first_lines);
  mailbox_->digest = entries_.digest;
  mailbox_->seat = seat_here();
  pool_ = std::make_unique<message::Pool>(&mailbox_->door, number_, count_, kind_.pool,
                                          debug_.found ? &debug_ : nullptr);
  inbox_ = std::make_unique<message::Inbox<>>(mailbox_->inbox);
  space_.publish(space::Root::chare, mailbox);
  for (std::uint32_t pe = 0; pe < count_; ++pe) {
    auto box = [&] { return static_cast<Mailbox*>(space_.root(static_cast<int>(pe), space::Root::chare)); };
    if (waiter_.until([&] { return box() != nullptr; }, static_cast<int>(pe)) == message::Waited::peer_dead) {
      if (kind_.processes) std::fprintf(stderr, "nigh chare: PE %u died before the job began\n", pe);
      return false;
    }
    mailboxes_.push_back(box());
    message::InboxMemory<> inbox = mailboxes_.back()->inbox;
    inbox.more = kind_.rings;  // functions of this process
    peers_.push_back(std::make_unique<Peer>(inbox, number_));
    if (mailboxes_.back()->digest == entries_.digest) continue;
    std::fprintf(stderr, "nigh chare: PE %u runs another program than PE %u\n", pe, number_);
    return false;
  }
  return true;
}

int Pe::run(void (*main)(void*), void* argument) {
  here_ = this;
  if (number_ == 0 && main) main(argument);
  while (!stop_) {
    waiter_.until([&] { return round(); });
  }
  // Nobody sends any more from stage 1 on, nobody has others' memory from stage 2 on, all are done with it
  // at 3.
  for (const auto& elements : arrays_)
    if (elements)
      for (Header* message : elements->take_all_waiting()) drop(message);
  arrays_.clear();
  reach(1);
  drop_messages();
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
  for (std::uint32_t pe = 0; pe < count_; ++pe) waiter_.ring(static_cast<int>(pe));
  for (std::uint32_t pe = 0; pe < count_; ++pe)  // or dead
    waiter_.until([&] { return mailboxes_[pe]->stage.load(std::memory_order_acquire) >= stage; },
                  static_cast<int>(pe));
}

// --- the loop ---

bool Pe::round() {
  bool did = inbox_->take([&](message::Link* link) { arrive(header_of(link)); }, most_taken) > 0;
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
  if (kind_.processes) look_for_the_dead();
  if (number_ == 0) waves_.idle(idle_rounds_ == 64);
}

void Pe::look_for_the_dead() {
  const std::int64_t now = message::now_ns();
  if (now < next_look_) return;
  next_look_ = now + 20'000'000;
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
  if (staged_.empty()) return false;
  for (const std::uint32_t pe : staged_) {
    peers_[pe]->lane.flush();
    peers_[pe]->staged = false;
    waiter_.ring(static_cast<int>(pe));
  }
  staged_.clear();
  return true;
}

void Pe::arrive(Header* message) {
  if (stop_) [[unlikely]]
    return drop(message);
  if (message->priority != 0)
    ranked_.push({message, ranked_ever_++});
  else
    deliver(message);
}

inline void Pe::deliver(Header* message) {
  if (message->flags == 0) [[likely]]
    if (Elements* const elements = this->elements(message->array)) [[likely]]
      if (core::ElementBase* const element = elements->place(message->element).element) [[likely]]
        return run_one(element, message);
  deliver_slowly(message);
}

template <class Run>
inline void Pe::run_paced(Paced& entry, core::ElementBase& element, Run run) {
  if (!entry.is_long && --unsampled_ != 0) [[likely]]
    return run();
  run_timed(entry, element, run);
}

template <class Run>
__attribute__((noinline)) void Pe::run_timed(Paced& entry, core::ElementBase& element, Run run) {
  unsampled_ = sampled;
  const bool outer = std::exchange(is_prompt_, entry.is_long);
  if (is_prompt_) publish();
  const std::int64_t begun = message::now_ns();
  const bool stands_for_others = !entry.is_long;
  run();
  const std::int64_t took = message::now_ns() - begun;
  // One that was short so far and is long now is no sample of the others; or the system had it stopped.
  element.load_ns += static_cast<std::uint64_t>(took) * (stands_for_others && took < long_ns ? sampled : 1);
  if (took >= long_ns)
    entry.short_ones = 0, entry.is_long = true;
  else if (entry.is_long && ++entry.short_ones >= until_short)
    entry.is_long = false;
  is_prompt_ = outer;
}

inline void Pe::run_one(core::ElementBase* element, Header* message) {
  Paced& paced = paced_[message->entry];
  running_ = paced.entry;
  runs_on_ = element;
  run_paced(paced, *element, [&] { paced.entry->run(element, message); });
  running_ = nullptr;
  ++done_;
  pool_->give(message);
}

// For one of several.
void Pe::run_shared(core::ElementBase* element, const Header* message) {
  Paced& paced = paced_[message->entry];
  running_ = paced.entry;
  runs_on_ = element;
  run_paced(paced, *element, [&] { paced.entry->run_shared(element, message); });
  running_ = nullptr;
}

void Pe::deliver_slowly(Header* message) {
  if (message->flags & written_out) {
    message = read_in(message);
    return message ? deliver(message) : void();
  }
  if (message->flags & to_all) return on_all(message);
  if (message->flags & to_some) return on_some(message);
  if (message->flags & of_the_system) return on_system(message);
  Elements* const elements = this->elements(message->array);
  if (!elements) return early_[message->array].push_back({message, {}, true});
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

// Done with a message whose arguments are still in it.
void Pe::consume(Header* message) {
  ++done_;
  drop(message);
}

void Pe::drop(Header* message) {
  if ((message->flags & of_the_system) && static_cast<System>(message->entry) == System::element)
    balancer_.drop(message);
  if (!(message->flags & (of_the_system | written_out)))
    if (const auto destroy = entries_.entries[message->entry]->destroy) destroy(message);
  pool_->give(message);
}

void Pe::drop_messages() {
  inbox_->take([&](message::Link* link) { arrive(header_of(link)); });
  while (own_first_) {
    Header* const message = own_first_;
    own_first_ = static_cast<Header*>(message->next);
    drop(message);
  }
  own_last_ = nullptr;
  for (; !ranked_.empty(); ranked_.pop()) drop(ranked_.top().message);
  for (auto& [array, messages] : early_)
    for (const Early& early : messages) drop(early.message);
  early_.clear();
  for (Header* message : balancer_.take_kept()) drop(message);
}

// --- messages ---

inline void Pe::post(Header* message, std::uint16_t array, const Index& index) {
  message->array = array;
  if (stop_) [[unlikely]]
    return drop(message);
  ++sent_;
  Elements* const elements = this->elements(array);
  if (!elements) [[unlikely]]
    return early_[array].push_back({message, index, false});
  route(message, *elements, index);
}

inline void Pe::route(Header* message, Elements& elements, const Index& index) {
  const auto number = elements.number_of(index);
  if (!number) [[unlikely]] {
    fail("there is no element " + text_of(index) + " in an array of " + text_of(elements.shape));
    return drop(message);
  }
  message->element = *number;
  const std::uint32_t pe = elements.place(*number).pe;
  if (pe == number_)
    enqueue(message);
  else
    forward(pe, message);
}

inline void Pe::enqueue(Header* message) {
  if (message->priority != 0) return ranked_.push({message, ranked_ever_++});
  message->next = nullptr;
  if (own_last_)
    own_last_->next = message;
  else
    own_first_ = message;
  own_last_ = message;
}

void Pe::send(std::uint32_t pe, Header* message) {
  ++sent_;
  forward(pe, message);
}

void Pe::tell(std::uint32_t pe, Header* message) {
  ++sent_;
  pe == number_ ? enqueue(message) : forward(pe, message);
}

Header* Pe::copy(const Header* message) {
  Header* const out = get(message->bytes(), message->entry);
  if (!out) return nullptr;
  out->array = message->array;
  out->element = message->element;
  out->flags = message->flags;
  const core::Entry* entry = !(message->flags & of_the_system) ? entries_.entries[message->entry] : nullptr;
  if (entry && entry->copy)
    entry->copy(message, out);
  else
    std::memcpy(static_cast<void*>(out + 1), message + 1, message->bytes() - sizeof(Header));
  return out;
}

// As it goes between processes: how many bytes it has here, these bytes, and behind them what the arguments
// among them that are more than bytes say of themselves.
Header* Pe::write_out(Header* message) {
  const core::Entry& entry = *entries_.entries[message->entry];
  const std::size_t behind = message->bytes() - sizeof(Header);
  Header* out = nullptr;
  if (entry.travel == core::Entry::Travel::never) {
    fail("an argument of " + name_of(entry) +
         " can't leave its process: give its type a serialize(), or run with --mode threads");
  } else {
    const std::size_t bytes = sizeof(Header) + sizeof(Original) + behind + entry.write(message, nullptr);
    out = get(bytes, message->entry);
  }
  if (out) {
    const Original original{message->bytes()};
    char* at = reinterpret_cast<char*>(out + 1);
    std::memcpy(at, &original, sizeof original);
    std::memcpy(at + sizeof original, message + 1, behind);
    entry.write(message, at + sizeof original + behind);
    take_header(*out, *message, message->flags | written_out);
  }
  drop(message);
  return out;
}

Header* Pe::read_in(Header* message) {
  const auto original = payload_of<Original>(message);
  Header* const out = get(original.bytes, message->entry);
  if (out) {
    const std::size_t behind = original.bytes - sizeof(Header);
    char* const at = reinterpret_cast<char*>(message + 1) + sizeof original;
    std::memcpy(static_cast<void*>(out + 1), at, behind);
    entries_.entries[message->entry]->read(at + behind, out);
    take_header(*out, *message, message->flags & ~written_out);
  }
  pool_->give(message);
  return out;
}

void Pe::spread(const Header* message) {
  const auto root = static_cast<std::uint32_t>(message->element);
  const std::uint32_t mine = (number_ + count_ - root) % count_;
  for (std::uint32_t i = 1; i <= tree_arity; ++i) {
    const std::uint32_t child = tree_arity * mine + i;
    if (child >= count_) break;
    if (Header* const next = copy(message)) send((child + root) % count_, next);
  }
}

void Pe::post_to_all(Header* message, std::uint16_t array) {
  message->array = array;
  message->element = number_;
  message->flags |= to_all;
  if (stop_) return drop(message);
  ++sent_;
  enqueue(message);
}

// --- to some elements: one message for each PE that has any of them ---

namespace {

std::size_t bytes_of_numbers(std::size_t count) {
  return (count * sizeof(std::uint64_t) + 15) & ~std::size_t{15};
}

}  // namespace

// A copy of its first `arguments` bytes, and so many behind.
Header* Pe::copy_arguments(const Header* message, std::size_t arguments, std::size_t behind) {
  Header* const out = get(arguments + behind, message->entry);
  if (!out) return nullptr;
  take_header(*out, *message, 0);
  if (const auto copy = entries_.entries[message->entry]->copy)
    copy(message, out);
  else
    std::memcpy(static_cast<void*>(out + 1), message + 1, arguments - sizeof(Header));
  return out;
}

void Pe::post_to_some(Header* message, std::uint16_t array, const Index* some, std::size_t count) {
  message->array = array;
  Elements* const elements = this->elements(array);
  std::map<std::uint32_t, std::vector<std::uint64_t>> of;  // each PE
  for (std::size_t i = 0; i < count && !stop_; ++i) {
    if (!elements) {  // one by one, when it is known where they are
      if (Header* const one = copy_arguments(message, message->bytes(), 0)) post(one, array, some[i]);
    } else if (const auto number = elements->number_of(some[i])) {
      of[elements->place(*number).pe].push_back(*number);
    } else {
      fail("there is no element " + text_of(some[i]) + " in an array of " + text_of(elements->shape));
    }
  }
  for (const auto& [pe, numbers] : of) {
    if (stop_) break;
    Header* const part = copy_arguments(message, message->bytes(), bytes_of_numbers(numbers.size()));
    if (!part) break;
    part->flags = to_some;
    part->element = numbers.size();
    std::memcpy(reinterpret_cast<char*>(part) + message->bytes(), numbers.data(),
                numbers.size() * sizeof(numbers[0]));
    tell(pe, part);
  }
  drop(message);
}

void Pe::on_some(Header* message) {
  Elements* const elements = this->elements(message->array);
  if (!elements || !elements->made) return early_[message->array].push_back({message, {}, true});
  const std::size_t arguments = message->bytes() - bytes_of_numbers(message->element);
  for (std::size_t i = 0; i < message->element && !stop_; ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, reinterpret_cast<char*>(message) + arguments + i * sizeof number, sizeof number);
    if (core::ElementBase* const element = elements->place(number).element) {
      run_shared(element, message);
    } else if (Header* const one = copy_arguments(message, arguments, 0)) {  // it isn't here, or not yet
      one->element = number;
      ++sent_;
      deliver(one);
    }
  }
  consume(message);
}

void Pe::no_memory(std::size_t bytes) {
  if (bytes > Header::most_bytes)
    return fail("PE " + std::to_string(number_) + ": a message of " + std::to_string(bytes) +
                " bytes is too large: put what is in it in a Buffer");
  fail("PE " + std::to_string(number_) + ": there is no memory for a message of " + std::to_string(bytes) +
       " bytes");
}

// --- what the runtime itself says ---

void Pe::on_all(Header* message) {
  const std::uint16_t array = message->array;
  if (message->flags & of_the_system) {
    spread(message);
    return on_system(message);
  }
  Elements* const elements = this->elements(array);
  const bool makes = (message->flags & constructor) != 0;
  if (!elements || (!elements->made && !makes)) return early_[array].push_back({message, {}, true});
  if (!makes && elements->may_move() && message->element != 0) {  // all go by one tree: balancer.hpp
    message->element = 0;
    if (number_ != 0) return forward(0, message);
  }
  if (number_ == 0 && !makes && balancer_.keeps(message)) return;
  spread(message);
  if (makes) {
    make_elements(array, message);
  } else {
    for (std::size_t i = 0; i < elements->local().size() && !stop_; ++i)
      run_shared(elements->local()[i], message);
  }
  consume(message);
}

void Pe::on_system(Header* message) {
  switch (static_cast<System>(message->entry)) {
    case System::declare: declare(message->array, payload_of<Declared>(message)); break;
    case System::partial: reductions_.on_partial(message); break;
    case System::quiescence: waves_.ask(payload_of<Callback>(message)); break;
    case System::done_inserting: done_inserting(message->array, payload_of<Callback>(message)); break;
    case System::tally:
      if (Header* answer = system(System::tallied, message->array, elements(message->array)->local().size()))
        tell(0, answer);
      break;
    case System::tallied: on_tallied(message->array, payload_of<std::uint64_t>(message)); break;
    case System::measure: balancer_.on_measure(message); break;
    case System::measured: balancer_.on_measured(message); break;
    case System::moves: balancer_.on_moves(message); break;
    case System::element: balancer_.on_element(message); return ++done_, pool_->give(message);
    case System::save: saver_.on_save(message); break;
    case System::saved: saver_.on_saved(message); break;
    case System::restore: saver_.on_restore(message); break;
    case System::settled: balancer_.on_settled(message->array); break;
    case System::count: waves_.on_count(); return pool_->give(message);
    case System::counted: waves_.on_counted(message); return pool_->give(message);
  }
  consume(message);
}

// --- arrays ---

std::uint16_t Pe::create(const Shape& shape, const core::Type& type, Header* constructor) {
  const std::uint64_t array = std::uint64_t{arrays_made_} * count_ + number_;
  constexpr std::int64_t most = std::int64_t{1} << 31;
  const bool fits =
      shape.x >= 0 && shape.y >= 0 && shape.z >= 0 && shape.x <= most && shape.y <= most && shape.z <= most &&
      static_cast<double>(shape.x) * static_cast<double>(shape.y) * static_cast<double>(shape.z) <=
          static_cast<double>(most);
  if (!fits)
    fail("an array of " + text_of(shape) + " elements can't be: between 0 and " + std::to_string(most) +
         " can");
  else if (array > 0xffff)
    fail("PE " + std::to_string(number_) + " has created too many arrays: " + std::to_string(arrays_made_));
  const auto number = static_cast<std::uint16_t>(array);
  Header* const declaration =
      fits && array <= 0xffff ? system(System::declare, number, Declared{shape, type.number}) : nullptr;
  if (!declaration || stop_) {
    if (declaration) pool_->give(declaration);
    if (constructor) drop(constructor);
    return number;
  }
  ++arrays_made_;
  for (Header* message : {declaration, constructor}) {  // here at once: what follows may need it
    if (!message) continue;
    message->array = number;
    message->element = number_;
    message->flags |= message == constructor ? to_all | Flags::constructor : to_all;
    ++sent_;
    on_all(message);
  }
  return number;
}

void Pe::declare(std::uint16_t array, const Declared& declared) {
  if (array >= arrays_.size()) arrays_.resize(array + std::size_t{1});
  arrays_[array] =
      std::make_unique<Elements>(array, declared.shape, *entries_.types[declared.type], number_, count_);
  if (!declared.shape.is_sparse) return;  // the others are made first
  arrays_[array]->made = true;
  take_early(array, *arrays_[array]);
}

void Pe::make_elements(std::uint16_t array, const Header* message) {
  Elements& elements = *this->elements(array);
  for (std::uint64_t number = elements.first_mine(); number < elements.end_mine() && !stop_; ++number)
    make_element(elements, number, message);
  elements.made = true;
  take_early(array, elements);
}

void Pe::make_element(Elements& elements, std::uint64_t number, const Header* message) {
  const core::BeingMade outer = std::exchange(being_made_, {elements.index_of(number), message->array});
  const core::Entry* const outer_entry = std::exchange(running_, entries_.entries[message->entry]);
  const core::ElementBase* const outer_element = std::exchange(runs_on_, nullptr);
  bool made = false;
  if (core::ElementBase* const element = running_->make(message)) {
    elements.settle(number, element);
    made = true;
  }
  being_made_ = outer;
  running_ = outer_entry;
  runs_on_ = outer_element;
  if (!made) return;
  for (Header* waited : elements.take_waiting(number)) deliver(waited);
}

// Now, before any that are still to come: they would overtake these.
void Pe::take_early(std::uint16_t array, Elements& elements) {
  const auto found = early_.find(array);
  if (found == early_.end()) return;
  const std::vector<Early> messages = std::move(found->second);
  early_.erase(found);
  for (const Early& early : messages) {
    if (early.numbered)
      deliver(early.message);
    else
      route(early.message, elements, early.index);
  }
}

void Pe::insert(Header* message, std::uint16_t array, const Index& index) {
  message->flags |= constructor;
  post(message, array, index);
}

void Pe::done_inserting(std::uint16_t array, const Callback& then) {
  if (number_ != 0) {
    if (Header* message = system(System::done_inserting, array, then)) send(0, message);
    return;
  }
  tallies_[array] = {then, 0, count_};
  waves_.ask({tally_elements, array, 0, {}});
}

void Pe::on_tallied(std::uint16_t array, std::uint64_t elements) {
  Tally& tally = tallies_[array];
  tally.elements += elements;
  if (--tally.missing > 0) return;
  reductions_.set_total(array, tally.elements);
  call(tally.then);
  tallies_.erase(array);
}

void Pe::contribute(core::ElementBase& from, const void* data, std::size_t bytes, const core::Fold& fold,
                    const Callback& then) {
  if (!stop_) reductions_.contribute(from, data, bytes, fold, then);
}

void Pe::balance(core::ElementBase& from, const Callback& then) {
  if (!stop_) balancer_.ask(from, then);
}

void Pe::checkpoint(core::ElementBase& from, const char* path, const Callback& then) {
  if (!stop_) saver_.ask(from, path, then);
}

plan::Levels Pe::levels() const {
  std::vector<plan::Seat> seats;
  for (const Mailbox* box : mailboxes_) seats.push_back(box->seat);
  return plan::levels_of(seats);
}

// --- callbacks, and the end ---

void Pe::call(const Callback& then, const void* result, std::size_t bytes) {
  if (then.kind == Callback::Kind::nothing) return;
  if (then.kind == Callback::Kind::finish) return finish(0);
  if (then.kind == tally_elements) {
    Header* const message = system(System::tally, then.array, 0);
    if (message) post_to_all(message, then.array);
    return;
  }
  if (then.kind == save_elements) {
    const char* const asked = static_cast<const char*>(result);
    return in_turn(then.array, [this, array = then.array, what = std::vector<char>(asked, asked + bytes)] {
      saver_.begin(array, what.data(), what.size());
    });
  }
  if (then.kind == balance_elements) {
    Callback after;
    std::memcpy(static_cast<void*>(&after), result, sizeof after);
    return in_turn(then.array, [this, array = then.array, after] { balancer_.begin(array, after); });
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
  if (turns.size() == 1) turns.front()();
}

void Pe::turn_is_over(std::uint16_t array) {
  auto& turns = turns_[array];
  turns.pop_front();
  if (turns.empty())
    turns_.erase(array);
  else
    turns.front()();
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
  mailbox_->status.store(std::max(status, mailbox_->status.load(std::memory_order_relaxed)),
                         std::memory_order_relaxed);
  stop_ = true;
  for (std::uint32_t pe = 0; pe < count_; ++pe) {
    mailboxes_[pe]->stop.store(true, std::memory_order_relaxed);
    waiter_.ring(static_cast<int>(pe));
  }
}

void Pe::failed(const char* what) {
  std::string where = "PE " + std::to_string(number_);
  if (running_ && runs_on_)
    where += ": " + name_of(*running_) + " of element " + text_of(runs_on_->index());
  else if (running_)
    where += ": " + name_of(*running_);
  fail(where + ": " + what);
}

void Pe::fail(const std::string& what) {
  if (!failed_) std::fprintf(stderr, "nigh chare: %s\n", what.c_str());
  failed_ = true;
  finish(1);
}

namespace core {

// What every message calls, beside the code that it is.
Header* get(std::size_t bytes, const Entry& entry) { return Pe::mine().get(bytes, entry.number); }
void* get_memory(std::size_t bytes) { return Pe::mine().get_memory(bytes); }
void give_memory(void* memory) {
  if (Pe* const pe = Pe::here()) pe->give_memory(memory);  // else it has gone with its pool
}
void post(Header* message, std::uint16_t array, const Index& index) {
  Pe::mine().post(message, array, index);
}

}  // namespace core
}  // namespace nigh::chare
