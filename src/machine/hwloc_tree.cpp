// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// hwloc hangs memory beside the tree of CPUs: a NUMA node is a "memory child" of the object with the same
// CPUs. In our tree the node is a level of its own, since "what shares this memory" is a question every plan
// asks. So the first memory child of an object becomes a level inside it (outside it, when the object is a
// cache); a further one (HBM beside DRAM, CXL) and one that spans other nodes becomes a leaf.
#include <algorithm>
#include <set>

#include "machine/hwloc_tree.hpp"

namespace nigh {

namespace {
bool holds_kind(hwloc_obj_t obj, hwloc_obj_type_t type) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (c->type == type || holds_kind(c, type)) return true;
  return false;
}

bool holds_memory_below(hwloc_obj_t obj) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling)
    if (c->memory_arity > 0 || holds_memory_below(c)) return true;
  return false;
}

// A group that holds packages is a board; of groups in groups, the innermost is.
bool is_board(hwloc_obj_t group) {
  bool inner = false;
  for (hwloc_obj_t c = group->first_child; c != nullptr; c = c->next_sibling)
    inner = inner || (c->type == HWLOC_OBJ_GROUP && holds_kind(c, HWLOC_OBJ_PACKAGE));
  return !inner && holds_kind(group, HWLOC_OBJ_PACKAGE);
}

int known_index(hwloc_obj_t obj) {
  return obj->os_index <= static_cast<unsigned>(CpuSet::max_cpu) ? static_cast<int>(obj->os_index) : -1;
}

class TreeReader {
 public:
  Result<Machine> read(hwloc_topology_t topology);

 private:
  void visit(hwloc_obj_t obj);
  void visit_inside(hwloc_obj_t obj);
  bool open(hwloc_obj_t obj);
  bool open_as(Kind kind, int os_index, std::uint64_t bytes);
  void close() {
    builder_.close();
    path_.pop_back();
  }
  void add_leaf(hwloc_obj_t node);
  void note_subtype(hwloc_obj_t node);
  void note_once(const std::string& text) {
    auto& notes = builder_.machine().notes;
    if (std::find(notes.begin(), notes.end(), text) == notes.end()) notes.push_back(text);
  }
  int usable_core_number(hwloc_obj_t core);

  MachineBuilder builder_;
  std::vector<Kind> path_{Kind::machine};
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
    case HWLOC_OBJ_CORE: return open_as(Kind::core, usable_core_number(obj), 0);
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

void TreeReader::visit(hwloc_obj_t obj) {
  if (obj->type == HWLOC_OBJ_PU) {
    bool bare = path_.back() != Kind::core && open_as(Kind::core, -1, 0);
    if (bare) note_once("the machine does not say which PUs share a core; each counts as one");
    builder_.open(Kind::pu, known_index(obj));
    builder_.close();
    if (bare) close();
    return;
  }
  hwloc_obj_t level = obj->memory_first_child;
  if (level != nullptr && (level->type != HWLOC_OBJ_NUMANODE || holds_memory_below(obj))) level = nullptr;
  bool outside = level != nullptr && obj->type >= HWLOC_OBJ_CORE && obj->type <= HWLOC_OBJ_L5CACHE;
  bool opened = !outside && open(obj);
  bool node = level != nullptr && open_as(Kind::numa, known_index(level), level->attr->numanode.local_memory);
  if (node) note_subtype(level);
  bool cache = outside && open(obj);
  visit_inside(obj);
  if (cache) close();
  if (node) close();
  for (hwloc_obj_t m = obj->memory_first_child; m != nullptr; m = m->next_sibling)
    if (m->type == HWLOC_OBJ_NUMANODE && !(node && m == level)) add_leaf(m);
  if (opened) close();
}

void TreeReader::visit_inside(hwloc_obj_t obj) {
  for (hwloc_obj_t c = obj->first_child; c != nullptr; c = c->next_sibling) visit(c);
}

Result<Machine> TreeReader::read(hwloc_topology_t topology) {
  hwloc_obj_t pu = nullptr;
  while ((pu = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PU, pu)) != nullptr)
    if (known_index(pu) < 0)
      return fail(Errc::unsupported,
                  "PU numbers above " + std::to_string(CpuSet::max_cpu) + " are not supported");
  visit(hwloc_get_root_obj(topology));
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
