// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Making, describing and shrinking cases. Trees are small (most faults show on a few cores, and small trees
// are fast), with a large one now and then; unequal children, missing levels, odd PU numbers and memory-only
// nodes are common on purpose.
#include "cases.hpp"

#include <algorithm>
#include <numeric>

#include "random.hpp"

namespace nigh::fuzz {

namespace {
struct TreeMaker {
  Random& random;
  int budget;  // cores still to be made
  int smt;     // PUs of a core; 0: it varies
  bool cores;  // whether there are core objects
  int next_node = 0;
  std::vector<int> numbers = {};  // OS numbers for the PUs to come
  MachineBuilder builder = {};

  void pu() {
    builder.open(Kind::pu, numbers.back());
    builder.close();
    numbers.pop_back();
  }

  void core() {
    --budget;
    if (cores) builder.open(Kind::core);
    for (int n = smt > 0 ? smt : random.between(1, 4); n > 0; --n) pu();
    if (cores) builder.close();
  }

  void inside(int kind) {
    static constexpr Kind levels[] = {Kind::board, Kind::package, Kind::numa, Kind::l3, Kind::l2};
    constexpr int last = 5;
    while (kind < last && random.one_in(2)) ++kind;  // skip some levels
    int children = random.between(1, 4);
    for (int i = 0; i < children && budget > 0; ++i) {
      if (kind == last || budget == 1) {
        core();
        continue;
      }
      builder.open(levels[kind], levels[kind] == Kind::numa ? next_node++ : -1);
      inside(kind + 1);
      builder.close();
    }
  }
};

std::shared_ptr<const Machine> make_machine(std::uint64_t seed) {
  Random random(seed * 2654435761u + 17);
  int most = random.one_in(256) ? 200 : random.one_in(8) ? 40 : 12;
  TreeMaker maker{random, random.between(1, most), random.between(0, 3), !random.one_in(16)};
  maker.numbers.resize(static_cast<std::size_t>(maker.budget) * 4);
  std::iota(maker.numbers.rbegin(), maker.numbers.rend(), random.one_in(4) ? random.between(0, 70) : 0);
  if (random.one_in(2))
    for (std::size_t i = maker.numbers.size(); i > 1; --i)
      std::swap(maker.numbers[i - 1], maker.numbers[random.next() % i]);
  maker.inside(0);
  while (maker.builder.machine().objects.size() == 1) maker.core();
  if (random.one_in(8)) {
    maker.builder.open(Kind::numa, maker.next_node);  // memory only
    maker.builder.close();
  }
  maker.builder.machine().name = "fuzz";
  auto machine = maker.builder.finish();
  NIGH_CHECK(machine.has_value());
  return std::make_shared<const Machine>(*std::move(machine));
}

CpuSet make_mask(Random& random, const Machine& machine) {
  CpuSet mask = machine.pus();
  if (random.one_in(3)) return mask;
  auto members = mask.members();
  int keep = random.between(1, 8);  // eighths
  for (int pu : members)
    if (random.between(1, 8) > keep) mask.clear(pu);
  if (mask.empty()) mask.set(members[random.next() % members.size()]);
  if (random.one_in(8)) mask.set(members.back() + 3);  // may be no PU of the machine
  return mask;
}

int make_size(Random& random, int cores) {
  if (random.one_in(64)) return random.between(1, 3 * cores);
  return random.one_in(4) ? 1 << random.between(0, 3) : random.between(1, std::min(6, cores + 1));
}

void append_tree(const Machine& machine, int index, std::string& out) {
  const Object& o = machine.objects[static_cast<std::size_t>(index)];
  if (o.kind == Kind::core) {
    out += 'c' + std::to_string(o.children.size());
    return;
  }
  out += o.kind == Kind::pu ? "u" : std::string(kind_name(o.kind)).substr(0, o.kind >= Kind::l3 ? 2 : 1);
  if (o.children.empty()) return;
  out += '(';
  for (std::size_t i = 0; i < o.children.size(); ++i) {
    if (i > 0) out += ',';
    append_tree(machine, o.children[i], out);
  }
  out += ')';
}
}  // namespace

Case make_case(std::uint64_t seed) {
  thread_local std::uint64_t cached_seed = ~std::uint64_t{0};
  thread_local std::shared_ptr<const Machine> cached;
  if (seed / 16 != cached_seed) {
    cached_seed = seed / 16;
    cached = make_machine(cached_seed);
  }
  Random random(seed ^ 0x5eed);
  Case c;
  c.machine = cached;
  c.mask = make_mask(random, *c.machine);
  int cores = std::max(1, c.machine->count(Kind::core));
  for (int level = random.between(1, random.one_in(8) ? 4 : 3); level > 0; --level)
    c.spec.levels.push_back({make_size(random, cores), static_cast<Strategy>(random.between(0, 3))});
  for (const auto& level : c.spec.levels)
    c.sizes.push_back(random.one_in(4) ? make_size(random, cores) : level.size);
  if (random.one_in(8)) c.sizes.push_back(make_size(random, cores));
  if (random.one_in(8)) c.root = random.between(1, 5);
  return c;
}

std::string tree_text(const Machine& machine) {
  std::string out;
  append_tree(machine, 0, out);
  return out;
}

std::string describe(const Case& c) {
  std::string sizes;
  for (int size : c.sizes) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
  std::string numbers;
  for (const auto& o : c.machine->objects)
    if (o.kind == Kind::pu) numbers += (numbers.empty() ? "" : ",") + std::to_string(o.os_index);
  return "teams=" + c.spec.to_string() + " mask=" + c.mask.to_list() + " ran=" + sizes +
         " root=" + std::to_string(c.root) + " tree=" + tree_text(*c.machine) + " pus=" + numbers;
}

namespace {
// Every case that is one step smaller.
std::vector<Case> smaller(const Case& c) {
  std::vector<Case> out;
  auto add = [&](auto change) {
    Case s = c;
    change(s);
    out.push_back(std::move(s));
  };
  if (c.root > 0) add([](Case& s) { --s.root; });
  if (c.sizes.size() > 1) add([](Case& s) { s.sizes.pop_back(); });
  if (c.spec.levels.size() > 1) add([](Case& s) { s.spec.levels.pop_back(); });
  for (std::size_t i = 0; i < c.sizes.size(); ++i)
    if (c.sizes[i] > 1) add([i](Case& s) { --s.sizes[i]; });
  for (std::size_t i = 0; i < c.spec.levels.size(); ++i)
    if (c.spec.levels[i].size > 1) add([i](Case& s) { --s.spec.levels[i].size; });
  for (int pu : c.mask.members()) add([pu](Case& s) { s.mask.clear(pu); });
  return out;
}
}  // namespace

Case shrink(Case c) {
  for (bool shrunk = true; shrunk;) {
    shrunk = false;
    for (auto& candidate : smaller(c)) {
      if (!candidate.mask.intersects(candidate.machine->pus()) || broken_invariant(candidate).empty())
        continue;
      c = std::move(candidate);
      shrunk = true;
      break;
    }
  }
  return c;
}

}  // namespace nigh::fuzz
