// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// `nigh run --web`: the run goes on in a copy of this process, as it would without; here a page is served on
// which it can be seen. Nobody looks: nothing is read.
#include <fmt/format.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <sstream>

#include "cli/live_page.hpp"
#include "cli/run.hpp"
#include "cli/run_record.hpp"
#include "launch/launcher.hpp"
#include "machine/draw.hpp"
#include "machine/load.hpp"
#include "report/documents.hpp"
#include "report/job_view.hpp"
#include "sys/os.hpp"
#include "sys/run_folder.hpp"
#include "sys/start.hpp"
#include "sys/threads.hpp"

namespace nigh::cli {

namespace {

constexpr double between_looks = 1;  // s
constexpr double most_cost = 0.005;  // own CPU time of looking, as a part of one core
constexpr std::size_t most_reports = 64;

std::string words_of(const std::vector<std::string>& command) {
  std::string out;
  for (const std::string& word : command) out += (out.empty() ? "" : " ") + word;
  return out.size() > 400 ? out.substr(0, 400) + "..." : out;
}

// The accounts of MPI ranks, which the page shows at the end, are asked for where the user asks for none.
std::string folder_for_accounts(const RunOptions& options) {
  if (!options.explain.empty() || !options.explain_file.empty() || std::getenv("NIGH_EXPLAIN") != nullptr ||
      !launch::launcher_of(options.command.front()) || names_other_nodes(options.command))
    return "";
  auto folder = sys::run_folder("web");
  auto own = folder ? sys::private_folder(fmt::format("{}/accounts-{}", *folder, sys::own_pid())) : folder;
  return own.value_or("");
}

class Shown {
 public:
  Shown(const RunOptions& options, std::string accounts)
      : options_(options), accounts_(std::move(accounts)), command_(words_of(options.command)) {}

  Result<void> open() {
    auto machine = load_this_machine();
    auto feed = open_live_page(options_.web, "run", command_, machine ? &*machine : nullptr);
    if (!feed) return tl::unexpected(feed.error());
    feed_ = *std::move(feed);
    std::fprintf(stderr, "nigh run: the page is %s\n", feed_->url().c_str());
    return {};
  }

  // Until the program has ended; its status.
  int watch(int pid) {
    report::JobView job(sys::Os(), pid, command_);
    const double began = sys::now_seconds();
    const sys::Interrupt interrupt;
    bool told = false;
    double wait = between_looks;
    std::optional<int> status;
    while (!(status = sys::ended_within(pid, wait))) {
      // Ctrl-C reaches the program by the terminal; SIGTERM reaches us alone.
      if (sys::Interrupt::flag() && !told && sys::Interrupt::by() == SIGTERM) sys::send_signal(pid, SIGTERM);
      told = told || sys::Interrupt::flag();
      wait = between_looks;
      if (!feed_->is_heard()) continue;
      const double cost = sys::process_seconds();
      feed_->state(one_line_json(job.look(sys::now_seconds() - began)), "");
      wait = std::max(between_looks, (sys::process_seconds() - cost) / most_cost);
    }
    tell_reports();
    feed_->end(one_line_json({{"status", *status}, {"elapsed", sys::now_seconds() - began}}));
    feed_.reset();
    return *status;
  }

 private:
  void tell_reports() {
    if (!options_.record.empty())
      if (auto records = read_rank_records(options_.record); records && !records->empty()) {
        const std::string name = printable(options_.record);
        feed_->document(one_line_json(traffic_document(*records, name)));
        if (const auto times = rank_times_document(*records, name); !times.is_null())
          feed_->document(one_line_json(times));
      }
    if (accounts_.empty()) return;
    std::error_code ignored;
    std::size_t told = 0;
    for (const auto& entry : std::filesystem::directory_iterator(accounts_, ignored)) {
      const std::string path = entry.path().string();
      std::istringstream text(sys::read_own_file(path).value_or(""));
      // A hybrid rank writes that of its threads there, too, for which the page has no view.
      for (std::string line; std::getline(text, line) && told < most_reports;) {
        auto document = report::page_document(line, path);
        if (!document) continue;
        ++told;
        run_say(options_, fmt::format("{} ranks; {}", document->value("ranks", 0),
                                      document->value("verdict", std::string())));
        feed_->document(one_line_json(*document));
      }
    }
    std::filesystem::remove_all(accounts_, ignored);
  }

  const RunOptions& options_;
  std::string accounts_, command_;
  std::unique_ptr<watch::Feed> feed_;
};

}  // namespace

std::optional<int> run_with_page(const RunOptions& options) {
  const std::string accounts = folder_for_accounts(options);
  Shown shown(options, accounts);
  auto pid = sys::start_copy([&] { return shown.open(); });
  if (!pid) {
    std::error_code ignored;
    if (!accounts.empty()) std::filesystem::remove_all(accounts, ignored);
    return run_failed(pid.error().message);
  }
  if (*pid > 0) return shown.watch(*pid);
  if (accounts.empty()) return std::nullopt;
  ::setenv("NIGH_EXPLAIN", "json", 1);
  ::setenv("NIGH_EXPLAIN_FILE", (accounts + "/%p.json").c_str(), 1);
  return std::nullopt;
}

}  // namespace nigh::cli
