// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "report/page_template.hpp"

#include <nlohmann/json.hpp>

// The file goes into the program as it is.
asm(".pushsection .rodata\n"
    ".global nigh_web_page, nigh_web_page_end\n"
    ".hidden nigh_web_page, nigh_web_page_end\n"
    "nigh_web_page:\n"
    ".incbin \"" NIGH_WEB_PAGE
    "\"\n"
    "nigh_web_page_end:\n"
    ".popsection\n");

extern "C" const char nigh_web_page[], nigh_web_page_end[];

namespace nigh::report {
namespace {
constexpr std::string_view data_begin = "<script id=\"nigh-data\" type=\"application/json\">",
                           data_end = "</script>";
}

std::string_view web_page() {
  return {nigh_web_page, static_cast<std::size_t>(nigh_web_page_end - nigh_web_page)};
}

std::string web_page_with(const nlohmann::ordered_json& data) {
  const std::string_view page = web_page();
  const std::size_t begin = page.find(data_begin) + data_begin.size(), end = page.find(data_end, begin);
  const std::string text = data.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  std::string out(page.substr(0, begin));
  for (const char c : text)  // '<' stands in strings only
    if (c == '<')
      out += "\\u003c";
    else
      out += c;
  return out += page.substr(end);
}

std::string_view web_page_data(std::string_view file) {
  const std::size_t found = file.find(data_begin);
  if (found == std::string_view::npos) return {};
  const std::size_t begin = found + data_begin.size(), end = file.find(data_end, begin);
  return end == std::string_view::npos ? std::string_view{} : file.substr(begin, end - begin);
}

}  // namespace nigh::report
