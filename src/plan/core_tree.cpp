// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Cutting a machine's tree to a mask. One depth-first walk: it numbers all cores of the machine (also those
// outside the mask, since logical core numbers must not depend on the mask) and keeps what the mask leaves.
#include "plan/core_tree.hpp"

namespace nigh {

namespace {
struct Cutter {
  const Machine& machine;
  const CpuSet& mask;
  CoreTree tree = {};
  int next_core = 0;

  [[nodiscard]] const Object& object(int index) const {
    return machine.objects[static_cast<std::size_t>(index)];
  }

  int add_leaf(Kind kind, std::vector<int> pus, int core, int node) {
    TreeNode leaf;
    leaf.kind = kind;
    leaf.first = tree.size();
    leaf.last = leaf.first + 1;
    for (int pu : pus) tree.mask.set(pu);
    tree.leaves.push_back({std::move(pus), core, node});
    tree.nodes.push_back(std::move(leaf));
    return static_cast<int>(tree.nodes.size()) - 1;
  }

  // Index of the new tree node, -1 if the mask leaves nothing of the object.
  int walk(int index, int node) {
    const Object& o = object(index);
    if (o.kind == Kind::core) return walk_core(o, node);
    if (o.kind == Kind::pu) return mask.test(o.os_index) ? add_leaf(Kind::pu, {o.os_index}, -1, node) : -1;
    if (o.kind == Kind::numa && !o.pus.empty()) node = o.os_index;
    std::vector<int> kept;
    for (int child : o.children)
      if (int at = walk(child, node); at >= 0) kept.push_back(at);
    if (kept.empty()) return -1;
    if (kept.size() == 1) return collapse(o.kind, kept.front());
    TreeNode inner;
    inner.kind = o.kind;
    inner.first = tree.node(kept.front()).first;
    inner.last = tree.node(kept.back()).last;
    inner.children = std::move(kept);
    tree.nodes.push_back(std::move(inner));
    return static_cast<int>(tree.nodes.size()) - 1;
  }

  int walk_core(const Object& o, int node) {
    int core = next_core++;
    std::vector<int> pus;
    for (int child : o.children)
      if (mask.test(object(child).os_index)) pus.push_back(object(child).os_index);
    return pus.empty() ? -1 : add_leaf(Kind::core, std::move(pus), core, node);
  }

  // A chain keeps its outermost name: people say "4 packages", not "4 L3 caches".
  int collapse(Kind kind, int only_child) {
    auto& child = tree.nodes[static_cast<std::size_t>(only_child)];
    if (!child.children.empty()) child.kind = kind;
    return only_child;
  }
};

// The walk adds children before parents; readers want the root at 0.
void root_first(CoreTree& tree) {
  std::vector<TreeNode> turned(tree.nodes.rbegin(), tree.nodes.rend());
  int last = static_cast<int>(turned.size()) - 1;
  for (auto& node : turned)
    for (int& child : node.children) child = last - child;
  tree.nodes = std::move(turned);
}

void append_by_distance(const CoreTree& tree, int index, int anchor, std::vector<int>& out) {
  const TreeNode& node = tree.node(index);
  if (node.children.empty()) {
    out.push_back(node.first);
    return;
  }
  std::size_t count = node.children.size();
  std::size_t home = 0;
  while (!tree.node(node.children[home]).holds(anchor)) ++home;
  append_by_distance(tree, node.children[home], anchor, out);
  for (std::size_t step = 1; step < count; ++step) {
    const TreeNode& other = tree.node(node.children[(home + step) % count]);
    for (int leaf = other.first; leaf < other.last; ++leaf) out.push_back(leaf);
  }
}
}  // namespace

Result<CoreTree> CoreTree::cut(const Machine& machine, const CpuSet& mask) {
  if (mask.empty()) return fail(Errc::invalid, "the mask is empty; it must hold at least one PU");
  Cutter cutter{machine, mask};
  if (cutter.walk(0, -1) < 0)
    return fail(Errc::invalid, "the mask " + mask.to_list() + " and the machine " +
                                   (machine.name.empty() ? "" : "'" + machine.name + "' ") + "(PUs " +
                                   machine.pus().to_list() + ") have no PU in common");
  root_first(cutter.tree);
  return std::move(cutter.tree);
}

std::vector<int> CoreTree::by_distance(int anchor) const {
  std::vector<int> out;
  out.reserve(leaves.size());
  append_by_distance(*this, 0, anchor, out);
  return out;
}

std::string kind_words(Kind kind, int n) {
  std::string out;
  switch (kind) {
    case Kind::numa: out = "NUMA node"; break;
    case Kind::l3: out = "L3 cache"; break;
    case Kind::l2: out = "L2 cache"; break;
    case Kind::pu: out = "PU"; break;
    default: out = kind_name(kind);
  }
  return n == 1 ? out : out + 's';
}

}  // namespace nigh
