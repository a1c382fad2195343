// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The door of a half: what the front calls once, and the table of what this half covers. A function is
// covered when some file of the half defines nigh_mpi_X; the table finds each by a weak reference, so that
// nothing must be listed twice.
#include "mpi/half.hpp"

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <string_view>
#include <tuple>

#include "mpi/away.hpp"
#include "mpi/coll_bytes.hpp"
#include "mpi/library.hpp"
#include "mpi/library_check.hpp"
#include "mpi/process.hpp"
#include "mpi/record.hpp"

extern "C" {
#define NIGH_MPI(part, name, ...) \
  __attribute__((weak, visibility("hidden"))) decltype(PMPI_##name) nigh_mpi_##name;
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"

__attribute__((visibility("default"))) const char* nigh_mpi_half(const nigh::mpi::Front* front);
}

namespace nigh::mpi {
namespace {

const Front* g_front = nullptr;
const char* g_unknown_receiver = nullptr;
bool g_covered[static_cast<int>(Part::count)] = {};

struct Row {
  Entry ours = nullptr;
  Entry around = nullptr;  // the library's own, within an Away
};

// The arguments of a function without a version of ours that say how many bytes a call moves.
enum class Amount { none, elements, element };
struct Moved {
  Amount shape = Amount::none;
  std::size_t count = 0, type = 0;  // places of the arguments that say it
};
constexpr Moved moved(Function function) {
  const std::string_view name = std::string_view(function_names[static_cast<int>(function)]).substr(4);
  const bool ends = name.ends_with("_end"), at = name.find("_at") != name.npos;
  if (name.starts_with("File_read") || name.starts_with("File_write"))
    return ends ? Moved{} : at ? Moved{Amount::elements, 3, 4} : Moved{Amount::elements, 2, 3};
  if (name.starts_with("Get_accumulate")) return {Amount::elements, 4, 5};
  if (name.starts_with("Rget_accumulate")) return {Amount::elements, 4, 5};
  for (const std::string_view one : {"Put", "Get", "Accumulate", "Rput", "Rget", "Raccumulate"})
    if (name == one || (name.ends_with("_c") && name.substr(0, name.size() - 2) == one))
      return {Amount::elements, 1, 2};
  if (name == "Fetch_and_op") return {Amount::element, 0, 2};
  if (name == "Compare_and_swap") return {Amount::element, 0, 3};
  return {};
}

template <Function function, class Tuple>
std::uint64_t bytes_moved(const Tuple& arguments) {
  constexpr Moved how = moved(function);
  if constexpr (how.shape == Amount::none) {
    return 0;
  } else if constexpr (how.shape == Amount::element) {
    return coll::bytes_of_elements(1, std::get<how.type>(arguments));
  } else {
    return coll::bytes_of_elements(std::get<how.count>(arguments), std::get<how.type>(arguments));
  }
}

constexpr bool is_away(Function function) {
  const Part part = function_parts[static_cast<int>(function)];
  return part == Part::away || part == Part::rma;
}
// Point-to-point that is switched off is not counted.
constexpr bool is_counted(Function function) {
  return is_away(function) || moved(function).shape != Amount::none;
}

template <Function function, auto Member>
struct Around;
template <Function function, class Result, class... Arguments, Result (*Library::*Member)(Arguments...)>
struct Around<function, Member> {
  static Result call(Arguments... arguments) {
    const Away away;
    if constexpr (is_counted(function)) count(function, Reason::uncovered);
    const Result result = (real().*Member)(arguments...);
    if constexpr (is_counted(function)) {
      if (result == MPI_SUCCESS)
        count_bytes(function, Reason::uncovered,
                    bytes_moved<function>(std::tuple<const Arguments&...>(arguments...)));
    }
    return result;
  }
};

// True for point-to-point that waits, where it is the library's.
constexpr bool waits(Function function) {
  switch (function) {
    case Function::Send:
    case Function::Ssend:
    case Function::Rsend:
    case Function::Bsend:
    case Function::Recv:
    case Function::Sendrecv:
    case Function::Sendrecv_replace:
    case Function::Mrecv:
    case Function::Probe:
    case Function::Mprobe:
    case Function::Send_c:
    case Function::Ssend_c:
    case Function::Rsend_c:
    case Function::Bsend_c:
    case Function::Recv_c:
    case Function::Sendrecv_c:
    case Function::Sendrecv_replace_c:
    case Function::Mrecv_c: return true;
    default: return is_away(function);
  }
}

template <Function function, auto Member>
constexpr Entry around() {
  if constexpr (waits(function))
    return reinterpret_cast<Entry>(&Around<function, Member>::call);
  else
    return nullptr;
}

struct Table {
  Row rows[function_count];
  Table() {
#define NIGH_MPI(part, name, ...)                                                      \
  rows[static_cast<int>(Function::name)] = {reinterpret_cast<Entry>(&nigh_mpi_##name), \
                                            around<Function::name, &Library::name>()};
#define NIGH_MPI_USED(name, ...)
#include "mpi/functions.inc"
  }
};

const Table& table() {
  static const Table made;
  return made;
}

void install(Function function, Entry entry) { g_front->cover(function, wrap(function, entry)); }

}  // namespace

const Front& front() { return *g_front; }
const char* unknown_receiver() { return g_unknown_receiver; }

void cover(Function function) {
  const int i = static_cast<int>(function);
  if (table().rows[i].ours) install(function, table().rows[i].ours);
}

void cover(Part part, bool on) {
  g_covered[static_cast<int>(part)] = on;
  for (int i = 0; i < function_count; ++i)
    if (function_parts[i] == part) {
      const Entry ours = on ? table().rows[i].ours : nullptr;
      install(static_cast<Function>(i), ours);
    }
}

void cover_waiting() {
  for (int i = 0; i < function_count; ++i) {
    const Row& row = table().rows[i];
    const bool ours = row.ours && g_covered[static_cast<int>(function_parts[i])];
    if (row.around && !ours) install(static_cast<Function>(i), row.around);
  }
}

void cover_nothing() {
  for (int i = 0; i < function_count; ++i) install(static_cast<Function>(i), nullptr);
  for (const Function one : {Function::Finalize, Function::Abort}) cover(one);
}

bool is_covered(Function function) { return table().rows[static_cast<int>(function)].ours != nullptr; }

}  // namespace nigh::mpi

const char* nigh_mpi_half(const nigh::mpi::Front* front) {
  using namespace nigh::mpi;
  static char said[256];
  if (front->version != front_version || front->functions != function_count)
    return "libnigh-mpi.so and libnigh-mpi-" NIGH_MPI_ABI ".so are of different versions";
  if (std::strcmp(front->half, NIGH_MPI_ABI) != 0)
    return "the half for " NIGH_MPI_ABI " bears another one's name";
  if (const char* missing = load_library(front->library, front->own)) {
    std::snprintf(said, sizeof said, "%s has no %s", front->library_path, missing);
    return said;
  }
  if (const char* wrong = check_abi(front->library)) return wrong;
  g_front = front;
  g_unknown_receiver = unknown_receiver(front->library);
  for (const Function first :
       {Function::Init, Function::Init_thread, Function::Comm_create_errhandler,
        Function::Win_create_errhandler, Function::File_create_errhandler, Function::Errhandler_create})
    cover(first);
  return nullptr;
}
