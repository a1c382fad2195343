// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hwloc hangs memory beside the tree of CPUs: a NUMA node is a "memory child" of the object with the same
// CPUs. In our tree the node is a level of its own, since "what shares this memory" is a question every plan
// asks. So the first memory child of an object becomes a level inside it (outside it, when the object is a
// cache); a further one (HBM beside DRAM, CXL) becomes a leaf. Where some of its CPUs have memory nearer to
// them, the level is put around the others. What has no CPUs is no level: a cgroup may leave a job the memory
// of a package and none of its CPUs, and the tree shows the memory alone.
#include <algorithm>
#include <set>

#include "machine/hwloc_tree.hpp"

namespace nigh {

namespace {
bool has_cpus(hwloc_obj_t obj) { return obj->cpuset != nullptr && hwloc_bitmap_iszero(obj->cpuset) == 0; }

bool holds_kind(hwloc_obj_t obj, hwloc_obj_type_t type) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (has_cpus(c) && (c->type == type || holds_kind(c, type))) return true;
  return false;
}

hwloc_obj_t first_node(hwloc_obj_t obj) {
  for (hwloc_obj_t m = obj->memory_first_child; m != nullptr; m = m->next_sibling)
    if (m->type == HWLOC_OBJ_NUMANODE) return m;
  return nullptr;
}

// Memory that is near CPUs of the object, at it or below.
bool has_own_memory(hwloc_obj_t obj) {
  if (!has_cpus(obj)) return false;
  if (first_node(obj) != nullptr) return true;
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (has_own_memory(c)) return true;
  return false;
}
bool holds_memory_below(hwloc_obj_t obj) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (has_own_memory(c)) return true;
  return false;
}
// CPUs that have no memory at the object or below.
bool lacks_memory(hwloc_obj_t obj) {
  if (!has_cpus(obj) || first_node(obj) != nullptr) return false;
  if (obj->type == HWLOC_OBJ_PU) return true;
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (lacks_memory(c)) return true;
  return false;
}

bool holds_bare_cpus(hwloc_obj_t obj) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (lacks_memory(c)) return true;
  return false;
}

// The level of a node that is near an object: around all in it; around those children that have no memory of
// their own; further down, in the one child some of whose CPUs have none; nowhere.
enum class Near { all, children, child, none };
Near place_of_node(hwloc_obj_t obj) {
  if (!holds_memory_below(obj)) return Near::all;
  int bare = 0, partly = 0;
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (lacks_memory(c)) ++(has_own_memory(c) ? partly : bare);
  if (partly == 0) return bare > 0 ? Near::children : Near::none;
  return partly == 1 && bare == 0 ? Near::child : Near::none;
}

// A group that holds packages is a board; of groups in groups, the innermost is.
bool is_board(hwloc_obj_t group) {
  bool inner = false;
  for (hwloc_obj_t c = group->first_child; c != nullptr; c = c->next_sibling)
    inner = inner || (c->type == HWLOC_OBJ_GROUP && has_cpus(c) && holds_kind(c, HWLOC_OBJ_PACKAGE));
  return !inner && holds_kind(group, HWLOC_OBJ_PACKAGE);
}

int known_index(hwloc_obj_t obj) {
  return obj->os_index <= static_cast<unsigned>(CpuSet::max_cpu) ? static_cast<int>(obj->os_index) : -1;
}

class TreeReader {
 public:
  Result<Machine> read(hwloc_topology_t topology);

 private:
  void visit(hwloc_obj_t obj, hwloc_obj_t given);
  void visit_pu(hwloc_obj_t pu);
  void visit_inside(hwloc_obj_t obj, hwloc_obj_t node, Near place);
  bool open_node(hwloc_obj_t node);
  bool open(hwloc_obj_t obj);
  bool open_as(Kind kind, int os_index, std::uint64_t bytes);
  void close() {
    builder_.close();
    path_.pop_back();
  }
  void add_leaf(hwloc_obj_t node);
  void add_leaves(hwloc_obj_t obj);
  void note_subtype(hwloc_obj_t node);
  void note_once(const std::string& text) {
    auto& notes = builder_.machine().notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }
  int usable_core_number(hwloc_obj_t core);

  MachineBuilder builder_;
  std::vector<Kind> path_{Kind::machine};
  std::set<hwloc_obj_t> levels_;  // nodes that became one
  bool split_ = false;            // a core, for its PUs have memory of their own
  std::set<int> packages_;
  std::set<int> cores_;  // numbers taken in the package that is open
};

bool TreeReader::open_as(Kind kind, int os_index, std::uint64_t bytes) {
  for (Kind outer : path_)
    if (!may_hold(outer, kind)) {
      note_once(std::string("a ") + kind_name(kind) + " inside a " + kind_name(outer) +
                " is left out of the tree");
      return false;
    }
  builder_.open(kind, os_index, bytes);
  path_.push_back(kind);
  return true;
}

// Opens the object itself, unless it has no place in our tree.
bool TreeReader::open(hwloc_obj_t obj) {
  switch (obj->type) {
    case HWLOC_OBJ_GROUP: {
      bool only_a_node = obj->memory_arity > 0 && !holds_memory_below(obj);
      return !only_a_node && open_as(is_board(obj) ? Kind::board : Kind::group, -1, 0);
    }
    case HWLOC_OBJ_PACKAGE: {
      cores_.clear();
      int number = known_index(obj);
      if (number < 0 || !packages_.insert(number).second) {
        for (number = 0; !packages_.insert(number).second;) ++number;
        note_once("packages without a number of their own are numbered in the order met");
      }
      return open_as(Kind::package, number, 0);
    }
    case HWLOC_OBJ_DIE: return open_as(Kind::die, -1, 0);
    case HWLOC_OBJ_L3CACHE: return open_as(Kind::l3, -1, obj->attr->cache.size);
    case HWLOC_OBJ_L2CACHE: return open_as(Kind::l2, -1, obj->attr->cache.size);
    case HWLOC_OBJ_CORE:
      if (!holds_memory_below(obj)) return open_as(Kind::core, usable_core_number(obj), 0);
      note_once("PUs of one core have memory of their own each, and count as cores");
      split_ = true;
      return false;
    default: return false;
  }
}

// Some kernels number cores per die; our numbers are per package.
int TreeReader::usable_core_number(hwloc_obj_t core) {
  int number = known_index(core);
  if (number >= 0 && cores_.insert(number).second) return number;
  note_once("cores without a number of their own in the package are numbered in the order met");
  for (number = 0; !cores_.insert(number).second;) ++number;
  return number;
}

void TreeReader::note_subtype(hwloc_obj_t node) {
  if (node->subtype == nullptr || std::string(node->subtype) == "DRAM") return;
  note_once("numa " + std::to_string(node->os_index) + " is " + node->subtype);
}

void TreeReader::add_leaf(hwloc_obj_t node) {
  note_subtype(node);
  builder_.open(Kind::numa, known_index(node), node->attr->numanode.local_memory);
  builder_.close();
}

// All memory of what has no CPUs.
void TreeReader::add_leaves(hwloc_obj_t obj) {
  for (hwloc_obj_t m = obj->memory_first_child; m != nullptr; m = m->next_sibling)
    if (m->type == HWLOC_OBJ_NUMANODE && levels_.count(m) == 0) add_leaf(m);
  if (has_cpus(obj)) return;
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling) add_leaves(c);
}

bool TreeReader::open_node(hwloc_obj_t node) {
  if (!open_as(Kind::numa, known_index(node), node->attr->numanode.local_memory)) return false;
  levels_.insert(node);
  note_subtype(node);
  return true;
}

void TreeReader::visit_pu(hwloc_obj_t pu) {
  bool bare = path_.back() != Kind::core && open_as(Kind::core, -1, 0);
  if (bare && !split_) note_once("the machine does not say which PUs share a core; each counts as one");
  builder_.open(Kind::pu, known_index(pu));
  builder_.close();
  if (bare) close();
}

// given: a node further out that is near CPUs of the object that have none of their own.
void TreeReader::visit(hwloc_obj_t obj, hwloc_obj_t given) {
  if (!has_cpus(obj)) return add_leaves(obj);
  hwloc_obj_t own = first_node(obj), node = own != nullptr ? own : given;
  Near place = node == nullptr ? Near::none : place_of_node(obj);
  if (own != nullptr && place == Near::none && holds_bare_cpus(obj))
    note_once("numa " + std::to_string(own->os_index) +
              " is near CPUs that lie apart in the tree, and shown as memory alone");
  bool around = place == Near::all;
  bool outside = around && obj->type >= HWLOC_OBJ_CORE && obj->type <= HWLOC_OBJ_L5CACHE;
  bool opened = !outside && open(obj);
  bool level = around && open_node(node);
  bool cache = outside && open(obj);
  if (obj->type == HWLOC_OBJ_PU) visit_pu(obj);
  visit_inside(obj, node, place);
  if (cache) close();
  if (level) close();
  add_leaves(obj);
  if (opened) close();
}

// Children without memory of their own are brought together where the node's level is around them alone.
void TreeReader::visit_inside(hwloc_obj_t obj, hwloc_obj_t node, Near place) {
  bool brought = place != Near::children;
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling) {
    bool bare = place == Near::children && lacks_memory(c);
    if (!bare) visit(c, place == Near::child && lacks_memory(c) ? node : nullptr);
    if (!bare || brought) continue;
    brought = true;
    bool level = open_node(node);
    for (hwloc_obj_t other = c; other != nullptr; other = other->next_sibling)
      if (lacks_memory(other)) visit(other, nullptr);
    if (level) close();
  }
}

Result<Machine> TreeReader::read(hwloc_topology_t topology) {
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr)
    if (known_index(pu) < 0)
      return fail(Errc::unsupported,
                  "PU numbers above " + std::to_string(CpuSet::max_cpu) + " are not supported");
  visit(hwloc_get_root_obj(topology), nullptr);
  return builder_.finish();
}
}  // namespace

CpuSet from_bitmap(hwloc_const_bitmap_t bitmap) {
  CpuSet out;
  if (bitmap == nullptr || hwloc_bitmap_weight(bitmap) < 0) return out;  // an infinite set names nothing
  for (int c = hwloc_bitmap_first(bitmap); c >= 0; c = hwloc_bitmap_next(bitmap, c)) out.set(c);
  return out;
}

Result<Machine> tree_from_hwloc(hwloc_topology_t topology) { return TreeReader().read(topology); }

}  // namespace nigh
