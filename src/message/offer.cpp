// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The sender's side of offers (offer_map.hpp draws them): a pool that only grows, offers that were staged and
// not yet received kept on a list of zombies, and a few buffers kept for the next staging, because fresh
// memory costs more than the copy that goes into it.
#include "message/offer.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <new>

#include "message/offer_map.hpp"

namespace nigh::message {

// Between threads of this rank only. Held for a few lines of bookkeeping.
class Offers::Lock {
 public:
  explicit Lock(Book& book) : book_(book) {
    while (book_.lock.exchange(1, std::memory_order_acquire) != 0) yield_cpu();
  }
  ~Lock() { book_.lock.store(0, std::memory_order_release); }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  Book& book_;
};

void Offers::count(std::uint64_t& counter, std::uint64_t by) {
  std::atomic_ref(counter).fetch_add(by, std::memory_order_relaxed);
}

Offers::Offers(space::Space& space, Waiter& waiter) : space_(space), waiter_(waiter) {
  if (!waiter.usable()) return;
  for (std::uint32_t i = 0; i < RankWords::offer_books && !book_; ++i) {
    atomic<void*>& part = waiter.front().offers[i];
    book_index_ = i;
    void* there = part.load(std::memory_order_acquire);
    if (there) {
      std::uint32_t unused = 0;
      auto* book = static_cast<Book*>(there);
      if (book->used.compare_exchange_strong(unused, 1, std::memory_order_acq_rel)) book_ = book;
      continue;
    }
    void* memory = space_.alloc(sizeof(Book), alignof(Book));
    if (!memory) return;
    auto* book = new (memory) Book;
    // Other generations than the last process at these addresses: a descriptor that strayed finds nothing.
    book->generation = static_cast<std::uint32_t>(now_ns() >> 10);
    if (part.compare_exchange_strong(there, book, std::memory_order_acq_rel))
      book_ = book;
    else
      space_.release(memory);
  }
}

Offers::~Offers() {
  if (!book_) return;
  {
    Lock lock(*book_);
    reclaim(1 << 30);
    while (drop_buffer()) {}
  }
  book_->used.store(0, std::memory_order_release);
}

bool Offers::grow() {
  const std::uint32_t b = book_->block_count.load(std::memory_order_relaxed);
  if (b == Book::blocks) return false;
  const std::uint32_t count = Book::first_block << b;
  auto* memory = static_cast<Offer*>(space_.alloc(count * sizeof(Offer), alignof(Offer)));
  if (!memory) return false;
  const std::uint32_t first = Book::first_block * ((1u << b) - 1);
  for (std::uint32_t i = count; i-- > 0;) {
    auto* offer = new (memory + i) Offer;
    offer->from = space_.rank();
    offer->name_low = book_index_ << 28 | (first + i);
    offer->next = book_->free;
    book_->free = offer;
  }
  book_->block[b].store(memory, std::memory_order_relaxed);
  book_->block_count.store(b + 1, std::memory_order_release);
  return true;
}

// The zombies whose receivers have come; looks at `most`, and puts the others behind.
void Offers::reclaim(int most) {
  Offer* waiting = nullptr;
  while (book_->zombies && most-- > 0) {
    Offer* offer = book_->zombies;
    book_->zombies = offer->next;
    if (state_of(offer->word.load(std::memory_order_acquire)) == OfferState::done) {
      recycle(offer);
    } else {
      offer->next = waiting;
      waiting = offer;
    }
  }
  if (!waiting) return;
  Offer** last = &book_->zombies;
  while (*last) last = &(*last)->next;
  *last = waiting;
}

void Offers::recycle(Offer* offer) {
  if (offer->copy) {
    book_->copied_bytes -= offer->copy_bytes;
    give_buffer(offer->copy, offer->copy_bytes);
  }
  offer->copy = nullptr;
  offer->zombie = false;
  const std::uint64_t word = offer->word.load(std::memory_order_relaxed);
  offer->word.store(word_of(generation_of(word), OfferState::free), std::memory_order_relaxed);
  offer->next = book_->free;
  book_->free = offer;
}

Offer* Offers::take_free() {
  Lock lock(*book_);
  if (book_->zombies) reclaim(8);
  if (!book_->free && !grow()) {
    reclaim(1 << 30);
    if (!book_->free) return nullptr;
  }
  Offer* offer = book_->free;
  book_->free = offer->next;
  offer->next = nullptr;
  return offer;
}

// The size of the buffer for a copy of `bytes`.
std::size_t Offers::buffer_bytes(std::size_t bytes) {
  const std::size_t smallest = std::size_t{1} << Book::smallest_buffer;
  return bytes > std::size_t{1} << Book::largest_buffer ? bytes : std::bit_ceil(std::max(bytes, smallest));
}

namespace {
Book::Shelf* shelf_of(Book& book, std::size_t buffer_bytes) {
  const int size = std::countr_zero(buffer_bytes);
  return std::has_single_bit(buffer_bytes) && size <= Book::largest_buffer
             ? &book.shelves[size - Book::smallest_buffer]
             : nullptr;
}
}  // namespace

void* Offers::take_buffer(std::size_t bytes) {
  const std::size_t size = buffer_bytes(bytes);
  {
    Lock lock(*book_);
    Book::Shelf* shelf = shelf_of(*book_, size);
    if (shelf && shelf->first) {
      void* buffer = shelf->first;
      std::memcpy(&shelf->first, buffer, sizeof shelf->first);
      shelf->used = book_->order;
      book_->kept_bytes -= size;
      return buffer;
    }
  }
  return space_.alloc(size, 64);
}

// Back to the heap: one of the size that was not asked for the longest time. False: there is none. Under the
// lock.
bool Offers::drop_buffer() {
  Book::Shelf* oldest = nullptr;
  for (Book::Shelf& shelf : book_->shelves)
    if (shelf.first && (!oldest || shelf.used < oldest->used)) oldest = &shelf;
  if (!oldest) return false;
  void* buffer = oldest->first;
  std::memcpy(&oldest->first, buffer, sizeof oldest->first);
  book_->kept_bytes -= std::size_t{1} << (Book::smallest_buffer + (oldest - book_->shelves));
  space_.release(buffer);
  return true;
}

// The buffer of a copy of so many bytes; it is kept if there is room. Under the lock.
void Offers::give_buffer(void* buffer, std::size_t bytes) {
  const std::size_t size = buffer_bytes(bytes);
  Book::Shelf* shelf = shelf_of(*book_, size);
  if (!shelf || size > tuning_.kept_bytes) return space_.release(buffer);
  shelf->used = book_->order;
  std::memcpy(buffer, &shelf->first, sizeof shelf->first);
  shelf->first = buffer;
  book_->kept_bytes += size;
  while (book_->kept_bytes > tuning_.kept_bytes) drop_buffer();
}

bool Offers::has_room(std::size_t bytes) {
  if (!book_) return false;
  Lock lock(*book_);
  if (book_->copied_bytes + bytes <= tuning_.most_copied) return true;
  reclaim(1 << 30);
  return book_->copied_bytes + bytes <= tuning_.most_copied;
}

Offer* Offers::fill(Offer* offer, const void* data, const Layout* layout, std::size_t bytes,
                    const Envelope& envelope) {
  offer->data = data;
  offer->bytes = bytes;
  offer->envelope = envelope;
  offer->has_layout = layout != nullptr;
  if (layout) offer->layout = *layout;
  note_message_written(*offer);
  offer->invite.store(0, std::memory_order_relaxed);
  offer->claims.store(0, std::memory_order_relaxed);
  offer->helped.store(0, std::memory_order_relaxed);
  offer->reserved.store(0, std::memory_order_relaxed);
  // Release: a prober that sees one of these also sees that the word is no longer the old one.
  offer->to_and_tag.store(pack_to_and_tag(envelope.to, envelope.tag), std::memory_order_release);
  offer->context.store(envelope.context, std::memory_order_release);
  return offer;
}

void Offers::publish(Offer* offer, std::uint64_t state) {
  std::uint32_t generation;
  {
    Lock lock(*book_);
    offer->order.store(++book_->order, std::memory_order_release);
    generation = ++book_->generation;
    if (generation == 0) generation = ++book_->generation;
  }
  offer->word.store(word_of(generation, static_cast<OfferState>(state)), std::memory_order_release);
  count(counts_.opened, 1);
}

Offer* Offers::open(const void* data, const Layout* layout, std::size_t bytes, const Envelope& envelope) {
  if (!book_) return nullptr;
  Offer* offer = take_free();
  if (!offer) return nullptr;
  publish(fill(offer, data, layout, bytes, envelope), static_cast<std::uint64_t>(OfferState::offered));
  return offer;
}

Offer* Offers::open_copy(const void* data, const Layout* layout, std::size_t bytes,
                         const Envelope& envelope) {
  if (!book_) return nullptr;
  Offer* offer = take_free();
  if (!offer) return nullptr;
  void* buffer = take_buffer(bytes);
  if (!buffer) {
    Lock lock(*book_);
    recycle(offer);
    return nullptr;
  }
  copy(buffer, nullptr, data, layout, 0, bytes);
  fill(offer, buffer, nullptr, bytes, envelope);
  offer->copy = buffer;
  note_write(&offer->copy, sizeof offer->copy);
  offer->copy_bytes = bytes;
  {
    Lock lock(*book_);
    book_->copied_bytes += bytes;
  }
  publish(offer, static_cast<std::uint64_t>(OfferState::staged));
  count(counts_.staged, 1);
  count(counts_.staged_bytes, bytes);
  return offer;
}

std::uint64_t Offers::name_of(const Offer* offer) {
  const std::uint64_t generation = generation_of(offer->word.load(std::memory_order_relaxed));
  return generation << 32 | offer->name_low;
}

bool Offers::released(const Offer* offer) {
  const OfferState state = state_of(offer->word.load(std::memory_order_acquire));
  return state == OfferState::staged || state == OfferState::done;
}

bool Offers::claimed(const Offer* offer) {
  return state_of(offer->word.load(std::memory_order_acquire)) == OfferState::claimed;
}

bool Offers::help(Offer* offer) {
  const std::uint64_t invite = offer->invite.load(std::memory_order_acquire);
  if (invite == 0 || waiter_.patience().crowded) return false;
  const std::uint64_t chunks = invite & 0xffffffff;
  const std::uint64_t taken = offer->claims.load(std::memory_order_relaxed);
  if ((taken & 0xffffffff) + (taken >> 32) >= chunks) return false;
  const std::int64_t mine = claim_back(*offer, chunks);
  if (mine < 0) return false;
  note_target_read(*offer);
  const std::size_t first = static_cast<std::size_t>(mine) * offer->chunk;
  const std::size_t bytes =
      offer->target_bytes - first < offer->chunk ? offer->target_bytes - first : offer->chunk;
  copy(static_cast<char*>(offer->target) + first, nullptr, static_cast<const char*>(offer->data) + first,
       nullptr, 0, bytes);
  offer->helped.fetch_add(1, std::memory_order_release);
  count(counts_.helped_bytes, bytes);
  return true;
}

// In pieces, since a receiver that comes meanwhile makes the rest needless.
bool Offers::copy_out(Offer* offer, void* buffer) {
  constexpr std::size_t piece = std::size_t{64} << 10;
  const Layout* layout = offer->has_layout ? &offer->layout : nullptr;
  for (std::size_t at = 0; at < offer->bytes; at += piece) {
    if (state_of(offer->word.load(std::memory_order_relaxed)) != OfferState::offered) return false;
    const std::size_t bytes = offer->bytes - at < piece ? offer->bytes - at : piece;
    copy(buffer, nullptr, offer->data, layout, at, bytes);
  }
  return true;
}

bool Offers::stage(Offer* offer) {
  const std::uint64_t word = offer->word.load(std::memory_order_relaxed);
  if (state_of(word) != OfferState::offered) return true;
  void* buffer = take_buffer(offer->bytes);
  if (!buffer) return false;
  if (copy_out(offer, buffer)) {
    offer->copy = buffer;
    note_write(&offer->copy, sizeof offer->copy);
    offer->copy_bytes = offer->bytes;
    if (move_on(*offer, generation_of(word), OfferState::staged)) {
      count(counts_.staged, 1);
      count(counts_.staged_bytes, offer->bytes);
      Lock lock(*book_);
      book_->copied_bytes += offer->copy_bytes;
      return true;
    }
    offer->copy = nullptr;
  }
  Lock lock(*book_);
  give_buffer(buffer, offer->bytes);
  return true;
}

void Offers::finish(Offer* offer) {
  // About as long as the copy takes, and what it takes to notice the message.
  const std::int64_t limit = now_ns() + 3000 + static_cast<std::int64_t>(offer->bytes / 16);
  const bool crowded = waiter_.patience().crowded;
  for (int looks = 0; !released(offer) && !claimed(offer); ++looks) {
    if (crowded)
      yield_cpu();
    else
      pause_cpu();
    if ((crowded ? looks >= 4 : looks % 64 == 63) && now_ns() > limit) {
      stage(offer);
      break;
    }
  }
  const auto ready = [&] {
    help(offer);
    return released(offer);
  };
  if (waiter_.until(ready, offer->envelope.to) == Waited::ready) return;
  const std::uint64_t word = offer->word.load(std::memory_order_relaxed);
  offer->word.store(word_of(generation_of(word), OfferState::done), std::memory_order_relaxed);
}

void Offers::close(Offer* offer) {
  Lock lock(*book_);
  if (state_of(offer->word.load(std::memory_order_acquire)) == OfferState::done) return recycle(offer);
  offer->zombie = true;
  offer->next = book_->zombies;
  book_->zombies = offer;
}

void Offers::withdraw(Offer* offer) {
  const std::uint32_t generation = generation_of(offer->word.load(std::memory_order_relaxed));
  if (!move_on(*offer, generation, OfferState::done) &&
      state_of(offer->word.load(std::memory_order_acquire)) == OfferState::staged)
    offer->word.store(word_of(generation, OfferState::done), std::memory_order_relaxed);
  close(offer);
}

}  // namespace nigh::message
