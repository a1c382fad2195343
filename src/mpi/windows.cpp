// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Windows from their making to their end. The library makes each; its memory and its card are ours where they
// can be. What peers do to a window of this rank may need the library's progress here at any moment (passive
// targets: MPI-4.0, 12.5), and while this rank waits in one of our functions only we can give it.
#include <algorithm>
#include <cstring>
#include <mutex>
#include <new>

#include "mpi/comm_members.hpp"
#include "mpi/directory.hpp"
#include "mpi/half.hpp"
#include "mpi/ours.hpp"
#include "mpi/window.hpp"

namespace nigh::mpi {

std::atomic<Window*> g_window_cache[window_cache_size];

namespace {

std::mutex counting;
int windows = 0;

void count_windows(int more) {
  const std::lock_guard guard(counting);
  windows += more;
  if (process().waiter) process().waiter->attend(windows > 0);
}

// --- the book ---

struct Book {
  std::mutex lock;
  Window* windows = nullptr;
  Window* spare = nullptr;
  std::vector<Card*> cards;  // that no window has
  int keyval = MPI_KEYVAL_INVALID;
  bool covered = false;
};
Book& book() {
  static auto* made = new Book;  // never destroyed: callbacks come until the very end
  return *made;
}

Window g_none;                                             // its handle, 0, is no window's
std::atomic<std::uintptr_t> g_unknown[window_cache_size];  // handles that we know nothing of

// The handle is gone. All else stays until the library has heard that of all members.
int on_delete(MPI_Win, int, void* value, void*) {
  auto* window = static_cast<Window*>(value);
  Book& all = book();
  const std::lock_guard guard(all.lock);
  auto& entry = g_window_cache[comm_cache_index(window->handle.exchange(0))];
  if (entry.load(std::memory_order_relaxed) == window) entry.store(&g_none, std::memory_order_release);
  for (Window** at = &all.windows; *at; at = &(*at)->next)
    if (*at == window) {
      *at = window->next;
      break;
    }
  return MPI_SUCCESS;
}

bool enter(Window& window) {
  Book& all = book();
  if (real().Win_set_attr(window.win, all.keyval, &window) != MPI_SUCCESS) return false;
  const auto bits = handle_bits(window.win);
  const std::lock_guard guard(all.lock);
  window.next = all.windows;
  all.windows = &window;
  window.handle.store(bits, std::memory_order_release);
  g_unknown[comm_cache_index(bits)].store(0, std::memory_order_release);
  if (!all.covered) cover(Part::rma, true);
  all.covered = true;
  return true;
}

// --- cards ---

Card* new_card(std::size_t members) {
  {
    Book& all = book();
    const std::lock_guard guard(all.lock);
    for (Card*& card : all.cards) {
      if (card->capacity < members) continue;
      Card* found = card;
      card = all.cards.back();
      all.cards.pop_back();
      return found;
    }
  }
  const std::size_t bytes = sizeof(Card) + members * sizeof(message::atomic<std::uint64_t>);
  void* memory = process().space->alloc(bytes, alignof(Card));
  if (!memory) return nullptr;
  Card* card = new (memory) Card;
  card->capacity = members;
  return card;
}

void clean(Card& card) {
  card.lock.store(0, std::memory_order_relaxed);
  card.holders.store(0, std::memory_order_relaxed);
  card.waiting.store(0, std::memory_order_relaxed);
  card.fences.store(0, std::memory_order_relaxed);
  for (auto& guard : card.guards) guard.held.store(0, std::memory_order_relaxed);
  for (std::size_t i = 0; i < card.capacity; ++i) new (&card.posts()[i]) message::atomic<std::uint64_t>(0);
  card.base = nullptr;
  card.bytes = 0;
  card.unit = 1;
  card.shared = false;
}

// --- making ---

struct Memory {
  void* base = nullptr;
  MPI_Aint bytes = 0, unit = 1;
};

// Members that this rank may reach by their windows; true: all members reach each other so.
bool find_seats(const CommState& comm, std::vector<int>& seats) {
  const Process& me = process();
  bool all = true;
  for (const int world : comm.world) {
    const int seat = me.space_of_world[static_cast<std::size_t>(world)];
    const bool reached = me.reaches(seat, Part::rma);
    seats.push_back(reached ? seat : -1);
    all = all && reached;
  }
  return all && me.space->all_reachable(seats.data(), static_cast<int>(seats.size()));
}

void expose(Card& card, const Memory& memory) {
  const auto bytes = static_cast<std::size_t>(std::max<MPI_Aint>(memory.bytes, 0));
  void* there = bytes == 0 ? nullptr : process().space->global(memory.base, bytes);
  card.base = static_cast<char*>(there);
  card.bytes = bytes;
  card.unit = static_cast<std::size_t>(std::max<MPI_Aint>(memory.unit, 1));
  card.shared = there != nullptr || bytes == 0;
}

// The others would wait for this rank, or hold locks that it knows nothing of.
void no_memory() {
  say("no memory for a window");
  real().Abort(MPI_COMM_WORLD, MPI_ERR_NO_MEM);
}

// False: the window is the library's, on all members alike but for those that NIGH_MPI_RMA keeps out.
bool can_begin(const CommState* comm) {
  return comm && !comm->inter && comm->size >= 2 && process().on(Part::rma);
}
// Before the library makes the window: peers may look this rank's card up from now on.
Window* begin(CommState& comm, const Memory& memory, bool by_library) {
  const bool sound = memory.bytes >= 0 && memory.unit > 0;  // else the library is to say so, if it minds
  Book& all = book();
  Window* window = nullptr;
  {
    const std::lock_guard guard(all.lock);
    window = all.spare;
    if (window) all.spare = window->next;
  }
  if (!window) window = new Window;
  window->rank = comm.rank;
  window->size = comm.size;
  window->context = mix(mix(comm.context, ++comm.windows), 0x77696e646f77) | 1;
  window->together = find_seats(comm, window->seats);
  window->targets.reset(new Target[static_cast<std::size_t>(comm.size)]);
  window->card = sound ? new_card(static_cast<std::size_t>(comm.size)) : nullptr;
  if (window->card) {
    clean(*window->card);
    expose(*window->card, memory);
    window->card->shared = window->card->shared || by_library;
  }
  if (!tell(window->context, window->card)) no_memory();
  return window;
}

// Nobody looks at it any more.
void drop(Window* window) {
  forget(window->context);
  if (window->memory) process().space->release(window->memory);
  window->memory = nullptr;
  if (window->group != MPI_GROUP_NULL) real().Group_free(&window->group);
  window->access.store(Access::none);
  window->locks.store(0);
  window->told.store(false);
  window->pending.store(false);
  window->fences = 0;
  window->seats.clear();
  window->targets.reset();
  window->allocated = false;
  Book& all = book();
  const std::lock_guard guard(all.lock);
  if (window->card) all.cards.push_back(window->card);
  window->card = nullptr;
  window->next = all.spare;
  all.spare = window;
}

void undo(CommState& comm, Window* window) {
  --comm.windows;
  drop(window);
}

// The member's card. nullptr: it has none, or (not all members reach each other) has not shown one.
Card* card_of(const Window& window, int member, bool wait) {
  const int seat = window.seats[static_cast<std::size_t>(member)];
  if (seat < 0) return nullptr;
  const auto& page = *static_cast<const Page*>(process().space->root(seat, space::Root::mpi));
  void* card = nullptr;
  const auto said = [&] {
    return heard(page, window.context, card) || page.aside.load(std::memory_order_acquire) != 0;
  };
  if (wait)
    process().waiter->until(said, seat);
  else
    said();
  return static_cast<Card*>(card);
}

// The library has made it, so all members have shown their cards.
void finish(Window& window, MPI_Win win, const Memory& own, bool by_library) {
  window.win = win;
  for (int i = 0; i < window.size; ++i) {
    Target& target = window.targets[static_cast<std::size_t>(i)];
    target.card = i == window.rank ? window.card : card_of(window, i, window.together);
    window.together = window.together && target.card;
    if (!target.card) continue;
    target.bytes = target.card->bytes;
    target.unit = target.card->unit;
    if (target.card->shared)
      target.base = i == window.rank ? static_cast<char*>(own.base) : target.card->base;
    MPI_Aint bytes = 0;
    int unit = 0;
    void* base = nullptr;
    if (by_library &&
        real().Win_shared_query(win, i, &bytes, &unit, static_cast<void*>(&base)) == MPI_SUCCESS) {
      target.bytes = static_cast<std::size_t>(bytes);
      target.unit = static_cast<std::size_t>(unit);
      target.base = static_cast<char*>(base);
    }
    target.accumulates = by_library ? base != nullptr : target.card->shared;
  }
  for (int i = 0; i < window.size && !window.together; ++i)
    window.targets[static_cast<std::size_t>(i)].accumulates = false;
  if (!enter(window)) no_memory();
}

// Before the call: a peer may be done with it, and begin its transfers, before this rank is.
template <class Call>
int make(MPI_Comm comm, const Memory& memory, bool shared, MPI_Win* win, Call&& call) {
  const Away away;
  count_windows(1);
  CommState* state = comm_state(comm);
  Window* window = can_begin(state) ? begin(*state, memory, shared) : nullptr;
  const auto failed = [&] {
    count_windows(-1);
    if (window) undo(*state, window);
  };
  const Settled held([&](int) { failed(); });
  const int error = call();
  if (held.settled()) return error;
  if (error != MPI_SUCCESS)
    failed();
  else if (window)
    finish(*window, *win, memory, shared);
  return error;
}

template <class Call>
int make_unknown(Call&& call) {
  const Away away;
  count_windows(1);
  const Settled counted([](int) { count_windows(-1); });
  const int error = call();
  if (error != MPI_SUCCESS && !counted.settled()) count_windows(-1);
  return error;
}

// True: all members have cards, and the memory that these show is shared. All of them come to the same answer
// before they call the library.
bool all_ready(const Window& window) {
  bool all = window.together;
  for (int i = 0; i < window.size && window.together; ++i) {
    const Card* card = i == window.rank ? window.card : card_of(window, i, true);
    all = card && card->shared && all;
  }
  return all;
}

// Asks for each member's memory on pages of its own, as MPI_Win_allocate lays it.
class SharedInfo {
 public:
  explicit SharedInfo(MPI_Info info) {
    const int error = info == MPI_INFO_NULL ? real().Info_create(&info_) : real().Info_dup(info, &info_);
    if (error == MPI_SUCCESS) real().Info_set(info_, "alloc_shared_noncontig", "true");
  }
  ~SharedInfo() {
    if (info_ != MPI_INFO_NULL) real().Info_free(&info_);
  }
  SharedInfo(const SharedInfo&) = delete;
  SharedInfo& operator=(const SharedInfo&) = delete;
  [[nodiscard]] MPI_Info get() const { return info_; }

 private:
  MPI_Info info_ = MPI_INFO_NULL;
};

// The errors of a communicator are ours to see.
class Returning {
 public:
  explicit Returning(MPI_Comm comm) : comm_(comm) {
    kept_ = real().Comm_get_errhandler(comm, &handler_) == MPI_SUCCESS;
    if (kept_) real().Comm_set_errhandler(comm, errors_return());
  }
  ~Returning() {
    if (!kept_) return;
    real().Comm_set_errhandler(comm_, handler_);
    real().Errhandler_free(&handler_);
  }
  Returning(const Returning&) = delete;
  Returning& operator=(const Returning&) = delete;

 private:
  MPI_Comm comm_;
  MPI_Errhandler handler_ = MPI_ERRHANDLER_NULL;
  bool kept_ = false;
};

// True: the windows of MPI_Win_allocate are those of MPI_Win_allocate_shared, so that one does for the
// other; else they are as those of MPI_Win_create. Seen in what they do with calls outside an epoch: Open MPI
// 4.1 and 5.0, MPICH 4.0 and 5.0, Intel MPI 2021.18.
bool find_whether_shared() {
  char text[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0, version = 0, subversion = 0;
  if (real().Get_library_version(text, &length) != MPI_SUCCESS ||
      real().Get_version(&version, &subversion) != MPI_SUCCESS)
    return false;
  if (is_openmpi()) return std::strstr(text, "Open MPI v4.") == nullptr;
  return version * 10 + subversion >= 41;
}
bool allocates_shared() {
  static const bool shared = find_whether_shared();
  return shared;
}

// MPI_Win_allocate by that of the other two which tells every member where the memory of the others lies,
// where all of them reach each other. If there is none (no room in /dev/shm), as without us.
template <class Shared, class Create, class Allocate>
int allocate(Memory memory, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win, Shared&& shared,
             Create&& create, Allocate&& by_library) {
  CommState* state = comm_state(comm);
  if (!can_begin(state)) return make_unknown(by_library);
  const bool by_shared = allocates_shared();
  if (!by_shared && win && base && memory.bytes > 0) {
    memory.base = new_block(static_cast<std::size_t>(memory.bytes), true);
  }
  Window* window = begin(*state, memory, by_shared);
  window->memory = memory.base;
  const Away away;
  bool made = false;
  if (all_ready(*window)) {
    const SharedInfo wanted(info);
    const Returning errors(comm);
    count_windows(1);
    made = (by_shared ? shared(wanted.get()) : create(memory.base)) == MPI_SUCCESS;
    if (!made) count_windows(-1);
  }
  if (made) {
    window->allocated = true;
    if (!by_shared) *static_cast<void**>(base) = memory.base;
    finish(*window, *win, memory, by_shared);
    return MPI_SUCCESS;
  }
  const Settled held([&](int) { undo(*state, window); });
  const int error = make_unknown(by_library);
  if (!held.settled()) undo(*state, window);  // not before: others may have had to look for the card
  return error;
}

void start() {
  windows = 0;
  for (auto& entry : g_window_cache) entry.store(&g_none, std::memory_order_relaxed);
  real().Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &book().keyval, nullptr);
}
void stop() { cover(Part::rma, false); }
const Hooks hooks(start, stop);

}  // namespace

Window* window_slow(MPI_Win win) {
  const auto bits = handle_bits(win);
  auto& unknown = g_unknown[comm_cache_index(bits)];
  if (unknown.load(std::memory_order_acquire) == bits) return nullptr;
  Book& all = book();
  const std::lock_guard guard(all.lock);
  for (Window* window = all.windows; window; window = window->next)
    if (window->handle.load(std::memory_order_relaxed) == bits) {
      g_window_cache[comm_cache_index(bits)].store(window, std::memory_order_release);
      return window;
    }
  unknown.store(bits, std::memory_order_release);
  return nullptr;
}

}  // namespace nigh::mpi

using namespace nigh::mpi;

int nigh_mpi_Win_create(void* base, MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return make(comm, {.base = base, .bytes = bytes, .unit = unit}, false, win,
              [&] { return real().Win_create(base, bytes, unit, info, comm, win); });
}

int nigh_mpi_Win_create_c(void* base, MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm,
                          MPI_Win* win) {
  return make(comm, {.base = base, .bytes = bytes, .unit = unit}, false, win,
              [&] { return real().Win_create_c(base, bytes, unit, info, comm, win); });
}

int nigh_mpi_Win_create_dynamic(MPI_Info info, MPI_Comm comm, MPI_Win* win) {
  return make_unknown([&] { return real().Win_create_dynamic(info, comm, win); });
}

int nigh_mpi_Win_allocate(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base, MPI_Win* win) {
  return allocate(
      {.bytes = bytes, .unit = unit}, info, comm, base, win,
      [&](MPI_Info wanted) { return real().Win_allocate_shared(bytes, unit, wanted, comm, base, win); },
      [&](void* memory) { return real().Win_create(memory, bytes, unit, info, comm, win); },
      [&] { return real().Win_allocate(bytes, unit, info, comm, base, win); });
}

int nigh_mpi_Win_allocate_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                            MPI_Win* win) {
  return allocate(
      {.bytes = bytes, .unit = unit}, info, comm, base, win,
      [&](MPI_Info wanted) { return real().Win_allocate_shared_c(bytes, unit, wanted, comm, base, win); },
      [&](void* memory) { return real().Win_create_c(memory, bytes, unit, info, comm, win); },
      [&] { return real().Win_allocate_c(bytes, unit, info, comm, base, win); });
}

int nigh_mpi_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void* base,
                                 MPI_Win* win) {
  return make(comm, {.bytes = bytes, .unit = unit}, true, win,
              [&] { return real().Win_allocate_shared(bytes, unit, info, comm, base, win); });
}

int nigh_mpi_Win_allocate_shared_c(MPI_Aint bytes, MPI_Aint unit, MPI_Info info, MPI_Comm comm, void* base,
                                   MPI_Win* win) {
  return make(comm, {.bytes = bytes, .unit = unit}, true, win,
              [&] { return real().Win_allocate_shared_c(bytes, unit, info, comm, base, win); });
}

int nigh_mpi_Win_free(MPI_Win* win) {
  Window* window = win ? window_of(*win) : nullptr;
  if (window) tell_library_all(*window);
  const Away away;
  const int error = real().Win_free(win);
  if (error != MPI_SUCCESS) return error;
  count_windows(-1);
  if (window) drop(window);
  return error;
}

int nigh_mpi_Win_get_attr(MPI_Win win, int keyval, void* value, int* found) {
  static int allocated = MPI_WIN_FLAVOR_ALLOCATE;
  const int error = real().Win_get_attr(win, keyval, value, found);
  if (keyval != MPI_WIN_CREATE_FLAVOR || error != MPI_SUCCESS || !*found) return error;
  const Window* window = window_of(win);
  if (window && window->allocated) *static_cast<int**>(value) = &allocated;
  return error;
}
