// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "sys/census_protocol.hpp"

#include <arpa/inet.h>

#include "sys/variables.hpp"

namespace nigh::sys {

namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// "10.0.0.1:4711" or "[fe80::1]:4711" in text[0, bytes).
bool parse_address(const char* text, std::size_t bytes, sockaddr_storage& out) {
  char copy[80];
  if (bytes == 0 || bytes >= sizeof copy) return false;
  std::memcpy(copy, text, bytes);
  copy[bytes] = '\0';
  char* colon = std::strrchr(copy, ':');
  std::uint64_t port = 0;
  if (colon == nullptr || !whole_number(colon + 1, 1, 65535, port)) return false;
  *colon = '\0';
  if (copy[0] != '[') {
    auto* four = reinterpret_cast<sockaddr_in*>(&out);
    four->sin_family = AF_INET;
    four->sin_port = htons(static_cast<std::uint16_t>(port));
    return ::inet_pton(AF_INET, copy, &four->sin_addr) == 1;
  }
  if (colon[-1] != ']') return false;
  colon[-1] = '\0';
  auto* six = reinterpret_cast<sockaddr_in6*>(&out);
  six->sin6_family = AF_INET6;
  six->sin6_port = htons(static_cast<std::uint16_t>(port));
  return ::inet_pton(AF_INET6, copy + 1, &six->sin6_addr) == 1;
}

}  // namespace

bool parse_census_place(const char* text, CensusPlace& out) {
  out = {};
  if (text == nullptr) return false;
  for (unsigned char& byte : out.token) {
    const int high = hex_digit(text[0]), low = high < 0 ? -1 : hex_digit(text[1]);
    if (low < 0) return false;
    byte = static_cast<unsigned char>(16 * high + low);
    text += 2;
  }
  if (*text != '@') return false;
  while (*text != '\0') {
    ++text;  // over '@' or ','
    const std::size_t bytes = std::strcspn(text, ",");
    if (out.count == CensusPlace::most_addresses || !parse_address(text, bytes, out.addresses[out.count]))
      return false;
    ++out.count;
    text += bytes;
  }
  return out.count > 0;
}

}  // namespace nigh::sys
