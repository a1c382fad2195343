// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Matching of receives and messages: the first posted receive whose source, tag and context fit, and the
// first message in order of arrival that fits a new receive, so that messages of one source and tag never
// overtake each other. A list for each source, and one for receives from anybody; numbers decide between two
// lists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "message/layout.hpp"

namespace nigh::message {

inline constexpr int any_source = -1;
inline constexpr int any_tag = -1;

// A message that came before its receive.
struct Unexpected {
  Unexpected* next = nullptr;
  std::uint64_t arrival = 0;
  int source = 0;
  std::int32_t tag = 0;
  std::uint32_t context = 0;
  bool is_offer = false;
  bool reusable = false;  // from the list of free small ones
  std::uint64_t offer_name = 0;
  std::size_t bytes = 0;  // of the message
  char* data = nullptr;   // of an eager one
};

struct Posted {
  Posted* next_posted = nullptr;
  std::uint64_t turn = 0;
  int source = any_source;
  std::int32_t tag = any_tag;
  std::uint32_t context = 0;
};

template <class Node, Node* Node::* next>
struct Queue {
  Node* first = nullptr;
  Node** last = &first;
  Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  void add(Node* node) {
    node->*next = nullptr;
    *last = node;
    last = &(node->*next);
  }
  void remove(Node** place) {
    Node* node = *place;
    *place = node->*next;
    if (last == &(node->*next)) last = place;
  }
  // The place of the first that fits, or nullptr.
  template <class Fits>
  Node** find(Fits&& fits) {
    for (Node** place = &first; *place; place = &((*place)->*next))
      if (fits(**place)) return place;
    return nullptr;
  }
};

class Matcher {
 public:
  explicit Matcher(int ranks);
  [[nodiscard]] bool usable() const { return posted_ && arrived_; }

  // True when a message of `source` can only be the next one in its channel, and no receive is before ours.
  [[nodiscard]] bool idle(int source) const {
    return !arrived_[source].first && !posted_[source].first && !from_anybody_.first;
  }

  void post(Posted* receive);
  void unpost(Posted* receive);
  // The receive for a message that just came; taken off its list. nullptr: none yet.
  Posted* take_posted(int source, std::int32_t tag, std::uint32_t context);

  void arrived(Unexpected* message);
  // The message for a receive; taken off its list if `remove`. nullptr: none yet.
  Unexpected* find(int source, std::int32_t tag, std::uint32_t context, bool remove);
  // Takes off any message that nobody received (the end).
  Unexpected* any();

 private:
  int ranks_;
  std::uint64_t turn_ = 0, arrival_ = 0;
  std::unique_ptr<Queue<Posted, &Posted::next_posted>[]> posted_;
  Queue<Posted, &Posted::next_posted> from_anybody_;
  std::unique_ptr<Queue<Unexpected, &Unexpected::next>[]> arrived_;
};

}  // namespace nigh::message
