// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// What a rank must not let in: takes the place of rank 1 of 2 in a job whose secret it is given, and behaves
// as its first argument says, both as one who is visited and as one who visits rank 0. Prints how rank 0
// answered.
//   stranger version|key|garbage|silent|user|size SECRET MILLISECONDS
#include <sys/prctl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "space/job.hpp"
#include "space/registry.hpp"

using namespace nigh;
using namespace nigh::space;

namespace {

Job g_job;
std::string g_how;

Card card_of(CardKind kind) {
  Card card = make_card(g_job, kind, 0);
  if (g_how == "version") card.abi = abi_version + 1;
  if (g_how == "key") card.key[3] ^= 1;
  if (g_how == "size") card.size = 3;
  return card;
}

void send(int fd, CardKind kind) {
  if (g_how == "silent") return;
  if (g_how == "garbage") {
    char noise[200];
    for (char& byte : noise) byte = static_cast<char>(std::rand());
    for (std::size_t bytes : {std::size_t{1}, sizeof(Card), sizeof noise})
      sys::send_record(fd, noise, bytes, kind == CardKind::welcome ? 0 : -1);
    return;
  }
  Card card = card_of(kind);
  sys::send_record(fd, &card, sizeof card, 0);  // standard input is no memfd of a slot
}

// The answer within a second: a kind of card, or that they hung up.
void report(int fd) {
  pollfd look = {.fd = fd, .events = POLLIN, .revents = 0};
  Card card;
  int passed = -1;
  if (sys::wait_for(&look, 1, 1000) == 0) {
    std::puts("no answer");
    return;
  }
  long got = sys::receive_record(fd, &card, sizeof card, passed);
  if (got == static_cast<long>(sizeof card))
    std::printf("answer %u%s\n", static_cast<unsigned>(card.kind), passed >= 0 ? " with memory" : "");
  else
    std::puts("hung up");
  std::fflush(stdout);
}

void visit() {
  int fd = -1;
  for (int i = 0; i < 2000 && (fd = sys::connect_to(rank_name(g_job, 0))) < 0; ++i)
    sys::wait_for(nullptr, 0, 1);
  if (fd < 0) std::exit(2);
  send(fd, CardKind::hello);
  report(fd);
  if (g_how != "silent") sys::close_fd(fd);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4 || !parse_key(argv[2], g_job.key)) return 2;
  g_how = argv[1];
  g_job.rank = 1;
  g_job.size = 2;
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (g_how == "user" && setuid(65534) != 0) return 77;
  int listener = sys::listen_at(rank_name(g_job, 1), 16);
  if (listener < 0) return 2;
  visit();
  int served[64], count = 0;
  for (long end = sys::now_ms() + std::atol(argv[3]); sys::now_ms() < end; sys::wait_for(nullptr, 0, 5)) {
    int fd = sys::accept_from(listener);
    if (fd < 0 || count == 64) continue;
    served[count++] = fd;
    send(fd, CardKind::welcome);
  }
  for (int i = 0; i < count; ++i) sys::close_fd(served[i]);
  return 0;
}
