// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// From what a user may write to a Machine, the shipped models, and the hash by which measured data is kept.
#include "machine/load.hpp"

#include <algorithm>
#include <cstdint>

#include "machine/models.hpp"

namespace nigh {

namespace {
// FNV-1a over the tree in depth-first order; a child count with each object makes the form unambiguous.
class TreeHash {
 public:
  void add(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) {
      hash_ = (hash_ ^ (value & 0xff)) * 0x100000001b3;
      value >>= 8;
    }
  }
  [[nodiscard]] std::string hex() const {
    std::string out;
    for (int shift = 60; shift >= 0; shift -= 4) out += "0123456789abcdef"[hash_ >> shift & 0xf];
    return out;
  }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

std::string joined_models() {
  std::string out;
  for (const auto& name : model_names()) out += (out.empty() ? "" : ", ") + name;
  return out;
}
}  // namespace

std::string topology_hash(const Machine& machine) {
  TreeHash hash;
  for (const auto& o : machine.objects) {
    hash.add(static_cast<std::uint64_t>(o.kind));
    hash.add(static_cast<std::uint64_t>(std::int64_t{o.os_index} + 1));
    hash.add(o.kind == Kind::numa ? 0 : o.bytes);
    hash.add(o.children.size());
  }
  return hash.hex();
}

std::vector<std::string> model_names() {
  std::vector<std::string> out;
  for (const auto& model : embedded_models()) out.emplace_back(model.name);
  std::sort(out.begin(), out.end());
  return out;
}

Result<Machine> load_model(const std::string& name) {
  for (const auto& model : embedded_models())
    if (name == model.name) return machine_from_json(model.json, "model " + name);
  return fail(Errc::invalid, "there is no model '" + name + "'; the models are " + joined_models());
}

Result<Machine> load_machine(const std::string& what) {
  if (what.empty() || what == "this") return load_this_machine();
  const std::string synthetic = "synthetic:";
  if (what.starts_with(synthetic)) return load_hwloc_synthetic(what.substr(synthetic.size()));
  for (const auto& model : embedded_models())
    if (what == model.name) return load_model(what);
  if (what.ends_with(".xml")) return load_hwloc_xml(what);
  if (what.ends_with(".json")) {
    auto text = sys::read_file(what);
    return text ? machine_from_json(*text, what) : tl::unexpected(text.error());
  }
  return fail(Errc::invalid, "no machine '" + what +
                                 "': it is neither 'this', nor synthetic:DESCRIPTION, nor a "
                                 ".json or .xml file, nor a model (" +
                                 joined_models() + ")");
}

}  // namespace nigh
