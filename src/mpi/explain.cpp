// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The account that --explain prints at the end: memory that is shared and fallbacks, and for each MPI
// function the calls that were ours, those left to the library, and the reasons. The counters of all ranks of
// a node lie in the space, so one rank adds them up and speaks for all; it waits for the others only when
// their accounts are asked for, and not for long.
#include <dlfcn.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "mpi/half.hpp"
#include "mpi/process.hpp"
#include "sys/append.h"
#include "sys/futex.hpp"
#include "sys/launchers.hpp"
#include "sys/program_name.hpp"
#include "sys/raw.h"

namespace nigh::mpi {
namespace {

enum class Form { none, line, text, json };

constexpr const char* reason_names[reason_count] = {"ours",    "small", "unshared",  "distant",   "alone",
                                                    "foreign", "inter", "type",      "operation", "memory",
                                                    "self",    "order", "uncovered", "other"};

Form g_form = Form::none;
std::vector<Page*> g_pages;  // of the ranks that are added up, ours first
std::vector<int> g_ranks;    // their ranks in the space
std::string g_version;
bool g_speaks = false;
std::string g_how;  // the job ended early

Form wish() {
  const char* value = std::getenv("NIGH_EXPLAIN");
  if (!value || !*value || std::strcmp(value, "off") == 0 || std::strcmp(value, "0") == 0) return Form::none;
  if (std::strcmp(value, "line") == 0) return Form::line;
  // libnigh-openmp.so marks the word that it hands on by its case.
  return ::strcasecmp(value, "json") == 0 ? Form::json : Form::text;
}

__attribute__((format(printf, 2, 3))) void print(std::string& out, const char* format, ...) {
  char piece[512];
  va_list list;
  va_start(list, format);
  const int length = std::vsnprintf(piece, sizeof piece, format, list);
  va_end(list);
  if (length > 0) out.append(piece, std::min(static_cast<std::size_t>(length), sizeof piece - 1));
}

void add_quoted(std::string& out, const std::string& text) {
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (static_cast<unsigned char>(c) >= ' ')
      out += c;
    else
      print(out, "\\u%04x", static_cast<unsigned>(c));
  }
  out += '"';
}

// Each of several nodes has an account, and all of them may come to one terminal.
std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 && name[0] != 0 ? name : "a host without a name";
}

std::string library_version() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = {};
  int length = 0;
  real().Get_library_version(text, &length);
  std::string line = text;
  for (char& c : line)
    if (c == '\t') c = ' ';
  return line.substr(0, line.find_first_of("\n,"));
}

void sum_up(Counters& sum) {
  std::memset(&sum, 0, sizeof sum);
  for (const Page* page : g_pages) {
    sum.staged_bytes += page->counters.staged_bytes;
    for (int f = 0; f < function_count; ++f) {
      for (int reason = 0; reason < reason_count; ++reason) {
        sum.calls[f][reason] += page->counters.calls[f][reason];
        sum.bytes[f][reason] += page->counters.bytes[f][reason];
      }
    }
  }
}

// --- the verdict: how much of what ranks sent each other went in one copy ---

// Files are not messages; nor is what a rank tells itself.
bool is_message(int function, int reason) {
  return std::strncmp(function_names[function], "MPI_File", 8) != 0 &&
         reason != static_cast<int>(Reason::self) && reason != static_cast<int>(Reason::alone);
}

struct Verdict {
  std::uint64_t bytes = 0, one_copy = 0, two_copies = 0;
  std::uint64_t rest = 0;  // the largest of what is the library's
  int function = 0, reason = 0;
};

Verdict verdict_of(const Counters& sum) {
  Verdict out;
  for (int f = 0; f < function_count; ++f)
    for (int reason = 0; reason < reason_count; ++reason) {
      const std::uint64_t bytes = is_message(f, reason) ? sum.bytes[f][reason] : 0;
      out.bytes += bytes;
      if (reason == 0) out.one_copy += bytes;
      if (reason != 0 && bytes > out.rest) out.rest = bytes, out.function = f, out.reason = reason;
    }
  out.two_copies = std::min(sum.staged_bytes, out.one_copy);
  out.one_copy -= out.two_copies;
  return out;
}

// "12.3 GB", "870 bytes".
std::string size_of(std::uint64_t bytes) {
  char text[32];
  const char* unit = "";
  auto value = static_cast<double>(bytes);
  for (const char* next : {"kB", "MB", "GB", "TB", "PB"}) {
    if (value < 999.5) break;
    value /= 1000;
    unit = next;
  }
  std::snprintf(text, sizeof text, value < 10 && *unit ? "%.1f %s" : "%.0f %s", value,
                *unit ? unit : "bytes");
  return text;
}

std::string sentence(const Verdict& verdict) {
  if (verdict.bytes == 0) return "no message was long enough to be counted";
  // 100 % is all of it.
  const auto percent_of = [&](std::uint64_t bytes) {
    const double exact = 100 * static_cast<double>(bytes) / static_cast<double>(verdict.bytes);
    return bytes == verdict.bytes ? 100 : static_cast<int>(std::min(99L, std::lround(exact)));
  };
  std::string out =
      std::to_string(percent_of(verdict.one_copy)) + " % of " + size_of(verdict.bytes) + " in one copy";
  if (const int percent = percent_of(verdict.two_copies); percent > 0)
    out += ", " + std::to_string(percent) + " % in two";
  if (verdict.rest != 0)
    out += "; largest rest: " + size_of(verdict.rest) + " of " + function_names[verdict.function] + " (" +
           reason_names[verdict.reason] + ")";
  return out;
}

std::uint64_t left_of(const Counters& sum, int function) {
  std::uint64_t left = 0;
  for (int reason = 1; reason < reason_count; ++reason) left += sum.calls[function][reason];
  return left;
}

// "rank 3", "ranks 0-2, 5".
std::string names_of(std::vector<int> ranks) {
  std::sort(ranks.begin(), ranks.end());
  std::string out = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    if (i > 0) out += ", ";
    out += std::to_string(ranks[i]);
    if (end - i > 1) out += "-" + std::to_string(ranks[end - 1]);
    i = end;
  }
  return out;
}

// The lines of each rank's space, with the ranks that say them.
std::vector<std::string> space_lines() {
  std::vector<std::pair<std::string, std::vector<int>>> lines;
  for (const Page* page : g_pages)
    for (const char* at = page->text; *at;) {
      const std::size_t length = std::strcspn(at, "\n");
      const std::string line(at, length);
      at += length + (at[length] == '\n' ? 1 : 0);
      if (line.empty()) continue;
      const auto known =
          std::find_if(lines.begin(), lines.end(), [&](const auto& l) { return l.first == line; });
      if (known == lines.end())
        lines.emplace_back(line, std::vector<int>{page->world_rank});
      else
        known->second.push_back(page->world_rank);
    }
  std::vector<std::string> out;
  out.reserve(lines.size());
  for (const auto& [line, ranks] : lines) out.push_back(names_of(ranks) + ": " + line);
  return out;
}

std::string parts_that_are_off() {
  const struct {
    Part part;
    const char* name;
  } parts[] = {{Part::coll, "collectives"}, {Part::p2p, "point-to-point"}, {Part::rma, "windows"}};
  std::string off;
  for (const auto& [part, name] : parts)
    if (!process().on(part)) off += std::string(off.empty() ? " " : ", ") + name;
  return off;
}

std::string as_text(const Counters& sum) {
  std::string out;
  print(out, "nigh: MPI: %s; %zu of %d ranks share memory on this node, %s\n", g_version.c_str(),
        g_pages.size(), process().world_size, host_name().c_str());
  if (!g_how.empty()) print(out, "nigh: MPI: %s: this is the account until then\n", g_how.c_str());
  print(out, "nigh: MPI: %s\n", sentence(verdict_of(sum)).c_str());
  if (!parts_that_are_off().empty()) print(out, "nigh: MPI: off:%s\n", parts_that_are_off().c_str());
  for (int f = 0; f < function_count; ++f) {
    const std::uint64_t ours = sum.calls[f][0];
    const std::uint64_t left = left_of(sum, f);
    if (ours + left == 0) continue;
    print(out, "nigh: MPI: %-28s %12llu ours", function_names[f], static_cast<unsigned long long>(ours));
    if (sum.bytes[f][0] != 0) print(out, ", %s", size_of(sum.bytes[f][0]).c_str());
    if (left != 0) print(out, ", %llu the library's:", static_cast<unsigned long long>(left));
    const char* comma = "";
    for (int reason = 1; reason < reason_count; ++reason) {
      if (sum.calls[f][reason] == 0) continue;
      print(out, "%s %s %llu", comma, reason_names[reason],
            static_cast<unsigned long long>(sum.calls[f][reason]));
      if (sum.bytes[f][reason] != 0) print(out, " (%s)", size_of(sum.bytes[f][reason]).c_str());
      comma = ",";
    }
    out += '\n';
  }
  for (const std::string& line : space_lines()) out += "nigh: " + line + "\n";
  return out;
}

// The line of libnigh-openmp.so, which then prints none itself; "" without it.
std::string line_of_teams() {
  using Line = int (*)(char*, std::size_t);
  char text[512];
  const auto line = reinterpret_cast<Line>(dlsym(RTLD_DEFAULT, "nigh_openmp_line"));
  const int length = line ? line(text, sizeof text) : 0;
  return length > 0 ? std::string("; ") + text : "";
}

std::string as_line(const Counters& sum) {
  std::string out = "nigh: " + std::to_string(g_pages.size()) + " ranks";
  if (static_cast<int>(g_pages.size()) != process().world_size)
    out += " of " + std::to_string(process().world_size) + " on " + host_name();
  if (!g_how.empty()) out += " (" + g_how + ")";
  out += "; " + sentence(verdict_of(sum)) + line_of_teams();
  if (!parts_that_are_off().empty()) out += "; off:" + parts_that_are_off();
  return out + "\n";
}

std::string as_json(const Counters& sum) {
  std::string out = "{\"format\": \"nigh-mpi-account\", \"version\": 1, \"nigh\": \"mpi\", \"host\": ";
  add_quoted(out, host_name());
  out += ", \"program\": ";
  add_quoted(out, sys::own_program_name());
  out += ", \"library\": ";
  add_quoted(out, g_version);
  if (!g_how.empty()) {
    out += ", \"early\": ";
    add_quoted(out, g_how);
  }
  const Verdict verdict = verdict_of(sum);
  print(out, ", \"message_bytes\": %llu, \"one_copy_bytes\": %llu, \"two_copy_bytes\": %llu, \"verdict\": ",
        static_cast<unsigned long long>(verdict.bytes), static_cast<unsigned long long>(verdict.one_copy),
        static_cast<unsigned long long>(verdict.two_copies));
  add_quoted(out, sentence(verdict));
  print(out,
        ", \"ranks\": %d, \"sharing\": %zu, \"collectives\": %s, \"point_to_point\": %s, \"windows\": %s, "
        "\"functions\": {",
        process().world_size, g_pages.size(), process().on(Part::coll) ? "true" : "false",
        process().on(Part::p2p) ? "true" : "false", process().on(Part::rma) ? "true" : "false");
  const char* comma = "";
  for (int f = 0; f < function_count; ++f) {
    if (sum.calls[f][0] + left_of(sum, f) == 0) continue;
    print(out, "%s\"%s\": {\"bytes\": %llu", comma, function_names[f],
          static_cast<unsigned long long>(sum.bytes[f][0]));
    comma = ", ";
    for (int reason = 0; reason < reason_count; ++reason)
      if (reason == 0 || sum.calls[f][reason] != 0)
        print(out, ", \"%s\": %llu", reason_names[reason],
              static_cast<unsigned long long>(sum.calls[f][reason]));
    const char* between = ", \"left_bytes\": {";
    for (int reason = 1; reason < reason_count; ++reason) {
      if (sum.bytes[f][reason] == 0) continue;
      print(out, "%s\"%s\": %llu", between, reason_names[reason],
            static_cast<unsigned long long>(sum.bytes[f][reason]));
      between = ", ";
    }
    out += between[2] == '\0' ? "}}" : "}";
  }
  out += "}, \"space\": [";
  comma = "";
  for (const std::string& line : space_lines()) {
    out += comma;
    add_quoted(out, line);
    comma = ", ";
  }
  return out + "]}\n";
}

// NIGH_EXPLAIN_FILE, in which %p is our process id, else stderr.
int open_file() {
  const char* pattern = std::getenv("NIGH_EXPLAIN_FILE");
  if (!pattern || !*pattern) return 2;
  std::string path = pattern;
  for (std::size_t at = path.find("%p"); at != std::string::npos; at = path.find("%p"))
    path.replace(at, 2, std::to_string(getpid()));
  const int fd = nigh_open_append(path.c_str());
  if (fd >= 0) return fd;
  static const std::string why = "NIGH_EXPLAIN_FILE: " + path + " can't be opened (" + std::strerror(errno) +
                                 "): the account follows here";
  say(why.c_str());
  return 2;
}

void write_out(const std::string& text) {
  const int fd = open_file();
  nigh_raw_say(fd, text.data(), text.size());
  if (fd != 2) close(fd);
}

// Until every rank has closed its account: all are on their way out of MPI_Finalize.
void wait_for_others() {
  for (std::size_t i = 0; i < g_pages.size(); ++i)
    for (int tries = 0; tries < 2000 && g_pages[i]->ended.load(std::memory_order_acquire) == 0; ++tries) {
      if (!process().space->alive(g_ranks[i])) break;
      sys::futex_wait(&g_pages[i]->ended, 0, 1'000'000);
    }
}

std::string told_aside() {
  if (g_form != Form::json)
    return std::string("nigh: MPI runs as without nigh: ") + stand_aside_reason() + " (" + host_name() +
           ")\n";
  std::string out = "{\"format\": \"nigh-mpi-account\", \"version\": 1, \"nigh\": \"mpi\", \"host\": ";
  add_quoted(out, host_name());
  out += ", \"aside\": ";
  add_quoted(out, stand_aside_reason());
  return out + "}\n";
}

// The first of the ranks that are added up says whether this one speaks for all.
void find_pages() {
  Process& me = g_process;
  g_version = library_version();
  me.space->explain(me.page->text, sizeof me.page->text);
  if (me.offers)
    me.page->counters.staged_bytes = me.offers->counts().staged_bytes;  // of a job that ends early
  g_speaks = true;
  for (int rank = 0; rank < me.space->size(); ++rank) {
    if (me.peer_parts[static_cast<std::size_t>(rank)] == 0) continue;
    if (rank < me.space->rank()) g_speaks = false;
    auto* page =
        rank == me.space->rank() ? me.page : static_cast<Page*>(me.space->root(rank, space::Root::mpi));
    if (!page) continue;
    g_pages.push_back(page);
    g_ranks.push_back(rank);
  }
}

void write_account() {
  if (g_pages.empty() || g_pages.front()->told.exchange(1) != 0) return;
  auto sum = std::make_unique<Counters>();
  sum_up(*sum);
  write_out(g_form == Form::json ? as_json(*sum) : g_form == Form::line ? as_line(*sum) : as_text(*sum));
}

}  // namespace

void close_account() {
  Process& me = g_process;
  g_form = wish();
  if (g_form != Form::none && g_pages.empty()) find_pages();
  if (!me.page) return;
  me.page->ended.store(1, std::memory_order_release);
  sys::futex_wake_all(&me.page->ended);
}

bool explains() { return wish() > Form::line; }

void print_account() {
  if (g_pages.empty()) {
    g_form = wish();
    // One rank has nobody to talk to, and of several one speaks.
    const bool line = g_form == Form::line;
    if (line && (g_process.world_size < 2 || !sys::speaks_for_node(sys::lookup_variable, nullptr))) return;
    if (g_form != Form::none) write_out(told_aside());
    return;
  }
  if (!g_speaks) return;
  wait_for_others();
  write_account();
}

void print_account_now(const char* how) {
  g_form = wish();
  if (g_form == Form::none || !g_process.page || !g_pages.empty()) return;
  g_how = "rank " + std::to_string(g_process.world_rank) + " " + how;
  find_pages();
  write_account();
}

}  // namespace nigh::mpi
