#include "planning/job_size.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "projection/curve.h"

namespace farscale {
namespace {

constexpr double kLastBits = 1e-9;

// The largest of 2^k and 3 · 2^k that is not larger; 0 below 1.
double LargestUsual(double count) {
  if (count < 1 - kLastBits) return 0;
  const double power = std::exp2(std::floor(std::log2(count + kLastBits)));
  return 1.5 * power <= count + kLastBits && power >= 2 ? 1.5 * power : power;
}

class JobSize {
 public:
  JobSize(const AllocationTerms& terms, const WorkPlan& plan, const std::vector<AllocationRow>& rows)
      : terms_(terms), plan_(plan), required_(terms.options().efficiency) {
    for (const AllocationRow& row : rows) {
      if (row.is_measured && row.efficiency.value) measured_.push_back(&row);
    }
    for (const AllocationRow* row : measured_) {
      if (row->is_baseline || IsEnough(*row->efficiency.value)) largest_ = row;
    }
    for (const AllocationRow* row : measured_) {
      if (next_ == nullptr && row->cores > largest_->cores) next_ = row;
    }
  }

  Recommendation Recommend() {
    RecommendMeasured();
    if (terms_.projection() != nullptr) {
      const CountEstimate answer = LargestCountWith(*terms_.phase_projection(), *terms_.projection(), required_,
                                                    [&](double cores) { return terms_.ToEfficiency(cores); });
      Project(answer);
      FindDisagreements();
      if (job_.is_measured && !job_.disagreements.empty()) job_.projected = answer.value;
    }
    FindSureMeasured();
    return job_;
  }

 private:
  bool IsEnough(double efficiency) const { return efficiency >= required_ * (1 - kLastBits); }

  // The largest run that is efficient enough. The baseline is, by definition, so there is one.
  void RecommendMeasured() {
    job_.is_measured = true;
    job_.is_baseline = largest_->is_baseline;
    job_.kind = next_ == nullptr ? Recommendation::Kind::kReliableRangeEnds : Recommendation::Kind::kReached;
    job_.cores = largest_->cores;
    job_.nodes = largest_->nodes;
    Fill(*largest_);
  }

  void Fill(const AllocationRow& row) {
    job_.efficiency = row.efficiency;
    job_.work = row.work;
    job_.core_hours = row.core_hours;
  }

  // The largest usual count of full nodes, where the cores hold at least one, else of cores, with whole processes.
  double Fitting(double cores) const {
    if (HasFullNode(cores)) return WholeProcesses(std::floor(UsualNodes(cores) * *plan_.cores_per_node));
    std::int64_t divisor = 0;
    for (const RunsAt& runs : terms_.counts()) divisor = std::gcd(divisor, runs.cores);
    const auto odd = static_cast<double>(divisor >> std::countr_zero(static_cast<std::uint64_t>(divisor)));
    return odd * WholeProcesses(LargestUsual(cores / odd));
  }

  bool HasFullNode(double cores) const { return plan_.cores_per_node && cores >= *plan_.cores_per_node - kLastBits; }
  double UsualNodes(double cores) const { return LargestUsual(cores / *plan_.cores_per_node); }

  double WholeProcesses(double cores) const {
    const auto threads = static_cast<double>(terms_.counts().back().rows.front()->threads);
    return threads > 1 ? std::floor(cores / threads) * threads : cores;
  }

  // The projection decides beyond the largest run that is efficient enough, up to the next one, which is not.
  void Project(const CountEstimate& answer) {
    const bool is_below = answer.value.kind == CountBound::Kind::kBelow;
    const double reliable = terms_.ReliableCores();
    const bool ends = answer.value.kind == CountBound::Kind::kMoreThan || answer.value.cores > reliable;
    const double limit = is_below ? 0 : std::floor(ends ? reliable : answer.value.cores);
    const double cores = Fitting(limit);
    const auto value = ReadCurve(*terms_.projection(), cores);
    if (!ends && next_ == nullptr && limit >= largest_->cores) {
      job_.kind = Recommendation::Kind::kReached;
      job_.limit = limit;
      job_.low = answer.low;
      job_.high = answer.high;
    }
    if (!value || cores <= largest_->cores || (next_ != nullptr && cores >= next_->cores)) return;
    job_.is_measured = job_.is_baseline = false;
    job_.kind = ends && next_ == nullptr ? Recommendation::Kind::kReliableRangeEnds : Recommendation::Kind::kReached;
    job_.cores = cores;
    job_.limit = cores != limit ? std::optional(limit) : std::nullopt;
    job_.nodes.reset();
    if (HasFullNode(limit)) job_.nodes = UsualNodes(limit);
    job_.low = answer.low;
    job_.high = answer.high;
    Fill(ProjectedRow(terms_, plan_, *value));
    if (!job_.low || job_.low->kind == CountBound::Kind::kBelow) return;
    const double sure = Fitting(std::min(job_.low->cores, cores));
    if (sure > 0) job_.sure = sure;
    job_.is_surer = job_.low->kind == CountBound::Kind::kMoreThan || job_.low->cores > cores;
  }

  // Where the lower bound of the 80 % interval is enough, efficiency is with 90 %.
  void FindSureMeasured() {
    for (const AllocationRow* row : measured_) {
      const std::optional<OpenBounds>& bounds = row->efficiency.interval80;
      if (row->is_baseline || row->cores > job_.cores || !bounds || !IsEnough(bounds->low)) continue;
      if (row->cores <= job_.sure.value_or(0)) continue;
      job_.sure = row->cores;
      job_.is_surer = false;
    }
  }

  void FindDisagreements() {
    for (const AllocationRow* row : measured_) {
      const auto value = ReadCurve(*terms_.projection(), row->cores);
      if (!value) continue;
      const Estimate projected = terms_.ProjectedEfficiency(*value);
      if (IsEnough(*projected.value) == IsEnough(*row->efficiency.value)) continue;
      job_.disagreements.push_back({row->cores, row->is_baseline, row->efficiency, projected});
    }
  }

  const AllocationTerms& terms_;
  const WorkPlan& plan_;
  const double required_;
  std::vector<const AllocationRow*> measured_;
  const AllocationRow* largest_ = nullptr;  // measured, and efficient enough
  const AllocationRow* next_ = nullptr;     // the run after that, which is not
  Recommendation job_;
};

}  // namespace

Recommendation RecommendJobSize(const AllocationTerms& terms, const WorkPlan& plan,
                                const std::vector<AllocationRow>& rows) {
  return JobSize(terms, plan, rows).Recommend();
}

}  // namespace farscale
