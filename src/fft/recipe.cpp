// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// How steps are made and what they hold; what is made of them is in builder.cpp and mpi_pencils.cpp.
#include <atomic>
#include <new>
#include <stdexcept>

#include "fft/builder.hpp"

namespace nigh::fft {

World& Recipe::world() { return *plan_.world_; }
int Recipe::threads() const { return plan_.team_.threads(); }
transpose::Team& Recipe::team() { return plan_.team_; }
void Recipe::step(Step step) { plan_.steps_.push_back(std::move(step)); }

void Recipe::pass(Pass pass, const std::string& says) {
  const auto held = std::make_shared<const Pass>(std::move(pass));
  transpose::Team& team = plan_.team_;
  step({says, [held, &team]() -> Result<void> {
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
  step({"", [&all]() -> Result<void> {
          all.wait();
          return {};
        }});
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
  rows.rows = row_plan(n, kind);
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

const RowPlan* Recipe::row_plan(std::size_t n, Kind kind) {
  const RowPlan*& known = row_plans_[{n, kind}];
  if (known == nullptr) {
    const Transform rows = transform(n, kind);
    const std::shared_ptr<const RowPlan> plan(
        (backend_ != nullptr ? *backend_ : pocketfft_for(rows)).plan(rows));
    if (plan == nullptr)
      throw std::runtime_error("rows of " + std::to_string(n) + " elements are too long for FFTW");
    plan_.held_.push_back(plan);
    known = plan.get();
  }
  return known;
}

const Twiddles* Recipe::twiddles(std::size_t n, int sign) {
  const auto factors = std::make_shared<const Twiddles>(n, sign);
  plan_.held_.push_back(factors);
  return factors.get();
}

}  // namespace nigh::fft
