// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "cli/live_page.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <random>

#include "benchmark/fingerprint.hpp"
#include "cli/run.hpp"
#include "report/documents.hpp"
#include "report/page_template.hpp"
#include "sys/os.hpp"
#include "sys/run_folder.hpp"
#include "watch/feed_module.hpp"

namespace nigh::cli {

namespace {

constexpr std::size_t token_digits = 32;

// The same for all pages of this user until the next boot, so that an address opens again after a restart.
std::string token_of_user() {
  std::random_device random;
  std::string fresh;
  while (fresh.size() < token_digits) fresh += fmt::format("{:08x}", random());
  auto folder = sys::run_folder("web");
  if (!folder) return fresh;
  const std::string path = *folder + "/token";
  auto known = sys::read_own_file(path);
  if (known && known->size() == token_digits &&
      known->find_first_not_of("0123456789abcdef") == std::string::npos)
    return *known;
  static_cast<void>(sys::write_file(path, fresh));  // else it is only this page's
  return fresh;
}

}  // namespace

Result<std::unique_ptr<watch::Feed>> open_feed(const std::string& where, const watch::FeedPage& page) {
  auto path = find_module(watch::feed_module_file);
  if (!path) return tl::unexpected(path.error());
  void* module = dlopen(path->c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto open =
      reinterpret_cast<watch::OpenFeed>(module ? dlsym(module, watch::feed_module_entry) : nullptr);
  if (open == nullptr) return fail(Errc::io, fmt::format("{} can't be opened: {}", *path, dlerror()));
  watch::OpenedFeed out = fail(Errc::io, "");
  open(&where, &page, &out);
  return out;
}

Result<std::unique_ptr<watch::Feed>> open_live_page(const std::string& where, const std::string& of,
                                                    const std::string& title, const Machine* machine) {
  auto documents = nlohmann::ordered_json::array();
  if (machine != nullptr) documents.push_back(report::machine_document(*machine));
  return open_feed(where, {report::web_page_with({{"format", "nigh-page"},
                                                  {"version", 1},
                                                  {"nigh", NIGH_VERSION},
                                                  {"date", benchmark::now_text()},
                                                  {"live", {{"of", of}, {"title", title}}},
                                                  {"documents", std::move(documents)}}),
                           token_of_user()});
}

std::string one_line_json(const nlohmann::ordered_json& document) {
  return document.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace nigh::cli
