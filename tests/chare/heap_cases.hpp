// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Elements whose lists, maps and vectors lie in a heap of their own, and move with it.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory_resource>
#include <nigh/chare.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "judge.hpp"

namespace cases {

struct Grove : Judge<Grove> {
  struct Node {
    Node* next;
    std::int64_t value;
  };
  using Names = std::pmr::map<int, std::pmr::string>;
  using Values = std::pmr::vector<std::int64_t>;
  static constexpr int rounds = 12, count = 40;

  Grove() = default;
  explicit Grove(int) { grow(); }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(heap, first, names, values, was_at, round, moved, wrong, seen, expected, spare);
    home = -1;
  }
  [[nodiscard]] std::int64_t value(int i) const { return index().x * 1000 + i; }
  // A bit more in each round, by whichever PE it is on.
  void grow() {
    if (!names) names = heap.make<Names>(), values = heap.make<Values>();
    for (int i = 0; i < 20; ++i) {
      first = heap.make<Node>(Node{first, value(round * 20 + i)});
      names->emplace(round * 20 + i,
                     "the name, longer than what a string has room for, of " + std::to_string(i));
      values->insert(values->end(), 200, value(i));  // large: it is given back and taken anew
    }
    for (int i = 0; i < 5; ++i) names->erase(round * 20 + i);
    if (spare.bytes() == 0) spare = Heap();  // one that nothing is in
    was_at = reinterpret_cast<std::uintptr_t>(first);
  }
  void check() {
    find(reinterpret_cast<std::uintptr_t>(first) == was_at);
    int i = (round + 1) * 20;
    for (const Node* node = first; node; node = node->next) find(node->value == value(--i));
    find(i == 0 && names->size() == static_cast<std::size_t>(15 * (round + 1)));
    for (const auto& [number, name] : *names)
      find(number % 20 >= 5 &&
           std::string_view(name) ==
               "the name, longer than what a string has room for, of " + std::to_string(number % 20));
    find(values->size() == static_cast<std::size_t>(4000 * (round + 1)));
    for (std::size_t at = 0; at < values->size(); ++at)
      find((*values)[at] == value(static_cast<int>(at / 200 % 20)));
  }
  void work() {
    check();
    const auto busy = std::chrono::microseconds((index().x + 5 * round) % count < count / 4 ? 300 : 20);
    for (const auto end = std::chrono::steady_clock::now() + busy; std::chrono::steady_clock::now() < end;) {}
    home = pe();
    balance(array().callback<&Grove::go_on>());
  }
  void go_on() {
    check();
    moved += home != pe();
    if (++round == rounds) return --round, contribute(moved, sum, array()[0].callback<&Grove::end>());
    grow();
    work();
  }
  void end(int moves) {
    find(moves > 0 || pes() == 1);
    array().send<&Grove::tell>();
  }
  // Files.
  void save(const std::string& path) {
    work_once();
    checkpoint(path, array().callback<&Grove::saved>());
  }
  void work_once() {
    while (round < 3) ++round, grow();
  }
  void saved(int status) {
    find(status == 0);
    check();  // it was only copied
    tell();
  }
  void look() {
    find(round == 3);
    check();
    ++round, grow();
    check();
    expected = count;
    ++seen;
    work_on();
  }
  void work_on() { balance(array().callback<&Grove::again>()); }
  void again() { check(), tell(); }

  Heap heap, spare;
  Node* first = nullptr;
  Names* names = nullptr;
  Values* values = nullptr;
  std::uintptr_t was_at = 0;
  int round = 0, moved = 0, home = -1;
};
inline void heaps() { Array<Grove>::create({Grove::count}, 0).send<&Grove::work>(); }
inline void save_heaps(const std::string& path) {
  Array<Grove>::create({Grove::count}, 0).send<&Grove::save>(path);
}
inline void load_heaps(const std::string& path) {
  const auto groves = Array<Grove>::restore(path);
  static_cast<void>(Array<Grove>::create({Grove::count}, 0));  // at addresses of their own
  groves.send<&Grove::look>();
}
inline void load_heaps_late(const std::string& path) {
  static_cast<void>(Array<Grove>::create({Grove::count}, 0));
  Array<Grove>::restore(path).send<&Grove::look>();
}

}  // namespace cases
