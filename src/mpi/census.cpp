// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See census.hpp. A rank that could not connect is in nobody's count, so that all are told "not all". One
// that has sent its word may have been counted, even if it heard nothing back: it has to ask.
#include "mpi/census.hpp"

#include <poll.h>
#include <sys/random.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <mutex>

#include "message/atomic.hpp"
#include "mpi/process.hpp"
#include "sys/census_protocol.hpp"
#include "sys/variables.hpp"

namespace nigh::mpi {
namespace {

using sys::CensusAnswer;
using sys::CensusPlace;
using sys::CensusQuestion;

constexpr int connect_ms = 100;  // beyond what the library's MPI_Init takes, until the census greets
constexpr int entered_ms = 1000;
constexpr int answer_ms = 10'000;  // the census decides within a second

enum class State { none, open, all, not_all };
std::atomic<State> g_state = State::none;
std::once_flag g_asked;
CensusPlace g_place;
CensusQuestion g_question;
int g_connecting[CensusPlace::most_addresses];
std::size_t g_connections = 0;

void end_all() {
  for (std::size_t i = 0; i < g_connections; ++i)
    if (g_connecting[i] >= 0) ::close(g_connecting[i]);
  g_connections = 0;
}

// To all addresses at once: which of them leads here is not known.
void begin_connections() {
  for (std::size_t i = 0; i < g_place.count; ++i) {
    const sockaddr_storage& address = g_place.addresses[i];
    const int fd = ::socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sys::bytes_of(address)) == 0 ||
        errno == EINPROGRESS)
      g_connecting[g_connections++] = fd;
    else
      ::close(fd);
  }
}

bool greets(int fd) {
  char word[sizeof sys::census_greeting] = {};
  return ::recv(fd, word, sizeof word, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof word) &&
         std::memcmp(word, sys::census_greeting, sizeof word) == 0;
}

// The first at whose other end is a census; -1: none within the time. The others are closed.
int connected(int limit_ms) {
  const std::int64_t end = message::now_ns() + std::int64_t{limit_ms} * 1'000'000;
  int found = -1;
  while (found < 0) {
    pollfd all[CensusPlace::most_addresses];
    std::size_t waiting = 0;
    for (std::size_t i = 0; i < g_connections; ++i)
      if (g_connecting[i] >= 0) all[waiting++] = {.fd = g_connecting[i], .events = POLLIN, .revents = 0};
    const std::int64_t left = end - message::now_ns();
    if (waiting == 0 || left < 0) break;
    static_cast<void>(::poll(all, waiting, static_cast<int>(left / 1'000'000) + 1));
    for (std::size_t i = 0; i < waiting && found < 0; ++i) {
      if (all[i].revents == 0) continue;
      if (greets(all[i].fd)) found = all[i].fd;
      for (std::size_t k = 0; k < g_connections; ++k)
        if (g_connecting[k] == all[i].fd) g_connecting[k] = -1;
      if (found < 0) ::close(all[i].fd);
    }
  }
  end_all();
  return found;
}

// False: nothing was sent. `answer` stays as it is where none comes.
bool exchange(int fd, CensusQuestion::Kind kind, int limit_ms, CensusAnswer& answer) {
  g_question.kind = kind;
  const ssize_t sent = ::send(fd, &g_question, sizeof g_question, MSG_NOSIGNAL);
  const std::int64_t end = message::now_ns() + std::int64_t{limit_ms} * 1'000'000;
  for (std::int64_t left = end - message::now_ns(); sent > 0 && left > 0; left = end - message::now_ns()) {
    pollfd look = {.fd = fd, .events = POLLIN, .revents = 0};
    if (::poll(&look, 1, static_cast<int>(left / 1'000'000) + 1) < 0 && errno != EINTR) break;
    char word = 0;
    const ssize_t got = ::recv(fd, &word, 1, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got == 1) answer = static_cast<CensusAnswer>(word);
    break;
  }
  ::close(fd);
  return sent > 0;
}

// Worlds of one launcher: programs that were spawned, and jobs that a script starts at once.
std::uint64_t name_of_world() {
  std::uint64_t name = 0xcbf29ce484222325u;
  for (const char* variable : {"PMIX_NAMESPACE", "SLURM_JOB_ID", "SLURM_STEP_ID"}) {
    for (const char* text = std::getenv(variable); text != nullptr && *text != '\0'; ++text)
      name = (name ^ static_cast<unsigned char>(*text)) * 0x100000001b3u;
    name = (name ^ 0xff) * 0x100000001b3u;
  }
  return name;
}

bool is_spawned() {
  MPI_Comm parent = MPI_COMM_NULL;
  return real().Comm_get_parent(&parent) != MPI_SUCCESS || parent != MPI_COMM_NULL;
}

State ask() {
  if (g_place.count == 0) return State::not_all;
  // The launcher ends all, and us with it, should the census be gone.
  for (int attempt = 0; attempt < 3; ++attempt) {
    begin_connections();
    CensusAnswer answer = CensusAnswer::entered;
    if (const int fd = connected(answer_ms / 10); fd >= 0)
      exchange(fd, CensusQuestion::asks, answer_ms, answer);
    if (answer != CensusAnswer::entered) return answer == CensusAnswer::all ? State::all : State::not_all;
  }
  say("the census of the job, a process of nigh run beside the launcher, no longer answers this rank, which "
      "can't know what it told the others; NIGH_MPI_HIERARCHY=0 does without it");
  ::usleep(200'000);  // launchers lose what was said right before
  real().Abort(MPI_COMM_WORLD, MPI_ERR_OTHER);
  return State::not_all;
}

}  // namespace

void census_connect() {
  const char* text = std::getenv(sys::census_variable);
  if (text == nullptr || sys::word_in_variable("NIGH_MPI_HIERARCHY", {"0", "1"}) >= 0) return;
  if (!sys::parse_census_place(text, g_place)) {
    g_place = {};
    sys::tell_variable(sys::census_variable, text, "what nigh run has set");
    return;
  }
  begin_connections();
}

void census_enter(bool whole) {
  if (g_place.count == 0) return;
  const int fd = connected(connect_ms);
  if (fd < 0) return;
  constexpr std::uint64_t version = 4;  // of what ranks do in a hierarchy
  const Process& me = process();
  std::memcpy(g_question.token, g_place.token, sizeof g_question.token);
  real().Comm_rank(MPI_COMM_WORLD, reinterpret_cast<int*>(&g_question.rank));
  real().Comm_size(MPI_COMM_WORLD, reinterpret_cast<int*>(&g_question.ranks));
  // Process numbers may begin anew for each program of a launcher, in containers.
  if (::getrandom(&g_question.process, sizeof g_question.process, GRND_NONBLOCK) != sizeof g_question.process)
    g_question.process = static_cast<std::uint32_t>(::getpid());
  g_question.world = name_of_world();
  g_question.whole = whole && !is_spawned() ? 1 : 0;
  g_question.settings = version << 32 | (me.reproducible ? 1u : 0u) | (me.library_order ? 2u : 0u);
  CensusAnswer answer = CensusAnswer::entered;
  if (exchange(fd, CensusQuestion::enters, entered_ms, answer)) g_state = State::open;
}

void census_leave() {
  end_all();
  g_place = {};
}

bool census_is_open() { return g_state == State::open || g_state == State::all; }

bool census_says_all() {
  std::call_once(g_asked, [] {
    if (g_state == State::open) g_state = ask();
    if (g_state == State::not_all && explains() && process().world_rank == 0)
      say("collectives over several nodes are the library's: not all ranks of the job have nigh, in this "
          "version "
          "and with these settings");
  });
  return g_state == State::all;
}

}  // namespace nigh::mpi
