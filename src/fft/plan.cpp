// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
#include "fft/plan.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "fft/builder.hpp"
#include "sys/os.hpp"

namespace nigh::fft {

namespace {
thread_local Why why;
constexpr std::size_t huge = std::size_t{2} << 20;

// The threads of one process.
class Alone final : public World {
 public:
  [[nodiscard]] std::size_t rank() const override { return 0; }
  [[nodiscard]] std::size_t ranks() const override { return 1; }
  Result<void> agree(const Result<void>& mine) override { return mine; }
  void wait() override {}
  Memory memory(std::size_t bytes) override { return plain_memory(bytes); }
  std::vector<std::byte*> reach(std::byte* at, std::size_t) override { return {at}; }
  Result<Action> turn(std::size_t, std::size_t, std::size_t, std::byte*, std::size_t, std::byte*, std::size_t,
                      int) override {
    return fail(Errc::internal, "one process transposes nothing");
  }
  Action fetch(std::size_t, const std::vector<transpose::IndexRange>&,
               const std::vector<transpose::IndexRange>&, const std::byte*, std::byte*) override {
    return [] { return Result<void>(fail(Errc::internal, "one process fetches nothing")); };
  }
  [[nodiscard]] transpose::Sharing sharing(int threads) const override { return {0, threads}; }
  [[nodiscard]] std::string text() const override { return "one process"; }
};

}  // namespace

Result<void> check_arrays(const Arrays& arrays, std::size_t in_wanted, std::size_t out_wanted,
                          std::size_t real, bool may_be_one) {
  struct Side {
    const char* name;
    const void* at;
    std::size_t bytes, wanted;
  };
  for (const Side& side : {Side{"in", arrays.in, arrays.in_bytes, in_wanted},
                           Side{"out", arrays.out, arrays.out_bytes, out_wanted}}) {
    if (side.bytes < side.wanted)
      return fail(Errc::invalid, std::string(side.name) + " has " + std::to_string(side.bytes) +
                                     " bytes where " + std::to_string(side.wanted) + " are needed");
    if (side.at == nullptr && side.wanted > 0)
      return fail(Errc::invalid, std::string(side.name) + " is NULL");
    if (reinterpret_cast<std::uintptr_t>(side.at) % real != 0)
      return fail(Errc::invalid, std::string(side.name) + " is not where a real may begin");
  }
  const auto from = reinterpret_cast<std::uintptr_t>(arrays.in),
             to = reinterpret_cast<std::uintptr_t>(arrays.out);
  if (!arrays.in_place && in_wanted > 0 && out_wanted > 0 &&
      (from - to < out_wanted || to - from < in_wanted))
    return fail(Errc::invalid,
                may_be_one ? "in and out overlap; in place they are the same" : "in and out overlap");
  return {};
}

Result<Local> find_local(const Shape& shape) {
  if (shape.has(NIGH_FFT_FFTW)) {
    const auto found = fftw();
    if (!found) return tl::unexpected(found.error());
    return Local{false, *found};
  }
  const char* wanted = std::getenv("NIGH_FFT_LOCAL");
  const std::string local = wanted == nullptr ? "" : wanted;
  static std::once_flag once;
  if (local == "pocketfft") return Local{false, nullptr};
  if (local == "fftw") {
    const auto found = fftw();
    if (found) return Local{false, *found};
    std::call_once(once, [&] {
      std::fprintf(stderr, "nigh fft: NIGH_FFT_LOCAL=fftw: %s; nigh's own are used\n",
                   found.error().message.c_str());
    });
  } else if (!local.empty()) {
    std::call_once(once, [&] {
      std::fprintf(stderr, "nigh fft: NIGH_FFT_LOCAL=%s is neither fftw nor pocketfft; nigh's own are used\n",
                   local.c_str());
    });
  }
  return Local{};
}

Memory plain_memory(std::size_t bytes) {
  const std::size_t whole = (bytes + huge) / huge * huge;
  return {static_cast<std::byte*>(std::aligned_alloc(huge, whole)), [](std::byte* at) { std::free(at); }};
}

int threads_of_process() {
  auto cpus = sys::affinity();
  return cpus ? cpus->count() : 1;
}

void set_why(std::string_view text) noexcept { why.set(text); }

Result<std::unique_ptr<nigh_fft>> make_plan(std::unique_ptr<World> world, const Demand& demand, Arrays arrays,
                                            int threads) {
  World& all = *world;
  auto shape = Shape::make(demand);
  Result<void> fine;
  if (!shape) fine = tl::unexpected(shape.error());
  if (fine && (threads < 0 || threads > 4096))
    fine = fail(Errc::invalid, "threads is not a number from 0 to 4096");
  if (fine) {
    const std::size_t in = shape->in(all.rank(), all.ranks(), arrays.in_place).bytes,
                      out = shape->out(all.rank(), all.ranks(), arrays.in_place).bytes;
    fine = check_arrays(arrays, in, out, shape->element() / 2, true);
    arrays.in_bytes = arrays.in_place ? std::max(in, out) : in;  // what is there beyond is not our business
    arrays.out_bytes = arrays.in_place ? std::max(in, out) : out;
  }
  Result<Local> local;
  if (fine) local = find_local(*shape);
  if (!local) fine = tl::unexpected(local.error());
  fine = all.agree(fine);
  if (!fine) return tl::unexpected(fine.error());
  const std::string text = shape->text() + "\n";
  auto plan =
      std::make_unique<nigh_fft>(std::move(world), text, threads == 0 ? threads_of_process() : threads);
  try {
    fine = Builder(*plan, *shape, arrays, *local).build();
  } catch (const std::exception& error) { fine = fail(Errc::io, error.what()); }
  fine = all.agree(fine);
  if (!fine) return tl::unexpected(fine.error());
  return plan;
}

}  // namespace nigh::fft

using namespace nigh;
using namespace nigh::fft;

// After what fails on this rank it goes on with the others, lest they wait for it.
Result<void> nigh_fft::execute() {
  Result<void> fine;
  for (const Step& step : steps_) try {
      if (auto done = step.run(); fine && !done) fine = done;
    } catch (const std::exception& error) { fine = nigh::fail(nigh::Errc::io, error.what()); }
  return world_->agree(fine);
}

std::string nigh_fft::explain() const {
  std::string out = text_ + world_->text() + ", " + std::to_string(team_.threads()) + " threads" +
                    nigh::transpose::seats_text(team_.seats()) + "\n";
  for (const Step& step : steps_)
    if (!step.says.empty()) out += step.says + "\n";
  return out;
}

nigh_fft* nigh_fft_plan(int dimensions, const size_t* n, int sign, unsigned flags, void* in, size_t in_bytes,
                        void* out, size_t out_bytes, int threads) {
  return made([&] {
    return make_plan(std::make_unique<Alone>(), demand_of(dimensions, n, sign, flags),
                     {in, in_bytes, out, out_bytes, in == out}, threads);
  });
}

size_t nigh_fft_factor(size_t n) { return factor(n); }

int nigh_fft_execute(nigh_fft* plan) {
  return guarded(
      [&] {
        const auto done = plan == nullptr ? fail(Errc::invalid, "there is no plan") : plan->execute();
        if (!done) set_why(done.error().message);
        return done ? 0 : -1;
      },
      set_why, -1);
}

void nigh_fft_destroy(nigh_fft* plan) { delete plan; }

int nigh_fft_explain(const nigh_fft* plan, char* text, size_t bytes) {
  return guarded(
      [&] {
        const std::string all = plan == nullptr ? "" : plan->explain();
        return std::snprintf(text, bytes, "%s", all.c_str());
      },
      set_why, -1);
}

const char* nigh_fft_why(void) { return why.get(); }
