// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The service on this machine: what is watched (a program that is started, processes, all), and where what it
// says goes (terminal, log, feed).
#include <fmt/format.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <optional>

#include "cli/live_page.hpp"
#include "cli/watch.hpp"
#include "machine/load.hpp"
#include "sys/line_log.hpp"
#include "sys/os.hpp"
#include "sys/own_cgroup.hpp"
#include "sys/program.hpp"
#include "sys/start.hpp"
#include "sys/threads.hpp"
#include "watch/service.hpp"

namespace nigh::cli {

namespace {

void remark(const WatchOptions& options, const std::string& sentence) {
  if (!options.quiet) std::fprintf(stderr, "nigh watch: %s\n", one_line(sentence).c_str());
}

// Everything that is said, to everybody who listens.
class Outlets {
 public:
  static Result<std::unique_ptr<Outlets>> open(const WatchOptions& options, const Machine& machine) {
    auto out = std::unique_ptr<Outlets>(new Outlets(options));
    if (!options.log.empty()) {
      auto log = sys::LineLog::open(options.log);
      if (!log) return tl::unexpected(log.error());
      out->log_.emplace(*std::move(log));
    }
    if (!options.listen.empty()) {
      auto feed = open_feed(options.listen);
      if (!feed) return tl::unexpected(feed.error());
      out->feed_ = *std::move(feed);
      remark(options, "listens on " + out->feed_->url());
    }
    if (!options.web.empty()) {
      auto page = open_live_page(options.web, "watch", "nigh watch", &machine);
      if (!page) return tl::unexpected(page.error());
      out->page_ = *std::move(page);
      std::fprintf(stderr, "nigh watch: the page is %s\n", out->page_->url().c_str());
    }
    return out;
  }

  void event(const watch::Event& event, double elapsed) {
    const std::string line = to_line(event, sys::unix_seconds(), elapsed);
    if (log_)
      if (auto added = log_->add(line); !added) {
        log_.reset();
        report_failure("watch", options_.log + ": " + added.error().message + "; it ends here");
      }
    if (feed_) feed_->log(line);
    if (page_) page_->log(line);
    if (options_.json) {
      fmt::print("{}\n", line);
      std::fflush(stdout);
    } else if (!screen_) {
      remark(options_, fmt::format("{:.0f} s {}: {}", elapsed, event.kind, event.sentence));
    }
  }

  // `status`: of a program that was started here.
  void end(std::optional<int> status) {
    if (!page_) return;
    page_->end(one_line_json({{"status", status ? nlohmann::ordered_json(*status) : nullptr}}));
    page_.reset();
  }

  void snapshot(const watch::Snapshot& snapshot) {
    const bool is_seen = page_ && page_->is_heard();
    if (feed_ || is_seen) {
      const std::string state = one_line_json(to_json(snapshot));
      if (feed_) feed_->state(state, to_prometheus(snapshot));
      if (is_seen) page_->state(state, "");
    }
    if (!screen_) return;
    fmt::print("\033[H\033[J{}", to_screen(snapshot, 80, true));
    std::fflush(stdout);
  }

 private:
  explicit Outlets(const WatchOptions& options)
      : options_(options),
        // A program that is started has the terminal for itself.
        screen_(!options.json && !options.quiet && options.command.empty() && isatty(STDOUT_FILENO) != 0) {}
  const WatchOptions& options_;
  std::optional<sys::LineLog> log_;
  std::unique_ptr<watch::Feed> feed_, page_;
  bool screen_;
};

// There is nothing to place: a program runs as it would have without us. Who named what to watch, or where to
// tell it, is not shown something else instead.
int nothing_to_place(const WatchOptions& options, const std::string& why) {
  const bool named = !options.pids.empty() || options.all || !options.log.empty() ||
                     !options.listen.empty() || !options.web.empty();
  if (options.command.empty() && (named || options.json || options.quiet))
    return report_failure("watch", why + " (--demo: a simulated machine)");
  if (options.command.empty()) {
    remark(options, why);
    return watch_demo(options);
  }
  remark(options, why + (options.listen.empty() && options.log.empty() && options.web.empty()
                             ? ""
                             : "; nothing is served or logged (nigh run --web shows the program)"));
  const int error = sys::become(options.command, sys::environment());
  report_failure("watch", options.command.front() + ": " + std::strerror(error));
  return error == ENOENT ? 127 : 126;
}

Result<int> start_command(const WatchOptions& options, const Machine& machine,
                          const std::string& group_procs) {
  auto nodes = policy_nodes(machine, options.memory_nodes);
  if (!nodes) return tl::unexpected(nodes.error());
  auto pid = sys::start_program(options.command, *nodes, group_procs);
  if (pid || pid.error().code != Errc::unsupported) return pid;
  remark(options, pid.error().message + ": it is started without");
  return sys::start_program(options.command, std::nullopt, group_procs);
}

struct Setup {
  Machine machine;
  std::unique_ptr<Outlets> outlets;
  std::optional<sys::Freezer> freezer;
  watch::ServiceOptions service;
};

int watch_here(const WatchOptions& options, Setup setup) {
  int child = 0;
  std::optional<sys::OwnCgroup> group;  // where it can be had: it is frozen without signals, policies follow
  if (!options.command.empty()) {
    if (options.governor.apply)
      if (auto made = sys::OwnCgroup::make(sys::Os())) group.emplace(*std::move(made));
    auto started = start_command(options, setup.machine, group ? group->procs_file() : "");
    if (!started) {
      report_failure("watch", started.error().message);
      return started.error().sys_errno == ENOENT ? 127 : 126;
    }
    child = *started;
    setup.service.pids = {child};
  }
  std::optional<int> status;
  const sys::Interrupt interrupt;
  setup.service.stop = &sys::Interrupt::flag();
  bool told = false;
  const auto more = [&] {
    if (child > 0 && !status) status = sys::ended(child);
    if (status) return false;
    if (!sys::Interrupt::flag()) return true;
    // Ctrl-C reaches the program by the terminal, which may take its time to end well; SIGTERM reaches us
    // alone.
    if (child > 0 && !status && !told && sys::Interrupt::by() == SIGTERM) sys::send_signal(child, SIGTERM);
    told = true;
    return false;
  };
  auto service = watch::Service::make(sys::Os(), setup.machine, setup.service,
                                      setup.freezer ? &*setup.freezer : nullptr);
  if (service) {
    (*service)->on_event = [&](const watch::Event& event, double elapsed) {
      setup.outlets->event(event, elapsed);
    };
    (*service)->on_snapshot = [&](const watch::Snapshot& snapshot) { setup.outlets->snapshot(snapshot); };
    if (auto ran = (*service)->run(more); !ran) report_failure("watch", ran.error().message);
  } else {
    report_failure("watch", service.error().message + (child > 0 ? "; the program runs on unwatched" : ""));
  }
  while (child > 0 && !status) status = sys::ended_within(child, 1);
  setup.outlets->end(status);
  if (child == 0) return service ? 0 : 1;
  return *status;
}

}  // namespace

Result<CpuSet> policy_nodes(const Machine& machine, const std::string& list) {
  CpuSet known;
  for (std::size_t i = 0; i < machine.node_count(); ++i) known.set(machine.node_number(i));
  if (!list.empty()) {
    auto nodes = CpuSet::parse(list);
    if (!nodes) return fail_in("--memory", nodes.error());
    if (nodes->empty() || !nodes->minus(known).empty())
      return fail(Errc::invalid,
                  fmt::format("--memory {}: this machine has nodes {}", list, known.to_list()));
    return *nodes;
  }
  CpuSet out;
  if (auto mask = sys::affinity())
    for (const int pu : mask->members())
      if (const int node = machine.node_of_pu(pu); node >= 0)
        out.set(machine.node_number(static_cast<std::size_t>(node)));
  return out.empty() ? known : out;
}

int watch_run(const WatchOptions& options) {
  Setup setup;
  for (const int pid : options.pids)
    if (auto facts = watch::facts_of(sys::Os(), pid); !facts)
      return report_failure("watch", fmt::format("there is no process {}", pid));
  auto machine = options.machine.empty() ? load_this_machine() : load_machine(options.machine);
  if (!machine) return report_failure("watch", machine.error().message);
  setup.machine = *std::move(machine);
  if (setup.machine.node_count() < 2)
    return nothing_to_place(
        options, "this machine has one NUMA node: all memory is equally near, and there is nothing to place");
  if (auto links = Links::of(setup.machine); !links) {
    if (options.command.empty()) return report_failure("watch", links.error().message);
    return nothing_to_place(options, links.error().message);
  }
  if (auto nodes = policy_nodes(setup.machine, options.memory_nodes); !nodes)
    return report_failure("watch", nodes.error().message);
  if (options.command.empty() && options.pids.empty() && !options.all)
    return report_failure(
        "watch", "say what to watch: -p PID, --all, or -- and a program (--demo: a simulated machine)");
  setup.service.governor = options.governor;
  setup.service.pids = options.pids;
  setup.service.all = options.all;
  setup.service.interval = options.interval;
  setup.service.duration = options.duration;
  setup.service.most_cost = options.cost / 100;
  if (options.governor.pages == watch::Pages::frozen) {  // before there are threads
    auto freezer = sys::Freezer::start();
    if (!freezer) return report_failure("watch", freezer.error().message);
    setup.freezer.emplace(*std::move(freezer));
  }
  auto outlets = Outlets::open(options, setup.machine);
  if (!outlets) return report_failure("watch", outlets.error().message);
  setup.outlets = *std::move(outlets);
  return watch_here(options, std::move(setup));
}

}  // namespace nigh::cli
