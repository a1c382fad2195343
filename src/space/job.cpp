// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// See job.hpp. Part of the loaded code: no allocation, no C++ library.
#include "space/job.hpp"

#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "sys/pidfd.hpp"
#include "sys/socket.hpp"

namespace nigh::space {

namespace {

std::uint64_t rotate(std::uint64_t x, int by) { return x << by | x >> (64 - by); }

struct Sip {
  std::uint64_t v0, v1, v2, v3;
  void rounds(int count) {
    for (int i = 0; i < count; ++i) {
      v0 += v1, v1 = rotate(v1, 13) ^ v0, v0 = rotate(v0, 32);
      v2 += v3, v3 = rotate(v3, 16) ^ v2;
      v0 += v3, v3 = rotate(v3, 21) ^ v0;
      v2 += v1, v1 = rotate(v1, 17) ^ v2, v2 = rotate(v2, 32);
    }
  }
};

// The text that is hashed into a key.
struct Words {
  char text[1024];
  std::size_t length = 0;
  void add(const char* word) {
    std::size_t bytes = std::strlen(word) + 1;
    if (bytes > sizeof text - length) bytes = sizeof text - length;
    std::memcpy(text + length, word, bytes);
    length += bytes;
  }
  void add(std::uint64_t value) {
    char digits[24];
    std::snprintf(digits, sizeof digits, "%llu", static_cast<unsigned long long>(value));
    add(digits);
  }
};

bool add_process(Words& words, int pid) {
  sys::ProcessFacts facts;
  if (pid <= 0 || !sys::process_facts(pid, facts)) return false;
  words.add(static_cast<std::uint64_t>(pid));
  words.add(facts.start);
  return true;
}

const char* add_pmix(Lookup lookup, void* context, Words& words) {
  const char* name = lookup("PMIX_NAMESPACE", context);
  if (name == nullptr) return nullptr;
  words.add(name);
  // Namespaces may come again; the address of the server that serves this one does not while it lives.
  for (const char* uri : {"PMIX_SERVER_URI41", "PMIX_SERVER_URI4", "PMIX_SERVER_URI3", "PMIX_SERVER_URI2"})
    if (const char* value = lookup(uri, context)) {
      words.add(value);
      break;
    }
  return "pmix";
}

const char* add_slurm(Lookup lookup, void* context, Words& words) {
  const char* job = lookup("SLURM_JOB_ID", context);
  const char* step = lookup("SLURM_STEP_ID", context);
  if (job == nullptr || step == nullptr || lookup("SLURM_LOCALID", context) == nullptr) return nullptr;
  words.add(job);
  words.add(step);
  return "slurm";
}

const char* add_manager(Lookup lookup, void* context, Words& words) {
  ucred peer{};
  int fd = sys::launcher_number(lookup, context, "PMI_FD");
  if (fd < 0 || !sys::peer_credentials(fd, peer) || !add_process(words, peer.pid)) return nullptr;
  return "pmi";
}

}  // namespace

bool find_seat(Lookup lookup, void* context, Job& job) {
  sys::LocalSeat seat;
  if (!sys::find_local_seat(lookup, context, seat)) return false;
  job.rank = seat.rank;
  job.size = seat.size;
  return true;
}

bool parse_key(const char* text, unsigned char (&key)[16]) {
  if (std::strlen(text) != 2 * sizeof key) return false;
  for (std::size_t i = 0; i < sizeof key; ++i) {
    unsigned value = 0;
    for (std::size_t k = 2 * i; k < 2 * i + 2; ++k) {
      char c = text[k];
      if (c >= '0' && c <= '9')
        value = value * 16 + static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f')
        value = value * 16 + static_cast<unsigned>(c - 'a' + 10);
      else
        return false;
    }
    key[i] = static_cast<unsigned char>(value);
  }
  return true;
}

bool find_key(Lookup lookup, void* context, Job& job, const char** source) {
  *source = "nigh";
  sys::LocalSeat seat;
  const bool ours = sys::find_local_seat(lookup, context, seat) && seat.launcher == &sys::own_launcher;
  const char* secret = ours ? lookup("NIGH_JOB", context) : nullptr;
  if (secret != nullptr) return parse_key(secret, job.key);
  Words words;
  words.add(static_cast<std::uint64_t>(getuid()));
  *source = add_pmix(lookup, context, words);
  if (*source == nullptr) *source = add_slurm(lookup, context, words);
  if (*source == nullptr) *source = add_manager(lookup, context, words);
  if (*source == nullptr) *source = add_process(words, getppid()) ? "parent" : nullptr;
  if (*source == nullptr) return false;
  constexpr unsigned char fixed[16] = {'n', 'i', 'g', 'h', ' ', 'j', 'o', 'b'};
  keyed_hash(fixed, words.text, words.length, job.key);
  return true;
}

const char* lookup_environ(const char* name, void*) { return std::getenv(name); }

void keyed_hash(const unsigned char (&key)[16], const void* data, std::size_t bytes,
                unsigned char (&out)[16]) {
  std::uint64_t k0 = 0, k1 = 0;
  std::memcpy(&k0, key, 8);
  std::memcpy(&k1, key + 8, 8);
  Sip sip = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d ^ 0xee, k0 ^ 0x6c7967656e657261,
             k1 ^ 0x7465646279746573};
  const auto* at = static_cast<const unsigned char*>(data);
  for (std::size_t left = bytes;; left -= 8, at += 8) {
    std::uint64_t word = left < 8 ? std::uint64_t{bytes & 0xff} << 56 : 0;
    std::memcpy(&word, at, left < 8 ? left : 8);  // little-endian, as every machine that we are built for
    sip.v3 ^= word;
    sip.rounds(2);
    sip.v0 ^= word;
    if (left < 8) break;
  }
  sip.v2 ^= 0xee;
  sip.rounds(4);
  std::uint64_t first = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
  sip.v1 ^= 0xdd;
  sip.rounds(4);
  std::uint64_t second = sip.v0 ^ sip.v1 ^ sip.v2 ^ sip.v3;
  std::memcpy(out, &first, 8);
  std::memcpy(out + 8, &second, 8);
}

}  // namespace nigh::space
