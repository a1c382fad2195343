// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Words of a machine file's messages: what people have written, and what the JSON library says of it, as
// parts of one sentence of ours.
#pragma once

#include <string>

namespace nigh {

// A key from the file as it may stand in a message: short and printable.
inline std::string quoted(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = '?';
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return '\'' + text + '\'';
}

// nlohmann's "[json.exception.parse_error.101] parse error at line 3, column 5: ..." as one sentence of ours.
inline std::string parse_message(const std::string& what) {
  auto at = what.find("] ");
  std::string text = at == std::string::npos ? what : what.substr(at + 2);
  for (auto bad = text.find_first_of("\n\r"); bad != std::string::npos; bad = text.find_first_of("\n\r"))
    text[bad] = ' ';
  const std::string lead = "parse error at ";
  if (text.rfind(lead, 0) == 0)
    text = "not valid JSON at " + text.substr(lead.size());
  else
    text = "not valid JSON: " + text;
  if (text.size() > 240) text = text.substr(0, 240) + "...";
  return text;
}

}  // namespace nigh
