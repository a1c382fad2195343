// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A message-driven program as small as one that writes a checkpoint and restores it can be, of elements that
// hold what libraries of serialization are tripped by: texts, lists of lists, maps, buffers, proxies.
// formats.py damages what it has written. Usage: nigh_fuzz_checkpoint save|load|save-sparse|load-sparse PATH
#include <cstdio>
#include <map>
#include <nigh/chare.hpp>
#include <string>
#include <vector>

namespace {

using namespace nigh::chare;  // as the programs of users

std::string path;

struct Cell : Element<Cell> {
  Cell() = default;
  explicit Cell(Array<Cell> all)
      : text(static_cast<std::size_t>(index().x % 7 + 3), 'a'),
        rows(3, {1, 2, 3}),
        named{{"one", {1.5}}, {"two", {}}},
        load(16),
        others(all),
        then(all[0].callback<&Cell::look>()) {
    for (std::size_t i = 0; i < load.size(); ++i) load[i] = static_cast<int>(i);
  }
  template <class Archive>
  void serialize(Archive& archive) {
    archive(text, rows, named, load, others, then);
  }
  void save() { checkpoint(path, finish_callback()); }
  void look() { contribute(finish_callback()); }
  std::string text;
  std::vector<std::vector<int>> rows;
  std::map<std::string, std::vector<double>> named;
  Buffer<int> load;
  Array<Cell> others;
  Callback then;
};

struct Begin : Element<Begin> {
  explicit Begin(Array<Cell> cells) : cells(cells) {}
  void save() { cells.send<&Cell::save>(); }
  Array<Cell> cells;
};

void work(const std::string& what) {
  if (what.starts_with("load")) return Array<Cell>::restore(path).send<&Cell::look>();
  if (what == "save") {
    const auto none = Array<Cell>::create_sparse();
    return Array<Cell>::create({6}, none).send<&Cell::save>();
  }
  const auto cells = Array<Cell>::create_sparse();
  for (int i = 0; i < 5; ++i) cells.insert({i * 100}, cells);
  cells.done_inserting(Array<Begin>::create({1}, cells)[0].callback<&Begin::save>());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  path = argv[2];
  return nigh::chare::run(argc, argv, [&] { work(argv[1]); });
}
