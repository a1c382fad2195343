// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// All static placements, one after the other: what an average, a lucky and an unlucky start would be.
#include <algorithm>
#include <cmath>
#include <limits>

#include "plan/assignment.hpp"

namespace nigh {

namespace {

// The application on all the tuples of nodes that it can have: as one cluster, whatever its traffic, since a
// static placement starts it as a whole. Memory of nodes without its threads goes to whoever uses it most.
std::vector<Application> starts_of(const Links& links, Application application) {
  if (application.accesses <= 0)
    application.accesses = 1;  // or there would be no traffic to tell groups apart
  const Cluster whole = find_clusters({application}, {.high = -1}).front();
  std::vector<Application> out;
  for_each_tuple(links.nodes(), whole, ~std::uint64_t{0},
                 [&](const std::vector<std::uint8_t>& tuple, std::uint64_t) {
                   std::vector<int> to(application.threads.size(), 0);
                   for (std::size_t g = 0; g < tuple.size(); ++g)
                     to[static_cast<std::size_t>(whole.nodes[g])] = tuple[g];
                   for (const auto& [memory, group] : whole.adopted)
                     to[static_cast<std::size_t>(memory)] = tuple[group];
                   out.push_back(application.moved(to));
                   return true;
                 });
  return out;
}

class Surveyor {
 public:
  Surveyor(const Links& links, const std::vector<Application>& applications,
           const std::function<void(const std::vector<Application>&)>& visit)
      : links_(links), visit_(visit), now_(applications) {
    for (const Application& application : applications) moved_.push_back(starts_of(links, application));
  }

  Survey run() {
    out_.average.assign(now_.size(), 0);
    place(0, 0);
    for (double& seconds : out_.average) seconds /= static_cast<double>(out_.placements);
    out_.hops = out_.average;
    for (std::size_t a = 0; a < now_.size(); ++a)
      out_.hops[a] = hops_sum_[a] / static_cast<double>(fewest_count_);
    return std::move(out_);
  }

 private:
  void place(std::size_t a, std::uint64_t used) {
    if (a == now_.size()) return judge();
    for (const Application& application : moved_[a]) {
      std::uint64_t mask = 0;
      for (std::size_t i = 0; i < application.threads.size(); ++i)
        if (application.threads[i] > 0) mask |= std::uint64_t{1} << i;
      if ((mask & used) != 0) continue;
      now_[a] = application;
      place(a + 1, used | mask);
    }
  }

  [[nodiscard]] int hops() const {
    int sum = 0;
    for (const Application& application : now_)
      for (int i = 0; i < links_.nodes(); ++i)
        for (int j = 0; j < links_.nodes(); ++j)
          if (application.threads[static_cast<std::size_t>(i)] > 0 &&
              application.threads[static_cast<std::size_t>(j)] > 0)
            sum += links_.hops(i, j);
    return sum;
  }

  void judge() {
    if (visit_) visit_(now_);
    std::vector<double> seconds;
    for (const Forecast& forecast : forecasts(links_, now_, 1e-4)) seconds.push_back(forecast.seconds);
    double product = 0;
    for (std::size_t a = 0; a < seconds.size(); ++a) {
      product += std::log(seconds[a]);
      out_.average[a] += seconds[a];
    }
    ++out_.placements;
    keep(product < best_, best_, product, out_.best, seconds);
    keep(product > worst_, worst_, product, out_.worst, seconds);
    judge_hops(product, seconds);
  }

  void judge_hops(double product, const std::vector<double>& seconds) {
    const int count = hops();
    if (count > fewest_) return;
    if (count < fewest_) {
      fewest_ = count;
      fewest_count_ = 0;
      hops_sum_.assign(seconds.size(), 0);
      best_hops_ = std::numeric_limits<double>::infinity();
      worst_hops_ = -best_hops_;
    }
    ++fewest_count_;
    for (std::size_t a = 0; a < seconds.size(); ++a) hops_sum_[a] += seconds[a];
    keep(product < best_hops_, best_hops_, product, out_.best_hops, seconds);
    keep(product > worst_hops_, worst_hops_, product, out_.worst_hops, seconds);
  }

  void keep(bool wanted, double& record, double product, Survey::One& one,
            const std::vector<double>& seconds) {
    if (!wanted) return;
    record = product;
    one = {now_, seconds};
  }

  const Links& links_;
  const std::function<void(const std::vector<Application>&)>& visit_;
  std::vector<std::vector<Application>> moved_;
  std::vector<Application> now_;
  Survey out_;
  double best_ = std::numeric_limits<double>::infinity(), worst_ = -best_;
  double best_hops_ = best_, worst_hops_ = -best_;
  int fewest_ = std::numeric_limits<int>::max();
  std::size_t fewest_count_ = 0;
  std::vector<double> hops_sum_;
};

}  // namespace

Result<Survey> survey(const Links& links, const std::vector<Application>& applications,
                      const std::function<void(const std::vector<Application>&)>& visit) {
  double nodes = 0;
  for (const Application& application : applications) {
    if (auto good = application.check(links); !good) return tl::unexpected<Error>(good.error());
    nodes += static_cast<double>(std::count_if(application.threads.begin(), application.threads.end(),
                                               [](double threads) { return threads > 0; }));
  }
  if (applications.empty()) return fail(Errc::invalid, "there is no application to place");
  if (nodes > links.nodes())
    return fail(Errc::invalid,
                "the applications need more nodes than the machine has, if each is one application's");
  return Surveyor(links, applications, visit).run();
}

}  // namespace nigh
