// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Twelve colours for teams, ordered so that neighbours differ most, and the ink that is readable on each.
// Header only: the pictures and their tests share it.
#pragma once

#include <array>
#include <cmath>
#include <cstdio>
#include <string>

namespace nigh {

struct Rgb {
  int r = 0;
  int g = 0;
  int b = 0;
};

inline constexpr std::array<Rgb, 12> palette = {{{0x2f, 0x6f, 0xde},
                                                 {0xf0, 0x8c, 0x1e},
                                                 {0x1f, 0x93, 0x4f},
                                                 {0xc2, 0x25, 0x5c},
                                                 {0x7c, 0x5c, 0xe6},
                                                 {0x16, 0xb8, 0xb0},
                                                 {0xe0, 0x4f, 0x39},
                                                 {0x8a, 0xc9, 0x26},
                                                 {0x9c, 0x36, 0xb5},
                                                 {0xf4, 0xc4, 0x30},
                                                 {0x8d, 0x5a, 0x2b},
                                                 {0x86, 0x96, 0xab}}};

inline Rgb palette_color(int number) { return palette[static_cast<std::size_t>(number) % palette.size()]; }

// Relative luminance and contrast as WCAG 2 defines them.
inline double luminance(Rgb c) {
  auto linear = [](int v) {
    double x = v / 255.0;
    return x <= 0.03928 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(c.r) + 0.7152 * linear(c.g) + 0.0722 * linear(c.b);
}

inline double contrast(Rgb a, Rgb b) {
  double x = luminance(a);
  double y = luminance(b);
  return (std::fmax(x, y) + 0.05) / (std::fmin(x, y) + 0.05);
}

inline Rgb ink_on(Rgb paper) {
  Rgb white{255, 255, 255};
  Rgb black{0x10, 0x14, 0x1a};
  return contrast(white, paper) >= contrast(black, paper) ? white : black;
}

inline std::string hex(Rgb c) {
  char text[8];
  std::snprintf(text, sizeof text, "#%02x%02x%02x", c.r & 0xff, c.g & 0xff, c.b & 0xff);
  return text;
}

}  // namespace nigh
