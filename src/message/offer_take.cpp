// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The receiver's side of offers (offer_map.hpp draws them). What comes from a peer is believed only where it
// can be checked: a name leads to an offer only if that slot exists, has that generation and is meant for us.
#include <bit>

#include "message/offer.hpp"
#include "message/offer_map.hpp"

namespace nigh::message {
namespace {

Book* book_of(RankWords* front, std::uint32_t index) {
  if (!front || index >= RankWords::offer_books) return nullptr;
  return static_cast<Book*>(front->offers[index].load(std::memory_order_acquire));
}

bool open_for_receivers(std::uint64_t word) {
  return state_of(word) == OfferState::offered || state_of(word) == OfferState::staged;
}

}  // namespace

Offer* Offers::find(int from, std::uint64_t name) {
  const auto low = static_cast<std::uint32_t>(name);
  Book* book = book_of(waiter_.front_of(from), low >> 28);
  if (!book) return nullptr;
  const std::uint32_t slot = low & 0x0fffffff;
  const auto block = static_cast<std::uint32_t>(std::bit_width(slot / Book::first_block + 1)) - 1;
  if (block >= book->block_count.load(std::memory_order_acquire) || block >= Book::blocks) return nullptr;
  Offer* offer =
      book->block[block].load(std::memory_order_relaxed) + (slot - Book::first_block * ((1u << block) - 1));
  const std::uint64_t word = offer->word.load(std::memory_order_acquire);
  if (generation_of(word) != name >> 32 || !open_for_receivers(word)) return nullptr;
  const auto to = static_cast<std::int32_t>(offer->to_and_tag.load(std::memory_order_relaxed) >> 32);
  return to == space_.rank() ? offer : nullptr;
}

std::size_t Offers::bytes_of(const Offer* offer) { return offer->bytes; }

const Envelope& Offers::envelope_of(const Offer* offer) { return offer->envelope; }

void Offers::reserve(Offer* offer) { offer->reserved.store(1, std::memory_order_release); }

bool Offers::reserved(const Offer* offer) { return offer->reserved.load(std::memory_order_acquire) != 0; }

bool Offers::taken(const Offer* offer) {
  return state_of(offer->word.load(std::memory_order_acquire)) == OfferState::done;
}

Offer* Offers::oldest(int from, std::uint64_t context, std::int32_t tag) {
  const std::uint64_t wanted = pack_to_and_tag(space_.rank(), tag);
  RankWords* front = waiter_.front_of(from);
  Offer* best = nullptr;
  std::uint64_t best_order = 0;
  for (std::uint32_t i = 0; i < RankWords::offer_books; ++i) {
    Book* book = book_of(front, i);
    const std::uint32_t blocks = book ? book->block_count.load(std::memory_order_acquire) : 0;
    for (std::uint32_t slot = 0; slot < Book::first_block * ((1u << blocks) - 1); ++slot) {
      const auto b = static_cast<std::uint32_t>(std::bit_width(slot / Book::first_block + 1)) - 1;
      Offer& offer =
          book->block[b].load(std::memory_order_relaxed)[slot - Book::first_block * ((1u << b) - 1)];
      const std::uint64_t word = offer.word.load(std::memory_order_acquire);
      if (!open_for_receivers(word) || offer.reserved.load(std::memory_order_relaxed) != 0) continue;
      const std::uint64_t order = offer.order.load(std::memory_order_acquire);
      const bool mine = offer.to_and_tag.load(std::memory_order_acquire) == wanted &&
                        offer.context.load(std::memory_order_acquire) == context;
      // Still the same offer: what was read belongs together. Only offered -> staged may have come between.
      const std::uint64_t again = offer.word.load(std::memory_order_relaxed);
      if (!mine || generation_of(again) != generation_of(word) || !open_for_receivers(again)) continue;
      if (best && order >= best_order) continue;
      best = &offer;
      best_order = order;
    }
  }
  return best;
}

// Together with the sender: chunks from the front, while he may take some from the back.
void Offers::take_halves(Offer* offer, void* to, void* to_global, std::size_t bytes) {
  const std::size_t chunk = tuning_.chunk;
  const std::uint64_t chunks = (bytes + chunk - 1) / chunk;
  const std::uint64_t generation = generation_of(offer->word.load(std::memory_order_relaxed));
  offer->target = to_global;
  offer->target_bytes = bytes;
  offer->chunk = chunk;
  note_target_written(*offer);
  offer->invite.store(generation << 32 | chunks, std::memory_order_release);
  const auto take = [&](std::uint64_t i) {
    const std::size_t first = static_cast<std::size_t>(i) * chunk;
    copy(static_cast<char*>(to) + first, nullptr, static_cast<const char*>(offer->data) + first, nullptr, 0,
         bytes - first < chunk ? bytes - first : chunk);
  };
  std::uint64_t mine = 0;
  while (claim_front(*offer, chunks) >= 0) take(mine++);
  // The remaining chunks were claimed by the sender, which is at work on them unless it died there.
  const auto ready = [&] { return offer->helped.load(std::memory_order_acquire) == chunks - mine; };
  if (waiter_.until(ready, offer->from) == Waited::peer_dead)
    while (mine < chunks) take(mine++);
}

void Offers::take(Offer* offer, void* to, const Layout* to_layout, std::size_t capacity) {
  const std::uint64_t word = offer->word.load(std::memory_order_acquire);
  const std::uint32_t generation = generation_of(word);
  const int from = offer->from;
  note_message_read(*offer);
  const std::size_t bytes = offer->bytes < capacity ? offer->bytes : capacity;
  if (!open_for_receivers(word)) return;
  if (state_of(word) == OfferState::offered && move_on(*offer, generation, OfferState::claimed)) {
    const Layout* layout = offer->has_layout ? &offer->layout : nullptr;
    const bool plain = !layout && !to_layout && from != space_.rank() && !waiter_.patience().crowded;
    void* global = plain && bytes >= tuning_.halves_from ? space_.global(to, bytes) : nullptr;
    if (global)
      take_halves(offer, to, global, bytes);
    else
      copy(to, to_layout, offer->data, layout, 0, bytes);
  } else {
    note_read(&offer->copy, sizeof offer->copy);
    copy(to, to_layout, offer->copy, nullptr, 0, bytes);
  }
  offer->word.store(word_of(generation, OfferState::done), std::memory_order_release);
  waiter_.ring(from);
  count(counts_.taken, 1);
  count(counts_.taken_bytes, bytes);
}

int Offers::open_offers() const {
  int open = 0;
  for (std::uint32_t b = 0; book_ && b < book_->block_count.load(std::memory_order_relaxed); ++b)
    for (std::uint32_t i = 0; i < Book::first_block << b; ++i)
      open +=
          state_of(book_->block[b].load(std::memory_order_relaxed)[i].word.load(std::memory_order_relaxed)) !=
          OfferState::free;
  return open;
}

// Every slot is free, a zombie or open; the lists hold each once and nothing else.
bool Offers::validate() const {
  if (!book_) return true;
  std::uint32_t slots = 0, free = 0, zombies = 0;
  const std::uint32_t blocks = book_->block_count.load(std::memory_order_relaxed);
  for (std::uint32_t b = 0; b < blocks; ++b)
    for (std::uint32_t i = 0; i < Book::first_block << b; ++i, ++slots) {
      const Offer& offer = book_->block[b].load(std::memory_order_relaxed)[i];
      if ((offer.name_low & 0x0fffffff) != slots || offer.name_low >> 28 != book_index_) return false;
      if (offer.from != space_.rank()) return false;
      if (state_of(offer.word.load(std::memory_order_relaxed)) > OfferState::done) return false;
    }
  for (Offer* offer = book_->free; offer; offer = offer->next)
    if (++free > slots || offer->copy ||
        state_of(offer->word.load(std::memory_order_relaxed)) != OfferState::free)
      return false;
  for (Offer* offer = book_->zombies; offer; offer = offer->next)
    if (++zombies > slots || !offer->zombie || !released(offer)) return false;
  return free + zombies <= slots;
}

}  // namespace nigh::message
