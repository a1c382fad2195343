// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// kNeighbor (seed 001; Charm++'s benchmark of that name): every element sends a message to its K neighbours on
// each side, with wrap-around; each of them is acknowledged by one of the same size; when an element has all of
// its acknowledgements, its next iteration begins. Two forms: `bounced`, as Charm++ measures, never looks at
// the payload; `touched` writes and reads all of it.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "nigh/chare.hpp"

namespace nc = nigh::chare;

namespace {

struct Plan {
  int elements = 8, k = 3, iterations = 200000;
  std::size_t bytes = 64;
};

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}
double begun;

struct Block : nc::Element<Block> {
  explicit Block(const Plan& plan) : plan(plan) {
    for (int i = 0; i < 2 * plan.k; ++i) buffers.emplace_back(plan.bytes);
  }
  void start() {
    for (int i = 1; i <= plan.k; ++i) {
      for (const int by : {i, -i}) {
        neighbour(by).send<&Block::take>(static_cast<int>(index().x), std::move(buffers.back()));
        buffers.pop_back();
      }
    }
  }
  void take(int from, nc::Buffer<char>&& data) { array()[from].send<&Block::acknowledged>(std::move(data)); }
  void acknowledged(nc::Buffer<char>&& data) {
    buffers.push_back(std::move(data));
    if (++count < 2 * plan.k) return;
    count = 0;
    if (++done < plan.iterations)
      start();
    else
      contribute(array()[0].callback<&Block::end>());
  }
  void end() {
    std::printf("%.3f us an iteration\n", 1e6 * (now() - begun) / plan.iterations);
    nc::finish();
  }
  nc::Proxy<Block> neighbour(int by) {
    return array()[(index().x + by + plan.elements) % plan.elements];
  }
  Plan plan;
  std::vector<nc::Buffer<char>> buffers;
  int count = 0, done = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return nc::run(argc, argv, [&] {
    Plan plan;
    if (argc > 1) plan.bytes = std::strtoull(argv[1], nullptr, 10);
    auto blocks = nc::Array<Block>::create({plan.elements}, plan);
    begun = now();
    blocks.send<&Block::start>();
  });
}
