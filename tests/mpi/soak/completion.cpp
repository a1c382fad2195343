// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Completing what was started, by every call there is, over random subsets in random order, with null
// requests in between.
#include <algorithm>

#include "check.hpp"
#include "engine.hpp"

namespace soak {

void Engine::enlist(MPI_Request request, bool persistent, bool receives,
                    std::function<void(const MPI_Status*)> done) {
  auto pending = std::make_unique<Pending>();
  pending->request = request;
  pending->persistent = persistent;
  pending->receives = receives;
  pending->done = std::move(done);
  pending_.push_back(std::move(pending));
}

void Engine::finished(std::size_t index, const MPI_Status* status) {
  Pending& pending = *pending_[index];
  if (pending.persistent) {
    EXPECT(pending.request != MPI_REQUEST_NULL);
    MPI_OK(MPI_Request_free(&pending.request));
  }
  if (pending.request != MPI_REQUEST_NULL) fail("a completed request is not MPI_REQUEST_NULL");
  auto done = std::move(pending.done);
  pending.done = nullptr;
  done(pending.receives ? status : nullptr);
}

void Engine::sweep() {
  pending_.erase(std::remove_if(pending_.begin(), pending_.end(), [](const auto& p) { return !p->done; }),
                 pending_.end());
}

void Engine::test_some() {
  if (!pending_.empty()) complete_round(false);
}

void Engine::complete_all() {
  while (!pending_.empty()) complete_round(true);
}

// One call over a random subset. Waits only where all that is waited for will come: everything has been
// started by everybody who gets here.
bool Engine::complete_round(bool may_wait) {
  Rng& rng = local_;
  std::vector<std::size_t> chosen;
  bool everything = rng.percent(50);
  for (std::size_t i = 0; i < pending_.size(); ++i)
    if (everything || rng.percent(60)) chosen.push_back(i);
  if (chosen.empty())
    chosen.push_back(static_cast<std::size_t>(rng.below(static_cast<int>(pending_.size()))));
  for (std::size_t i = chosen.size(); i > 1; --i)
    std::swap(chosen[i - 1], chosen[rng.below(static_cast<int>(i))]);
  constexpr std::size_t nothing = ~std::size_t{0};
  if (rng.percent(20))
    chosen.insert(chosen.begin() + rng.below(static_cast<int>(chosen.size()) + 1), nothing);
  int n = static_cast<int>(chosen.size());
  std::vector<MPI_Request> requests(chosen.size(), MPI_REQUEST_NULL);
  for (int i = 0; i < n; ++i)
    if (chosen[i] != nothing) requests[i] = pending_[chosen[i]]->request;
  std::vector<MPI_Status> statuses(chosen.size(), fresh_status());
  std::vector<int> indices(chosen.size(), -1);
  std::vector<int> ended;  // index i ended, with statuses[at[i]]
  std::vector<int> at;
  int how = may_wait ? rng.below(9) : 4 + rng.below(5);
  static const char* const names[] = {"Waitall",  "Waitany", "Waitsome",
                                      "Wait",     "Testall", "Testany",
                                      "Testsome", "Test",    "Request_get_status"};
  operation("%s of %d requests", names[how], n);
  int flag = 0;
  int which = MPI_UNDEFINED;
  int many = 0;
  switch (how) {
    case 0:
      MPI_OK(MPI_Waitall(n, requests.data(), statuses.data()));
      flag = 1;
      break;
    case 1:
      MPI_OK(MPI_Waitany(n, requests.data(), &which, statuses.data()));
      EXPECT(which >= 0 && which < n);
      break;
    case 2:
      MPI_OK(MPI_Waitsome(n, requests.data(), &many, indices.data(), statuses.data()));
      EXPECT(many >= 1 && many <= n);
      break;
    case 3:
      for (int i = 0; i < n; ++i) MPI_OK(MPI_Wait(&requests[i], &statuses[i]));
      flag = 1;
      break;
    case 4: MPI_OK(MPI_Testall(n, requests.data(), &flag, statuses.data())); break;
    case 5:
      MPI_OK(MPI_Testany(n, requests.data(), &which, &flag, statuses.data()));
      if (!flag) which = MPI_UNDEFINED;
      flag = 0;
      break;
    case 6: MPI_OK(MPI_Testsome(n, requests.data(), &many, indices.data(), statuses.data())); break;
    case 7:
      for (int i = 0; i < n; ++i) {
        int one = 0;
        MPI_OK(MPI_Test(&requests[i], &one, &statuses[i]));
        if (one && chosen[i] != nothing) {
          ended.push_back(i);
          at.push_back(i);
        }
        if (chosen[i] == nothing) EXPECT(one == 1);
      }
      break;
    default: {
      which = rng.below(n);
      int one = 0;
      MPI_OK(MPI_Request_get_status(requests[which], &one, &statuses[0]));
      if (one) {  // it must still be there, and say the same again
        MPI_Status again = fresh_status();
        MPI_OK(MPI_Wait(&requests[which], &again));
        if (chosen[which] != nothing && pending_[chosen[which]]->receives)
          EXPECT(again.MPI_SOURCE == statuses[0].MPI_SOURCE && again.MPI_TAG == statuses[0].MPI_TAG);
        statuses[0] = again;
      } else {
        which = MPI_UNDEFINED;
      }
    }
  }
  if (flag)
    for (int i = 0; i < n; ++i) {
      ended.push_back(i);
      at.push_back(i);
    }
  if (which != MPI_UNDEFINED) {
    ended.push_back(which);
    at.push_back(0);
  }
  for (int i = 0; i < many && many != MPI_UNDEFINED; ++i) {
    ended.push_back(indices[i]);
    at.push_back(i);
  }
  for (int i = 0; i < n; ++i)
    if (chosen[i] != nothing) pending_[chosen[i]]->request = requests[i];
  bool any = false;
  for (std::size_t e = 0; e < ended.size(); ++e) {
    std::size_t index = chosen[ended[e]];
    if (index == nothing) {
      EXPECT(requests[ended[e]] == MPI_REQUEST_NULL);
      continue;
    }
    finished(index, &statuses[at[e]]);
    any = true;
  }
  sweep();
  return any;
}

}  // namespace soak
