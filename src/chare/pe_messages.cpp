// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// A PE's messages: to one element, to all and to some of an array, and how they go between processes.
#include <cstring>
#include <map>

#include "chare/pe.hpp"

namespace nigh::chare {

namespace {

struct alignas(16) Original {  // in front of the arguments of a message that was written out
  std::uint64_t bytes = 0;
};

// All but what is the new one's own.
void take_header(Header& to, const Header& from, unsigned flags) {
  if (Stamp::of(from.next).is_one()) to.next = from.next;
  to.array = from.array;
  to.element = from.element;
  to.priority = from.priority;
  to.flags = flags & 0x3f;
}

std::size_t bytes_of_numbers(std::size_t count) {
  return (count * sizeof(std::uint64_t) + 15) & ~std::size_t{15};
}

}  // namespace

void Pe::send(std::uint32_t pe, Header* message) {
  ++sent_;
  forward(pe, message);
}

void Pe::tell(std::uint32_t pe, Header* message) {
  ++sent_;
  pe == number_ ? enqueue(message) : forward(pe, message);
}

Header* Pe::copy(const Header* message, std::size_t arguments, std::size_t behind) {
  Header* const out = get(arguments + behind, message->entry);
  if (!out) return nullptr;
  take_header(*out, *message, message->flags & ~unsigned{to_some});
  const core::Entry* entry = !(message->flags & of_the_system) ? entries_.entries[message->entry] : nullptr;
  if (entry && entry->copy)
    entry->copy(message, out);
  else
    std::memcpy(static_cast<void*>(out + 1), message + 1, arguments - sizeof(Header));
  return out;
}

// The form of a message between processes: its size here, its bytes, and then the serialized parts of those
// arguments that are more than bytes.
std::size_t Pe::bytes_written(Header* message) const {
  return sizeof(Original) + message->bytes() +
         entries_.entries[message->entry]->write(message, nullptr, reach());
}

void Pe::write_into(Header* out, Header* message) {
  const Original original{message->bytes()};
  const std::size_t behind = message->bytes() - sizeof(Header);
  char* const at = reinterpret_cast<char*>(out + 1);
  std::memcpy(at, &original, sizeof original);
  std::memcpy(at + sizeof original, message + 1, behind);
  entries_.entries[message->entry]->write(message, at + sizeof original + behind, reach());
  take_header(*out, *message, message->flags | written_out);
}

Header* Pe::write_out(Header* message) {
  Header* out = nullptr;
  if (may_leave(message)) out = get(bytes_written(message), message->entry);
  if (out) write_into(out, message);
  drop(message);
  return out;
}

bool Pe::may_leave(const Header* message) {
  const core::Entry& entry = *entries_.entries[message->entry];
  if (entry.travel != core::Entry::Travel::never) return true;
  fail("an argument of " + name_of(entry) +
       " can't leave its process: give its type a serialize(), or run with --mode threads");
  return false;
}

std::size_t Pe::bytes_before(const Header* message) { return payload_of<Original>(message).bytes; }

Header* Pe::read_into(void* memory, Header* message) {
  const std::size_t bytes = bytes_before(message), behind = bytes - sizeof(Header);
  Header* const out = make(memory, bytes, message->entry);
  char* const at = reinterpret_cast<char*>(message + 1) + sizeof(Original);
  std::memcpy(static_cast<void*>(out + 1), at, behind);
  entries_.entries[message->entry]->read(at + behind, out, reach());
  take_header(*out, *message, message->flags & ~written_out);
  out->producer = message->producer;  // for the trace
  return out;
}

Header* Pe::read_in(Header* message) {
  Header* const memory = get(bytes_before(message), message->entry);
  return memory ? read_into(memory, message) : nullptr;
}

// In memory of the transport.
bool Pe::arrive_in_frame(Header* first) {
  if (stop_) {
    drop_arguments(first);
    return true;
  }
  const bool is_call = (first->flags & ~unsigned{written_out}) == 0;
  core::ElementBase* const element = is_call ? ready_for(first) : nullptr;
  if (first->flags & written_out) {
    alignas(64) char here[512];
    if (element && bytes_before(first) <= sizeof here) {
      run_here(element, read_into(here, first));
      return true;
    }
    Header* const message = read_in(first);
    if (message) arrive(message);
    return message != nullptr;
  }
  if (element) {
    run_here(element, first);
    return true;
  }
  Header* const own = gate_->copy(first);
  if (own) arrive(own);
  return own != nullptr;
}

Header* Pe::room_for(std::uint32_t pe, std::size_t bytes, std::uint16_t entry, bool& is_sent) {
  void* const room = gate_ && !stop_ ? gate_->room(pe, bytes) : nullptr;
  is_sent = room != nullptr;
  return room ? make(room, bytes, entry) : get(bytes, entry);
}

void Pe::finish_parcel(Header* out, const Address& to, bool is_sent) {
  out->flags |= parcel;
  std::memcpy(reinterpret_cast<char*>(out) + out->bytes() - sizeof to, &to, sizeof to);
  if (!is_sent)
    gate_ ? drive(out) : push(cluster_->driver(), out);
  else if (is_prompt_)
    gate_->flush();
}

void Pe::ship(std::uint32_t pe, Header* message) {
  const bool is_flat = (message->flags & (of_the_system | written_out)) ||
                       entries_.entries[message->entry]->travel == core::Entry::Travel::as_it_lies;
  if (!is_flat && !may_leave(message)) return drop(message);
  if (is_traced_) stamp(message);
  if (!is_flat && ship_attached(pe, message)) return;
  const std::size_t bytes = (is_flat ? message->bytes() : bytes_written(message)) + sizeof(Address);
  // A serialize() of the user's may throw, or send: not into a frame.
  const bool is_ours =
      is_flat || entries_.entries[message->entry]->travel == core::Entry::Travel::in_shared_memory;
  bool is_sent = false;
  Header* const out = is_ours ? room_for(pe, bytes, message->entry, is_sent) : get(bytes, message->entry);
  if (!out) return drop(message);
  if (is_flat) {
    std::memcpy(static_cast<void*>(out + 1), message + 1, message->bytes() - sizeof(Header));
    take_header(*out, *message, message->flags);
    pool_->give(message);
  } else {
    write_into(out, message);
    drop(message);
  }
  finish_parcel(out, {pe, 0}, is_sent);
}

// False: its buffers are small, or there is more to write.
bool Pe::ship_attached(std::uint32_t pe, Header* message) {
  const core::Entry& entry = *entries_.entries[message->entry];
  if (stop_ || message->flags != 0 || !entry.buffers || entry.travel != core::Entry::Travel::in_shared_memory)
    return false;
  const std::size_t all = entry.buffers(message, nullptr, nullptr);
  if (all > Header::most_bytes || !cluster_->transport->attaches(cluster_->process_of(pe), all)) return false;
  struct Found {
    const Header* message;
    std::vector<Attached> with, without;  // anything in them
  } found{message, {}, {}};
  entry.buffers(
      message,
      [](void* context, const void* place, void* data, std::size_t bytes) {
        auto& to = *static_cast<Found*>(context);
        const auto offset = static_cast<const char*>(place) - reinterpret_cast<const char*>(to.message);
        (bytes > 0 ? to.with : to.without)
            .push_back({data, static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(offset)});
      },
      &found);
  // Bytes in a frame are sure to go; the driver attaches the other parts when it is there.
  const std::size_t arguments = message->bytes();
  const bool is_framed =
      gate_ && !cluster_->transport->attaches(cluster_->process_of(pe), arguments + sizeof(Address));
  const Address to{pe, is_framed ? 0 : static_cast<std::uint32_t>(found.with.size())};
  const std::size_t listed = to.attached * sizeof(Attached), bytes = arguments + listed + sizeof to;
  if (is_framed)
    for (const Attached& one : found.with) gate_->attach(pe, one);
  bool is_sent = false;
  Header* const out = is_framed ? room_for(pe, bytes, message->entry, is_sent) : get(bytes, message->entry);
  if (!out) return drop(message), true;
  char* const at = reinterpret_cast<char*>(out);
  std::memcpy(at + sizeof *out, message + 1, arguments - sizeof *message);
  take_header(*out, *message, 0);
  for (const Attached& one : found.without) std::memset(at + one.offset, 0, sizeof one.data);
  if (listed > 0) std::memcpy(at + arguments, found.with.data(), listed);
  finish_parcel(out, to, is_sent);
  for (const Attached& one : found.without)
    if (one.data) pool_->give(one.data);
  pool_->give(message);  // what it pointed to is the parcel's
  return true;
}

// Once the job ends only that is told.
void Pe::drive(Header* out) {
  const bool ends = (out->flags & of_the_system) && static_cast<System>(out->entry) == System::stop;
  if (stop_ && !ends) return drop(out);
  gate_->send(out);
  if (is_prompt_) gate_->flush();
}

void Pe::spread(const Header* message) {
  const auto root = static_cast<std::uint32_t>(message->element);
  const std::uint32_t mine = (number_ + count_ - root) % count_;
  for (std::uint32_t i = 1; i <= tree_arity; ++i) {
    const std::uint32_t child = tree_arity * mine + i;
    if (child >= count_) break;
    if (Header* const next = copy(message, message->bytes())) send((child + root) % count_, next);
  }
}

void Pe::post_to_all(Header* message, ArrayId array) {
  message->element = number_;
  message->flags |= to_all;
  if (stop_) return drop(message);
  ++sent_;
  const Elements* const elements = this->elements(array);
  if (!elements) return stow({message, {}, true}, array);
  message->array = elements->array;
  enqueue(message);
}

// --- to some elements: one message for each PE that has any of them ---

void Pe::post_to_some(Header* message, ArrayId array, const Index* some, std::size_t count) {
  Elements* const elements = this->elements(array);
  if (elements) message->array = elements->array;
  std::map<std::uint32_t, std::vector<std::uint64_t>> of;  // each PE
  for (std::size_t i = 0; i < count && !stop_; ++i) {
    if (!elements) {  // one by one, when it is known where they are
      if (Header* const one = copy(message, message->bytes())) post(one, array, some[i]);
    } else if (const auto number = elements->number_of(some[i])) {
      of[elements->place(*number).pe].push_back(*number);
    } else {
      fail("there is no element " + text_of(some[i]) + " in an array of " + text_of(elements->shape));
    }
  }
  for (const auto& [pe, numbers] : of) {
    if (stop_) break;
    Header* const part = copy(message, message->bytes(), bytes_of_numbers(numbers.size()));
    if (!part) break;
    part->flags = to_some;
    part->element = numbers.size();
    std::memcpy(reinterpret_cast<char*>(part) + message->bytes(), numbers.data(),
                numbers.size() * sizeof(numbers[0]));
    tell(pe, part);
  }
  drop(message);
}

void Pe::on_some(Header* message) {
  Elements* const elements = this->elements(message->array);
  if (!elements || !elements->made) return early_[message->array].push_back(message);
  const std::size_t arguments = message->bytes() - bytes_of_numbers(message->element);
  for (std::size_t i = 0; i < message->element && !stop_; ++i) {
    std::uint64_t number = 0;
    std::memcpy(&number, reinterpret_cast<char*>(message) + arguments + i * sizeof number, sizeof number);
    if (core::ElementBase* const element = elements->place(number).element) {
      run_shared(element, message);
    } else if (Header* const one = copy(message, arguments)) {  // it isn't here, or not yet
      one->element = number;
      ++sent_;
      deliver(one);
    }
  }
  consume(message);
}

// Done with a message whose arguments are still in it.
void Pe::consume(Header* message) {
  ++done_;
  drop(message);
}

void Pe::drop(Header* message) {
  drop_arguments(message);
  pool_->give(message);
}

void Pe::drop_arguments(Header* message) {
  if ((message->flags & of_the_system) && static_cast<System>(message->entry) == System::element)
    balancer_.drop(message);
  if (message->flags & parcel) each_attached(message, [&](const Attached& one) { pool_->give(one.data); });
  if (!(message->flags & (of_the_system | written_out | parcel)))
    if (const auto destroy = entries_.entries[message->entry]->destroy) destroy(message);
}

void Pe::drop_messages() {
  inbox_->take(Arrivals{*this});
  while (own_first_) {
    Header* const message = own_first_;
    own_first_ = static_cast<Header*>(message->next);
    drop(message);
  }
  own_last_ = nullptr;
  for (; !ranked_.empty(); ranked_.pop()) drop(ranked_.top().message);
  for (auto& [array, messages] : early_)
    for (Header* message : messages) drop(message);
  early_.clear();
  for (auto& [array, messages] : strays_)
    for (const Early& early : messages) drop(early.message);
  strays_.clear();
  for (Header* message : balancer_.take_kept()) drop(message);
}

void Pe::no_memory(std::size_t bytes) {
  if (bytes > Header::most_bytes)
    return fail("PE " + std::to_string(number_) + ": a message of " + std::to_string(bytes) +
                " bytes is too large: put what is in it in a Buffer");
  fail("PE " + std::to_string(number_) + ": there is no memory for a message of " + std::to_string(bytes) +
       " bytes");
}

void Pe::on_all(Header* message) {
  const std::uint16_t array = message->array;
  if (message->flags & of_the_system) {
    spread(message);
    return on_system(message);
  }
  Elements* const elements = this->elements(array);
  const bool makes = (message->flags & constructor) != 0;
  if (!elements || (!elements->made && !makes)) return early_[array].push_back(message);
  if (!makes && elements->may_move() && message->element != 0) {  // all go by one tree: balancer.hpp
    message->element = 0;
    if (number_ != 0) return forward(0, message);
  }
  if (number_ == 0 && !makes && balancer_.keeps(message)) return;
  spread(message);
  if (makes) {
    make_elements(array, message);
  } else {
    for (std::size_t i = 0; i < elements->local().size() && !stop_; ++i)
      run_shared(elements->local()[i], message);
  }
  consume(message);
}

}  // namespace nigh::chare
