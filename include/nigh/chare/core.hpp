// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The interface that the templates of nigh/chare.hpp compile to: plain structs and the functions of
// libnigh-chare. Programs include nigh/chare.hpp and use none of this by name. No type of the C++ library
// crosses it, and the only exception is std::logic_error, for a call by a thread that is no PE.
//
//     message: Header | stored arguments (a tuple) | bytes of the spans among them, each aligned to 16
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>

#define NIGH_CHARE_API __attribute__((visibility("default")))

namespace nigh::chare {

// The place of an element in its array. Unused dimensions stay 0.
struct Index {
  std::int64_t x = 0, y = 0, z = 0;
  friend constexpr auto operator<=>(const Index&, const Index&) = default;
};

// Extents of an array: elements {0, 0, 0} to {x - 1, y - 1, z - 1}.
struct Shape {
  std::int64_t x = 1, y = 1, z = 1;
  bool is_sparse = false;  // then it has none
  [[nodiscard]] constexpr std::int64_t elements() const { return x * y * z; }
};

namespace core {

// The place where serialized bytes are read: in the same memory, in another process, or from a file later. In
// the last two cases the contents of buffers and heaps are serialized, too.
enum class Reach : std::uint8_t { shared, away, file };

// The number of an array. Numbers are given anew in each job, so an id that was kept in a file, or in bytes
// that nobody describes, may have the number of another array by now: marks tell them apart.
struct ArrayId {
  static constexpr std::uint16_t none = 0xffff, most_mark = 0x1fff;
  std::uint16_t number = none;
  // From 1 to `most_mark`. 0: whatever has that number. Above that stands, in ids that a restored element
  // has read before their array was there, how often that element's array had been restored by then.
  std::uint16_t mark = 0;
  static constexpr std::uint16_t most_restored = 7;
  [[nodiscard]] constexpr std::uint16_t own_mark() const { return mark & most_mark; }
  [[nodiscard]] constexpr unsigned restored() const { return mark >> 13U; }
  friend constexpr bool operator==(const ArrayId&, const ArrayId&) = default;
  // Read from a file it is the id of the array that was restored, as soon as that is known.
  template <class Archive>
  void serialize(Archive& archive);
};

}  // namespace core

// The call that follows when something is over: an entry method of one element or of all, or the end of the
// job.
struct Callback {
  enum class Kind : std::uint16_t { nothing, element, all, finish };
  Kind kind = Kind::nothing;
  core::ArrayId array;
  std::uint16_t entry = 0;
  Index index;
  template <class Archive>
  void serialize(Archive& archive);
};

namespace core {

struct alignas(16) Header {
  void* next;  // these two are the queue's
  std::uint32_t producer;
  std::uint16_t entry;
  std::uint16_t array;
  std::uint64_t element;     // number of the index within its array
  std::uint32_t units : 26;  // of 16 bytes: how long all of it is
  std::uint32_t flags : 6;
  std::int32_t priority;
  [[nodiscard]] std::size_t bytes() const { return std::size_t{16} * units; }
  static constexpr std::size_t most_bytes = std::size_t{16} * ((1U << 26) - 1);
};
static_assert(sizeof(Header) == 32, "with two or three arguments a message is one line");

class ElementBase;
struct Type;

// An entry method, or a constructor: how its message is used. One for each that the program instantiates;
// they are numbered by their names when the job starts, so that processes of one binary agree.
struct Entry {
  const char* name;  // as the compiler spells the type or value that holds it
  std::size_t name_bytes;
  void (*run)(ElementBase*, Header*);               // moves the arguments out, and destroys them
  void (*run_shared)(ElementBase*, const Header*);  // leaves them: the message is for several elements
  ElementBase* (*make)(const Header*);              // constructors only
  void (*copy)(const Header*, Header*);  // into one as large, or larger; null: a copy of the bytes will do
  void (*destroy)(Header*);              // null: nothing to do
  // Arguments from the result of a reduction; false: they do not fit. Null `into`: only asks, returns the
  // size in `bytes`.
  bool (*from_result)(const void* data, std::size_t data_bytes, Header* into, std::size_t* bytes);
  // Between processes. How it may go: as it lies, so far only where the memory of buffers is shared, or
  // written out behind the bytes of the message (null `into`: only counts) and read again over a copy of
  // these.
  enum class Travel : std::uint8_t { as_it_lies, in_shared_memory, written, never } travel;
  std::size_t (*write)(Header*, char* into, Reach to);
  void (*read)(char* from, Header* into, Reach from_where);
  // The bytes in the buffers of a message. `each` gets every buffer (null: none), with the place in the
  // message that has the address of its data. Null: no argument is a buffer.
  using EachBuffer = void (*)(void* context, const void* place, void* data, std::size_t bytes);
  std::size_t (*buffers)(const Header*, EachBuffer each, void* context);
  const Type* type;  // the elements that it is for
  std::uint16_t number = 0;
  Entry* next = nullptr;
};

// The operation that combines contributions: items of `item_bytes`, `count` of them.
struct Fold {
  const char* name;
  std::size_t name_bytes;
  void (*fold)(void* into, const void* from, std::size_t count);
  std::size_t item_bytes;
  std::uint16_t number = 0;
  Fold* next = nullptr;
};

// A class of elements: how one is destroyed, and how it goes to another process or into a file.
struct Type {
  const char* name;
  std::size_t name_bytes;
  void (*destroy)(ElementBase*);
  // Null: it has no serialize(), or no constructor without arguments. Null `into`: only counts. But for a
  // file what buffers and heaps hold is the reader's from then on.
  std::size_t (*write)(ElementBase*, char* into, Reach to);
  ElementBase* (*read)(const char* from, std::size_t bytes, Reach from_where);  // null: told
  std::size_t bytes;
  // True if a member differs from that of a new object and would not after serialization and back; `at` says
  // where it lies. Not known for an object with a heap, or with an allocation of its own. Null: as with
  // `write`.
  bool (*forgets)(ElementBase*, std::size_t* at);
  // It derives from elements of that class, whose entry methods it has; null: from Element of itself.
  const Type* base = nullptr;
  std::uint16_t number = 0;
  Type* next = nullptr;
};

NIGH_CHARE_API void enlist(Entry* entry);  // before main()
NIGH_CHARE_API void enlist(Fold* fold);
NIGH_CHARE_API void enlist(Type* type);

// All of these are for threads that are PEs, within run().
NIGH_CHARE_API Header* get(std::size_t bytes, const Entry& entry);  // null: there is no memory
NIGH_CHARE_API void* get_memory(std::size_t bytes);                 // of buffers; null: there is none
NIGH_CHARE_API void give_memory(void* memory);
// A heap (heap.hpp), all of whose memory every PE may read. Its first member:
struct HeapMemory {
  alignas(16) unsigned char resource[16];
  std::size_t used;  // bytes
};
NIGH_CHARE_API HeapMemory* heap_make();  // null: there is no memory
NIGH_CHARE_API void* heap_get(HeapMemory* heap, std::size_t bytes, std::size_t align);
NIGH_CHARE_API void heap_give(HeapMemory* heap, void* data, std::size_t bytes, std::size_t align);
NIGH_CHARE_API void heap_free(HeapMemory* heap);
// The serialized size; null `into`: only that. In a file it belongs to the reader from then on.
NIGH_CHARE_API std::size_t heap_write(HeapMemory* heap, char* into, Reach to);
NIGH_CHARE_API HeapMemory* heap_read(const char* from, std::size_t bytes);  // null: it can't be here
NIGH_CHARE_API void post(Header* message, ArrayId array, const Index& index);
NIGH_CHARE_API void post_to_all(Header* message, ArrayId array);
NIGH_CHARE_API void post_to_some(Header* message, ArrayId array, const Index* elements, std::size_t count);
NIGH_CHARE_API ArrayId create(const Shape& shape, const Type& type, Header* constructor);
NIGH_CHARE_API void insert(Header* constructor, ArrayId array, const Index& index);
NIGH_CHARE_API void done_inserting(ArrayId array, const Callback& then);
NIGH_CHARE_API Shape shape_of(ArrayId array);
// In files arrays have the ids of the job that wrote them, and entry methods are known by their names.
NIGH_CHARE_API ArrayId array_of_file(ArrayId array);
NIGH_CHARE_API bool looks_closely();  // --chare-debug
NIGH_CHARE_API std::uint64_t mark_of_entry(std::uint16_t entry);
NIGH_CHARE_API bool entry_of_mark(std::uint64_t mark, std::uint16_t& entry);  // false: there is none
NIGH_CHARE_API void contribute(ElementBase& from, const void* data, std::size_t bytes, const Fold& fold,
                               const Callback& then);
NIGH_CHARE_API void balance(ElementBase& from, const Callback& then);
NIGH_CHARE_API void checkpoint(ElementBase& from, const char* path, const Callback& then);
NIGH_CHARE_API ArrayId restore(const char* path, const Type& type);
NIGH_CHARE_API void on_quiescence(const Callback& then);
NIGH_CHARE_API void after(double seconds, const Callback& then);
NIGH_CHARE_API void finish(int status);
// An exception left an entry method: told, and the job ends.
NIGH_CHARE_API void failed(const char* what);
NIGH_CHARE_API int pe();
NIGH_CHARE_API int pes();

struct BeingMade {
  Index index;
  ArrayId array;
  std::uint64_t reductions = 0;  // ElementBase
};
NIGH_CHARE_API const BeingMade& being_made();

struct Settings {
  int pes = 0;
  int mode = 0;
  int bind = 0;
  bool debug = false;
  bool comm_thread = false;
  const char* trace = nullptr;
  double progress = 0;
  std::uint32_t piece = 0, most_framed = 0;
  bool by_pointer = false;
};
NIGH_CHARE_API int run(const Settings& settings, void (*main)(void*), void* argument);
// Takes --pes, --mode, --bind, --comm-thread, --framing, --by-pointer, --chare-debug, --chare-trace and
// --chare-progress out of the command line. False: told what is wrong.
NIGH_CHARE_API bool parse(int& argc, char** argv, Settings& settings);

// The members that every element has.
class ElementBase {
 public:
  ElementBase(const ElementBase&) = delete;
  ElementBase& operator=(const ElementBase&) = delete;
  [[nodiscard]] const Index& index() const { return index_; }
  [[nodiscard]] std::uint16_t array_number() const { return array_.number; }
  [[nodiscard]] ArrayId array_id() const { return array_; }

  const Type* type = nullptr;
  // That it has contributed to. With `is_late`: it was inserted after done_inserting(), and which one its
  // first contribution belongs to is known when that is called again.
  std::uint64_t reductions = 0;
  static constexpr std::uint64_t is_late = std::uint64_t{1} << 63;
  std::uint64_t load_ns = 0;  // of its entry methods, since the last balance(); estimated
  // The duration of runs, from samples. While they are long, messages do not wait for the end of a run:
  // earlier ones are published first, and new ones at once.
  std::uint8_t short_runs = 0;  // in a row; up to until_short
  static constexpr std::uint8_t until_short = 32;
  [[nodiscard]] bool is_long() const { return short_runs < until_short; }

 protected:
  ElementBase()
      : reductions(being_made().reductions), array_(being_made().array), index_(being_made().index) {}
  ~ElementBase() = default;

 private:
  ArrayId array_;
  Index index_;
};
static_assert(sizeof(ElementBase) == 56, "nothing of T lies within it: TypeOf::forgets()");

template <class Archive>
void ArrayId::serialize(Archive& archive) {
  archive(number, mark);
  if (archive.reads() && archive.reach() == Reach::file) *this = array_of_file(*this);
}

}  // namespace core
}  // namespace nigh::chare
