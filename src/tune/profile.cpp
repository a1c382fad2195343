// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "tune/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "launch/launcher.hpp"
#include "sys/os.hpp"
#include "sys/program.hpp"
#include "sys/run_folder.hpp"

namespace nigh::tune {

namespace {

// FNV-1a (Fowler, Noll, Vo; 64 bits), each word with its end.
std::uint64_t hash_of(const std::vector<std::string>& words) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const std::string& word : words)
    for (std::size_t i = 0; i <= word.size(); ++i)
      hash = (hash ^ static_cast<unsigned char>(word.c_str()[i])) * 0x100000001b3;
  return hash;
}

std::string path_of_program(const std::vector<std::string>& command) {
  const auto launcher = launch::launcher_of(command.front());
  const std::string program = launcher ? program_of(*launcher, command) : command.front();
  std::error_code error;
  const auto found = sys::find_program(program);
  const auto path = found ? std::filesystem::canonical(*found, error) : std::filesystem::path();
  return error || !found ? program : path.string();
}

// For people who look into the folder.
std::string readable(const std::vector<std::string>& command) {
  const std::string& first = command.front();
  std::string out = first.substr(first.rfind('/') + 1).substr(0, 32);
  for (char& c : out)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.' && c != '-') c = '_';
  return out;
}

tl::unexpected<Error> damaged(const std::string& where) {
  return fail(Errc::invalid, where + " is damaged; it is ignored (nigh tune makes it anew)");
}

}  // namespace

Result<std::string> profile_path(const std::vector<std::string>& command) {
  auto base = sys::user_folder("XDG_CONFIG_HOME", "/.config", "profiles");
  if (!base) return base;
  std::vector<std::string> words = command;
  words.push_back(path_of_program(command));
  return fmt::format("{}/nigh/profiles/{}-{:016x}.json", *base, readable(command), hash_of(words));
}

std::string profile_to_json(const Profile& profile) {
  const nlohmann::ordered_json document = {{"format", "nigh-profile"},
                                           {"version", 1},
                                           {"command", profile.command},
                                           {"topology", profile.topology},
                                           {"cpu", profile.cpu},
                                           {"date", profile.date},
                                           {"options", profile.choice.options},
                                           {"ranks", profile.choice.ranks},
                                           {"threads", profile.choice.threads},
                                           {"alone", profile.choice.alone},
                                           {"time_ratio",
                                            {{"median", profile.gain.median},
                                             {"low", profile.gain.low},
                                             {"high", profile.gain.high},
                                             {"pairs", profile.pairs}}}};
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Profile> profile_from_json(const std::string& text, const std::string& where) {
  try {
    const auto in = nlohmann::json::parse(text);
    if (in.at("format") != "nigh-profile" || in.at("version") != 1)
      return fail(Errc::invalid, where + " is no profile of this version of nigh; it is ignored");
    Profile out;
    out.command = in.at("command").get<std::vector<std::string>>();
    out.topology = in.at("topology").get<std::string>();
    out.cpu = in.at("cpu").get<std::string>();
    out.date = in.at("date").get<std::string>();
    out.choice.options = in.at("options").get<std::vector<std::string>>();
    out.choice.ranks = in.at("ranks").get<int>();
    out.choice.threads = in.at("threads").get<int>();
    out.choice.alone = in.at("alone").get<bool>();
    const auto& ratio = in.at("time_ratio");
    out.gain = {ratio.at("median").get<double>(), ratio.at("low").get<double>(),
                ratio.at("high").get<double>(), true};
    out.pairs = ratio.at("pairs").get<std::size_t>();
    const auto sound = [](int number) { return number >= 0 && number <= 65536; };
    if (sound(out.choice.ranks) && sound(out.choice.threads)) return out;
    return damaged(where);
  } catch (const nlohmann::json::exception&) { return damaged(where); }
}

Result<void> store_profile(const Profile& profile) {
  auto path = profile_path(profile.command);
  if (!path) return tl::unexpected(path.error());
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(*path).parent_path(), error);
  if (error)
    return fail(Errc::io, fmt::format("can't make the folder of {}: {}", *path, error.message()),
                error.value());
  return sys::write_file(*path, profile_to_json(profile));
}

Result<void> remove_profile(const std::vector<std::string>& command) {
  auto path = profile_path(command);
  if (!path) return tl::unexpected(path.error());
  std::error_code error;
  std::filesystem::remove(*path, error);
  if (error) return fail(Errc::io, fmt::format("can't remove {}: {}", *path, error.message()), error.value());
  return {};
}

Result<Profile> load_profile(const std::vector<std::string>& command) {
  auto path = profile_path(command);
  if (!path) return fail(Errc::io, path.error().message, ENOENT);
  auto text = sys::read_file(*path);
  if (!text) return tl::unexpected(text.error());
  auto profile = profile_from_json(*text, *path);
  if (profile && profile->command != command)
    return fail(Errc::invalid, *path + " is of another command; it is ignored");
  return profile;
}

}  // namespace nigh::tune
