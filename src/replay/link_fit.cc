#include "replay/link_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "stats/sample_quantiles.h"

namespace farscale {
namespace {

// Noise adds to many messages, but hardly to three of four.
constexpr double kFast = 0.25;
// Sizes within a sixteenth of a factor of two are taken together.
constexpr double kGroupsPerDoubling = 16;
// With fewer messages in either direction between two ranks their clocks are not compared.
constexpr std::size_t kFewestEachWay = 3;
// Times at the smallest and the largest size that differ by fewer ticks may do so by rounding alone.
constexpr double kFewestTicks = 5;
// Two halves of the messages must tell the same bandwidth within this factor, else they tell none.
constexpr double kAgreement = 1.5;

struct SizeGroup {
  double bytes = 0;   // mean
  double ticks = 0;   // of a fast, or of the median message
  double weight = 0;  // a size sent a hundred times counts ten times
};

std::vector<SizeGroup> GroupBySize(const std::vector<TransferTime>& transfers, double share) {
  std::map<std::int64_t, std::vector<const TransferTime*>> members;
  for (const TransferTime& transfer : transfers) {
    const double doublings = std::log2(static_cast<double>(std::max<std::uint64_t>(1, transfer.bytes)));
    members[transfer.bytes == 0 ? -1 : std::llround(kGroupsPerDoubling * doublings)].push_back(&transfer);
  }
  std::vector<SizeGroup> groups;
  for (const auto& [key, some] : members) {
    SizeGroup group;
    std::vector<double> ticks;
    for (const TransferTime* transfer : some) {
      group.bytes += static_cast<double>(transfer->bytes) / static_cast<double>(some.size());
      ticks.push_back(static_cast<double>(transfer->ticks));
    }
    group.ticks = Quantile(std::move(ticks), share);
    group.weight = std::sqrt(static_cast<double>(some.size()));
    groups.push_back(group);
  }
  return groups;
}

struct Line {
  double at_zero = 0;
  double slope = 0;

  double operator()(double bytes) const { return at_zero + slope * bytes; }
};

// The line with the smallest sum of weighted relative distances. One of those that are smallest goes through two of
// the points, or through one where a limit holds the line (neither latency nor time for a byte is negative); so all of
// them are tried. There are at most some hundred groups.
Line FitLine(const std::vector<SizeGroup>& groups) {
  if (groups.empty()) return {};
  std::vector<double> times;
  for (const SizeGroup& group : groups) times.push_back(group.ticks);
  const double small = std::max(1.0, Quantile(times, 0.5) / 10);  // times near zero must not decide everything
  Line best;
  double least = std::numeric_limits<double>::infinity();
  const auto consider = [&](const Line& line) {
    if (!(line.slope >= 0) || !std::isfinite(line.slope)) return;
    double sum = 0;
    for (const SizeGroup& group : groups) {
      sum += group.weight * std::fabs(group.ticks - line(group.bytes)) / std::max(group.ticks, small);
      if (sum >= least) return;
    }
    least = sum;
    best = line;
  };
  for (const SizeGroup& one : groups) {
    consider({one.ticks, 0});
    if (one.bytes > 0) consider({0, one.ticks / one.bytes});
    for (const SizeGroup& other : groups) {
      if (other.bytes <= one.bytes) continue;
      const double slope = (other.ticks - one.ticks) / (other.bytes - one.bytes);
      consider({one.ticks - slope * one.bytes, slope});
    }
  }
  return best;
}

// By how much the clock of the higher rank seems to be ahead, for every pair of ranks with enough messages either way:
// half of what the messages to it are later than those from it.
using Pair = std::pair<std::int32_t, std::int32_t>;
std::map<Pair, double> ClockDifferences(const std::vector<TransferTime>& transfers, const Line& line) {
  std::map<Pair, std::pair<std::vector<double>, std::vector<double>>> excess;  // up, down
  for (const TransferTime& transfer : transfers) {
    auto& of = excess[std::minmax(transfer.from, transfer.to)];
    const double ticks = static_cast<double>(transfer.ticks) - line(static_cast<double>(transfer.bytes));
    (transfer.from < transfer.to ? of.first : of.second).push_back(ticks);
  }
  std::map<Pair, double> differences;
  for (const auto& [pair, of] : excess) {
    const auto& [up, down] = of;
    if (std::min(up.size(), down.size()) < kFewestEachWay) continue;
    differences[pair] = (Quantile(up, kFast) - Quantile(down, kFast)) / 2;
  }
  return differences;
}

std::vector<double> Distances(const std::vector<TransferTime>& transfers, const Line& line, bool relative) {
  std::vector<double> distances;
  for (const TransferTime& transfer : transfers) {
    const double fitted = line(static_cast<double>(transfer.bytes));
    const double distance = std::fabs(static_cast<double>(transfer.ticks) - fitted);
    distances.push_back(relative ? distance / std::max(fitted, 1.0) : distance);
  }
  return distances;
}

// Differences that do not bring the times clearly together are no differences of clocks.
double TakeOutClocks(std::vector<TransferTime>& transfers) {
  const Line line = FitLine(GroupBySize(transfers, 0.5));
  const std::map<Pair, double> differences = ClockDifferences(transfers, line);
  std::vector<TransferTime> corrected = transfers;
  double largest = 0;
  for (TransferTime& transfer : corrected) {
    const auto found = differences.find(std::minmax(transfer.from, transfer.to));
    if (found == differences.end()) continue;
    transfer.ticks -= std::llround(transfer.from < transfer.to ? found->second : -found->second);
    largest = std::max(largest, std::fabs(found->second));
  }
  const Line again = FitLine(GroupBySize(corrected, 0.5));
  const double before = Quantile(Distances(transfers, line, false), 0.5);
  const double after = Quantile(Distances(corrected, again, false), 0.5);
  if (after >= before / 2) return 0;
  transfers = std::move(corrected);
  return largest;
}

// Whether the times say how long a byte takes: half of the messages must say the same as the other half, small ones
// and large ones in each.
bool TellsBandwidth(std::vector<TransferTime> transfers, const std::vector<SizeGroup>& groups, const Line& line) {
  if (line.slope * (groups.back().bytes - groups.front().bytes) < kFewestTicks) return false;
  std::stable_sort(transfers.begin(), transfers.end(),
                   [](const TransferTime& a, const TransferTime& b) { return a.bytes < b.bytes; });
  std::array<std::vector<TransferTime>, 2> halves;
  for (std::size_t i = 0; i < transfers.size(); ++i) halves[i % 2].push_back(transfers[i]);
  const double one = FitLine(GroupBySize(halves[0], kFast)).slope, other = FitLine(GroupBySize(halves[1], kFast)).slope;
  return one > 0 && other > 0 && std::max(one, other) <= kAgreement * std::min(one, other);
}

// Below a tick there is only rounding.
double Spread(const std::vector<TransferTime>& transfers, const Line& line, bool relative) {
  if (Quantile(Distances(transfers, line, false), 0.5) < 0.5) return 0;
  return Quantile(Distances(transfers, line, relative), 0.5);
}

}  // namespace

LinkFit FitLink(std::vector<TransferTime>& transfers) {
  LinkFit fit;
  if (transfers.empty()) return fit;
  fit.clock_difference = TakeOutClocks(transfers);
  std::erase_if(transfers, [](const TransferTime& transfer) { return transfer.ticks <= 0; });
  if (transfers.empty()) return fit;
  const std::vector<SizeGroup> groups = GroupBySize(transfers, kFast);
  Line line = FitLine(groups);
  fit.has_bandwidth = TellsBandwidth(transfers, groups, line);
  if (!fit.has_bandwidth) line = {LatencyFor(transfers, 0), 0};
  fit.latency = line.at_zero;
  fit.ticks_per_byte = line.slope;
  fit.spread = Spread(transfers, line, false);
  fit.relative_spread = Spread(transfers, line, true);
  return fit;
}

double LatencyFor(const std::vector<TransferTime>& transfers, double ticks_per_byte) {
  if (transfers.empty()) return 0;
  std::vector<double> latencies;
  for (const TransferTime& transfer : transfers) {
    latencies.push_back(static_cast<double>(transfer.ticks) - ticks_per_byte * static_cast<double>(transfer.bytes));
  }
  return std::max(0.0, Quantile(std::move(latencies), kFast));
}

}  // namespace farscale
