// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The form in which an argument leaves its process. Bytes that may be copied and buffers need nothing;
// strings, vectors and the like are serialized; a type of your own lists its members once:
//
//     struct Particle { std::string kind; std::vector<double> charges;
//       template <class Archive> void serialize(Archive& archive) { archive(kind, charges); } };
//
// (The convention of cereal and Boost.Serialization.) All of it only happens between processes: within one,
// arguments are moved.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "nigh/chare/buffer.hpp"

namespace nigh::chare {

namespace core {

class Archive;
template <class T>
concept SaysItsParts = requires(T& value, Archive& archive) { value.serialize(archive); };

// The types that may be in a message between processes at all.
template <class T>
struct Travels : std::bool_constant<std::is_trivially_copyable_v<T> || SaysItsParts<T>> {};
template <class T>
struct Travels<Buffer<T>> : std::true_type {};
template <class... T>
struct Travels<std::basic_string<T...>> : std::true_type {};
template <class T, class A>
struct Travels<std::vector<T, A>> : Travels<T> {};
template <class T>
struct Travels<std::optional<T>> : Travels<T> {};
template <class A, class B>
struct Travels<std::pair<A, B>> : std::conjunction<Travels<std::remove_const_t<A>>, Travels<B>> {};
template <class T, std::size_t N>
struct Travels<std::array<T, N>> : Travels<T> {};
template <class K, class V, class... Rest>
struct Travels<std::map<K, V, Rest...>> : std::conjunction<Travels<K>, Travels<V>> {};
template <class K, class V, class... Rest>
struct Travels<std::unordered_map<K, V, Rest...>> : std::conjunction<Travels<K>, Travels<V>> {};
template <class K, class... Rest>
struct Travels<std::set<K, Rest...>> : Travels<K> {};

// Goes as the bytes that it is: its memory is reached by all PEs of a node.
template <class T>
struct TravelsAsBytes : std::is_trivially_copyable<T> {};
template <class T>
struct TravelsAsBytes<Buffer<T>> : std::true_type {};

// Counts bytes, writes them, or reads them: one description for all three.
class Archive {
 public:
  enum class Does { count, write, read };
  Archive(Does does, char* at, Reach reach = Reach::shared) : does_(does), at_(at), reach_(reach) {}
  // Reads no more than that. Throws std::runtime_error where there is less.
  Archive(const char* from, std::size_t bytes, Reach reach)
      : does_(Does::read), at_(const_cast<char*>(from)), limit_(bytes), reach_(reach) {}

  template <class... T>
  void operator()(T&... values) {
    (one(values), ...);
  }
  [[nodiscard]] bool reads() const { return does_ == Does::read; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }

  // For types that lie in memory of their own (heap.hpp): what is done, for whom, and so many bytes to be
  // read or written by the caller (null: they are counted).
  [[nodiscard]] Does does() const { return does_; }
  [[nodiscard]] Reach reach() const { return reach_; }
  void note_heap() { has_heap_ = true; }
  [[nodiscard]] bool has_heap() const { return has_heap_; }
  void* skip(std::size_t bytes) {
    if (does_ == Does::read && bytes > limit_ - bytes_) too_short();
    char* const out = does_ == Does::count ? nullptr : at_ + bytes_;
    bytes_ += bytes;
    return out;
  }

 private:
  void raw(void* data, std::size_t bytes) {
    if (does_ == Does::write && bytes > 0) std::memcpy(at_ + bytes_, data, bytes);
    if (does_ == Does::read) {
      if (bytes > limit_ - bytes_) too_short();
      if (bytes > 0) std::memcpy(data, at_ + bytes_, bytes);
    }
    bytes_ += bytes;
  }
  [[noreturn]] static void too_short() {
    throw std::runtime_error("serialize() reads more than it has written");
  }
  // The number of items, each of at least `item` bytes.
  std::size_t size(std::size_t of, std::size_t item = 0) {
    std::uint64_t out = of;
    raw(&out, sizeof out);
    if (does_ == Does::read && item > 0 && out > (limit_ - bytes_) / item) too_short();
    return out;
  }

  // Items of which each is nothing may be many; not so many that reading them never ends.
  void look_for_end(std::size_t items, std::size_t before) const {
    constexpr std::size_t most_of_nothing = std::size_t{1} << 24;
    if (items >= most_of_nothing && bytes_ == before) too_short();
  }

  void one(bool& value) {  // any other byte would be no value at all
    auto byte = static_cast<unsigned char>(value ? 1 : 0);
    raw(&byte, sizeof byte);
    if (byte > 1) throw std::runtime_error("serialize() reads a truth value where none was written");
    if (reads()) value = byte == 1;
  }
  template <class T>
  void one(T& value) {
    if constexpr (SaysItsParts<T>) {
      value.serialize(*this);
    } else {
      static_assert(TravelsAsBytes<T>::value, "give this type a serialize(), or keep it out of messages");
      raw(static_cast<void*>(&value), sizeof value);
    }
  }
  template <class T, std::size_t N>
  void one(T (&value)[N]) {
    if constexpr (std::is_trivially_copyable_v<T> && !SaysItsParts<std::remove_all_extents_t<T>>) {
      raw(static_cast<void*>(value), sizeof value);
    } else {
      for (T& item : value) one(item);
    }
  }
  template <class T>
  void one(Buffer<T>& value) {  // the bytes are its owner
    if (reach_ != Reach::shared) {
      const std::size_t items = size(value.size(), sizeof(T));
      if (reads()) value = items > 0 ? Buffer<T>(items) : Buffer<T>();
      return raw(static_cast<void*>(value.data()), items * sizeof(T));
    }
    raw(static_cast<void*>(&value), sizeof value);
    if (does_ == Does::write) value.release();
  }
  template <class... T>
  void one(std::basic_string<T...>& value) {
    value.resize(size(value.size(), sizeof(value[0])));
    raw(value.data(), value.size() * sizeof(value[0]));
  }
  template <class T, class A>
  void one(std::vector<T, A>& value) {
    // Bytes, though they may say their parts, but in files: proxies are others there.
    const bool bytes = std::is_trivially_copyable_v<T> && !std::is_same_v<T, bool> &&
                       !(SaysItsParts<T> && reach_ == Reach::file);
    const std::size_t items = size(value.size(), bytes ? sizeof(T) : std::is_same_v<T, bool> ? 1 : 0);
    if constexpr (std::is_same_v<T, bool>) {
      value.resize(items);
      for (std::size_t i = 0; i < value.size(); ++i) {
        bool bit = value[i];
        one(bit);
        value[i] = bit;
      }
    } else {
      if (bytes) {
        value.resize(items);
        return raw(static_cast<void*>(value.data()), items * sizeof(T));
      }
      // Grows as items come, since a damaged file may say any number.
      if (reads()) value.clear();
      const std::size_t before = bytes_;
      for (std::size_t i = 0; i < items; ++i) {
        if (reads()) value.emplace_back(), look_for_end(i, before);
        one(value[i]);
      }
    }
  }
  template <class T>
  void one(std::optional<T>& value) {
    bool has = value.has_value();
    one(has);
    if (reads()) has ? void(value.emplace()) : value.reset();
    if (has) one(*value);
  }
  template <class A, class B>
  void one(std::pair<A, B>& value) {
    one(const_cast<std::remove_const_t<A>&>(value.first));
    one(value.second);
  }
  template <class T, std::size_t N>
  void one(std::array<T, N>& value) {
    for (T& item : value) one(item);
  }
  template <class K, class V, class... Rest>
  void one(std::map<K, V, Rest...>& value) {
    many<std::pair<K, V>>(value);
  }
  template <class K, class V, class... Rest>
  void one(std::unordered_map<K, V, Rest...>& value) {
    many<std::pair<K, V>>(value);
  }
  template <class K, class... Rest>
  void one(std::set<K, Rest...>& value) {
    many<K>(value);
  }
  template <class Item, class Container>
  void many(Container& value) {
    const std::size_t count = size(value.size());
    if (!reads()) {
      for (auto& item : value)
        one(const_cast<std::remove_const_t<std::remove_reference_t<decltype(item)>>&>(item));
      return;
    }
    value.clear();
    const std::size_t before = bytes_;
    for (std::size_t i = 0; i < count; ++i) {
      look_for_end(i, before);
      Item item;
      one(item);
      value.insert(std::move(item));
    }
  }

  Does does_;
  char* at_;
  std::size_t bytes_ = 0, limit_ = SIZE_MAX;
  Reach reach_;
  bool has_heap_ = false;
};

}  // namespace core

using core::Archive;

template <class Archive>
void Callback::serialize(Archive& archive) {
  if (archive.reach() != core::Reach::file) return archive(kind, array, entry, index);
  const bool calls = kind == Kind::element || kind == Kind::all;
  std::uint64_t method = !archive.reads() && calls ? core::mark_of_entry(entry) : 0;
  archive(kind, array, method, index);
  if (archive.reads() && method != 0 && !core::entry_of_mark(method, entry))
    throw std::runtime_error("a callback was written that is of no entry method of this program");
}

}  // namespace nigh::chare
