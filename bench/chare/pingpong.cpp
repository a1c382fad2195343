// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Two chares and one message: it goes to the other and comes back. Half of the time is the latency of
// everything between two calls. bounced: nobody looks at the payload; touched: written before it is sent and
// read when it has come, both ways. mixed: 21 messages at once, 16 of 64 bytes, 4 of 4 KiB and, in the
// middle, one of 256 KiB; each goes back as it comes.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "common/batches.hpp"
#include "modes.hpp"
#include "nigh/chare.hpp"
#include "peers.hpp"

namespace {

namespace nc = nigh::chare;

struct Load {
  const char* name;
  std::size_t bytes;  // 0: mixed
  bool touched;
};
constexpr Load loads[] = {{"64 B bounced", 64, false},       {"16 KiB bounced", 16 << 10, false},
                          {"1 MiB bounced", 1 << 20, false}, {"mixed bounced", 0, false},
                          {"64 B touched", 64, true},        {"16 KiB touched", 16 << 10, true},
                          {"1 MiB touched", 1 << 20, true},  {"mixed touched", 0, true}};
constexpr std::size_t load_count = std::size(loads);

int balls_of(const Load& load) { return load.bytes > 0 ? 1 : 21; }
std::size_t bytes_of(const Load& load, int ball) {
  if (load.bytes > 0) return load.bytes;
  return ball == 10 ? 256 << 10 : ball % 5 == 4 ? 4096 : 64;
}
int trips_of(const Load& load) {
  if (load.bytes == 0) return 100;
  return load.bytes > (64 << 10) ? 40 : load.bytes > 1024 ? 300 : 3000;
}

struct Plan {
  int batches = 15;
  bool spoils = false, near = false;
};

struct Player : nc::Element<Player> {
  explicit Player(const Plan& plan) : plan(plan) {}
  using Ball = nc::Buffer<unsigned char>;

  void begin() {
    trips = 0;
    balls.clear();
    for (int i = 0; i < balls_of(loads[at]); ++i) balls.emplace_back(bytes_of(loads[at], i));
    begun = bench::now();
    serve();
  }
  void serve() {
    for (Ball& ball : balls) {
      write(ball, trips);
      array()[1].send<&Player::take>(at, trips, std::move(ball));
    }
    balls.clear();
  }
  void take(std::uint64_t load, int trip, Ball&& ball) {
    at = load;
    read(ball, trip);
    write(ball, trip + 1);
    if (plan.spoils && trip == 100 && at == 4) ball[0] ^= 1;
    array()[0].send<&Player::back>(std::move(ball));
  }
  void back(Ball&& ball) {
    read(ball, trips + 1);
    if (ball.size() != bytes_of(loads[at], static_cast<int>(balls.size()))) ++wrong;  // they keep their order
    balls.push_back(std::move(ball));
    if (static_cast<int>(balls.size()) < balls_of(loads[at])) return;
    if (++trips < trips_of(loads[at])) return serve();
    times.push_back((bench::now() - begun) / (2.0 * trips));
    if (static_cast<int>(times.size()) < plan.batches) return begin();
    std::sort(times.begin(), times.end());
    results.push_back({loads[at].name, 1e9 * times[times.size() / 2], plan.near});
    times.clear();
    if (++at < load_count) return begin();
    contribute(wrong, nc::sum, array()[0].callback<&Player::report>());
    array()[1].send<&Player::join>();
  }
  void join() { contribute(wrong, nc::sum, array()[0].callback<&Player::report>()); }
  void report(int all_wrong) {
    std::vector<int> cpus(static_cast<std::size_t>(nc::pes()));
    for (std::size_t i = 0; i < cpus.size(); ++i) cpus[i] = static_cast<int>(i);
    bench::report("pingpong", results, cpus, nc::pes() - 1,
                  all_wrong == 0 ? "" : "a payload was not what was sent");
    nc::finish(all_wrong == 0 ? 0 : 1);
  }
  void write(Ball& ball, int value) const {
    if (loads[at].touched) std::memset(ball.data(), value & 0xff, ball.size());
  }
  void read(const Ball& ball, int value) {
    if (!loads[at].touched) return;
    std::uint64_t sum = 0;
    for (const unsigned char byte : ball) sum += byte;
    if (sum != static_cast<std::uint64_t>(value & 0xff) * ball.size()) ++wrong;
  }
  Plan plan;
  std::uint64_t at = 0;
  int trips = 0, wrong = 0;
  double begun = 0;
  std::vector<Ball> balls;  // that are back
  std::vector<double> times;
  std::vector<bench::Measured> results;
};

int run_peer_program(const std::string& subject, const std::string& folder, const Plan& plan) {
  std::vector<bench::Measured> results;
  for (const Load& load : loads) {
    std::string why;
    std::vector<std::string> words = bench::peers::command("pingpong", subject, folder, 2, why);
    if (words.empty()) return std::fprintf(stderr, "%s\n", why.c_str()), 2;
    words.insert(words.end(), {std::to_string(load.bytes), std::to_string(trips_of(load)),
                               std::to_string(plan.batches), load.touched ? "touched" : "bounced"});
    const double median = bench::peers::run(words, why);
    if (median < 0) return std::fprintf(stderr, "%s: %s\n", subject.c_str(), why.c_str()), 2;
    results.push_back({load.name, 1e9 * median, plan.near});
  }
  bench::report("pingpong", results, bench::usable_cpus(), 1, "");
  return 0;
}

int usage() {
  std::fprintf(stderr,
               "usage: pingpong [--teams 2] --subject NAME [--quick]; subjects: %s mpi-openmpi mpi-mpich\n",
               bench::modes::names);
  return 2;
}

}  // namespace

int main(int argc, char** argv) {
  Plan plan;
  std::string subject = "nigh-threads";
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--quick")
      plan.batches = 5;
    else if (word == "--teams" && i + 1 < argc) {
      if (std::strcmp(argv[++i], "2") != 0) return usage();
    } else if (word == "--subject" && i + 1 < argc)
      subject = argv[++i];
    else
      return usage();
  }
  plan.near = bench::line_time(bench::usable_cpus()) < bench::near_below;
  if (subject.starts_with("mpi-")) return run_peer_program(subject, bench::peers::folder_of(argv[0]), plan);
  plan.spoils = subject == "nigh-spoiled";  // must be found out
  const auto own = bench::modes::options(subject, 2);
  if (!own || subject == "nigh-fixed") return usage();
  return nc::run(*own, [&] { nc::Array<Player>::create({2}, plan)[0].send<&Player::begin>(); });
}
