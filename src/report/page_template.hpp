// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The page that web/ builds, one HTML file which is part of this program, with data in it.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace nigh::report {

// The page without data.
std::string_view web_page();

// With `data` (format nigh-page, web/src/documents.ts). No text of it can end the element that it stands in,
// and bytes that are not UTF-8 become U+FFFD.
std::string web_page_with(const nlohmann::ordered_json& data);

// The data of a page that was written by web_page_with, or kept by a browser, as text. Empty: `file` is no
// page.
std::string_view web_page_data(std::string_view file);

}  // namespace nigh::report
