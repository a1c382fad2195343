// Copyright (c) 2026, the nigh authors.
// SPDX-License-Identifier: BSD-3-Clause
//
// The divisor of n that is next to its square root. Trying all numbers up to the root takes seconds from
// about 2^57 on; so n is taken apart into its primes by Pollard's rho (J. M. Pollard, A Monte Carlo method
// for factorization, 1975), a matter of milliseconds for any 64 bits, and its divisors are made of these.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>

#include "fft/demand.hpp"

namespace nigh::fft {

namespace {
constexpr std::uint64_t small_primes[] = {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};

std::uint64_t multiply(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(static_cast<unsigned __int128>(a) * b % modulus);
}

std::uint64_t power(std::uint64_t base, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t out = 1;
  for (; exponent > 0; exponent /= 2, base = multiply(base, base, modulus))
    if (exponent % 2 != 0) out = multiply(out, base, modulus);
  return out;
}

// Miller's test by the twelve least primes, which errs for no number of 64 bits (Sorenson and Webster, 2015).
// n has none of them in it.
bool is_prime(std::uint64_t n) {
  std::uint64_t odd = n - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  return std::all_of(std::begin(small_primes), std::end(small_primes), [&](std::uint64_t base) {
    std::uint64_t x = power(base, odd, n);
    bool passed = x == 1 || x == n - 1;
    for (int i = 1; i < twos && !passed; ++i) {
      x = multiply(x, x, n);
      passed = x == n - 1;
    }
    return passed;
  });
}

// Some divisor, neither 1 nor n, of an n that is no prime.
std::uint64_t split(std::uint64_t n) {
  for (std::uint64_t offset = 1;; ++offset) {
    const auto next = [&](std::uint64_t x) {
      const std::uint64_t square = multiply(x, x, n);
      return square >= n - offset ? square - (n - offset) : square + offset;
    };
    std::uint64_t slow = 2, fast = 2, common = 1;
    while (common == 1) {
      slow = next(slow);
      fast = next(next(fast));
      common = std::gcd(slow > fast ? slow - fast : fast - slow, n);
    }
    if (common != n) return common;
  }
}

// Its primes and how often each is in it; of 64 bits there are at most 15 different ones.
class Primes {
 public:
  explicit Primes(std::uint64_t n) {
    for (const std::uint64_t prime : small_primes)
      for (; n % prime == 0; n /= prime) add(prime);
    add_all(n);
  }
  // The largest d * e whose square is not above n, where e is made of the primes from number `from` on.
  [[nodiscard]] std::uint64_t largest(std::uint64_t n, std::uint64_t d = 1, std::size_t from = 0) const {
    if (from == count_) return d;
    std::uint64_t best = 0;
    for (int i = 0;; ++i) {
      best = std::max(best, largest(n, d, from + 1));
      if (i == powers_[from].times) return best;
      d *= powers_[from].prime;
      if (d > n / d) return best;
    }
  }

 private:
  struct Power {
    std::uint64_t prime;
    int times;
  };
  void add(std::uint64_t prime) {
    Power* const end = powers_.data() + count_;
    Power* const known =
        std::find_if(powers_.data(), end, [&](const Power& power) { return power.prime == prime; });
    if (known == end) powers_[count_++] = {prime, 0};
    ++known->times;
  }
  void add_all(std::uint64_t n) {
    if (n == 1) return;
    if (is_prime(n)) return add(n);
    const std::uint64_t part = split(n);
    add_all(part);
    add_all(n / part);
  }
  std::array<Power, 16> powers_{};
  std::size_t count_ = 0;
};
}  // namespace

std::size_t factor(std::size_t n) { return n == 0 ? 1 : Primes(n).largest(n); }

}  // namespace nigh::fft
