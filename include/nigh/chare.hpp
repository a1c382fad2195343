// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// nigh::chare: message-driven programs. A chare is an object that lives on some PE (processing element: a
// thread that runs one entry method at a time); arrays of them are called through proxies, from anywhere, and
// nobody waits for a call to be done. (Charm++: Kale and Krishnan, OOPSLA 1993.)
//
//     struct Cell : nigh::chare::Element<Cell> {
//       explicit Cell(int size);
//       void ghost(int side, std::span<const double> values);
//     };
//     int main(int argc, char** argv) {
//       return nigh::chare::run(argc, argv, [] {
//         auto cells = nigh::chare::Array<Cell>::create({8, 8}, 100);
//         cells(3, 4).send<&Cell::ghost>(0, values);
//       });
//     }
//
// `./app --pes 4` has threads as PEs, `nigh run -n 4 -- ./app` processes. Each message is delivered once. Two
// messages from one PE to one element are delivered in the order in which they were sent, unless they have
// priorities, or the element was moved meanwhile.
#pragma once

#include <algorithm>
#include <concepts>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "nigh/chare/arguments.hpp"
#include "nigh/chare/buffer.hpp"
#include "nigh/chare/core.hpp"
#include "nigh/chare/heap.hpp"

namespace nigh::chare {

// This PE's number, and how many there are.
[[nodiscard]] inline int pe() { return core::pe(); }
[[nodiscard]] inline int pes() { return core::pes(); }

// The job ends, and run() returns `status` (on all PEs, when what they are at is done). Messages that were
// not delivered by then are not.
inline void finish(int status = 0) { core::finish(status); }

// `then` is called once no message is under way and none is being worked on. (Four counters: Mattern 1987.)
inline void on_quiescence(const Callback& then) { core::on_quiescence(then); }

// `then` is called on this PE's initiative after at least that time.
inline void after(double seconds, const Callback& then) { core::after(seconds, then); }

[[nodiscard]] inline Callback finish_callback() { return {Callback::Kind::finish, {}, 0, {}}; }

// The way in which contributions are combined, item by item, in no particular order. Write your own as such a
// struct.
struct Sum {
  template <class T>
  void operator()(T& into, const T& from) const {
    into = static_cast<T>(into + from);
  }
};
struct Product {
  template <class T>
  void operator()(T& into, const T& from) const {
    into = static_cast<T>(into * from);
  }
};
struct Min {
  template <class T>
  void operator()(T& into, const T& from) const {
    into = std::min(into, from);
  }
};
struct Max {
  template <class T>
  void operator()(T& into, const T& from) const {
    into = std::max(into, from);
  }
};
inline constexpr Sum sum;
inline constexpr Product product;
inline constexpr Min min;
inline constexpr Max max;

namespace core {

template <class T, class Operation>
struct FoldOf {
  static_assert(std::is_trivially_copyable_v<T>, "what is reduced is copied as bytes");
  static void fold(void* into, const void* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i)
      Operation{}(static_cast<T*>(into)[i], static_cast<const T*>(from)[i]);
  }
  struct Listed : Fold {
    Listed()
        : Fold{name_of_types<T, Operation>().data(), name_of_types<T, Operation>().size(), FoldOf::fold,
               sizeof(T)} {
      enlist(this);
    }
  };
  static inline Listed entry;
};

}  // namespace core

// One element of an array of T. A plain value: pass it, keep it.
template <class T>
class Proxy {
 public:
  Proxy() = default;
  Proxy(std::uint16_t array, const Index& index, std::int32_t priority = 0)
      : Proxy(core::ArrayId{array}, index, priority) {}
  Proxy(core::ArrayId array, const Index& index, std::int32_t priority = 0)
      : index_(index), priority_(priority), array_(array) {}

  // Calls that entry method with these arguments, some time. May be called in entry methods and in main.
  template <auto Method, class... A>
  void send(A&&... arguments) const {
    using Entry = core::EntryOf<T, Method>;
    core::Header* const message = Entry::All::message(Entry::entry, std::forward<A>(arguments)...);
    message->priority = priority_;
    core::post(message, array_, index_);
  }

  // The same element; calls through it come before others on its PE if `priority` is below 0, and after them
  // if above: the smaller first.
  [[nodiscard]] Proxy with_priority(std::int32_t priority) const { return {array_, index_, priority}; }

  // For reductions and the like: calls that method, with the result if it has a parameter.
  template <auto Method>
  [[nodiscard]] Callback callback() const {
    return {Callback::Kind::element, array_, core::EntryOf<T, Method>::entry.number, index_};
  }

  [[nodiscard]] const Index& index() const { return index_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(index_, priority_, array_);
  }

 private:
  Index index_;
  std::int32_t priority_ = 0;
  core::ArrayId array_;
};

// An array of chares T, spread over the PEs in blocks (sparse ones: by a hash). A plain value.
template <class T>
class Array {
 public:
  Array() = default;
  // The PE p's n-th array, from 0 on, has the number n * pes() + p.
  explicit Array(std::uint16_t number) : id_{number} {}
  explicit Array(core::ArrayId id) : id_(id) {}

  // Every PE makes its elements by T(arguments...), some time; messages wait until then.
  template <class... A>
  static Array create(const Shape& shape, A&&... arguments) {
    return Array(core::create(shape, core::TypeOf<T>::entry, constructor(std::forward<A>(arguments)...)));
  }

  // A sparse array has no extents: elements are inserted one by one, at indices from -2^20 to 2^20 - 1 in
  // each dimension.
  static Array create_sparse() {
    return Array(core::create({0, 0, 0, true}, core::TypeOf<T>::entry, nullptr));
  }
  // The array that a checkpoint() has written: the same elements with the same state, on the PEs that there
  // are now. Told, and the job ends: the files can't be read, or are not of elements T.
  static Array restore(const std::string& path) {
    static_assert(core::Moves<T>,
                  "to be read, elements need a serialize() and a constructor without arguments");
    return Array(core::restore(path.c_str(), core::TypeOf<T>::entry));
  }
  // Sparse arrays: an element more. The PE that its index belongs to makes it; messages to it wait until
  // then.
  template <class... A>
  void insert(const Index& index, A&&... arguments) const {
    core::insert(constructor(std::forward<A>(arguments)...), id_, index);
  }
  // When the last was inserted (as far as the program has run so far): elements can contribute from then on,
  // and `then` is called. If more are inserted later, call it again: the first contribution of these belongs
  // to the first reduction that was not over then.
  void done_inserting(const Callback& then = {}) const { core::done_inserting(id_, then); }

  [[nodiscard]] Proxy<T> operator[](const Index& index) const { return {id_, index}; }
  [[nodiscard]] Proxy<T> operator[](std::int64_t x) const { return {id_, Index{x}}; }
  [[nodiscard]] Proxy<T> operator()(std::int64_t x, std::int64_t y = 0, std::int64_t z = 0) const {
    return {id_, Index{x, y, z}};
  }

  // Calls that method of all elements. Arguments are copied for each PE.
  template <auto Method, class... A>
  void send(A&&... arguments) const {
    using Entry = core::EntryOf<T, Method, true>;
    core::post_to_all(Entry::All::message(Entry::entry, std::forward<A>(arguments)...), id_);
  }
  template <auto Method>
  [[nodiscard]] Callback callback() const {
    return {Callback::Kind::all, id_, core::EntryOf<T, Method, true>::entry.number, {}};
  }

  [[nodiscard]] Shape shape() const { return core::shape_of(id_); }
  [[nodiscard]] std::uint16_t number() const { return id_.number; }
  [[nodiscard]] core::ArrayId id() const { return id_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(id_);
  }

 private:
  template <class... A>
  static core::Header* constructor(A&&... arguments) {
    static_assert(std::is_constructible_v<T, const std::decay_t<A>&...>, "T has no such constructor");
    using Constructor = core::ConstructorOf<T, std::decay_t<A>...>;
    return Constructor::All::message(Constructor::entry, std::forward<A>(arguments)...);
  }
  core::ArrayId id_;
};

// Some elements of an array: a message to them goes once to each PE that has any. A value: keep it, pass it
// on.
template <class T>
class Section {
 public:
  Section() = default;
  Section(Array<T> array, std::vector<Index> elements) : array_(array.id()), elements_(std::move(elements)) {}

  // Calls that method of each of them. Arguments are copied for each PE.
  template <auto Method, class... A>
  void send(A&&... arguments) const {
    using Entry = core::EntryOf<T, Method, true>;
    core::post_to_some(Entry::All::message(Entry::entry, std::forward<A>(arguments)...), array_,
                       elements_.data(), elements_.size());
  }

  [[nodiscard]] Array<T> array() const { return Array<T>(array_); }
  [[nodiscard]] const std::vector<Index>& elements() const { return elements_; }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(array_, elements_);
  }

 private:
  core::ArrayId array_;
  std::vector<Index> elements_;
};

// The base class of chares: struct Cell : Element<Cell>.
template <class T>
class Element : public core::ElementBase {
 public:
  using ElementOf = T;
  [[nodiscard]] Array<T> array() const { return Array<T>(array_id()); }
  [[nodiscard]] Proxy<T> proxy() const { return {array_id(), index()}; }

 protected:
  // Every element of the array contributes, the same number of items; when all have, `then` is called with
  // the result. An element's first contribution meets the others' first ones, and so on.
  template <class V, class Operation>
  void contribute(const V& value, Operation, const Callback& then) {
    core::contribute(*this, &value, sizeof(V), core::FoldOf<V, Operation>::entry, then);
  }
  template <class V, class Operation>
  void contribute(std::span<const V> values, Operation, const Callback& then) {
    core::contribute(*this, values.data(), values.size_bytes(), core::FoldOf<V, Operation>::entry, then);
  }
  // Without a value: a barrier that nobody waits in.
  void contribute(const Callback& then) {
    core::contribute(*this, nullptr, 0, core::FoldOf<char, Sum>::entry, then);
  }

  // When every element of the array has called it, elements move to other PEs, so that each PE has the same
  // to do as far as the entry methods' times since the last time tell; little of it over the borders of
  // sockets, NUMA nodes and shared caches. Then `then` is called. It counts as a contribution.
  void balance(const Callback& then) {
    static_assert(core::Moves<T>, "to move, elements need a serialize() and a constructor without arguments");
    core::balance(*this, then);
  }

  // When every element of the array has called it, with the same path, all of them are written to files
  // PATH and PATH.*, which replace those of the last time as soon as they are whole. Then `then` is called,
  // with an int: 0, or 1 if they can't be written (told; the last ones are as they were). Messages under way
  // are not written: call it where there are none for this array. It counts as a contribution.
  void checkpoint(const std::string& path, const Callback& then) {
    static_assert(core::Moves<T>,
                  "to be written, elements need a serialize() and a constructor without arguments");
    core::checkpoint(*this, path.c_str(), then);
  }
};

enum class Mode {
  automatic,  // processes, if `nigh run -n` has started the program; mpi, if mpirun has; else threads
  threads,    // of this process
  processes,  // those of nigh run -n, each a PE: run() once in each of them
  shm,        // processes that run() forks, each a PE; messages are copied into shared memory and out of it
  mpi         // threads of each process that mpirun or srun has started: run() once in each of them
};

enum class Bind {
  scatter,  // a CPU for each PE while there are enough: over the whole machine, cores before their threads
  compact,  // next to each other
  none      // PEs stay where the system puts them
};

struct Options {
  int pes = 0;  // of each process; 0: one for each CPU that the process may use
  Mode mode = Mode::automatic;
  Bind bind = Bind::scatter;  // threads, shm, mpi; nigh run -n places processes itself
  bool debug = false;         // the memory of messages is watched: see docs/chare.md
  bool comm_thread = false;   // shm, mpi: a thread beside the PEs sends and receives; else the first PE does
  const char* trace = nullptr;  // a file for what the PEs have done: see docs/chare.md
  double progress = 0;  // seconds between lines on standard error that say how far the job is; 0: none
  // Framing of messages between nodes, in bytes: the messages of one round go together, in frames of at most
  // `piece` (1024 to 65536) unless one message is longer; messages above `most_framed` (0 to 65536) go alone.
  // 0, 0: as measured when the job starts. The values of the first process that sets them hold for all.
  struct Framing {
    std::uint32_t piece = 0, most_framed = 0;
  } framing = {};
  bool by_pointer = false;  // small messages on a node, too, which are copied otherwise
};

// Runs main() on PE 0, then messages until finish() is called. Returns its status; 1 where an entry method
// threw or there was no memory, told on standard error.
template <std::invocable Main>
int run(const Options& options, Main&& main) {
  const core::Settings settings{options.pes,
                                static_cast<int>(options.mode),
                                static_cast<int>(options.bind),
                                options.debug,
                                options.comm_thread,
                                options.trace,
                                options.progress,
                                options.framing.piece,
                                options.framing.most_framed,
                                options.by_pointer};
  return core::run(
      settings, [](void* body) { core::guarded(*static_cast<std::remove_reference_t<Main>*>(body)); },
      const_cast<void*>(static_cast<const void*>(std::addressof(main))));
}

// With --pes N, --mode auto, threads, processes, shm or mpi, --bind scatter, compact or none, --comm-thread,
// --framing PIECE,MOST, --by-pointer, --chare-debug, --chare-trace FILE and --chare-progress SECONDS from the
// command line, which are taken out of it. 2: it is wrong.
template <std::invocable Main>
int run(int& argc, char** argv, Main&& main) {
  core::Settings settings;
  if (!core::parse(argc, argv, settings)) return 2;
  return core::run(
      settings, [](void* body) { core::guarded(*static_cast<std::remove_reference_t<Main>*>(body)); },
      const_cast<void*>(static_cast<const void*>(std::addressof(main))));
}

}  // namespace nigh::chare
