// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays that are written to files, and read again.
#pragma once

#include <array>
#include <nigh/chare.hpp>
#include <string>
#include <vector>

#include "judge.hpp"

namespace cases {

inline std::string path;  // of the checkpoints; of other cases, what is expected

struct Kept : Judge<Kept> {
  Kept() = default;
  explicit Kept(int step) : step(step), more(static_cast<std::size_t>(index().x % 3) * 1000) { set(); }
  void set() {
    text = std::string(static_cast<std::size_t>(index().y + 3 + step), 'a');
    for (std::size_t i = 0; i < more.size(); ++i) more[i] = value(i);
  }
  [[nodiscard]] int value(std::size_t i) const {
    return static_cast<int>(index().x * 7 + index().z) + step + static_cast<int>(i);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(step, text, more, wrong, seen, expected);
  }
  void save(std::vector<int> statuses) {  // what its checkpoints must end with
    wanted = std::move(statuses);
    checkpoint(path, array().callback<&Kept::saved>());
  }
  void saved(int status) {
    find(status == wanted[0]);
    wanted.erase(wanted.begin());
    if (wanted.empty()) return tell();
    ++step;
    set();
    checkpoint(path, array().callback<&Kept::saved>());
  }
  void look(int at_step) {
    find(step == at_step && text == std::string(static_cast<std::size_t>(index().y + 3 + step), 'a'));
    find(more.size() == static_cast<std::size_t>(index().x % 3) * 1000);
    for (std::size_t i = 0; i < more.size(); ++i) find(more[i] == value(i));
    ++seen;
    contribute(1, sum, array().callback<&Kept::counted>());  // reductions go on
  }
  void counted(int all) {
    find(all == 60);
    expected = 60;
    balance(array().callback<&Kept::tell>());
  }
  int step = 0;
  std::string text;
  Buffer<int> more;
  std::vector<int> wanted;
};
struct Other : Element<Other> {
  template <class Archive>
  void serialize(Archive&) {}
};
inline void save() { Array<Kept>::create({5, 4, 3}, 1).send<&Kept::save>(std::vector<int>{0}); }
inline void save_twice() { Array<Kept>::create({5, 4, 3}, 1).send<&Kept::save>(std::vector<int>{0, 0}); }
inline void save_nowhere() { Array<Kept>::create({5, 4, 3}, 1).send<&Kept::save>(std::vector<int>{1, 1}); }
inline void load() { Array<Kept>::restore(path).send<&Kept::look>(1); }
inline void load_second() { Array<Kept>::restore(path).send<&Kept::look>(2); }
inline void load_other() { static_cast<void>(Array<Other>::restore(path)); }

struct Apart : Judge<Apart> {
  Apart() = default;
  explicit Apart(int value) : value(value) {}
  template <class Archive>
  void serialize(Archive& archive) {
    archive(value, wrong, seen, expected);
  }
  void save() { checkpoint(path, array().callback<&Apart::tell>()); }
  void look() {
    find(value == index().x * 3 + 1);
    ++seen;
    contribute(1, sum, array().callback<&Apart::counted>());
  }
  void counted(int all) { find(all == 30), expected = 30, tell(); }
  // Element [0] isn't there.
  void tell() {
    contribute(std::array<int, 2>{wrong, seen}, Add(), array()[-500].callback<&Apart::verdict>());
  }
  int value = 0;
};
struct Begin : Element<Begin> {
  explicit Begin(Array<Apart> apart) : apart(apart) {}
  void save() { apart.send<&Apart::save>(); }
  Array<Apart> apart;
};
inline void save_sparse() {
  const auto apart = Array<Apart>::create_sparse();
  for (int i = 0; i < 30; ++i) apart.insert({i * 100 - 500}, i * 300 - 1499);
  const auto begin = Array<Begin>::create({1}, apart);
  apart.done_inserting(begin[0].callback<&Begin::save>());
}
inline void load_sparse() { Array<Apart>::restore(path).send<&Apart::look>(); }

}  // namespace cases
