#include "replay/clock_rate.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Chosen, and tested on simulated clocks with preempted bursts (clock_rate_test.cc).
constexpr std::size_t kFewestCountedBursts = 16;  // taken if there are so many
constexpr double kShareOfCounts = 0.1;            // of all bursts, that those taken must have
constexpr double kBin = 0.005;                    // of the logarithm of a rate: half a percent
constexpr double kHalfWidth = 0.04;               // of a mode: what clocks vary by from burst to burst
constexpr double kLargestHalfWidth = 0.5;
constexpr double kSignificant = 0.1;      // of the heaviest mode's density
constexpr std::size_t kBurstsOfMode = 3;  // one or two bursts may be an error of the timer
constexpr std::size_t kFewInMode = 4;     // say nothing of their distribution
constexpr double kSmallestUncertainty = 0.005;
constexpr double kLargestUncertainty = 0.03;

// How many bursts have a rate, by the number of its bin.
using Histogram = std::map<long, std::size_t>;

struct Density {
  double height = 0;
  std::size_t bursts = 0;
};

// Long bursts say most, as errors of their ends weigh little. But the long ones of a program of short bursts are those
// that were disturbed; they are known by their counts, which are few for their length.
void KeepLong(std::vector<CountedBurst>& bursts, Tick long_from) {
  std::erase_if(bursts,
                [](const CountedBurst& b) { return b.ticks <= 0 || !(b.counts > 0) || !std::isfinite(b.counts); });
  std::sort(bursts.begin(), bursts.end(), [](const CountedBurst& a, const CountedBurst& b) {
    return std::pair(a.ticks, a.counts) > std::pair(b.ticks, b.counts);
  });
  double total = 0, kept = 0;
  for (const CountedBurst& burst : bursts) total += burst.counts;
  std::size_t count = 0;
  while (count < bursts.size() &&
         (count < kFewestCountedBursts || bursts[count].ticks >= long_from || kept < kShareOfCounts * total)) {
    kept += bursts[count++].counts;
  }
  bursts.resize(count);
}

// A mode is at least as wide as the step of the timer makes the rate of a typical burst.
double HalfWidth(const std::vector<CountedBurst>& bursts) {
  Tick step = 0;
  for (const CountedBurst& burst : bursts) step = std::gcd(step, burst.ticks);
  const double typical = static_cast<double>(bursts[bursts.size() / 2].ticks);
  return std::min(kHalfWidth + 2 * static_cast<double>(step) / typical, kLargestHalfWidth);
}

Density DensityAt(const Histogram& histogram, long bin, long reach) {
  Density density;
  const auto end = histogram.upper_bound(bin + reach);
  for (auto i = histogram.lower_bound(bin - reach); i != end; ++i) {
    const double distance = static_cast<double>(i->first - bin) / static_cast<double>(reach + 1);
    density.height += static_cast<double>(i->second) * std::pow(1 - distance * distance, 2);
    density.bursts += i->second;
  }
  return density;
}

// The bin of the highest mode that is significant.
long UpperMode(const Histogram& histogram, long reach, std::size_t bursts) {
  std::map<long, Density> densities;
  double largest = 0;
  for (const auto& [bin, content] : histogram) {
    densities[bin] = DensityAt(histogram, bin, reach);
    largest = std::max(largest, densities[bin].height);
  }
  const std::size_t needed = std::min(kBurstsOfMode, (bursts + 3) / 4);
  long heaviest = 0;
  for (auto i = densities.rbegin(); i != densities.rend(); ++i) {
    const auto& [bin, density] = *i;
    if (density.height == largest) heaviest = bin;
    if (density.height < kSignificant * largest || density.bursts < needed) continue;
    const auto end = densities.upper_bound(bin + reach);
    const double own_height = density.height;
    const auto higher = [own_height](const auto& neighbour) { return neighbour.second.height > own_height; };
    const bool is_mode = std::none_of(densities.lower_bound(bin - reach), end, higher);
    if (is_mode) return bin;
  }
  return heaviest;
}

}  // namespace

std::optional<ClockRate> EstimateClockRate(std::vector<CountedBurst> bursts, Tick long_from) {
  KeepLong(bursts, long_from);
  if (bursts.empty()) return std::nullopt;
  const long reach = std::lround(HalfWidth(bursts) / kBin);
  std::vector<double> log_rates;
  Histogram histogram;
  for (const CountedBurst& burst : bursts) {
    log_rates.push_back(std::log(burst.counts / static_cast<double>(burst.ticks)));
    ++histogram[static_cast<long>(std::floor(log_rates.back() / kBin))];
  }
  const double centre = (static_cast<double>(UpperMode(histogram, reach, bursts.size())) + 0.5) * kBin;
  const double half_width = (static_cast<double>(reach) + 0.5) * kBin;
  std::erase_if(log_rates, [&](double log_rate) { return std::abs(log_rate - centre) > half_width; });
  std::sort(log_rates.begin(), log_rates.end());
  // Within the mode, too, interruptions only lower the rate: the upper quartile rather than the median, and of few the
  // highest.
  const double upper = log_rates.size() <= kFewInMode ? log_rates.back() : QuantileOfSorted(log_rates, 0.75);
  const double lower = QuantileOfSorted(log_rates, 0.25);
  const double spread = (upper - lower) / 2 / std::sqrt(static_cast<double>(log_rates.size()));
  return ClockRate{std::exp(upper), std::clamp(3 * spread, kSmallestUncertainty, kLargestUncertainty), bursts.size()};
}

}  // namespace farscale
