// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// For each page of the slot there is a mark; for each page of the address space a word, in leaves of 1 GiB
// made when first needed, says which block of 4000 bytes or more begins there (blocks that long do so once a
// page). All of it is a hint: races and blocks of the past lose an observation, never memory.
#include "space/sites.hpp"

#include "space/budget.hpp"
#include "space/huge.hpp"
#include "space/learned.hpp"
#include "space/slot.hpp"

namespace nigh::space {

constexpr std::size_t kSites = 4096;  // more stay on trial
constexpr int kProbes = 8;
enum State : std::uint8_t { kOnTrial, kSends, kPrivate, kKnown };
// Sites whose blocks are sent from private memory, and those that an earlier run knew.
struct Sent {
  std::atomic<std::uint64_t> place{0};  // learned.hpp; 0: not looked up yet; kNoPlace
  // Its private blocks: bytes of messages, bytes of the blocks that they were in, the last of these
  // blocks.
  std::atomic<std::uint64_t> missed{0}, missed_blocks{0};
  std::atomic<std::uintptr_t> last_missed{0};
};
constexpr std::uint64_t kNoPlace = 1;

// A page on trial costs up to 4.6 us (touched and returned; a private heap may have had it at hand): 10 ms a
// rank at first, then a two-hundredth of its CPU time. A byte that is sent from private memory costs about a
// tenth of what a byte on trial does (64 KiB to 1 MiB), so a program that sends much may try much. A new page
// of a site that sends costs 1.4 to 3 us more than a private one, and saves 0.4 us whenever it is sent.
static constinit Signs g_messages;  // that one copy would do for
static constinit Budget g_trials{8 * kMiB, 4 * kMiB, &g_messages}, g_new_pages{8 * kMiB, 8 * kMiB};
// So many bytes that are sent from private memory pay for one.
constexpr std::int64_t kMissedForTrial = 10, kMissedForNewPage = 5;
constexpr std::int64_t kMostSaved = 64 * kMiB;
constexpr unsigned kDenialsPerLook = 64;

// The bits of a page's mark.
constexpr std::uint8_t kInMessage = 1;  // one began there, since its block was made (Space::mark)
constexpr std::uint8_t kWasUsed = 2;    // by a block that was freed: it is there already

constexpr int kLeafShift = 30, kAddressBits = 48;
constexpr std::size_t kLeafWords = (std::size_t{1} << kLeafShift) / kPage;
constexpr std::size_t kFarthestStart = 65536;  // pages that are searched for the start of a block

// By number of site, from 1. What every site has lies dense: a table is touched all over, and a page that is
// touched first costs a microsecond or two.
static constinit std::atomic<std::uint64_t> g_keys[kSites + 1] = {};
static constinit std::atomic<std::uint8_t> g_states[kSites + 1] = {};  // State
static constinit std::atomic<bool> g_were_known[kSites + 1] = {};
static constinit Sent g_sent[kSites + 1] = {};
static constinit std::atomic<bool> g_joined{false};
static constinit thread_local unsigned t_denials __attribute__((tls_model("initial-exec"))) = 0;
// Words: pages of the block << 16 | site.
using Word = std::atomic<std::uint64_t>;
static constinit std::atomic<Word*> g_leaves[std::size_t{1} << (kAddressBits - kLeafShift)] = {};
static constinit Mark* g_marks = nullptr;
// Pages of messages whose block is known << 16 | its site.
static constinit std::atomic<std::uint64_t> g_learned_pages[64] = {};

constexpr unsigned kLongestPause = 1024;  // messages
static constinit std::atomic<unsigned> g_pause{0}, g_next_pause{1};

static std::uintptr_t sparse_table(std::size_t bytes) {
  constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  const long at = sys::raw_map(0, bytes, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (sys::is_error(at)) return 0;
  sys::raw_advise(static_cast<std::uintptr_t>(at), bytes, MADV_DONTDUMP);
  return static_cast<std::uintptr_t>(at);
}

void sites_start(bool learn) {
  if (learn) g_marks = reinterpret_cast<Mark*>(sparse_table(g_slot.state.span / kPage));
  if (g_marks != nullptr) learned_start();
}
void sites_joined() { g_joined.store(true, std::memory_order_relaxed); }
bool sites_learn() { return g_marks != nullptr; }
Mark* site_marks() { return g_marks; }

static Mark& mark_of(std::uintptr_t address) { return g_marks[(address - g_slot.state.slot) / kPage]; }

static Word* word_of(std::uintptr_t address, bool make) {
  if (address >> kAddressBits != 0) return nullptr;
  std::atomic<Word*>& place = g_leaves[address >> kLeafShift];
  Word* leaf = place.load(std::memory_order_acquire);
  if (leaf == nullptr && make) {
    auto* made = reinterpret_cast<Word*>(sparse_table(kLeafWords * sizeof(Word)));
    if (made == nullptr) return nullptr;
    if (place.compare_exchange_strong(leaf, made, std::memory_order_acq_rel))
      leaf = made;
    else
      sys::raw_unmap(reinterpret_cast<std::uintptr_t>(made), kLeafWords * sizeof(Word));
  }
  return leaf != nullptr ? leaf + address / kPage % kLeafWords : nullptr;
}

// Four classes for each power of two.
static std::uint64_t class_of(std::size_t bytes) {
  const int log = 63 - __builtin_clzll(bytes | 4);
  return static_cast<std::uint64_t>(log) << 2 | (bytes >> (log - 2) & 3);
}

// The last trial may be larger than what is left: it is earned before the next one.
constexpr std::size_t kLargestTrial = std::size_t{32} << 20;
static bool pay(Budget& budget, std::size_t bytes) {
  if (budget.is_spent() && ++t_denials % kDenialsPerLook != 0) return false;
  return budget.pay(bytes);
}

static void earn(Budget& budget, std::int64_t bytes) {
  if (budget.left() < kMostSaved) budget.add(bytes);
}

static bool try_it(std::size_t bytes) {
  if (!g_joined.load(std::memory_order_relaxed)) return false;
  if (bytes >= kHugePage && huge_is_cheap()) return true;
  return bytes <= kLargestTrial && pay(g_trials, bytes);
}

constexpr int kClassBits = 8;
static std::uint64_t key_of(std::uintptr_t caller, std::size_t bytes) {
  return caller << (kClassBits + 1) | class_of(bytes) << 1 | 1;
}

// By reading code, which takes two system calls. kNoPlace: it can't be told; anonymous mmap has no caller.
static std::uint64_t place_of_site(std::size_t id) {
  std::atomic<std::uint64_t>& place = g_sent[id].place;
  std::uint64_t known = place.load(std::memory_order_relaxed);
  if (known != 0) return known;
  const std::uint64_t key = g_keys[id].load(std::memory_order_relaxed);
  if (key == 0) return kNoPlace;  // another thread's, not seen yet
  const std::uintptr_t caller = key >> (kClassBits + 1);
  if (caller != 0) known = place_of(caller, key >> 1 & ((1 << kClassBits) - 1));
  if (known == 0) known = kNoPlace;
  place.store(known, std::memory_order_relaxed);
  return known;
}

// A site that is met for the first time in this run.
static void introduce(std::size_t id) {
  if (!learned_anything() || !learned_to_send(place_of_site(id))) return;
  g_were_known[id].store(true, std::memory_order_relaxed);
  g_states[id].store(kKnown, std::memory_order_relaxed);
}

Site site_of(std::uintptr_t caller, std::size_t bytes, bool resized) {
  if (g_marks == nullptr || g_slot.private_now) return {};
  const std::uint64_t key = key_of(caller, bytes);
  std::size_t at = key * 0x9e3779b97f4a7c15ULL >> 52;
  for (int probe = 0; probe < kProbes; ++probe, at = (at + 1) % kSites) {
    std::uint64_t known = g_keys[at + 1].load(std::memory_order_relaxed);
    if (known == 0 && g_keys[at + 1].compare_exchange_strong(known, key, std::memory_order_relaxed)) {
      introduce(at + 1);
      known = key;
    }
    if (known != key) continue;
    const std::uint8_t state = g_states[at + 1].load(std::memory_order_relaxed);
    if (state == kSends || state == kKnown) return {at + 1, Site::shares};
    if (state == kPrivate) return {at + 1, Site::is_private};
    return {at + 1, !resized && try_it(bytes) ? Site::on_trial : Site::is_denied};
  }
  return {0, !resized && try_it(bytes) ? Site::on_trial : Site::is_denied};
}

void site_made(Site site, std::uintptr_t lo, std::size_t bytes) {
  if (site.id() == 0) return;
  if (Word* word = word_of(lo, true))
    word->store(((lo + bytes - 1) / kPage - lo / kPage + 1) << 16 | site.id(), std::memory_order_relaxed);
}

// Clears the marks of a block that is freed, or moved. True: a message had been in it.
static bool take_marks(std::uintptr_t lo, std::size_t bytes) {
  bool any = false;
  for (std::uintptr_t page = lo & ~(kPage - 1); page < lo + bytes; page += kPage) {
    any = any || (mark_of(page).load(std::memory_order_relaxed) & kInMessage) != 0;
    mark_of(page).store(kWasUsed, std::memory_order_relaxed);
  }
  return any;
}

void sites_emptied(std::uintptr_t lo, std::size_t bytes) {
  if (g_marks == nullptr) return;
  for (std::uintptr_t page = lo & ~(kPage - 1); page < lo + bytes; page += kPage)
    if (mark_of(page).load(std::memory_order_relaxed) != 0) mark_of(page).store(0, std::memory_order_relaxed);
}

bool is_new_memory(std::uintptr_t lo, std::size_t bytes) {
  return g_marks != nullptr && in_slot(lo, bytes) &&
         (mark_of(lo + bytes - 1).load(std::memory_order_relaxed) & kWasUsed) == 0;
}

bool site_affords(Site site, std::uintptr_t lo, std::size_t bytes) {
  if (site.how() != Site::shares || site.id() == 0 || g_marks == nullptr) return true;
  if (g_states[site.id()].load(std::memory_order_relaxed) == kKnown) return true;
  if (bytes >= kHugePage && huge_is_cheap()) return true;
  return (lo != 0 && !is_new_memory(lo, bytes)) || pay(g_new_pages, bytes);
}

// The site of the shared block that begins at `lo`, forgotten there; 0: none.
static std::uint16_t take_site(std::uintptr_t lo) {
  Word* word = g_marks != nullptr && in_slot(lo, 1) ? word_of(lo, false) : nullptr;
  if (word == nullptr) return 0;
  const auto id = static_cast<std::uint16_t>(word->load(std::memory_order_relaxed));
  if (id != 0) word->store(0, std::memory_order_relaxed);
  return id;
}

bool site_on_trial(std::uintptr_t lo) {
  const Word* word = g_marks != nullptr && in_slot(lo, 1) ? word_of(lo, false) : nullptr;
  const auto id = static_cast<std::uint16_t>(word != nullptr ? word->load(std::memory_order_relaxed) : 0);
  const std::uint8_t state = g_states[id].load(std::memory_order_relaxed);
  return id != 0 && state != kSends && state != kKnown;
}

bool site_freed(std::uintptr_t lo, std::size_t bytes) {
  const std::uint16_t id = take_site(lo);
  if (id == 0 || bytes == 0) return false;
  std::atomic<std::uint8_t>& state = g_states[id];
  if (take_marks(lo, bytes)) {
    g_messages.seen();
    state.store(kSends, std::memory_order_relaxed);
    return false;
  }
  for (const std::uint8_t from : {kOnTrial, kKnown}) {
    std::uint8_t expected = from;
    if (state.compare_exchange_strong(expected, kPrivate, std::memory_order_relaxed)) return true;
  }
  return false;
}

void site_moved(std::uintptr_t from, std::size_t bytes, std::uintptr_t to, std::size_t bytes_now) {
  const std::uint16_t id = take_site(from);
  if (id == 0 || bytes == 0) return;
  if (take_marks(from, bytes)) {
    g_messages.seen();
    g_states[id].store(kSends, std::memory_order_relaxed);
  }
  if (in_slot(to, 1)) site_made({id, Site::shares}, to, bytes_now);
}

// The private block that holds the page. Site 0: none that is known.
struct Found {
  std::uint16_t site = 0;
  std::uintptr_t first = 0;  // page
  std::uint64_t pages = 0;
};
static Found block_around(std::uintptr_t page) {
  for (std::size_t back = 0; back < kFarthestStart && back <= page; ++back) {
    const Word* word = word_of((page - back) * kPage, false);
    if (word == nullptr) return {};
    const std::uint64_t value = word->load(std::memory_order_relaxed);
    if (value == 0) continue;
    if (value >> 16 <= back) return {};
    return {static_cast<std::uint16_t>(value), page - back, value >> 16};
  }
  return {};
}

static void count_missed(const Found& found) {
  Sent& sent = g_sent[found.site];
  // Now, as the code may be gone when the process ends.
  if (learned_is_on()) place_of_site(found.site);
  if (sent.last_missed.exchange(found.first, std::memory_order_relaxed) != found.first)
    sent.missed_blocks.fetch_add(found.pages * kPage, std::memory_order_relaxed);
}

// A search that finds nothing (stacks, static data) takes up to 60 us: each makes the pause to the next
// longer.
void site_missed(std::uintptr_t lo, std::size_t bytes) {
  if (g_marks == nullptr) return;
  g_messages.seen();
  earn(g_trials, static_cast<std::int64_t>(bytes) / kMissedForTrial);
  earn(g_new_pages, static_cast<std::int64_t>(bytes) / kMissedForNewPage);
  const std::uintptr_t page = lo / kPage;
  std::atomic<std::uint64_t>& known = g_learned_pages[page % 64];
  const std::uint64_t word = known.load(std::memory_order_relaxed);
  if (word >> 16 == page) {
    if (const auto id = static_cast<std::uint16_t>(word); id != 0)
      g_sent[id].missed.fetch_add(bytes, std::memory_order_relaxed);
    return;
  }
  const unsigned pause = g_pause.load(std::memory_order_relaxed);
  if (pause > 0) return g_pause.store(pause - 1, std::memory_order_relaxed);
  const Found found = block_around(page);
  known.store(page << 16 | found.site, std::memory_order_relaxed);
  if (found.site != 0) {
    g_states[found.site].store(kSends, std::memory_order_relaxed);
    g_sent[found.site].missed.fetch_add(bytes, std::memory_order_relaxed);
    count_missed(found);
  }
  const unsigned next = found.site != 0 ? 1 : 2 * g_next_pause.load(std::memory_order_relaxed);
  g_next_pause.store(next < kLongestPause ? next : kLongestPause, std::memory_order_relaxed);
  if (found.site == 0) g_pause.store(next, std::memory_order_relaxed);
}

// Sharing a block costs its pages some hundred ns each, and saves a tenth of a ns for each byte that is sent:
// it pays for blocks that are sent some times.
constexpr std::uint64_t kSendsOfBlock = 5;

void sites_keep() {
  if (g_marks == nullptr || !learned_is_on() || g_slot.private_now || !g_joined.load()) return;
  std::uint64_t changed[512];
  std::size_t count = 0;
  for (std::size_t id = 1; id <= kSites && count < sizeof changed / sizeof *changed; ++id) {
    const std::uint8_t state = g_states[id].load(std::memory_order_relaxed);
    const bool known = g_were_known[id].load(std::memory_order_relaxed);
    if (known && state == kPrivate) changed[count++] = place_of_site(id);
    if (known || state != kSends) continue;  // nothing was missed of the others
    const std::uint64_t missed = g_sent[id].missed.load(std::memory_order_relaxed);
    const bool pays =
        missed > 0 && missed >= kSendsOfBlock * g_sent[id].missed_blocks.load(std::memory_order_relaxed);
    if (!pays) continue;
    if (const std::uint64_t place = place_of_site(id); place != kNoPlace) changed[count++] = place | 1;
  }
  learned_append(changed, count);
}

SiteCounts site_counts() {
  SiteCounts counts;
  for (std::size_t id = 1; id <= kSites; ++id) {
    if (g_keys[id].load(std::memory_order_relaxed) == 0) continue;
    const std::uint8_t state = g_states[id].load(std::memory_order_relaxed);
    ++counts.all;
    counts.send += state == kSends ? 1 : 0;
    counts.idle += state == kPrivate ? 1 : 0;
    counts.known += g_were_known[id].load(std::memory_order_relaxed) ? 1 : 0;
  }
  return counts;
}

}  // namespace nigh::space
