// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "machine/markup.hpp"

#include "machine/draw.hpp"

namespace nigh {

Markup escaped(std::string_view text) {
  Markup out;
  for (const char c : printable(text, "\n\t")) switch (c) {
      case '&': out.text_ += "&amp;"; break;
      case '<': out.text_ += "&lt;"; break;
      case '>': out.text_ += "&gt;"; break;
      case '"': out.text_ += "&quot;"; break;
      case '\'': out.text_ += "&#39;"; break;
      default: out.text_ += c;
    }
  return out;
}

}  // namespace nigh
