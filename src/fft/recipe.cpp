// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// Steps, and the values that they hold; builder.cpp and mpi_pencils.cpp combine them.
#include <atomic>
#include <new>
#include <stdexcept>

#include "fft/builder.hpp"

namespace nigh::fft {

namespace {
// With fewer lines than half a vector's lanes most would idle; short rows that stay rows are turned for more
// than it brings.
bool suits_lanes(const Pass& pass) {
  constexpr std::size_t short_row = 128;
  const std::size_t element = bytes_of_complex(pass.transform.precision);
  const LaneSet* set = LanePlan::set_for(pass.transform);
  if (set == nullptr || 2 * pass.lines < lanes_of(*set, pass.transform.precision)) return false;
  return pass.transform.n >= short_row || !pass.from.together(element) || !pass.to.together(element);
}
}  // namespace

World& Recipe::world() { return *plan_.world_; }
int Recipe::threads() const { return plan_.team_.threads(); }
transpose::Team& Recipe::team() { return plan_.team_; }
void Recipe::step(Step step) { plan_.steps_.push_back(std::move(step)); }

// A failure here is a failure on this rank alone, and the others go on to their common calls.
template <class Make>
void Recipe::make(const Make& make) {
  try {
    make();
  } catch (const std::bad_alloc&) {
    failed_ = fail(Errc::io, "there is no memory for the factors of a transform");
  } catch (const std::exception& error) { failed_ = fail(Errc::io, error.what()); }
}

void Recipe::pass(Pass pass, const std::string& says) {
  make([&] { make_pass(std::move(pass), says); });
}

void Recipe::make_pass(Pass pass, const std::string& says) {
  std::string how;
  if (!pass.only_moves && local_.lanes && suits_lanes(pass)) pass.lanes = lane_plan(pass.transform);
  if (pass.lanes != nullptr) {
    how = " (" + std::to_string(pass.lanes->n1()) + " x " + std::to_string(pass.lanes->n2()) + ", " +
          pass.lanes->set().name + ")";
  } else if (!pass.only_moves) {
    pass.rows = row_plan(pass.transform);
  }
  const auto held = std::make_shared<const Pass>(std::move(pass));
  transpose::Team& team = plan_.team_;
  step({says + how, [held, &team]() -> Result<void> {
          std::atomic<bool> scarce = false;
          team.run([&](int thread) {
            try {
              run_part(*held, thread, team.threads());
            } catch (const std::bad_alloc&) { scarce = true; }
          });
          if (scarce) return fail(Errc::io, "there is no memory for a few rows");
          return {};
        }});
}

void Recipe::wait() {
  World& all = world();
  if (all.ranks() == 1) return;
  step({"",
        [&all]() -> Result<void> {
          all.wait();
          return {};
        },
        true});
}

// execute() ends with an agreement.
Result<void> Recipe::finish() {
  if (!plan_.steps_.empty() && plan_.steps_.back().waits) plan_.steps_.pop_back();
  return failed_;
}

void Recipe::rows(std::size_t n, Kind kind, std::size_t count, std::byte* from, std::byte* to) {
  const std::size_t element = bytes_of_complex(precision_);
  Pass rows;
  rows.transform = transform(n, kind);
  rows.lines = count;
  rows.from = {
      {{from, 0, n}}, kind == Kind::real_forward ? element / 2 : element, rows.transform.from_bytes(), 0, 0};
  rows.to = {
      {{to, 0, n}}, kind == Kind::real_backward ? element / 2 : element, rows.transform.to_bytes(), 0, 0};
  pass(std::move(rows), "rows of " + std::to_string(n) + (is_real(kind) ? " reals" : ""));
}

Result<std::byte*> Recipe::memory(std::size_t bytes) {
  const Memory memory = world().memory(bytes);
  Result<void> there;
  if (memory == nullptr)
    there = fail(Errc::io, "there is no memory for another array of " + std::to_string(bytes) + " bytes");
  there = world().agree(there);
  if (!there) return tl::unexpected(there.error());
  plan_.held_.push_back(memory);
  return memory.get();
}

const RowPlan* Recipe::row_plan(const Transform& transform) {
  const RowPlan*& known = row_plans_[{transform.n, transform.kind}];
  if (known == nullptr) {
    const std::shared_ptr<const RowPlan> plan(
        (local_.rows != nullptr ? *local_.rows : pocketfft_for(transform)).plan(transform));
    if (plan == nullptr)
      throw std::runtime_error("rows of " + std::to_string(transform.n) + " elements are too long for FFTW");
    plan_.held_.push_back(plan);
    known = plan.get();
  }
  return known;
}

const LanePlan* Recipe::lane_plan(const Transform& transform) {
  const LanePlan*& known = lane_plans_[{transform.n, transform.kind}];
  if (known == nullptr) {
    const auto plan = std::make_shared<const LanePlan>(transform, *LanePlan::set_for(transform));
    plan_.held_.push_back(plan);
    known = plan.get();
  }
  return known;
}

const Twiddles* Recipe::twiddles(std::size_t n, int sign) {
  std::shared_ptr<const Twiddles> factors;
  make([&] {
    factors = std::make_shared<const Twiddles>(n, sign);
    plan_.held_.push_back(factors);
  });
  return factors.get();
}

}  // namespace nigh::fft
