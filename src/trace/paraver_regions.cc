#include "trace/paraver_regions.h"

#include <algorithm>

#include "trace/anomalies.h"
#include "trace/paraver_cursors.h"

namespace farscale {

void ParaverRegions::EnterFunction(Tick tick, std::uint32_t region) { Do(tick, {kFunction, region, false}); }

void ParaverRegions::LeaveFunction(Tick tick) {
  // A function that comes and goes within an MPI call leaves no trace.
  if (in_call_ && !waiting_.empty() && waiting_.back().type == kFunction && !waiting_.back().is_leave) {
    waiting_.pop_back();
  } else {
    Do(tick, {kFunction, 0, true});
  }
}

void ParaverRegions::SetEvent(Tick tick, std::uint32_t type, std::uint32_t region) {
  Do(tick, {type, region, region == ParaverBlockMeaning::kNothing});
}

void ParaverRegions::Do(Tick tick, const Change& change) {
  if (in_call_) {
    waiting_.push_back(change);
    return;
  }
  LeaveCallers(tick, {});
  const bool is_event = change.type != kFunction;
  const bool is_open = std::ranges::find(open_, change.type, &Open::type) != open_.end();
  if (is_open && (is_event || change.is_leave)) {
    Replace(tick, change);
  } else if (!change.is_leave) {
    rank_.Enter(tick, change.region);
    open_.push_back({change.type, change.region});
  } else if (!is_event) {
    rank_.diagnostics().Add(anomaly::kLeaveWithoutEnter);
  }
}

// What is open of this type ends, and something else may take its place. Regions of other types inside it go on: they
// are left and entered again.
void ParaverRegions::Replace(Tick tick, const Change& change) {
  const auto last =
      std::find_if(open_.rbegin(), open_.rend(), [&](const Open& open) { return open.type == change.type; });
  const auto index = open_.size() - 1 - static_cast<std::size_t>(last - open_.rbegin());
  for (std::size_t i = open_.size(); i > index; --i) rank_.Leave(tick, open_[i - 1].region);
  if (change.is_leave) {
    open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
  } else {
    open_[index].region = change.region;
  }
  for (std::size_t i = index; i < open_.size(); ++i) rank_.Enter(tick, open_[i].region);
}

void ParaverRegions::EndCall(Tick tick) {
  in_call_ = false;
  for (const Change& change : waiting_) Do(tick, change);
  waiting_.clear();
}

void ParaverRegions::LeaveCallers(Tick tick, const std::vector<std::uint32_t>& next) {
  const auto common = std::mismatch(callers_.begin(), callers_.end(), next.begin(), next.end()).first;
  for (auto count = callers_.end() - common; count > 0; --count) {
    rank_.Leave(tick, callers_.back());
    callers_.pop_back();
  }
}

void ParaverRegions::EnterCallers(Tick tick, const std::vector<std::uint32_t>& callers) {
  LeaveCallers(tick, callers);
  for (std::size_t i = callers_.size(); i < callers.size(); ++i) {
    rank_.Enter(tick, callers[i]);
    callers_.push_back(callers[i]);
  }
}

void ParaverRegions::Finish(Tick tick) {
  LeaveCallers(tick, {});
  for (std::size_t i = open_.size(); i > 0; --i) rank_.Leave(tick, open_[i - 1].region);
  open_.clear();
}

}  // namespace farscale
