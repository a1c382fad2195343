// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The queues that are compared. Peers are used as their documents recommend for many producers and one
// consumer, with tokens and in bulk where they offer that; bounded ones have room for all that a batch
// pushes.
#include "queues.hpp"

#include "dpdk_ring.hpp"
#include "message/charm_queues.hpp"

#if __has_include(<concurrentqueue/moodycamel/concurrentqueue.h>)
#include <concurrentqueue/moodycamel/concurrentqueue.h>
#define HAVE_MOODYCAMEL 1
#elif __has_include(<concurrentqueue/concurrentqueue.h>)
#include <concurrentqueue/concurrentqueue.h>
#define HAVE_MOODYCAMEL 1
#endif
#if __has_include(<boost/lockfree/queue.hpp>)
#include <boost/lockfree/queue.hpp>
#define HAVE_BOOST 1
#endif
#if __has_include(<tbb/concurrent_queue.h>)
#include <tbb/concurrent_queue.h>
#define HAVE_TBB 1
#endif
#if __has_include(<urcu/wfcqueue.h>)
#include <urcu/wfcqueue.h>
#define HAVE_URCU 1
#endif

namespace bench {

namespace {

namespace message = nigh::message;

template <class Kind>
class Ours {
 public:
  explicit Ours(std::uint32_t producers) : queue_(producers) {}
  void push(std::uint32_t producer, Item* item) { queue_.push(producer, &item->link); }
  void flush(std::uint32_t producer) { queue_.flush(producer); }
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    return queue_.take([&](message::Link* link) { deliver(reinterpret_cast<Item*>(link)); });
  }

 private:
  Kind queue_;
};

#ifdef HAVE_MOODYCAMEL
class Moodycamel {
 public:
  explicit Moodycamel(std::uint32_t producers) : queue_(producers * items) {}
  void push(std::uint32_t, Item* item) { queue_.enqueue(item); }
  void flush(std::uint32_t) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    Item* item = nullptr;
    if (!queue_.try_dequeue(item)) return 0;
    deliver(item);
    return 1;
  }

 private:
  moodycamel::ConcurrentQueue<Item*> queue_;
};

// A token for each end, 32 at a time.
class MoodycamelBulk {
 public:
  explicit MoodycamelBulk(std::uint32_t producers) : queue_(producers * items), consumer_(queue_) {
    for (std::uint32_t p = 0; p < producers; ++p) ends_.push_back(std::make_unique<End>(queue_));
  }
  void push(std::uint32_t producer, Item* item) {
    End& end = *ends_[producer];
    end.batch[end.count++] = item;
    if (end.count == end.batch.size()) flush(producer);
  }
  void flush(std::uint32_t producer) {
    End& end = *ends_[producer];
    if (end.count > 0) queue_.enqueue_bulk(end.token, end.batch.begin(), end.count);
    end.count = 0;
  }
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    std::array<Item*, 32> got;
    const std::size_t count = queue_.try_dequeue_bulk(consumer_, got.begin(), got.size());
    for (std::size_t i = 0; i < count; ++i) deliver(got[i]);
    return count;
  }

 private:
  struct alignas(128) End {
    explicit End(moodycamel::ConcurrentQueue<Item*>& queue) : token(queue) {}
    moodycamel::ProducerToken token;
    std::array<Item*, 32> batch{};
    std::size_t count = 0;
  };
  moodycamel::ConcurrentQueue<Item*> queue_;
  moodycamel::ConsumerToken consumer_;
  std::vector<std::unique_ptr<End>> ends_;
};
#endif

#ifdef HAVE_BOOST
class BoostLockfree {
 public:
  explicit BoostLockfree(std::uint32_t producers) : queue_(producers * items) {}
  void push(std::uint32_t, Item* item) {
    while (!queue_.push(item)) std::this_thread::yield();
  }
  void flush(std::uint32_t) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    return queue_.consume_all(deliver);
  }

 private:
  boost::lockfree::queue<Item*> queue_;
};
#endif

#ifdef HAVE_TBB
class Tbb {
 public:
  explicit Tbb(std::uint32_t) {}
  void push(std::uint32_t, Item* item) { queue_.push(item); }
  void flush(std::uint32_t) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    Item* item = nullptr;
    if (!queue_.try_pop(item)) return 0;
    deliver(item);
    return 1;
  }

 private:
  tbb::concurrent_queue<Item*> queue_;
};
#endif

#ifdef HAVE_URCU
// Wait-free enqueue, everything taken at once (splice), as its authors recommend for one consumer. Its node
// lies in the first bytes of a message, where ours has its link.
class Urcu {
 public:
  explicit Urcu(std::uint32_t) {
    cds_wfcq_init(&head_, &tail_);
    __cds_wfcq_init(&mine_, &mine_tail_);
  }
  ~Urcu() { cds_wfcq_destroy(&head_, &tail_); }
  void push(std::uint32_t, Item* item) {
    auto* node = reinterpret_cast<cds_wfcq_node*>(&item->link);
    cds_wfcq_node_init(node);
    cds_wfcq_enqueue(cds_wfcq_head_cast(&head_), &tail_, node);
  }
  void flush(std::uint32_t) {}
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    __cds_wfcq_splice_blocking(__cds_wfcq_head_cast(&mine_), &mine_tail_, cds_wfcq_head_cast(&head_), &tail_);
    std::size_t count = 0;
    for (cds_wfcq_node* node = nullptr;
         (node = __cds_wfcq_dequeue_blocking(__cds_wfcq_head_cast(&mine_), &mine_tail_)); ++count)
      deliver(reinterpret_cast<Item*>(node));
    return count;
  }

 private:
  alignas(128) cds_wfcq_head head_;
  alignas(128) cds_wfcq_tail tail_;
  alignas(128) __cds_wfcq_head mine_;
  cds_wfcq_tail mine_tail_;
};
#endif

// 32 at a time, as moodycamel's bulk mode.
class DpdkStyle {
 public:
  explicit DpdkStyle(std::uint32_t producers)
      : ring_(producers * static_cast<std::uint32_t>(items)), ends_(producers) {}
  void push(std::uint32_t producer, Item* item) {
    End& end = ends_[producer];
    end.batch[end.count++] = item;
    if (end.count == end.batch.size()) flush(producer);
  }
  void flush(std::uint32_t producer) {
    End& end = ends_[producer];
    while (end.count > 0 && !ring_.enqueue_bulk(end.batch.data(), end.count)) std::this_thread::yield();
    end.count = 0;
  }
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    std::array<Item*, 32> got;
    const std::uint32_t count = ring_.dequeue_burst(got.data(), got.size());
    for (std::uint32_t i = 0; i < count; ++i) deliver(got[i]);
    return count;
  }

 private:
  struct alignas(128) End {
    std::array<Item*, 32> batch{};
    std::uint32_t count = 0;
  };
  DpdkRing<Item*> ring_;
  std::vector<End> ends_;
};

// For the test of the verification: each producer's first two messages come in the wrong order.
class Swaps {
 public:
  explicit Swaps(std::uint32_t producers) : queue_(producers), first_(producers, nullptr) {}
  void push(std::uint32_t producer, Item* item) {
    if (item->number == 0) {
      first_[producer] = item;
      return;
    }
    queue_.push(producer, &item->link);
    if (item->number == 1) queue_.push(producer, &first_[producer]->link);
  }
  void flush(std::uint32_t producer) { queue_.flush(producer); }
  template <class Deliver>
  std::size_t take(Deliver&& deliver) {
    return queue_.take([&](message::Link* link) { deliver(reinterpret_cast<Item*>(link)); });
  }

 private:
  message::LockedQueue queue_;
  std::vector<Item*> first_;
};

template <class Kind>
Subject there(const char* name) {
  return {name, [](int producers) { return std::make_unique<Adapted<Kind>>(producers); }, ""};
}
[[maybe_unused]] Subject absent(const char* name, const char* package) { return {name, nullptr, package}; }

}  // namespace

const std::vector<Subject>& subjects() {
  static const std::vector<Subject> all = {
      there<Ours<message::LaneQueue>>("nigh"),
      there<Ours<message::LockedQueue>>("lock"),
      there<Ours<message::FencedQueue>>("fence"),
      there<Ours<message::ProducerQueues>>("per-producer"),
#ifdef HAVE_MOODYCAMEL
      there<Moodycamel>("moodycamel"),
      there<MoodycamelBulk>("moodycamel-bulk"),
#else
      absent("moodycamel", "libconcurrentqueue-dev"),
      absent("moodycamel-bulk", "libconcurrentqueue-dev"),
#endif
#ifdef HAVE_BOOST
      there<BoostLockfree>("boost-lockfree"),
#else
      absent("boost-lockfree", "libboost-dev"),
#endif
#ifdef HAVE_TBB
      there<Tbb>("tbb"),
#else
      absent("tbb", "libtbb-dev"),
#endif
#ifdef HAVE_URCU
      there<Urcu>("liburcu"),
#else
      absent("liburcu", "liburcu-dev"),
#endif
      there<DpdkStyle>("dpdk-style"),
      there<Swaps>("swaps"),
  };
  return all;
}

}  // namespace bench
