// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Teams, contexts and active sets. The members of a new team find each other without a collective of the
// parent: each puts the address of its cells on its own board under a number that all members compute alike
// (who they are, and how many groups of just these members there were before), and reads the others' boards.
// That also serves the deprecated active sets, of which nobody but the members knows.
#include <nigh/shmem/shmem.h>

#include <algorithm>
#include <map>
#include <new>

#include "shmem/pe.hpp"

namespace nigh::shmem {

namespace {

std::map<std::vector<int>, std::uint64_t>& times_made() {
  static std::map<std::vector<int>, std::uint64_t> made;
  return made;
}

// Never 0. Different member lists, or different times, may collide with no harm as long as they are not made
// at once.
std::uint64_t number_of(const std::vector<int>& pes, std::uint64_t time) {
  std::uint64_t hash = 1469598103934665603ULL ^ time;
  for (int each : pes) hash = (hash ^ static_cast<std::uint64_t>(each + 1)) * 1099511628211ULL;
  return hash | 1;
}

Shown::Meeting& board(Shown& shown, std::uint64_t number) {
  return shown.meeting[(number >> 7) % Shown::meetings];
}

message::Cells* cells_of(Pe& me, int member_pe, std::uint64_t number) {
  Shown::Meeting& meeting = board(*me.shown[static_cast<std::size_t>(member_pe)], number);
  message::Cells* cells = nullptr;
  me.waiter->until(
      [&] {
        if (meeting.number.load(std::memory_order_acquire) != number) return false;
        cells = meeting.cells.load(std::memory_order_acquire);
        return meeting.number.load(std::memory_order_acquire) == number && cells != nullptr;
      },
      me.near[static_cast<std::size_t>(member_pe)]);
  return cells;
}

}  // namespace

namespace {

// A group of PEs that are all near.
std::unique_ptr<message::Group> make_group(Pe& me, const std::vector<int>& pes, int member) {
  std::uint64_t number = number_of(pes, ++times_made()[pes]);
  message::Cells* cells =
      message::Group::make_cells(*me.space, static_cast<int>(pes.size()), me.waiter->patience().crowded);
  if (!cells) stop("shmem_team_split_strided", "no memory for a team");
  Shown::Meeting& mine = board(*me.shown[static_cast<std::size_t>(me.rank)], number);
  mine.cells.store(cells, std::memory_order_release);
  mine.number.store(number, std::memory_order_release);
  std::vector<message::Cells*> all;
  std::vector<int> ranks;
  for (int each : pes) {
    message::Cells* found = cells_of(me, each, number);
    if (!found) stop("shmem_team_split_strided", "a PE has ended");
    all.push_back(found);
    ranks.push_back(me.near[static_cast<std::size_t>(each)]);
  }
  auto group = std::make_unique<message::Group>(*me.space, *me.waiter, member, all, ranks, plan::Levels{});
  // All have read all boards once this is over: they may be written again.
  if (group->run({.kind = message::Kind::barrier}) != message::Outcome::ok)
    stop("shmem_team_split_strided", "a PE has ended");
  return group;
}

}  // namespace

bool make_team(const std::vector<int>& pes, nigh_shmem_team& team) {
  Pe& me = self("shmem_team_split_strided");
  const auto ours = std::find(pes.begin(), pes.end(), me.rank);
  if (ours == pes.end()) return false;
  team.pes = pes;
  team.member = static_cast<int>(ours - pes.begin());
  const bool spans = std::any_of(pes.begin(), pes.end(),
                                 [&](int each) { return me.near[static_cast<std::size_t>(each)] < 0; });
  if (spans)
    team.away = me.away->make_team(pes.data(), static_cast<int>(pes.size()));
  else
    team.group = make_group(me, pes, team.member);
  return true;
}

nigh_shmem_team* active_set(const char* function, int start, int log_stride, int size) {
  Pe& me = self(function);
  if (start == 0 && log_stride == 0 && size == me.size) return SHMEM_TEAM_WORLD;
  static std::map<std::vector<int>, nigh_shmem_team*> known;
  std::vector<int> pes;
  for (int i = 0; i < size; ++i) pes.push_back(start + i * (1 << log_stride));
  if (size < 1 || log_stride < 0 || start < 0 || pes.back() >= me.size)
    stop(function, "there is no such active set");
  nigh_shmem_team*& team = known[pes];
  if (!team) {
    team = new (std::nothrow) nigh_shmem_team;
    if (!team) stop(function, "no memory");
    if (!make_team(pes, *team)) stop(function, "this PE is not in the active set");
  }
  return team;
}

}  // namespace nigh::shmem

using namespace nigh::shmem;

nigh_shmem_team::~nigh_shmem_team() {
  if (away && pe && !pe->finalized) pe->away->end_team(away);
}

namespace {
nigh_shmem_team world, shared;
nigh_shmem_context whole = {&world};

// 0 and a team, or the team invalid, for those who are not in it.
int new_team(const std::vector<int>& pes, const shmem_team_config_t* config, long mask, shmem_team_t* team) {
  *team = SHMEM_TEAM_INVALID;
  auto* made = new (std::nothrow) nigh_shmem_team;
  if (!made) return -1;
  if (!make_team(pes, *made)) {
    delete made;
    return 0;
  }
  made->contexts = config && (mask & SHMEM_TEAM_NUM_CONTEXTS) ? config->num_contexts : 0;
  *team = made;
  return 0;
}
}  // namespace

// NOLINTBEGIN(misc-misplaced-const): handles that are constant
shmem_team_t const SHMEM_TEAM_WORLD = &world;
shmem_team_t const SHMEM_TEAM_SHARED = &shared;
shmem_ctx_t const SHMEM_CTX_DEFAULT = &whole;
// NOLINTEND(misc-misplaced-const)

int shmem_team_my_pe(shmem_team_t team) { return team ? team->member : -1; }
int shmem_team_n_pes(shmem_team_t team) { return team ? static_cast<int>(team->pes.size()) : -1; }

int shmem_team_get_config(shmem_team_t team, long mask, shmem_team_config_t* config) {
  if (!team || !config) return -1;
  if (mask & SHMEM_TEAM_NUM_CONTEXTS) config->num_contexts = team->contexts;
  return 0;
}

int shmem_team_translate_pe(shmem_team_t from, int number, shmem_team_t to) {
  if (!from || !to || number < 0 || number >= shmem_team_n_pes(from)) return -1;
  auto found = std::find(to->pes.begin(), to->pes.end(), from->pes[static_cast<std::size_t>(number)]);
  return found == to->pes.end() ? -1 : static_cast<int>(found - to->pes.begin());
}

int shmem_team_split_strided(shmem_team_t parent, int start, int stride, int size,
                             const shmem_team_config_t* config, long mask, shmem_team_t* team) {
  if (!parent || !team) return -1;
  *team = SHMEM_TEAM_INVALID;
  int members = shmem_team_n_pes(parent), last = start + (size - 1) * stride;
  if (size < 1 || start < 0 || start >= members || last < 0 || last >= members || (stride == 0 && size > 1))
    return -1;
  std::vector<int> pes;
  for (int i = 0; i < size; ++i) {
    const int at = start + i * stride;
    pes.push_back(parent->pes[static_cast<std::size_t>(at)]);
  }
  int outcome = new_team(pes, config, mask, team);
  shmem_team_sync(parent);  // collective over the parent
  return outcome;
}

int shmem_team_split_2d(shmem_team_t parent, int xrange, const shmem_team_config_t* xconfig, long xmask,
                        shmem_team_t* xteam, const shmem_team_config_t* yconfig, long ymask,
                        shmem_team_t* yteam) {
  if (!parent || !xteam || !yteam || xrange < 1) return -1;
  int members = shmem_team_n_pes(parent), mine = parent->member;
  if (xrange > members) xrange = members;
  std::vector<int> row, column;
  for (int i = mine / xrange * xrange; i < members && i < (mine / xrange + 1) * xrange; ++i)
    row.push_back(parent->pes[static_cast<std::size_t>(i)]);
  for (int i = mine % xrange; i < members; i += xrange)
    column.push_back(parent->pes[static_cast<std::size_t>(i)]);
  int outcome = new_team(row, xconfig, xmask, xteam) | new_team(column, yconfig, ymask, yteam);
  shmem_team_sync(parent);
  return outcome;
}

void shmem_team_destroy(shmem_team_t team) {
  if (team && team != &world && team != &shared) delete team;
}

// A context orders its own operations; all of ours are done when they return, so they share one behaviour.
int shmem_team_create_ctx(shmem_team_t team, long, shmem_ctx_t* ctx) {
  *ctx = SHMEM_CTX_INVALID;
  if (!team) return -1;
  auto* made = new (std::nothrow) nigh_shmem_context{team};
  *ctx = made;
  return made ? 0 : -1;
}
int shmem_ctx_create(long options, shmem_ctx_t* ctx) { return shmem_team_create_ctx(&world, options, ctx); }
int shmem_ctx_get_team(shmem_ctx_t ctx, shmem_team_t* team) {
  *team = ctx ? ctx->team : SHMEM_TEAM_INVALID;
  return ctx ? 0 : -1;
}
void shmem_ctx_destroy(shmem_ctx_t ctx) {
  if (ctx != &whole) delete ctx;
}
