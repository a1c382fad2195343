// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A bar on a terminal, a line per phase elsewhere. Ctrl-C ends the measuring between two samples: all memory
// goes back, nothing is written, and what an earlier run has stored stays.
#include "cli/probe.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "cli/commands.hpp"
#include "machine/probe.hpp"
#include "sys/threads.hpp"

namespace nigh::cli {

namespace {
class Progress {
 public:
  ~Progress() { clear(); }
  void show(const std::string& phase, double done, double left) {
    bool fresh = phase != phase_;
    phase_ = phase;
    if (!terminal_) {
      if (fresh && phase != "done")
        std::fprintf(stderr, "nigh machine: %s (about %.0f s to go)\n", phase.c_str(), left);
      return;
    }
    double now = sys::now_seconds();
    if (!fresh && now - shown_ < 0.1) return;
    shown_ = now;
    constexpr int cells = 30;
    int full = static_cast<int>(done * cells);
    std::string bar = std::string(static_cast<std::size_t>(full), '#') +
                      std::string(static_cast<std::size_t>(cells - full), '.');
    std::fprintf(stderr, "\r\x1b[K[%s] %3.0f %%  %s, about %.0f s to go", bar.c_str(), done * 100,
                 phase.c_str(), left);
  }
  void clear() const {
    if (terminal_ && !phase_.empty()) std::fputs("\r\x1b[K", stderr);
  }

 private:
  bool terminal_ = isatty(STDERR_FILENO) != 0;
  std::string phase_;
  double shown_ = 0;
};

void keep(const Machine& machine, const Probe& probe) {
  auto stored = store_probe(machine, probe);
  if (stored)
    std::fprintf(stderr, "nigh machine: stored in %s\n", one_line(probe_path(machine).value_or("")).c_str());
  else
    std::fprintf(stderr, "nigh machine: not stored: %s\n", one_line(stored.error().message).c_str());
}
}  // namespace

void add_probe_options(CLI::App& command, ProbeRequest& request) {
  auto* probe = command.add_flag("--probe", request.wanted,
                                 "Measure bandwidths and latencies of this machine (minutes) and keep them");
  for (const char* other : {"--model", "--machine", "--svg", "--list-models"})
    probe->excludes(command.get_option(other));
  command.add_flag("--quick", request.quick, "Measure for about 20 s, what matters most first")->needs(probe);
  command.add_option("--nodes", request.nodes, "Measure these NUMA nodes only, such as 0-1,4")->needs(probe);
  command.add_flag("--no-store", request.no_store, "Do not keep the result");
}

int run_probe(const Machine& machine, const ProbeRequest& request, bool json, int width) {
  ProbeOptions options;
  options.quick = request.quick;
  auto nodes = CpuSet::parse(request.nodes);
  if (!nodes) return report_failure("machine", "--nodes: " + nodes.error().message);
  options.nodes = *nodes;
  sys::Interrupt interrupt;
  options.cancel = &sys::Interrupt::flag();
  Result<Probe> probe = fail(Errc::internal, "not started");
  {
    Progress progress;
    options.progress = [&](const std::string& phase, double done, double left) {
      progress.show(phase, done, left);
    };
    probe = nigh::run_probe(machine, options);
  }
  if (!probe) return report_failure("machine", probe.error().message);
  std::fputs((json ? probe_to_json(*probe) : draw_probe(*probe, width)).c_str(), stdout);
  if (!request.no_store) keep(machine, *probe);
  return 0;
}

}  // namespace nigh::cli
