// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Texts that are nearly right: a valid one with bytes changed, removed, doubled or swapped. A parser must
// either refuse it with one line, or give a value that prints and parses to itself.
#include <algorithm>
#include <array>

#include "cases.hpp"
#include "machine/load.hpp"
#include "parse_checks.hpp"
#include "random.hpp"

namespace nigh::fuzz {

namespace {
std::string mutated(Random& random, std::string text, const std::string& alphabet) {
  for (int changes = random.between(0, 4); changes > 0 && !text.empty(); --changes) {
    std::size_t at = random.next() % text.size();
    std::size_t length = 1 + random.next() % std::min<std::size_t>(8, text.size() - at);
    char c = random.one_in(8) ? static_cast<char>(random.between(0, 255))
                              : alphabet[random.next() % alphabet.size()];
    switch (random.between(0, 4)) {
      case 0: text[at] = c; break;
      case 1: text.insert(at, 1, c); break;
      case 2: text.erase(at, length); break;
      case 3: text.insert(random.next() % text.size(), text.substr(at, length)); break;
      default: std::swap(text[at], text[random.next() % text.size()]);
    }
  }
  return text;
}

std::string some_spec(Random& random) {
  TeamSpec spec;
  for (int level = random.between(1, random.one_in(32) ? 20 : 3); level > 0; --level)
    spec.levels.push_back({random.one_in(4) ? random.between(1, 65536) : random.between(1, 8),
                           static_cast<Strategy>(random.between(0, 3))});
  return spec.to_string();
}

std::string some_list(Random& random) {
  CpuSet set;
  for (int n = random.between(0, 6); n > 0; --n) {
    int first = random.between(0, random.one_in(16) ? 65535 : 130);
    set |= CpuSet::range(first, std::min(65535, first + random.between(0, 5)));
  }
  return set.to_list();
}
}  // namespace

std::string broken_parser(std::uint64_t seed, const Machine& machine) {
  Random random(seed ^ 0xfacade);
  auto spec = mutated(random, some_spec(random), "0123456789, ,scatterompubSCx-");
  if (auto wrong = check_spec_text(spec); !wrong.empty()) return "spec '" + spec + "': " + wrong;
  auto list = mutated(random, some_list(random), "0123456789-,, ");
  if (auto wrong = check_cpu_list(list); !wrong.empty()) return "CPU list '" + list + "': " + wrong;
  if (seed % 16 != 0 || machine.objects.size() > 60) return {};
  auto json = mutated(random, machine_to_json(machine), "{}[]\",:0123456789eE-.tfnul\\");
  if (auto wrong = check_machine_text(json); !wrong.empty()) return "machine file: " + wrong + "\n" + json;
  return {};
}

}  // namespace nigh::fuzz
