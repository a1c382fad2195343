// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A processing element: the scheduler of one thread. One round takes what came in, runs it, runs what was
// sent within this PE, and puts what is for others on its way; where there is nothing it waits as the ranks
// of a space do.
//
//     inbox ─┬─ priority 0 ─────────────► run          first: priorities below 0
//            └─ others ───► heap ───────► run          then:  the inbox, the PE's own messages in order
//     own messages ─► first in, first out ► run        last:  priorities above 0
//
// All of this is the PE's own: no other thread writes it, and it shares no line with another's.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <queue>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

#include "chare/balancer.hpp"
#include "chare/cluster.hpp"
#include "chare/elements.hpp"
#include "chare/entries.hpp"
#include "chare/extents.hpp"
#include "chare/fetcher.hpp"
#include "chare/kind.hpp"
#include "chare/recorder.hpp"
#include "chare/reduction.hpp"
#include "chare/saver.hpp"
#include "chare/wave.hpp"
#include "message/inbox.hpp"
#include "message/pool.hpp"
#include "message/wait.hpp"
#include "space/space.hpp"

namespace nigh::chare {

[[noreturn]] void no_pe();  // a thread that is none calls

struct HashOfId {
  std::size_t operator()(core::ArrayId id) const {
    return (std::uint64_t{id.number} << 16 | id.mark) * 0x9e3779b97f4a7c15 >> 16;
  }
};

class alignas(128) Pe {
 public:
  using ArrayId = core::ArrayId;
  // `cluster`: its process is one of several; null: the ranks of the space are all.
  Pe(space::Space& space, message::Waiter& waiter, const Kind& kind, Cluster* cluster = nullptr);
  Pe(const Pe&) = delete;
  Pe& operator=(const Pe&) = delete;
  ~Pe();
  // Meets the others. False, and told: there is no memory, or they run another program.
  [[nodiscard]] bool open();
  // Until the job ends. The status of all.
  int run(void (*main)(void*), void* argument);

  // The calls that entry methods may make, in the words of core.hpp.
  Header* get(std::size_t bytes, std::uint16_t entry);
  void* get_memory(std::size_t bytes) { return pool_->get(bytes, buffer_tag); }
  void give_memory(void* memory) { pool_->give(memory); }
  Extents& extents() { return extents_; }
  void post(Header* message, ArrayId array, const Index& index);
  void post_to_all(Header* message, ArrayId array);
  void post_to_some(Header* message, ArrayId array, const Index* elements, std::size_t count);
  // `names`: it was written to a file, and has had these ids then.
  ArrayId create(const Shape& shape, const core::Type& type, Header* constructor,
                 const std::vector<ArrayId>& names = {});
  void insert(Header* constructor, ArrayId array, const Index& index);
  void done_inserting(ArrayId array, const Callback& then);
  void contribute(core::ElementBase& from, const void* data, std::size_t bytes, const core::Fold& fold,
                  const Callback& then);
  void balance(core::ElementBase& from, const Callback& then);
  void checkpoint(core::ElementBase& from, const char* path, const Callback& then);
  ArrayId restore(const char* path, const core::Type& type) { return saver_.restore(path, type); }
  void on_quiescence(const Callback& then);
  void after(double seconds, const Callback& then);
  void finish(int status);
  [[nodiscard]] bool looks_closely() const { return kind_.debug; }
  void failed(const char* what);  // in the entry method that runs
  [[nodiscard]] Elements* elements(std::uint16_t array) {
    return array < arrays_.size() ? arrays_[array].get() : nullptr;
  }
  // Null: it is not known here, or not yet.
  [[nodiscard]] Elements* elements(ArrayId id) {
    Elements* const elements = this->elements(id.number);
    return elements && elements->mark == id.mark ? elements : look_for(id);
  }
  // The id as it was read from a file, for an element that is being restored.
  [[nodiscard]] ArrayId array_of_file(ArrayId id);
  [[nodiscard]] std::uint32_t number() const { return number_; }
  [[nodiscard]] std::uint32_t count() const { return count_; }
  [[nodiscard]] const core::BeingMade& being_made() const { return being_made_; }

  // The memory that it writes for its messages. None of it shares a line with another PE's, nor do two of
  // them.
  [[nodiscard]] std::vector<message::OwnPart> own_parts() const;

  // The payload of a message of the runtime.
  template <class Payload>
  static Payload payload_of(const Header* message) {
    Payload out;
    std::memcpy(static_cast<void*>(&out), message + 1, sizeof out);
    return out;
  }

  // The PE of this thread; null: none.
  static Pe* here() { return here_; }
  // Throws std::logic_error where there is none.
  static Pe& mine() {
    if (!here_) [[unlikely]]
      no_pe();
    return *here_;
  }

 private:
  friend class Balancer;
  friend class Reductions;
  friend class Saver;
  friend class Waves;
  struct alignas(message::line_bytes) Peer {
    Peer(const message::InboxMemory<>& inbox, std::uint32_t from) : lane(inbox, from) {}
    message::Lane<> lane;
    bool staged = false;
  };
  // The messages that the inbox hands over.
  struct Arrivals {
    Pe& pe;
    void operator()(message::Link* link) const { pe.arrive(reinterpret_cast<Header*>(link)); }
    void operator()(std::uint32_t producer, const char* copy) const { pe.arrive(producer, copy); }
  };

  void run_main(void (*main)(void*), void* argument);
  // The loop
  bool round();
  bool run_urgent(int below);
  bool run_own();
  bool look_at_timers();
  bool publish();
  void arrive(Header* message);
  void arrive(std::uint32_t producer, const char* copy);
  bool arrive_in_frame(Header* first);
  // The element that a call can be run on at once; null: a closer look is needed.
  [[nodiscard]] core::ElementBase* ready_for(const Header* first) {
    if (first->priority != 0 || stop_) [[unlikely]]
      return nullptr;
    Elements* const elements = this->elements(first->array);
    return elements ? elements->place(first->element).element : nullptr;
  }
  void deliver(Header* message);
  void deliver_slowly(Header* message);
  // True if the method is of that element's class. False, and reported.
  [[nodiscard]] bool fits(const core::Entry& entry, const core::ElementBase& element) {
    return entry.type == element.type || fits_otherwise(entry, element);
  }
  [[nodiscard]] bool fits_otherwise(const core::Entry& entry, const core::ElementBase& element);
  void run_one(core::ElementBase* element, Header* message);
  void run_here(core::ElementBase* element, Header* message);
  void run_shared(core::ElementBase* element, const Header* message);
  template <class Run>
  void run_paced(core::ElementBase& element, const Header* message, Run run);
  template <class Run>
  void run_timed(core::ElementBase& element, const Header* message, Run run);
  [[nodiscard]] Fetcher::Choice fetch_or_not(const Header* message) {
    const bool from_afar = message->producer != rank_ && message->producer != far_producer;
    return from_afar ? fetcher_.choose(message->entry, running_->buffers(message, nullptr, nullptr))
                     : Fetcher::Choice{};
  }
  void record(const Header* message, std::int64_t begun, std::int64_t took);
  // A traced message says who has sent it, and when. True: it may also be copied into a line.
  bool stamp(Header* message);
  void read_stamp(Header* message) const;
  void read_stamp(Header* copied, std::uint32_t producer) const;
  void consume(Header* message);
  // Messages
  Header* make(void* memory, std::size_t bytes, std::uint16_t entry) const;  // there
  void route(Header* message, Elements& elements, const Index& index);
  void enqueue(Header* message);                    // for this PE
  void send(std::uint32_t pe, Header* message);     // for another, counted
  void tell(std::uint32_t pe, Header* message);     // of the system, counted; it may be this PE
  void forward(std::uint32_t pe, Header* message);  // not counted again
  void push(std::uint32_t rank, Header* message);   // of this space
  void ship(std::uint32_t pe, Header* message);     // to another process
  // For a parcel to `pe`: the transport's memory if this PE is the driver, else the pool's, and not sent yet.
  Header* room_for(std::uint32_t pe, std::size_t bytes, std::uint16_t entry, bool& is_sent);
  void finish_parcel(Header* out, const Address& to, bool is_sent);
  // Its buffers go from where they lie to where they will be used.
  bool ship_attached(std::uint32_t pe, Header* message);
  void drive(Header* parcel);  // this PE is the driver
  [[nodiscard]] bool is_local(std::uint32_t pe) const { return pe - first_ < local_; }
  // The reach of bytes that are serialized for others.
  [[nodiscard]] core::Reach reach() const {
    return kind_.processes ? core::Reach::shared : core::Reach::away;
  }
  // A copy of the first `arguments` bytes, or of all of a message to one element, with `behind` bytes after
  // them.
  Header* copy(const Header* message, std::size_t arguments, std::size_t behind = 0);
  // Null, and told: it can't leave the process.
  Header* write_out(Header* message);
  bool may_leave(const Header* message);  // false, and told
  void write_into(Header* out, Header* message);
  // Its bytes when written out.
  [[nodiscard]] std::size_t bytes_written(Header* message) const;
  // The size of a serialized message before serialization; deserialized into memory of that size; or into
  // memory of the pool: null, and reported, if there is none. The serialized one remains.
  static std::size_t bytes_before(const Header* message);
  Header* read_into(void* memory, Header* message);
  Header* read_in(Header* message);
  void spread(const Header* message);  // to this PE's children in the tree of PEs
  template <class Payload>
  Header* system(System kind, std::uint16_t array, const Payload& payload, std::size_t more = 0) {
    static_assert(std::is_trivially_copyable_v<Payload>);
    const std::size_t bytes = sizeof(Header) + sizeof payload + more;
    Header* const message = get(bytes, static_cast<std::uint16_t>(kind));
    if (!message) return nullptr;
    message->array = array;
    message->flags = of_the_system;
    std::memcpy(static_cast<void*>(message + 1), &payload, sizeof payload);
    return message;
  }
  void no_memory(std::size_t bytes);
  // The runtime's own
  void on_all(Header* message);
  void on_some(Header* message);
  void on_system(Header* message);
  struct Declared {  // with `names` ids behind it
    Shape shape;
    std::uint16_t type = 0, mark = 0, restored = 0;
    std::uint32_t names = 0;
  };
  Header* declaration_of(ArrayId id, const Shape& shape, const core::Type& type,
                         const std::vector<ArrayId>& names);
  void declare(const Header* message);
  [[nodiscard]] std::uint16_t new_mark();
  [[nodiscard]] Elements* look_for(ArrayId id);
  void stow(const Early& early, ArrayId array);  // until that array is there
  [[nodiscard]] plan::Levels levels() const;     // of all PEs
  void make_elements(std::uint16_t array, const Header* message);
  // It is here now; what has waited for it runs.
  void settle(Elements& elements, std::uint64_t number, core::ElementBase* element);
  // Made of the output of serialize(); null, and reported: it can't be made.
  core::ElementBase* read_element(Elements& elements, std::uint64_t number, const char* from,
                                  std::size_t bytes, core::Reach from_where);
  void make_element(Elements& elements, std::uint64_t number, const Header* message);
  // In the debug mode: told, once of a class, if its serialize() leaves out what is in that element.
  void look_for_forgotten(core::ElementBase& element);
  void take_early(Elements& elements);
  void take_strays(Elements& elements, ArrayId named);
  void begin_tally(std::uint16_t array);  // at PE 0
  void tally(const Header* message);
  void on_tallied(std::uint16_t array, std::uint64_t elements);
  // Messages that wait for what is not there, and one of them.
  [[nodiscard]] std::uint64_t waiting(Waiting& one) const;
  void call(const Callback& then, const void* result = nullptr, std::size_t bytes = 0);
  // At PE 0: what is done to a whole array, one thing after the other. `begin` is called now or later; what
  // it began says when it is over.
  void in_turn(std::uint16_t array, std::function<void()> begin);
  void turn_is_over(std::uint16_t array);
  void fail(const std::string& what);
  static void forget_what_was_told();  // by the jobs before this one
  [[nodiscard]] Recorder::Goal goal_of_trace() const;
  void write_trace();
  void merge_trace();
  void stop_here(int status);  // the PEs of this process
  bool meet();                 // the other processes
  void share_range();
  [[nodiscard]] std::string what_is(std::uint32_t tag) const;
  // The end
  void rest();
  void look_for_the_dead();
  void reach(std::uint32_t stage);
  void drop_messages();
  void drop(Header* message);
  void drop_arguments(Header* message);

  // One load for each use: there is room for a pointer even where the library is opened late.
  __attribute__((tls_model("initial-exec"))) static constinit thread_local inline Pe* here_ = nullptr;

  space::Space& space_;
  message::Waiter& waiter_;
  const Entries& entries_;
  std::uint32_t number_, count_;  // of all PEs
  // The first of this process, how many it has, and which of the space's ranks this one is.
  std::uint32_t first_, local_, rank_;
  Kind kind_;
  Cluster* cluster_;
  std::vector<char> written_;   // between processes, by entry: its messages have to be written out
  std::vector<char> small_;     // by entry: its messages may be copied as bytes
  std::int64_t next_look_ = 0;  // ns: for PEs that have died
  bool stop_ = false;
  bool failed_ = false;
  bool is_prompt_ = false;  // a long entry method runs
  bool is_traced_ = false;  // messages say who has sent them, and when
  std::uint16_t arrays_made_ = 0;
  unsigned rounds_ = 0;
  unsigned unsampled_ = 1;             // runs until the next sample
  std::uint64_t sent_ = 0, done_ = 0;  // messages, without those of waves

  Mailbox* mailbox_ = nullptr;
  std::vector<Mailbox*> mailboxes_;
  std::unique_ptr<message::Pool> pool_;
  std::unique_ptr<message::Inbox<>> inbox_;
  std::unique_ptr<Gate> gate_;  // this PE is the driver
  std::vector<std::unique_ptr<Peer>> peers_;
  std::vector<std::uint32_t> staged_;  // peers that have messages on their lanes
  Header *own_first_ = nullptr, *own_last_ = nullptr;
  std::priority_queue<Ranked> ranked_;
  std::uint64_t ranked_ever_ = 0;
  std::priority_queue<Timer> timers_;
  unsigned long idle_rounds_ = 0;  // in a row

  std::vector<std::unique_ptr<Elements>> arrays_;
  // For arrays that have no elements here yet, and for those that nobody has declared here, by their ids.
  std::unordered_map<std::uint16_t, std::vector<Header*>> early_;
  std::unordered_map<ArrayId, std::vector<Early>, HashOfId> strays_;
  std::unordered_map<ArrayId, std::vector<Restored>, HashOfId> restored_;  // by ids in files
  bool reads_own_files_ = false;  // an array was restored here whose original is an array of this job
  std::uint64_t marks_ = 0;       // the last random number
  std::unordered_map<std::uint16_t, RestoreTally> tallies_;
  Reductions reductions_;
  Waves waves_;
  Balancer balancer_;
  Saver saver_;
  Extents extents_;
  Fetcher fetcher_;
  std::unordered_map<std::uint16_t, std::deque<std::function<void()>>> turns_;
  core::BeingMade being_made_;
  const core::Entry* running_ = nullptr;
  const core::ElementBase* runs_on_ = nullptr;
  message::PoolDebug debug_;
  std::unique_ptr<Recorder> recorder_;
  std::string restoring_;  // the file, while an element is made of it
};

inline Header* Pe::make(void* memory, std::size_t bytes, std::uint16_t entry) const {
  return new (memory) Header{.next = nullptr,
                             .producer = rank_,
                             .entry = entry,
                             .array = 0,
                             .element = 0,
                             .units = static_cast<std::uint32_t>((bytes + 15) / 16) & 0x3ffffff,
                             .flags = 0,
                             .priority = 0};
}

inline Header* Pe::get(std::size_t bytes, std::uint16_t entry) {
  void* const memory = bytes <= Header::most_bytes ? pool_->get(bytes, entry) : nullptr;
  if (!memory) [[unlikely]]
    return no_memory(bytes), nullptr;
  return make(memory, bytes, entry);
}

inline void Pe::forward(std::uint32_t pe, Header* message) {
  if (!is_local(pe)) [[unlikely]]
    return ship(pe, message);
  if (message->entry < written_.size() && written_[message->entry] && !(message->flags & written_out)) {
    message = write_out(message);
    if (!message) return;
  }
  push(pe - first_, message);
}

inline void Pe::push(std::uint32_t rank, Header* message) {
  Peer& peer = *peers_[rank];
  auto* const link = reinterpret_cast<message::Link*>(message);
  bool copies = message->flags == 0 && message->bytes() <= message::copied_whole && small_[message->entry];
  if (is_traced_) [[unlikely]]
    copies = stamp(message) && copies;
  bool published = copies ? peer.lane.push_copy(link) : peer.lane.push(link);
  if (!published && peer.lane.staged() >= (copies ? copies_at_once : message::line_messages))
    published = peer.lane.flush();
  if (published) {
    peer.lane.take_copied([this](message::Link* copied) { pool_->give(copied); });
    waiter_.ring(static_cast<int>(rank));
    return;
  }
  if (!peer.staged) {
    peer.staged = true;
    staged_.push_back(rank);
  }
  if (is_prompt_) publish();
}

inline void Pe::deliver(Header* message) {
  if (message->flags == 0) [[likely]]
    if (Elements* const elements = this->elements(message->array)) [[likely]]
      if (core::ElementBase* const element = elements->place(message->element).element) [[likely]]
        return run_one(element, message);
  deliver_slowly(message);
}

template <class Run>
inline void Pe::run_paced(core::ElementBase& element, const Header* message, Run run) {
  if (!element.is_long() && --unsampled_ != 0) [[likely]]
    return run();
  run_timed(element, message, run);
}

template <class Run>
__attribute__((noinline)) void Pe::run_timed(core::ElementBase& element, const Header* message, Run run) {
  const unsigned every = recorder_ ? 1 : sampled;
  unsampled_ = every;
  const bool was_long = element.is_long(), outer = std::exchange(is_prompt_, was_long);
  if (is_prompt_) publish();
  const Fetcher::Choice choice = was_long && running_->buffers ? fetch_or_not(message) : Fetcher::Choice{};
  const std::int64_t begun = message::now_ns();
  if (choice.fetches) running_->buffers(message, Fetcher::fetch, nullptr);
  run();
  const std::int64_t took = message::now_ns() - begun;
  fetcher_.took(choice, took);
  // One that was short so far and is long now is no sample of the others; or the system had it stopped.
  element.load_ns += static_cast<std::uint64_t>(took) * (!was_long && took < long_ns ? every : 1);
  if (took >= long_ns)
    element.short_runs = 0;
  else if (was_long)
    ++element.short_runs;
  if (recorder_) record(message, begun, took);
  is_prompt_ = outer;
}

// The message's memory remains.
inline void Pe::run_here(core::ElementBase* element, Header* message) {
  running_ = entries_.entries[message->entry];
  runs_on_ = element;
  if (fits(*running_, *element)) [[likely]]
    run_paced(*element, message, [&] { running_->run(element, message); });
  else if (running_->destroy)
    running_->destroy(message);
  running_ = nullptr;
  ++done_;
}

inline void Pe::run_one(core::ElementBase* element, Header* message) {
  run_here(element, message);
  pool_->give(message);
}

inline void Pe::post(Header* message, ArrayId array, const Index& index) {
  if (stop_) [[unlikely]]
    return drop(message);
  ++sent_;
  Elements* const elements = this->elements(array);
  if (!elements) [[unlikely]]
    return stow({message, index, false}, array);
  route(message, *elements, index);
}

inline void Pe::route(Header* message, Elements& elements, const Index& index) {
  const auto number = elements.number_of(index);
  if (!number) [[unlikely]] {
    fail("there is no element " + text_of(index) + " in an array of " + text_of(elements.shape));
    return drop(message);
  }
  message->array = elements.array;
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

}  // namespace nigh::chare
