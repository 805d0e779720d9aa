#include "factors/factor_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <tuple>
#include <utility>

#include "base/text.h"
#include "factors/anomalies.h"
#include "factors/factor.h"
#include "replay/network.h"

namespace farscale {
namespace {

using Rows = std::vector<FactorRow*>;

// Relative. Chosen: what doubles and their sums lose, with room to spare.
constexpr double kSame = 1e-6;
// Chosen: above what rounding to three digits makes.
constexpr double kNeverSame = 0.01;
constexpr double kSameThreads = 0.021;  // chosen: above the tolerance of the reader of TALP's files
// Chosen: run times and efficiencies of tables from elsewhere may be of runs that differ by noise.
constexpr double kSameRun = 3e-3;

double Off(double value, double expected) { return std::fabs(value / expected - 1); }

// Rounding of values: half a unit of the last decimal that any of them has.
class Rounding {
 public:
  void Add(double value) {
    is_known_ = true;
    // Whole within 1e-5 units, since the quotient has errors of its own.
    while (unit_ > kFinest && std::fabs(value / unit_ - std::round(value / unit_)) > 1e-5) unit_ /= 10;
  }
  // Relative to a value.
  double Of(double value) const { return is_known_ && unit_ > kFinest ? unit_ / 2 / std::fabs(value) : 0; }

 private:
  static constexpr double kFinest = 1.5e-9;  // chosen: finer ones are as good as exact
  double unit_ = 1;
  bool is_known_ = false;
};

class PhaseCheck {
 public:
  explicit PhaseCheck(Rows rows) : rows_(std::move(rows)) {
    // Row by row, since rows are large and most factors are in none of them.
    for (const FactorRow* row : rows_) {
      for (std::size_t i = 0; i < kFactorCount; ++i) {
        const std::optional<double>& value = row->values[static_cast<Factor>(i)];
        is_known_[i] |= value.has_value();
        if (value && !row->totals) rounding_[i].Add(*value);
      }
      if (row->runtime && !row->totals) time_rounding_.Add(*row->runtime);
    }
  }

  Diagnostics Run() {
    for (const FactorType& type : AllFactors()) {
      if (!is_known_[Index(type.factor)]) continue;
      CheckShares(type);
      CheckParent(type.factor);
    }
    for (const FactorRow* row : rows_) {
      const std::int64_t cores = row->ranks * row->threads;
      if (row->phase.IsGroup() ? cores > row->cores : cores != row->cores) {
        Contradict(*row, fmt::format("{} ranks with {} threads each", row->ranks, row->threads));
      }
      if (row->nodes.value_or(1) > row->cores) Contradict(*row, fmt::format("{} nodes", *row->nodes));
      CheckTotals(*row);
      CheckLoads(*row);
    }
    CheckComparisons();
    return std::move(diagnostics_);
  }

 private:
  static std::size_t Index(Factor factor) { return static_cast<std::size_t>(factor); }

  void Contradict(const FactorRow& row, const std::string& what) {
    diagnostics_.Add(anomaly::kTableContradictsItself, 1, fmt::format("{} at {} cores", what, row.cores));
  }

  void ContradictValue(const FactorRow& row, Factor factor, double expected, const char* source) {
    Contradict(row, fmt::format("{} {:.6g}, {} {:.6g}", Describe(factor).id, *row.values[factor], source, expected));
  }

  // Factors of rows with totals are what totals make of them; others may be anything.
  void CheckShares(const FactorType& type) {
    if (!type.AtMostOne()) return;
    for (const FactorRow* row : rows_) {
      const std::optional<double>& value = row->values[type.factor];
      if (!value || row->totals) continue;
      if (*value > LargestGiven(type.factor)) {
        throw Error(ErrorKind::kInput, fmt::format("row of {} cores", row->cores),
                    fmt::format("{} is {}, but it is a share between 0 and 1", type.id, *value), kShareAdvice);
      }
      if (*value > kLargestShare) {
        diagnostics_.Add(anomaly::kShareAboveOne, 1, fmt::format("{} {} at {} cores", type.id, *value, row->cores));
      }
    }
  }

  // True if any row may know all parts.
  bool IsDerived(Factor factor, FactorTree tree) const {
    const std::vector<Factor> parts = ChildrenOf(factor, tree);
    return !parts.empty() &&
           std::ranges::all_of(parts, [&](Factor part) { return is_known_[Index(part)] || IsDerived(part, tree); });
  }

  // Rounding of a factor, or of the parts that give it where it is not known.
  double RoundingOf(const FactorValues& values, Factor factor) const {
    if (values[factor]) return rounding_[Index(factor)].Of(*values[factor]);
    return RoundingOfParts(values, factor);
  }
  double RoundingOfParts(const FactorValues& values, Factor factor) const {
    double sum = 0;
    for (const Factor part : ChildrenOf(factor, values.Tree())) sum += RoundingOf(values, part);
    return sum;
  }

  // Where most rows agree to the last digit, one that does not is damaged. Where they do not, such as means of repeats,
  // only what is far off counts.
  void CheckParent(Factor factor) {
    if (!IsDerived(factor, FactorTree::kMpi) && !IsDerived(factor, FactorTree::kHybrid)) return;
    using Found = std::tuple<bool, const FactorRow*, double, double>;  // agrees, row, product of its parts, distance
    std::vector<Found> found;
    for (const FactorRow* row : rows_) {
      const FactorValues& values = row->values;
      if (!values[factor] || !IsParent(factor, values.Tree())) continue;
      FactorValues derived = values;
      derived[factor].reset();
      derived.DeriveParents();
      if (!derived[factor]) continue;
      const double off = Off(*values[factor], *derived[factor]);
      const double rounding = RoundingOf(values, factor) + RoundingOfParts(values, factor);
      found.emplace_back(off <= kSame + 1.01 * rounding, row, *derived[factor], off);
    }
    const bool most_agree =
        2 * std::ranges::count_if(found, [](const Found& one) { return std::get<bool>(one); }) > std::ssize(found);
    for (const auto& [agrees, row, product, off] : found) {
      if (off <= kNeverSame && (agrees || !most_agree)) continue;
      diagnostics_.Add(anomaly::kParentNotProduct, 1,
                       fmt::format("{} {} at {} cores, parts give {:.6g}", Describe(factor).id, *row->values[factor],
                                   row->cores, product));
    }
  }

  void CheckTotals(const FactorRow& row) {
    if (!row.totals || !(row.totals->average_useful > 0) || row.totals->elapsed == 0) return;
    const PhaseTotals& totals = *row.totals;
    // TALP's times of threads fit each other to some percent.
    const double same = totals.threads ? kSameThreads : kSame;
    const auto require = [&](double value, double expected, const char* name, const char* other) {
      const bool is_same = Off(value, expected) <= same || value == expected;
      if (!is_same) Contradict(row, fmt::format("{} {:.6g}, {} {:.6g}", name, value, other, expected));
    };
    if (row.runtime) require(*row.runtime, totals.elapsed, "runtime", "elapsed");
    const double ranks = static_cast<double>(row.ranks), useful = totals.total_useful;
    if (totals.threads) {
      const double average = totals.threads->OutsideMpi() / totals.threads->cpus;
      require(totals.average_useful, average, "usefulAverage", "threadTimes");
    } else {
      // Ranks that are not in the phase do not count.
      const double counted = std::round(useful / totals.average_useful);
      require(useful, totals.average_useful * std::min(counted, ranks), "usefulTotal", "usefulAverage of all ranks");
    }
    const double all = useful + totals.total_paused + totals.total_mpi;
    if (all > ranks * totals.elapsed * (1 + kSame)) Contradict(row, fmt::format("ranks spend {:.6g} s", all));
    // The rules are not known of every table.
    const FactorValues causal = FactorsOf(totals, RuleSet::kCausal), bsc = FactorsOf(totals, RuleSet::kBsc);
    for (const FactorType& type : AllFactors()) {
      const auto &value = row.values[type.factor], &expected = causal[type.factor];
      if (!value || !expected || Off(*value, *expected) <= same || Off(*value, *bsc[type.factor]) <= same) continue;
      ContradictValue(row, type.factor, *expected, "totals give");
    }
  }

  // The mean of loads is 1, and the largest the reciprocal of load balance.
  void CheckLoads(const FactorRow& row) {
    if (!row.loads) return;
    const LoadDistribution& loads = *row.loads;
    double before = 0;
    for (const std::optional<double>& quantile :
         {loads.quantile5, loads.quantile25, loads.quantile50, loads.quantile75, loads.quantile95}) {
      if (!quantile) continue;
      if (*quantile < before * (1 - kSame))
        return Contradict(row, fmt::format("load {:.6g} after {:.6g}", *quantile, before));
      before = *quantile;
    }
    const std::optional<double>& balance = row.values[Factor::kLoadBalance];
    if (!balance) return;
    const double rounding = row.totals ? 0 : rounding_[Index(Factor::kLoadBalance)].Of(*balance);
    const double largest = 1 / *balance * (1 + kSame + 1.01 * rounding);
    if (before > largest || loads.largest_of_half.value_or(1) > largest) {
      Contradict(row, fmt::format("loads of {:.6g}, loadBalance {:.6g}",
                                  std::max(before, loads.largest_of_half.value_or(1)), *balance));
    }
  }

  using Quantity = std::function<std::optional<double>(const FactorRow&)>;

  void CheckComparisons() {
    const auto counted = [](auto value) {
      return [value](const FactorRow& row) -> std::optional<double> {
        const bool is_known = row.totals && row.totals->instructions && row.totals->cycles;
        return is_known ? std::optional(value(row, *row.totals)) : std::nullopt;
      };
    };
    CheckComparison(Factor::kSpeedup, true, "run times give", std::mem_fn(&FactorRow::TimePerIteration));
    CheckComparison(Factor::kComputationScalability, true, "useful times give", std::mem_fn(&FactorRow::UsefulTime));
    CheckComparison(
        Factor::kInstructionScaling, true, "counters give",
        counted([](const FactorRow& row, const PhaseTotals& t) { return *t.instructions / row.iterations; }));
    CheckComparison(Factor::kIpcScaling, false, "counters give",
                    counted([](const FactorRow&, const PhaseTotals& t) { return *t.cycles / *t.instructions; }));
    CheckComparison(Factor::kFrequencyScaling, false, "counters give",
                    counted([](const FactorRow&, const PhaseTotals& t) { return t.UsefulOfAll() / *t.cycles; }));
  }

  // A factor that compares with the reference run, multiplied by its quantity, is the same in all rows. `grows`: with
  // the processes, in weak scaling.
  void CheckComparison(Factor factor, bool grows, const char* source, const Quantity& quantity) {
    if (!is_known_[Index(factor)]) return;
    std::vector<Compared> compared = Compare(factor, quantity, false);
    if (grows) {
      std::vector<Compared> weak = Compare(factor, quantity, true);
      if (Agreeing(weak) > Agreeing(compared)) compared = std::move(weak);
    }
    // Among rows without totals, most must agree before one is called wrong: their times may be of other runs. A
    // speedup with all its digits was computed from the run times beside it.
    const bool most_agree = 2 * Agreeing(compared) > std::ssize(compared);
    const bool is_computed = factor == Factor::kSpeedup && std::ranges::all_of(compared, &Compared::exact);
    for (const auto& [row, product, tolerance, exact, expected, agrees] : compared) {
      if (!agrees && (most_agree || is_computed || row->totals)) ContradictValue(*row, factor, expected, source);
    }
  }

  struct Compared {
    const FactorRow* row;
    double product, tolerance;
    bool exact;  // with more digits than anybody rounds to
    double expected = 0;
    bool agrees = false;  // with the middle one
  };

  static std::ptrdiff_t Agreeing(const std::vector<Compared>& compared) {
    return std::ranges::count_if(compared, &Compared::agrees);
  }

  std::vector<Compared> Compare(Factor factor, const Quantity& quantity_of, bool is_weak) const {
    std::vector<Compared> compared;
    for (const FactorRow* row : rows_) {
      const std::optional<double>& value = row->values[factor];
      const std::optional<double> quantity = quantity_of(*row);
      if (!value || !quantity || !(*quantity > 0)) continue;
      const double rounding =
          rounding_[Index(factor)].Of(*value) + (row->runtime ? time_rounding_.Of(*row->runtime) : 0) +
          rounding_[Index(Factor::kParallelEfficiency)].Of(row->values[Factor::kParallelEfficiency].value_or(1));
      compared.push_back({row, *value * *quantity / (is_weak ? row->Processes() : 1),
                          row->totals ? kSame : kSameRun + 1.01 * rounding, rounding == 0});
    }
    if (compared.empty()) return compared;
    std::vector<Compared> copy = compared;
    const auto middle = copy.begin() + (std::ssize(copy) - 1) / 2;
    std::ranges::nth_element(copy, middle, {}, &Compared::product);
    const double constant = middle->product, of_middle = middle->tolerance;
    for (Compared& one : compared) {
      one.expected = *one.row->values[factor] * constant / one.product;
      one.agrees = Off(one.product, constant) <= one.tolerance + (one.row->totals ? 0 : of_middle);
    }
    return compared;
  }

  const Rows rows_;
  Diagnostics diagnostics_;
  std::array<bool, kFactorCount> is_known_{};
  std::array<Rounding, kFactorCount> rounding_{};
  Rounding time_rounding_;
};

}  // namespace

Diagnostics CheckPhase(const Rows& rows) { return PhaseCheck(rows).Run(); }

void ReplaceFindings(const Diagnostics& diagnostics, std::vector<Finding>& findings) {
  for (const Finding& finding : diagnostics.findings()) {
    std::erase_if(findings, [&](const Finding& other) { return other.id == finding.id; });
    findings.push_back(finding);
  }
}

void CheckTable(FactorTable& table) {
  Diagnostics diagnostics;
  for (const Rows& rows : RowsToComplete(table)) diagnostics.Merge(CheckPhase(rows));
  ReplaceFindings(diagnostics, table.findings);
}

namespace {

constexpr double kMatters = 1.02;  // size of a part; chosen: below, it is noise

constexpr const char* kReal = "real where more of the problem fits the caches of more cores";
constexpr const char* kWrong =
    "wrong where the scaling, the problem or the iterations are not those of the runs, or where the run compared with "
    "was disturbed";

const FactorRow* RowWithLargest(const std::vector<FactorRow>& rows, Factor factor) {
  const FactorRow* largest = nullptr;
  for (const FactorRow& row : rows) {
    const bool is_larger = row.values[factor] && (largest == nullptr || *row.values[factor] > *largest->values[factor]);
    if (is_larger) largest = &row;
  }
  return largest;
}

std::string OnCores(const FactorRow& row) { return "on " + FormatCoreCount(static_cast<double>(row.cores)); }

std::string CauseOf(Factor factor, double value) {
  switch (factor) {
    case Factor::kInstructionScaling:
      return fmt::format(
          "the program executes {:.2f} times fewer instructions than its scaling makes of the reference "
          "run's, so check that scaling, problem and iterations are those of the runs",
          value);
    case Factor::kIpcScaling:
      return fmt::format(
          "a cycle executes {:.2f} times as many instructions as in the reference run, as it does where more of the "
          "problem fits the caches of more cores",
          value);
    case Factor::kFrequencyScaling: return fmt::format("the clock is {:.2f} times that of the reference run", value);
    default:
      return fmt::format(
          "computation takes {:.2f} times less than its scaling makes of the reference run's, which is "
          "{}, and {}",
          value, kReal, kWrong);
  }
}

// The cause of computation scalability: other threads, else its parts where they are known.
std::string CauseOfScalability(const FactorRow& row, const FactorRow& reference) {
  if (row.threads != reference.threads) {
    const auto threads = [](const FactorRow& one) {
      return fmt::format("{} thread{} a process", one.threads, one.threads == 1 ? "" : "s");
    };
    return fmt::format(
        "this run has {} and the run compared with {}, and computation is that of processes, so it is less where more "
        "threads share it; compare runs with as many threads",
        threads(row), threads(reference));
  }
  std::vector<std::string> causes;
  for (const Factor part : {Factor::kInstructionScaling, Factor::kIpcScaling, Factor::kFrequencyScaling}) {
    if (row.values[part] && *row.values[part] > kMatters) causes.push_back(CauseOf(part, *row.values[part]));
  }
  if (!causes.empty()) return Join(causes, ", and ");
  return CauseOf(Factor::kComputationScalability, *row.values[Factor::kComputationScalability]);
}

}  // namespace

std::string WhySuperlinear(const std::vector<FactorRow>& rows, double largest, std::optional<std::int64_t> baseline) {
  if (!(largest > kSuperlinear)) return "";
  const std::string text = "Efficiencies above 110 % ";
  const FactorRow* scalability = RowWithLargest(rows, Factor::kComputationScalability);
  const FactorRow* parallel = baseline ? RowWithLargest(rows, Factor::kParallelEfficiency) : nullptr;
  const auto there = [&](Factor factor) {
    return baseline ? MeanAt(PointersTo(rows), *baseline, [&](const FactorRow& row) { return row.values[factor]; })
                    : std::nullopt;
  };
  const std::optional<double> scalability_there = there(Factor::kComputationScalability);
  const std::optional<double> parallel_there = there(Factor::kParallelEfficiency);
  const double by_scalability =
      scalability ? *scalability->values[Factor::kComputationScalability] / scalability_there.value_or(1) : 1;
  const double by_parallel =
      parallel && parallel_there ? *parallel->values[Factor::kParallelEfficiency] / *parallel_there : 1;
  if (by_parallel > kMatters && by_parallel >= by_scalability) {
    return text + fmt::format("come from parallel efficiency, which is {} {} and only {} in the run compared with.",
                              FormatFactor(*parallel->values[Factor::kParallelEfficiency]), OnCores(*parallel),
                              FormatFactor(*parallel_there));
  }
  if (by_scalability > kMatters && *scalability->values[Factor::kComputationScalability] > kMatters) {
    // Without a baseline the run that computation scalability is 1 of, the smallest of them.
    const auto place = [&](const FactorRow& row) {
      const std::optional<double>& value = row.values[Factor::kComputationScalability];
      return std::pair(baseline ? row.cores != *baseline : !value || std::fabs(*value - 1) > 1e-9,
                       baseline ? 0 : row.cores);
    };
    const FactorRow& reference = *std::ranges::min_element(rows, {}, place);
    return text + fmt::format("come from computation scalability ({} {}): {}.",
                              FormatFactor(*scalability->values[Factor::kComputationScalability]),
                              OnCores(*scalability), CauseOfScalability(*scalability, reference));
  }
  return text + fmt::format("are {}; they are {}.", kReal, kWrong);
}

std::string WhySuperlinear(const std::vector<FactorRow>& rows) {
  const auto value = [&](Factor factor) {
    const FactorRow* row = RowWithLargest(rows, factor);
    return row == nullptr ? 0 : *row->values[factor];
  };
  const double whole = std::max(value(Factor::kGlobalEfficiency), value(Factor::kComputationScalability));
  if (whole > kSuperlinear) return WhySuperlinear(rows, whole);
  for (const FactorType& type : AllFactors()) {
    if (!type.IsEfficiency() || type.AtMostOne() || !(value(type.factor) > kSuperlinear)) continue;
    const FactorRow& row = *RowWithLargest(rows, type.factor);
    const double largest = *row.values[type.factor];
    return fmt::format("{} is {} {}: {}.", type.name, FormatFactor(largest), OnCores(row),
                       CauseOf(type.factor, largest));
  }
  return "";
}

}  // namespace farscale
