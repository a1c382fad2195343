// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Text, a word is a field: a person can read what was changed. Values with blanks don't occur in masks and
// cpusets, and paths with blanks are refused when they are to be written.
#include "watch/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "sys/run_folder.hpp"

namespace nigh::watch {

namespace {
std::uint64_t sum_of(const std::string& text) {
  std::uint64_t sum = 14695981039346656037U;  // FNV-1a, 64 bits
  for (unsigned char c : text) sum = (sum ^ c) * 1099511628211U;
  return sum;
}

std::string word_of(const std::string& value) { return value.empty() ? "-" : value; }
std::string value_of(const std::string& word) { return word == "-" ? "" : word; }
bool is_word(const std::string& text) { return text.find_first_of(" \t\n") == std::string::npos; }

bool read_masks(std::istringstream& words, MaskChange& out) {
  std::string old_mask, our_mask;
  if (!(words >> old_mask >> our_mask)) return false;
  auto before = CpuSet::parse(value_of(old_mask)), ours = CpuSet::parse(value_of(our_mask));
  if (!before || !ours) return false;
  out.old_mask = *before;
  out.our_mask = *ours;
  return true;
}

bool read_line(const std::string& line, JournalRecord& out) {
  std::istringstream words(line);
  std::string key;
  words >> key;
  MaskChange mask;
  sys::ProcessId who;
  FileChange file;
  if (key == "application") return static_cast<bool>(words >> out.application.pid >> out.application.start);
  if (key == "frozen" && words >> who.pid >> who.start) return out.frozen.push_back(who), true;
  if (key == "frozen-group" && words >> file.path) return out.frozen_groups.push_back(file.path), true;
  if (key == "file" && words >> file.path >> file.old_value >> file.our_value) {
    out.files.push_back({file.path, value_of(file.old_value), value_of(file.our_value)});
    return true;
  }
  bool process = key == "process" && words >> mask.process.pid >> mask.process.start;
  bool thread = key == "thread" && words >> mask.process.pid >> mask.tid >> mask.start;
  if (!(process || thread) || !read_masks(words, mask)) return false;
  out.masks.push_back(mask);
  return true;
}
}  // namespace

std::string to_text(const JournalRecord& record) {
  std::string text =
      fmt::format("nigh-undo 1\napplication {} {}\n", record.application.pid, record.application.start);
  for (const MaskChange& one : record.masks) {
    text += one.tid == 0 ? fmt::format("process {} {}", one.process.pid, one.process.start)
                         : fmt::format("thread {} {} {}", one.process.pid, one.tid, one.start);
    text += fmt::format(" {} {}\n", word_of(one.old_mask.to_list()), word_of(one.our_mask.to_list()));
  }
  for (const FileChange& one : record.files)
    text += fmt::format("file {} {} {}\n", one.path, word_of(one.old_value), word_of(one.our_value));
  for (const sys::ProcessId& one : record.frozen) text += fmt::format("frozen {} {}\n", one.pid, one.start);
  for (const std::string& one : record.frozen_groups) text += fmt::format("frozen-group {}\n", one);
  return text + fmt::format("end {:016x}\n", sum_of(text));
}

Result<JournalRecord> parse_record(const std::string& text, const std::string& path) {
  auto damaged = [&](const std::string& why) {
    return fail(Errc::invalid, path + " is no undo journal that can be trusted (" + why +
                                   "); nothing was put back from it: look at it and remove it");
  };
  if (text.rfind("nigh-undo 1\n", 0) != 0) return damaged("its first line is not \"nigh-undo 1\"");
  std::size_t end = text.rfind("end ");
  if (end == std::string::npos || text[end - 1] != '\n' ||
      text.substr(end) != fmt::format("end {:016x}\n", sum_of(text.substr(0, end))))
    return damaged("its check sum is wrong");
  JournalRecord out;
  std::istringstream lines(text.substr(0, end));
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line))
    if (!read_line(line, out)) return damaged("line \"" + line.substr(0, 60) + "\"");
  if (out.application.pid <= 0) return damaged("it names no application");
  return out;
}

Result<Journal> Journal::open(const std::string& folder, const sys::ProcessId& application) {
  Journal out;
  out.path_ = fmt::format("{}/{}-{}.undo", folder, application.pid, application.start);
  out.record_.application = application;
  auto text = sys::read_own_file(out.path_);
  if (!text && text.error().sys_errno == ENOENT) return out;
  if (!text) return tl::unexpected(text.error());
  auto record = parse_record(*text, out.path_);
  if (!record) return tl::unexpected(record.error());
  out.record_ = std::move(*record);
  return out;
}

Result<void> Journal::save() const { return sys::write_file(path_, to_text(record_)); }

Result<void> Journal::will_bind(const std::vector<MaskChange>& changes) {
  for (const MaskChange& one : changes) {
    auto known = std::find_if(record_.masks.begin(), record_.masks.end(), [&](const MaskChange& other) {
      return other.tid == one.tid && other.process.pid == one.process.pid && other.start == one.start;
    });
    if (known == record_.masks.end())
      record_.masks.push_back(one);
    else
      known->our_mask = one.our_mask;
  }
  return save();
}

Result<void> Journal::will_write(const FileChange& change) {
  if (!is_word(change.path) || !is_word(change.old_value) || !is_word(change.our_value))
    return fail(Errc::unsupported, "\"" + change.path + "\" has blanks in its path or value: left alone");
  auto known = std::find_if(record_.files.begin(), record_.files.end(),
                            [&](const FileChange& other) { return other.path == change.path; });
  if (known == record_.files.end())
    record_.files.push_back(change);
  else
    known->our_value = change.our_value;
  return save();
}

Result<void> Journal::will_freeze(const std::vector<sys::ProcessId>& who, const std::string& group_file) {
  record_.frozen.clear();
  record_.frozen_groups.clear();
  if (group_file.empty())
    record_.frozen = who;
  else
    record_.frozen_groups.push_back(group_file);
  return save();
}

Result<void> Journal::thawed() {
  record_.frozen.clear();
  record_.frozen_groups.clear();
  return save();
}

}  // namespace nigh::watch
