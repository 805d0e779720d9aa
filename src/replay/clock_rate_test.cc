// Clocks that are known, seen through what disturbs a real measurement. Ticks are nanoseconds, so a rate is in GHz.
#include "replay/computation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace farscale {
namespace {

constexpr Tick kMicrosecond = 1000;
constexpr Tick kMillisecond = 1000000;
constexpr Tick kLong = 50 * kMicrosecond;

double RateOf(const std::vector<CountedBurst>& bursts) { return EstimateClockRate(bursts, kLong)->counts_per_tick; }

// Uniform in [0, 1), the same on every machine.
double Uniform(std::mt19937_64& random) { return static_cast<double>(random() >> 11) / 9007199254740992.0; }

// A burst of `work` ticks at `rate` that lasts `lost` ticks longer.
CountedBurst Disturbed(Tick work, double rate, Tick lost) { return {work + lost, rate * static_cast<double>(work)}; }

TEST(ClockRate, UndisturbedBurstsGiveTheClockExactly) {
  EXPECT_DOUBLE_EQ(RateOf({{kMillisecond, 2.5e6}, {2 * kMillisecond, 5e6}}), 2.5);
  EXPECT_DOUBLE_EQ(RateOf({{100, 240}}), 2.4);
}

TEST(ClockRate, NothingToLearnFrom) {
  EXPECT_FALSE(EstimateClockRate({}, kLong));
  EXPECT_FALSE(EstimateClockRate({{0, 5}, {5, 0}, {-3, 4}, {7, std::nan("")}}, kLong));
}

// Two of three bursts share the core with another process: rates 1, 1/2 and 1/2 of 3 GHz, in bursts of 1 ms work. The
// mean would be 3 · 30 / 50 = 1.8, the heaviest mode 1.5.
TEST(ClockRate, PreemptedBurstsDoNotLowerIt) {
  std::vector<CountedBurst> bursts;
  for (int i = 0; i < 30; ++i) bursts.push_back(Disturbed(kMillisecond, 3, i % 3 == 0 ? 0 : kMillisecond));
  EXPECT_DOUBLE_EQ(RateOf(bursts), 3);
}

// As on an oversubscribed machine: most long bursts are preempted, each differently, most short ones are not.
TEST(ClockRate, OversubscribedMachine) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<CountedBurst> bursts;
    for (int i = 0; i < 60; ++i) {
      const auto work = static_cast<Tick>(60e3 * std::pow(200, Uniform(random)));  // 60 µs to 12 ms
      const bool preempted = Uniform(random) < 1 - std::exp(-static_cast<double>(work) / 1e6);
      const auto lost = static_cast<Tick>(Uniform(random) * 3 * static_cast<double>(work));
      bursts.push_back(Disturbed(work, 2.6, preempted ? lost : static_cast<Tick>(300 * Uniform(random))));
    }
    EXPECT_NEAR(RateOf(bursts), 2.6, 0.01 * 2.6) << "seed " << seed;
  }
}

// A clock that varies by 3 % to either side: within that, and the same for every draw to within 1.5 %.
TEST(ClockRate, TurboVariation) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::mt19937_64 random(seed);
    std::vector<CountedBurst> bursts;
    for (int i = 0; i < 100; ++i) bursts.push_back(Disturbed(kMillisecond, 2.6 * (0.97 + 0.06 * Uniform(random)), 0));
    EXPECT_NEAR(RateOf(bursts), 2.6 * 1.015, 0.015 * 2.6) << "seed " << seed;
  }
}

// One process alone on the socket for the first bursts clocks higher. Below a tenth it is not what the run ran at.
TEST(ClockRate, AShortBoostIsNotTheClock) {
  std::vector<CountedBurst> bursts(100, {kMillisecond, 2.6e6});
  bursts.resize(105, {kMillisecond, 3.2e6});
  EXPECT_DOUBLE_EQ(RateOf(bursts), 2.6);
}

// Bursts of 2 µs by a timer of 1 µs show half or twice the rate; the long ones know better.
TEST(ClockRate, ResolutionOfTheTimer) {
  std::mt19937_64 random(1);
  std::vector<CountedBurst> bursts;
  for (int i = 0; i < 1000; ++i) {
    const Tick work = (i % 10 == 0 ? 200 : 2) * kMicrosecond + static_cast<Tick>(1000 * Uniform(random));
    bursts.push_back({(work + 500) / kMicrosecond * kMicrosecond, 2.0 * static_cast<double>(work)});
  }
  EXPECT_NEAR(RateOf(bursts), 2, 0.01 * 2);
}

// A program of short bursts: the only long ones are those that lost the core, with hardly any cycles in them.
TEST(ClockRate, LongBurstsThatAreNothingButPreemption) {
  std::mt19937_64 random(1);
  std::vector<CountedBurst> bursts;
  for (int i = 0; i < 5000; ++i) bursts.push_back(Disturbed(5 * kMicrosecond, 2.4, 0));
  for (int i = 0; i < 100; ++i) {
    bursts.push_back(Disturbed(5 * kMicrosecond, 2.4, kMillisecond + static_cast<Tick>(1e6 * Uniform(random))));
  }
  EXPECT_DOUBLE_EQ(RateOf(bursts), 2.4);
}

// Twenty long bursts of 10^6 counts each at half of the clock or less, and short ones of 12,000: long ones that have a
// tenth of all counts are taken to say all, 15 % with 9,400 short bursts, but not the 5 % that they are of 32,000.
TEST(ClockRate, LongBurstsWithATenthOfAllCountsSayAll) {
  const auto rate_with = [](std::size_t short_ones) {
    std::vector<CountedBurst> bursts(20, {kMillisecond, 1e6});
    bursts.insert(bursts.end(), short_ones, {5 * kMicrosecond, 12000});
    return RateOf(bursts);
  };
  EXPECT_DOUBLE_EQ(rate_with(9400), 1);
  EXPECT_DOUBLE_EQ(rate_with(32000), 2.4);
}

TEST(ClockRate, OneWrongSampleDoesNotRaiseIt) {
  std::vector<CountedBurst> bursts(20, {kMillisecond, 2.6e6});
  bursts.push_back({kMillisecond, 9e6});
  EXPECT_DOUBLE_EQ(RateOf(bursts), 2.6);
}

// What counts has a tenth of the density of the heaviest mode, and three bursts or more: two of 20 bursts have the one,
// three of 40 have the other, three of 20 have both.
TEST(ClockRate, AFewWrongSamplesDoNotRaiseIt) {
  const auto rate_with = [](std::size_t right, std::size_t wrong) {
    std::vector<CountedBurst> bursts(right, {kMillisecond, 2.6e6});
    bursts.insert(bursts.end(), wrong, {kMillisecond, 9e6});
    return RateOf(bursts);
  };
  EXPECT_DOUBLE_EQ(rate_with(20, 2), 2.6);
  EXPECT_DOUBLE_EQ(rate_with(40, 3), 2.6);
  EXPECT_DOUBLE_EQ(rate_with(20, 3), 9);
}

// Three bursts, two preempted differently: the highest is all there is to go by.
TEST(ClockRate, FewBursts) {
  EXPECT_DOUBLE_EQ(RateOf({{kMillisecond, 2.6e6}, {kMillisecond, 1.9e6}, {kMillisecond, 1.1e6}}), 2.6);
}

// The rate is that of counts by ticks, whatever the units: scaling either scales it.
TEST(ClockRate, DoesNotDependOnUnitsOrOrder) {
  std::mt19937_64 random(3);
  std::vector<CountedBurst> bursts;
  for (int i = 0; i < 200; ++i) {
    bursts.push_back(Disturbed(kMillisecond, 2.6, static_cast<Tick>(1e6 * Uniform(random) * Uniform(random))));
  }
  const ClockRate rate = *EstimateClockRate(bursts, kLong);
  std::shuffle(bursts.begin(), bursts.end(), random);
  EXPECT_EQ(EstimateClockRate(bursts, kLong)->counts_per_tick, rate.counts_per_tick);
  for (CountedBurst& burst : bursts) burst.counts *= 1000;
  EXPECT_NEAR(RateOf(bursts), 1000 * rate.counts_per_tick, 1000 * rate.counts_per_tick * rate.uncertainty);
}

}  // namespace
}  // namespace farscale
