// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "chare/entries.hpp"

#include <algorithm>
#include <cctype>
#include <string_view>

namespace nigh::chare {

namespace {

// Lists that are complete before main(), as far as the libraries are that the program was started with.
core::Entry* first_entry = nullptr;
core::Fold* first_fold = nullptr;
core::Type* first_type = nullptr;

template <class Item>
std::vector<const Item*> numbered(Item* first, std::uint64_t& digest) {
  std::vector<Item*> items;
  for (Item* item = first; item; item = item->next) items.push_back(item);
  auto name = [](const Item* item) { return std::string_view(item->name, item->name_bytes); };
  std::sort(items.begin(), items.end(), [&](Item* a, Item* b) { return name(a) < name(b); });
  for (std::size_t i = 0; i < items.size(); ++i) {
    items[i]->number = static_cast<std::uint16_t>(i);
    for (const char c : name(items[i]))
      digest = (digest ^ static_cast<unsigned char>(c)) * 0x100000001b3;  // FNV-1a
  }
  return {items.begin(), items.end()};
}

// The text behind the last `sign` of the compiler's "[with ...]", up to its end or the next parameter.
std::string_view behind(std::string_view text, std::string_view sign) {
  const std::size_t at = text.find(sign);
  if (at == std::string_view::npos) return text;
  text.remove_prefix(at + sign.size());
  return text.substr(0, text.find_last_of(']'));
}

// gcc: "constexpr std::string_view ...name_of_value() [with auto M = &Cell::receive; std::string_view = ...]"
// and
// "... [with T = {Cell, int}; ...]"; clang: "... [M = &Cell::receive, Shared = false]" and "... [T = <Cell,
// int>]".
std::string spelled(std::string_view text, std::string_view sign) {
  text = behind(text, sign);
  std::string out(text.substr(0, std::min(text.find(';'), text.find(", Shared = "))));
  for (const std::string_view space : {"{anonymous}::", "(anonymous namespace)::"})
    for (std::size_t at = 0; (at = out.find(space)) != std::string::npos;) {
      std::size_t from = at;  // with what it lies in: nigh::(anonymous namespace)::
      while (from > 0 && (std::isalnum(static_cast<unsigned char>(out[from - 1])) || out[from - 1] == '_' ||
                          out[from - 1] == ':'))
        --from;
      out.erase(from, at + space.size() - from);
    }
  return out;
}
std::string_view without_brackets(std::string_view text) {
  if (!text.empty() && (text.front() == '{' || text.front() == '<')) text.remove_prefix(1);
  if (!text.empty() && (text.back() == '}' || text.back() == '>')) text.remove_suffix(1);
  return text;
}

}  // namespace

const Entries& Entries::all() {
  static const Entries entries = [] {
    Entries out;
    out.digest = 0xcbf29ce484222325;
    out.entries = numbered(first_entry, out.digest);
    out.folds = numbered(first_fold, out.digest);
    out.types = numbered(first_type, out.digest);
    return out;
  }();
  return entries;
}

std::uint64_t Entries::mark_of(std::uint16_t entry) const {
  if (entry >= entries.size()) return 0;
  std::uint64_t mark = 0xcbf29ce484222325;
  for (const char c : std::string_view(entries[entry]->name, entries[entry]->name_bytes))
    mark = (mark ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return mark;
}

bool Entries::find(std::uint64_t mark, std::uint16_t& entry) const {
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (mark_of(static_cast<std::uint16_t>(i)) == mark) {
      entry = static_cast<std::uint16_t>(i);
      return true;
    }
  return false;
}

std::string name_of(const core::Type& type) {
  return std::string(without_brackets(spelled({type.name, type.name_bytes}, "T = ")));
}

std::string name_of(const core::Entry& entry) {
  const std::string name = spelled({entry.name, entry.name_bytes}, entry.make ? "T = " : "M = ");
  std::string_view text = name;
  if (!entry.make) {
    if (!text.empty() && text.front() == '&') text.remove_prefix(1);
    return std::string(text);
  }
  text = without_brackets(text);
  const std::size_t comma = text.find(", ");
  if (comma == std::string_view::npos) return std::string(text) + "()";
  return std::string(text.substr(0, comma)) + "(" + std::string(text.substr(comma + 2)) + ")";
}

namespace core {

void enlist(Entry* entry) {
  entry->next = first_entry;
  first_entry = entry;
}
void enlist(Fold* fold) {
  fold->next = first_fold;
  first_fold = fold;
}
void enlist(Type* type) {
  type->next = first_type;
  first_type = type;
}

}  // namespace core
}  // namespace nigh::chare
