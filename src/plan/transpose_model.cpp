// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The costs of the steps of both methods. Where rows or columns do not divide evenly, the rank with the
// largest part counts: the others wait for it.
#include "plan/transpose_model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <climits>
#include <cmath>
#include <tuple>

namespace nigh {

namespace {
constexpr std::uint64_t most_rows = std::uint64_t{1} << 31;
constexpr int most_parts_of_cluster = 65536;
constexpr double as_fast = 0.01;  // differences below are no reason

// The largest of `parts` parts of `whole`.
double largest_part(std::uint64_t whole, std::uint64_t parts) {
  const std::uint64_t rows = (whole + parts - 1) / parts;
  return static_cast<double>(rows);
}

// Seconds to move bytes (read and written) at MB/s.
double copy_seconds(double bytes, double rate) { return bytes / rate * 1e-6; }

class Predictor {
 public:
  Predictor(const Network& network, const CopyRates& copying, const TransposeDemand& demand, TransposeWay way)
      : network_(network), copying_(copying), demand_(demand), way_(way) {
    const bool powers = std::has_single_bit(demand.rows) && std::has_single_bit(demand.columns);
    transposing_ = powers ? copying.transpose_powers : copying.transpose_others;
  }
  [[nodiscard]] TransposeSteps three_steps() const;
  [[nodiscard]] TransposeSteps one_pass() const;

 private:
  // Bytes of a block of rows when there are `parts` of them, and of what goes from one such part to another.
  [[nodiscard]] double block(std::uint64_t parts) const {
    return largest_part(demand_.rows, parts) * static_cast<double>(demand_.columns) * demand_.element_bytes;
  }
  [[nodiscard]] double piece(std::uint64_t parts) const {
    return largest_part(demand_.rows, parts) * largest_part(demand_.columns, parts) * demand_.element_bytes;
  }

  const Network& network_;
  const CopyRates& copying_;
  const TransposeDemand& demand_;
  TransposeWay way_;
  double transposing_ = 1;  // rate over that of copying
};

// Only the thread that started the others calls MPI, so all wait for it in each of the P steps. What goes
// from rank to rank of a node is copied twice, through a buffer that both see. A step finds its data in a
// cache only if all that is touched before it is needed again fits in: A, a1, a2 and B.
TransposeSteps Predictor::three_steps() const {
  const int ranks = way_.ranks;
  const auto all = static_cast<std::uint64_t>(ranks) * static_cast<std::uint64_t>(demand_.nodes);
  const double mine = 2 * block(all), sent = 2 * piece(all);
  const double touched = 2 * mine;
  const double own_rate = copying_.rate(touched, way_.threads, ranks);
  const double node_rate = copying_.rate(touched * ranks, ranks * way_.threads, 1);
  const double between_ranks = copying_.rate(touched * ranks, ranks, 1);
  TransposeSteps out;
  out.local_reorder = copy_seconds(mine * ranks, own_rate);
  out.on_node = copy_seconds(sent * ranks, node_rate) +
                (ranks - 1) * (copy_seconds(2 * sent * ranks, between_ranks) + copying_.message_us * 1e-6);
  // In step s each rank sends to the s-th after it: in the first and in the last steps some ranks stay on the
  // node, and the others have the link for themselves.
  const double middle = static_cast<double>(all) - 2.0 * ranks + 1;
  if (demand_.nodes > 1) {
    out.between_nodes = middle * network_.message_seconds(piece(all), ranks);
    for (int k = 1; k < ranks; ++k) out.between_nodes += 2 * network_.message_seconds(piece(all), k);
  }
  out.local_transpose = copy_seconds(mine * ranks, own_rate * transposing_);
  out.synchronisation = static_cast<double>(all) * copying_.barrier_seconds(way_.threads);
  return out;
}

// Every core of a node takes part in every step, so the node is one group that shares nothing but what all
// its cores share. With panels, packing the first and unpacking the last are left outside of the sending.
TransposeSteps Predictor::one_pass() const {
  const int threads = way_.ranks * way_.threads, others = demand_.nodes - 1;
  const auto nodes = static_cast<std::uint64_t>(demand_.nodes);
  const double mine = 2 * block(nodes), stays = mine / demand_.nodes, leaves = mine - stays;
  const double rate = copying_.rate(mine + leaves, threads, 1);
  TransposeSteps out;
  out.on_node = copy_seconds(stays, rate * transposing_);
  out.synchronisation = (others > 0 ? 2 + 2 * way_.panels : 2) * copying_.barrier_seconds(threads);
  if (others == 0) return out;
  out.local_reorder = copy_seconds(leaves, rate);
  out.local_transpose = copy_seconds(leaves, rate * transposing_);
  const int senders = std::min(way_.ranks, others), rounds = others / senders, rest = others % senders;
  const double message = piece(nodes) / way_.panels;
  out.between_nodes = way_.panels * rounds * network_.message_seconds(message, senders);
  if (rest > 0) out.between_nodes += way_.panels * network_.message_seconds(message, rest);
  // The share of the links that transposes get, where that was measured: the rest was done meanwhile. Threads
  // of a rank, not of the node, wait for each other then, at both ends of each message.
  if (const double stream = network_.stream_seconds(leaves / 2, way_.ranks); stream > 0) {
    out.between_nodes = stream;
    out.synchronisation = 2 * copying_.barrier_seconds(threads) +
                          2.0 * way_.panels * others * copying_.barrier_seconds(way_.threads);
    out.overlapped =
        std::min(stream, out.on_node + out.local_reorder + out.local_transpose + out.synchronisation);
    return out;
  }
  if (way_.panels > 1) {
    const double packing = out.local_reorder + out.local_transpose, part = packing / way_.panels;
    const double meanwhile = out.on_node + packing - part;
    out.overlapped = std::min(meanwhile, out.between_nodes);
  }
  return out;
}

Result<void> check_way(const TransposeDemand& demand, const TransposeWay& way) {
  if (way.ranks < 1 || way.threads < 1 || way.panels < 1 || way.ranks > demand.cores ||
      demand.cores % way.ranks != 0 || way.threads != demand.cores / way.ranks)
    return fail(Errc::invalid,
                fmt::format("{} x {} does not make the {} cores of a node, or it has no panels", way.ranks,
                            way.threads, demand.cores));
  if (way.method == TransposeMethod::three_steps && way.panels != 1)
    return fail(Errc::invalid, "the three steps know no panels");
  const auto parts = static_cast<std::uint64_t>(way.ranks) * static_cast<std::uint64_t>(demand.nodes);
  if (parts > std::min(demand.rows, demand.columns))
    return fail(Errc::invalid,
                fmt::format("a matrix of {} x {} can't be cut into {} blocks of rows and of columns",
                            demand.rows, demand.columns, parts));
  return {};
}

Result<void> check_figures(const Network& network, const CopyRates& copying, const TransposeDemand& demand) {
  if (copying.empty()) return fail(Errc::invalid, "it is not known how fast this machine copies");
  if (demand.nodes > 1 && network.empty())
    return fail(Errc::invalid, "it is not known what messages between these nodes take");
  return {};
}

bool is_better(const TransposeForecast& a, const TransposeForecast& b) {
  const double now = a.steps.total(), other = b.steps.total();
  if (now != other) return now < other;
  return std::tie(a.way.ranks, a.way.panels, a.way.method) <
         std::tie(b.way.ranks, b.way.panels, b.way.method);
}

struct NamedStep {
  const char* name;
  double TransposeSteps::* seconds;
};
constexpr NamedStep named_steps[] = {{"the local reorder", &TransposeSteps::local_reorder},
                                     {"the exchange on the node", &TransposeSteps::on_node},
                                     {"sending between nodes", &TransposeSteps::between_nodes},
                                     {"the local transposition", &TransposeSteps::local_transpose},
                                     {"synchronisation", &TransposeSteps::synchronisation}};

// "1.23 s", "12.3 ms", "123 us".
std::string time_text(double seconds) {
  if (seconds >= 1) return fmt::format("{:.3g} s", seconds);
  return seconds >= 1e-3 ? fmt::format("{:.3g} ms", seconds * 1e3) : fmt::format("{:.3g} us", seconds * 1e6);
}
}  // namespace

const char* method_name(TransposeMethod method) {
  return method == TransposeMethod::three_steps ? "three-steps" : "one-pass";
}

std::string way_text(const TransposeWay& way) {
  const auto many = [](int n, const char* what) {
    return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
  };
  std::string out = fmt::format("{} x {}, {}", many(way.ranks, "rank"), many(way.threads, "thread"),
                                method_name(way.method));
  return way.panels > 1 ? out + ", " + many(way.panels, "panel") : out;
}

double TransposeDemand::bytes() const {
  return static_cast<double>(rows) * static_cast<double>(columns) * element_bytes;
}

Result<void> TransposeDemand::check() const {
  if (rows < 1 || columns < 1 || rows > most_rows || columns > most_rows)
    return fail(Errc::invalid,
                fmt::format("a matrix has 1 to {} rows and columns, not {} x {}", most_rows, rows, columns));
  if (nodes < 1 || nodes > most_parts_of_cluster || cores < 1 || cores > most_parts_of_cluster)
    return fail(Errc::invalid, fmt::format("there must be 1 to {} nodes and cores, not {} and {}",
                                           most_parts_of_cluster, nodes, cores));
  if (element_bytes < 1 || element_bytes > 64)
    return fail(Errc::invalid, fmt::format("elements have 1 to 64 bytes, not {}", element_bytes));
  return {};
}

Result<TransposeSteps> predict(const Network& network, const CopyRates& copying,
                               const TransposeDemand& demand, const TransposeWay& way) {
  if (auto ok = demand.check(); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_way(demand, way); !ok) return tl::unexpected(ok.error());
  if (auto ok = check_figures(network, copying, demand); !ok) return tl::unexpected(ok.error());
  const Predictor predictor(network, copying, demand, way);
  return way.method == TransposeMethod::three_steps ? predictor.three_steps() : predictor.one_pass();
}

int built_panels(const TransposeDemand& demand) {
  constexpr double of_a_pair = 4, shortest = 65536, longest = 1048576;
  const double all = demand.bytes() / demand.nodes / demand.nodes;
  const double panels = std::ceil(all / std::clamp(all / of_a_pair, shortest, longest));
  return static_cast<int>(std::clamp(panels, 1.0, double{INT_MAX}));
}

Result<std::vector<TransposeForecast>> every_way(const Network& network, const CopyRates& copying,
                                                 const TransposeDemand& demand) {
  if (auto ok = demand.check(); !ok) return tl::unexpected(ok.error());  // or the ways are without end
  constexpr std::int64_t most_panels = 32;
  std::vector<TransposeWay> ways;
  for (int ranks = 1; ranks <= demand.cores; ++ranks) {
    if (demand.cores % ranks != 0) continue;
    ways.push_back({ranks, demand.cores / ranks, TransposeMethod::three_steps, 1});
    const bool known = network.stream_process_rate > 0 && demand.nodes > 1;
    const std::int64_t own = known ? built_panels(demand) : 1, most = demand.nodes == 1 ? 1
                                                                      : known           ? own
                                                                                        : most_panels;
    for (std::int64_t panels = own; panels <= most; panels *= 2)
      ways.push_back({ranks, demand.cores / ranks, TransposeMethod::one_pass, static_cast<int>(panels)});
  }
  std::vector<TransposeForecast> out;
  for (const TransposeWay& way : ways) {
    auto steps = predict(network, copying, demand, way);
    if (steps) out.push_back({way, *steps});
    // With one rank everything can go wrong, with more the matrix may be too small.
    else if (way.ranks == 1)
      return tl::unexpected(steps.error());
  }
  if (out.empty()) return fail(Errc::invalid, "there is no way to transpose that");
  std::sort(out.begin(), out.end(), is_better);
  return out;
}

std::string why_best(const std::vector<TransposeForecast>& ways) {
  if (ways.empty()) return "";
  const TransposeForecast& best = ways.front();
  const auto* most = std::max_element(std::begin(named_steps), std::end(named_steps), [&](auto a, auto b) {
    return best.steps.*a.seconds < best.steps.*b.seconds;
  });
  const double total = best.steps.total();
  std::string out = fmt::format("{}: {}, {:.0f} % of it {}", way_text(best.way), time_text(total),
                                100 * std::min(1.0, best.steps.*most->seconds / total), most->name);
  const auto next = std::find_if(ways.begin(), ways.end(), [&](const TransposeForecast& other) {
    return other.way.ranks != best.way.ranks;
  });
  if (next == ways.end()) return out;
  const std::string name = way_text(next->way);
  if (next->steps.total() < (1 + as_fast) * total) return out + "; as fast, within 1 %: " + name;
  const auto loss = [&](NamedStep s) { return next->steps.*s.seconds - best.steps.*s.seconds; };
  const auto* lost = std::max_element(std::begin(named_steps), std::end(named_steps),
                                      [&](auto a, auto b) { return loss(a) < loss(b); });
  out += fmt::format("; {} takes {}, ", name, time_text(next->steps.total()));
  if (best.steps.overlapped - next->steps.overlapped > loss(*lost)) return out + "as less of it overlaps";
  return out + fmt::format("{} more for {}", time_text(loss(*lost)), lost->name);
}

double transpose_speed(const TransposeDemand& demand, double seconds) {
  return demand.bytes() / 8 / demand.nodes / seconds * 1e-6;
}

double fft_speed(double points, double mflops, double words, double mwords) {
  const double operations = 5 * std::log2(points);
  return operations / (operations / mflops + words / mwords);
}

}  // namespace nigh
