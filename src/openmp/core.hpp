// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The core of the preloaded library: where is this thread in the tree of nested teams, and is it bound there?
// Both ways in (libgomp's entry points, OMPT's callbacks) reduce to one act, enter(parent, index, size): this
// thread is now thread `index` of a team of `size` that `parent` opened. Each thread keeps its node in TLS,
// each node caches its teams by size, so that in the steady state enter() is a short list walk and one
// comparison, with no lock, no allocation and no system call. All state is plain data with constant
// initialisers: this code runs before the C++ library, before libc and after exit() began, so nothing here
// may need a constructor.
//
//   Plan --> roots: Root(0), Root(1), ..   one per thread that opens outermost regions
//   Node --> kids: Kids{size 4: Node[4]} -> Kids{size 3: Node[3]}  -> ..   newest first, never freed
#pragma once

#include <stddef.h>
#include <stdint.h>

#include <atomic>

#include "sys/raw.h"

struct nigh_planner;
struct nigh_place;

namespace nigh::preload {

// An affinity mask as the kernel writes it. 4096 CPUs: what Linux can be built for on x86-64 without patches
// is 8192, and the largest machine sold has fewer than half of ours.
constexpr int kMaskCpus = 4096;
constexpr int kWordBits = 8 * sizeof(unsigned long);
struct Mask {
  unsigned long word[kMaskCpus / kWordBits];

  bool has(int cpu) const { return word[cpu / kWordBits] >> (cpu % kWordBits) & 1; }
  void add(int cpu) { word[cpu / kWordBits] |= 1UL << (cpu % kWordBits); }
  int count() const;
  void list(char* text, size_t size) const;  // "0-5,8", as much of it as there is room for
  // Word by word: memcmp may be the program's own, which is not ready while we start.
  bool operator==(const Mask& other) const {
    unsigned long differing = 0;
    for (unsigned i = 0; i < sizeof word / sizeof *word; i++) differing |= word[i] ^ other.word[i];
    return !differing;
  }
  bool is_only(int cpu) const { return has(cpu) && count() == 1; }
  bool load(int tid);         // from the kernel; false if the kernel's masks are longer than ours
  long store(int tid) const;  // to the kernel: 0 or -errno
};

// A list of PUs, "0-5,8"; false: it is none.
bool read_cpus(const char* list, Mask& mask);

// The place of a node's threads: PU number + 1, so that zeroed memory means "stay where you are".
constexpr int kKeep = 0;
constexpr int kFree = -1;  // anywhere in the process's own mask
inline int place_of_pu(int pu) { return pu + 1; }
inline int pu_of_place(int place) { return place - 1; }

struct Plan;
struct Node;
struct Visits;  // what the account saw at a node, see account.hpp

struct alignas(64) Kids {
  unsigned size;
  Kids* next;
  Node* node;
};

struct alignas(64) Node {
  Plan* plan;
  Node* parent;
  int place;
  int depth;  // number of parallel regions around it
  unsigned index, size;
  std::atomic<Kids*> kids;
  std::atomic<Visits*> visits;
};

struct Root {
  int number;
  Root* next;
  Node node;
};

struct Plan {
  nigh_planner* planner;
  int levels;
  bool automatic;  // without a spec, see automatic.hpp; its planner may be null
  unsigned width;  // of these: the first outermost team's size
  Root* roots;     // under the lock
  Plan* next;      // every plan ever made; one per distinct spec and mask
  char* spec;
  Mask mask;
};

struct OldRegion;  // an open region of libgomp's two-call interface, see gomp.cpp

// The argument that libgomp hands to our body in each thread of a team, see gomp.cpp. One cache line.
struct alignas(64) Body {
  void* first_word;
  void (*fn)(void*);
  void* data;
  Node* parent;
  int (*thread_num)(void);
  int (*num_threads)(void);
  unsigned asked;  // the team size asked for, 0: the runtime decides
};

// The bodies of the regions a thread opened lately, by nesting and by function. Opening the same region again
// finds its body as it was and writes nothing, so the line stays in the team's caches; written afresh on
// the stack each time it would travel to every thread and back, which costs more than all else we do.
constexpr unsigned kBodyNesting = 4, kBodySlots = 4;

// Everything we know about one thread. Zeroed memory is the state of a thread we never met.
struct Thread {
  Node* node;       // the node of the implicit task this thread runs; null outside parallel regions
  int held;         // the place we bound this thread to; kKeep: we did not
  unsigned epoch;   // held is only believed while this equals g.epoch
  unsigned look;    // regions until this thread looks at its mask again, see outside.cpp
  Plan* plan;       // the plan that root belongs to
  Node* root;       // this thread's root in that plan
  int root_number;  // + 1
  bool has_own;     // own holds this thread's mask; else g.home does
  bool counted;     // the account has met this thread
  int first_place;  // for the account: where it was first bound
  OldRegion* old;
  unsigned open;        // regions this thread has open through libgomp's one-call interface
  const Body* opening;  // the region libgomp is making a team for, see birth.cpp
  unsigned born;        // threads it made for that region so far, if nested
  unsigned pool;        // threads it made for all outermost regions of this thread: they stay in its pool
  uintptr_t self;       // its pthread_t, once it was bound
  unsigned period;      // regions between looks
  unsigned moves;       // of an automatic plan
  long looked;          // when it last looked
  long moves_counted;   // when the moves were
  bool strange;         // its mask was not what we had left, and not everybody's
  alignas(128) Body body[kBodyNesting][kBodySlots];  // not beside what the thread itself writes
  Mask own;                                          // the mask this thread would have without us
};

struct Globals {
  std::atomic<Plan*> plan;        // in force for the next outermost region; null: pass through
  std::atomic<unsigned> epoch;    // raised when somebody else may have moved threads we bound
  std::atomic<bool> prepared;     // first_region() has run
  bool explain;                   // the account is wanted
  bool user_levels;               // the user set OMP_MAX_ACTIVE_LEVELS or OMP_NESTED
  bool pinned_by_omp;             // OpenMP's own binding variables were in force when we started
  Thread* initial;                // the thread that main runs in
  Mask start;                     // the mask at our constructor
  Mask first_home;                // the mask of the process at the first region
  std::atomic<const Mask*> home;  // .. and now: what the plan may use
  Node helper;  // stands for the runtime's own teams (libomp's hidden helpers): not ours to place
};

extern __attribute__((visibility("hidden"))) Globals g;
extern __attribute__((visibility("hidden"), tls_model("initial-exec"))) __thread Thread t;

// Deeper than any plan: recursion that opens a region at each step would otherwise grow the tree for ever.
constexpr int kMaxDepth = 32;

// Slow paths, out of line.
Kids* make_kids(Node* parent, unsigned size);
void settle(Node* node);
void look_again();
void account_enter(Node* node);
void first_region();
Node* first_opener();

// Below, under the lock.
int root_number(const Node* root);
// Asks the planner where the team of `size` opened by parent belongs; false: it has no answer.
bool ask_planner(const Node* parent, unsigned size, nigh_place* out);
// Threads that run at once if every thread above this team opens one like it.
unsigned long threads_with(const Node* parent, unsigned size);

// Plans. Replaces the plan in force; 0, or -1 with one sentence in err.
int set_spec(const char* spec, char* err, size_t errsize);
int count_levels(const char* spec);

inline Node* child(Node* parent, unsigned index, unsigned size) {
  if (parent == &g.helper || index >= size) return parent;
  Kids* kids = parent->kids.load(std::memory_order_acquire);
  while (kids && kids->size != size) kids = kids->next;
  if (!kids && !(kids = make_kids(parent, size))) return parent;
  return &kids->node[index];
}

// This thread is now thread `index` of a team of `size` opened by `parent`.
inline void enter(Node* parent, unsigned index, unsigned size) {
  Node* node = child(parent, index, size);
  t.node = node;
  const bool settled = node->place == t.held && t.epoch == g.epoch.load(std::memory_order_relaxed);
  if (__builtin_expect(!settled && node->place != kKeep, 0)) settle(node);
  if (__builtin_expect(--t.look == 0, 0)) look_again();
  if (__builtin_expect(g.explain, 0)) account_enter(node);
}

// The node that a region opened by this thread hangs under; null: run without us.
inline Node* opener() {
  if (t.node) return t.node;
  Plan* plan = g.plan.load(std::memory_order_acquire);
  if (__builtin_expect(plan && t.plan == plan, 1)) return t.root;
  return first_opener();
}

// The mask this thread would have without us, and whether we changed it.
inline const Mask& home() { return *g.home.load(std::memory_order_acquire); }
inline const Mask& own_mask() { return t.has_own ? t.own : home(); }
inline bool is_bound() { return t.held > kKeep; }
// To be called by a thread whose mask is now that of this place.
void note_bound(int place, unsigned epoch);

// One lock for everything rare: plans, roots, making nodes.
void lock();
void unlock();

}  // namespace nigh::preload
