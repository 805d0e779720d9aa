#include "trace/paraver_timeline.h"

#include <fmt/format.h>

#include <iterator>
#include <numeric>

#include "trace/anomalies.h"

namespace farscale {
namespace {

constexpr std::uint32_t kNothing = ParaverBlock::kNothing;
constexpr std::size_t kMostAhead = 256;  // records; chosen: beyond them nothing belongs to the edge at hand
constexpr Tick kNever = std::numeric_limits<Tick>::max();

// Wraps around as counters do.
std::int64_t Sum(std::int64_t a, std::int64_t b) {
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(a) + static_cast<std::uint64_t>(b));
}

// The regions of one rank. Functions nest; event types of the program's own, tracing and the callers of MPI calls each
// have their own time. On a timeline all regions nest.
class ParaverRegions {
 public:
  static constexpr std::uint32_t kFunction = 0;  // no event type

  // The region of an event type from now on; kNothing for nothing. Functions nest: one more, or the end of the last.
  void Set(RankBuilder& rank, Tick tick, std::uint32_t type, std::uint32_t region) {
    if (in_call_) {
      // A function that comes and goes within an MPI call leaves no trace.
      const bool ends_here = type == kFunction && region == kNothing && !waiting_.empty() &&
                             waiting_.back().first == kFunction && waiting_.back().second != kNothing;
      if (ends_here) return waiting_.pop_back();
      waiting_.emplace_back(type, region);
      return;
    }
    LeaveCallers(rank, tick, {});
    const bool is_event = type != kFunction, is_leave = region == kNothing;
    const auto last = std::ranges::find(open_.rbegin(), open_.rend(), type, &Change::first);
    if (last != open_.rend() && (is_event || is_leave)) {
      // It ends, and something else may take its place. Regions inside it go on: they are left and entered again.
      const auto index = static_cast<std::size_t>(open_.rend() - last) - 1;
      for (std::size_t i = open_.size(); i > index; --i) rank.Leave(tick, open_[i - 1].second);
      if (is_leave) {
        open_.erase(open_.begin() + static_cast<std::ptrdiff_t>(index));
      } else {
        open_[index].second = region;
      }
      for (std::size_t i = index; i < open_.size(); ++i) rank.Enter(tick, open_[i].second);
    } else if (!is_leave) {
      rank.Enter(tick, region);
      open_.emplace_back(type, region);
    } else if (!is_event) {
      rank.diagnostics().Add(anomaly::kLeaveWithoutEnter);
    }
  }

  // Makes these the callers, the outermost first: leaves what differs, enters what is new.
  void EnterCallers(RankBuilder& rank, Tick tick, const std::vector<std::uint32_t>& callers) {
    LeaveCallers(rank, tick, callers);
    for (std::size_t i = callers_.size(); i < callers.size(); ++i) {
      rank.Enter(tick, callers[i]);
      callers_.push_back(callers[i]);
    }
  }
  // Leaves those that the next call will not have in common.
  void LeaveCallers(RankBuilder& rank, Tick tick, const std::vector<std::uint32_t>& next) {
    const auto common = std::mismatch(callers_.begin(), callers_.end(), next.begin(), next.end()).first;
    for (auto count = callers_.end() - common; count > 0; --count) {
      rank.Leave(tick, callers_.back());
      callers_.pop_back();
    }
  }
  bool has_callers() const { return !callers_.empty(); }

  // Changes within an MPI call are written at its end.
  void BeginCall() { in_call_ = true; }
  void EndCall(RankBuilder& rank, Tick tick) {
    in_call_ = false;
    for (const auto& [type, region] : waiting_) Set(rank, tick, type, region);
    waiting_.clear();
  }

  // Leaves whatever is open.
  void Finish(RankBuilder& rank, Tick tick) {
    LeaveCallers(rank, tick, {});
    for (std::size_t i = open_.size(); i > 0; --i) rank.Leave(tick, open_[i - 1].second);
    open_.clear();
  }

 private:
  using Change = std::pair<std::uint32_t, std::uint32_t>;  // event type and its region from now on, or kNothing

  std::vector<Change> open_;            // no leaves
  std::vector<std::uint32_t> callers_;  // inside all of these
  bool in_call_ = false;
  std::vector<Change> waiting_;
};

class TimelineWriter {
 public:
  TimelineWriter(const Trace& trace, std::int32_t rank, const ParaverTaskParts& parts, const ParaverTraceFacts& facts)
      : facts_(facts),
        rank_(trace, rank),
        events_(parts),
        summary_(parts.states),
        states_(ReadParaverStates(parts)),
        messages_(parts, facts.world),
        totals_(trace.counters.size()),
        samples_(trace.counters.size()),
        call_samples_(trace.counters.size()) {}

  RankBuilder Run() {
    if (!Begin()) return std::move(rank_);
    while (const ParaverMoment* record = events_.Peek()) {
      WriteMoment(*record);
      if (stopped_at_) break;
      last_event_ = std::max(last_event_, record->tick);
      events_.Advance();
    }
    Finish();
    return std::move(rank_);
  }

 private:
  const Trace& trace() const { return rank_.definitions(); }

  // The task's first moment: that of its application, or of its first record; the one at which tracing was switched on
  // when nothing comes before. False for a task without records.
  bool Begin() {
    const ParaverMoment* first = events_.Peek();
    const bool exists = summary_.first_existing != kNever;
    if (first == nullptr && !exists) return false;
    begin_ = first == nullptr ? summary_.first_existing : first->tick;
    const bool begins_application = first != nullptr && std::ranges::any_of(first->facts, [](const ParaverFact& fact) {
                                      return fact.event == ParaverEvent::kApplication && fact.value != 0;
                                    });
    if (exists && !begins_application) begin_ = std::min(begin_, summary_.first_existing);
    const auto own = Find(0, IsOfProgram);
    const bool is_on = own && own->second.event == ParaverEvent::kTracing && own->second.value != 0;
    const std::optional<Tick> on = is_on ? std::optional(own->first) : std::nullopt;
    if (on) begin_ = *on;
    outside_since_ = begin_;
    last_event_ = begin_;
    for (const auto& [counter, count] : CountersNextToCome(on)) rank_.SetCounter(begin_, counter, count);
    rank_.Enter(begin_, facts_.application_region);
    // In a trace cut out of another, the first edge of a call may be a leave.
    const auto call = Find(0, [](const ParaverFact& fact) { return fact.event == ParaverEvent::kMpi; });
    if (call && !call->second.is_enter()) {
      call_ = facts_.cut_call_region;
      rank_.Enter(begin_, call_);
      regions_.BeginCall();
    }
    return true;
  }

  // The first fact that `is_wanted` among those of the next records, from the one `ahead` on.
  template <typename IsWanted>
  std::optional<std::pair<Tick, ParaverFact>> Find(std::size_t ahead, IsWanted is_wanted) {
    for (std::size_t i = ahead; i < kMostAhead; ++i) {
      const ParaverMoment* record = events_.Peek(i);
      if (record == nullptr) return std::nullopt;
      const auto found = std::ranges::find_if(record->facts, is_wanted);
      if (found != record->facts.end()) return std::pair(record->tick, *found);
    }
    return std::nullopt;
  }

  static bool IsOfProgram(const ParaverFact& fact) {
    return fact.event == ParaverEvent::kTracing || HasSymbols(fact.event);
  }

  // Counters are recorded as differences, so they begin at zero: those that come up to the first MPI call. When tracing
  // is switched on first, what they say of the time before does not belong to the window.
  std::map<std::uint32_t, std::int64_t> CountersNextToCome(std::optional<Tick> on) {
    std::map<std::uint32_t, std::int64_t> counters;
    for (std::size_t i = 0; i < kMostAhead; ++i) {
      const ParaverMoment* record = events_.Peek(i);
      if (record == nullptr) break;
      bool has_call = false;
      for (const ParaverFact& fact : record->facts) {
        if (fact.event == ParaverEvent::kCounter) {
          std::int64_t& count = counters[fact.index];
          if (on && record->tick <= *on) count = Sum(count, fact.value);
        }
        has_call |= fact.event == ParaverEvent::kMpi;
      }
      if (has_call) break;
    }
    return counters;
  }

  void WriteMoment(const ParaverMoment& record) {
    const Tick tick = record.tick;
    const std::optional<std::uint32_t> pause = PauseUntil(tick);
    bool has_counter = false, has_call = false;
    for (const ParaverFact& fact : record.facts) {
      has_call |= fact.event == ParaverEvent::kMpi;
      if (fact.event != ParaverEvent::kCounter) continue;
      totals_[fact.index] = Sum(totals_[fact.index], fact.value);
      rank_.SetCounter(std::max(tick, begin_), fact.index, totals_[fact.index]);
      ++samples_[fact.index];
      has_counter = true;
    }
    if (has_counter) last_sample_ = tick;
    if (has_counter && has_call) {
      ++sampled_calls_;
      for (const ParaverFact& fact : record.facts) {
        if (fact.event == ParaverEvent::kCounter) ++call_samples_[fact.index];
      }
    }
    if (pause) rank_.Leave(tick, *pause);
    for (std::size_t i = 0; i < record.facts.size(); ++i) {
      const ParaverFact& fact = record.facts[i];
      const ParaverEvent event = fact.event;
      collectives_.Attribute(tick, fact);
      if (event == ParaverEvent::kFunction) {
        regions_.Set(rank_, tick, ParaverRegions::kFunction, fact.is_enter() ? fact.index : kNothing);
      }
      if (event == ParaverEvent::kUserEvent) regions_.Set(rank_, tick, fact.type, fact.index);
      if (event == ParaverEvent::kTracing) Tracing(tick, fact.type, fact.value != 0);
      if (event == ParaverEvent::kFlush && fact.value == 0 && flush_since_) rank_.BufferFlush(*flush_since_, tick);
      if (event == ParaverEvent::kFlush) flush_since_ = fact.value != 0 ? std::optional(tick) : std::nullopt;
      if (event == ParaverEvent::kTracingMode && fact.value > 1) rank_.diagnostics().Add(anomaly::kOnlyLongBursts);
      if (event == ParaverEvent::kApplication) is_application_open_ = fact.value != 0;
      if (event == ParaverEvent::kApplication && fact.value == 0) application_end_ = tick;
      if (event != ParaverEvent::kMpi) continue;
      if (fact.is_enter()) {
        BeginCall(record, i);
      } else if (call_ != kNothing) {
        EndCall(record, i);
      }
    }
  }

  // Stretches of [from, to) in which the task did not run, in order, and none next to another one of the same state.
  // States are apart only if they are of teams that are known; others are kParaverNotCreated. `from` is not less than
  // in the call before.
  void FindStretches(Tick from, Tick to) {
    stretches_.clear();
    const auto add = [&](Tick begin, Tick end, std::uint32_t state) {
      if (begin >= end) return;
      const bool is_of_team = state == kParaverSynchronization || state == kParaverForkJoin;
      if (!facts_.knows_threads || !is_of_team) state = kParaverNotCreated;
      if (!stretches_.empty() && stretches_.back().end == begin && stretches_.back().state == state) {
        stretches_.back().end = end;
      } else {
        stretches_.push_back({begin, end, state});
      }
    };
    while (from < to) {
      const ParaverState* state = states_.Peek();
      if (state == nullptr) return add(from, to, kParaverNotCreated);
      if (state->end <= from) {
        states_.Drop();
        continue;
      }
      const Tick begin = std::clamp(state->begin, from, to), end = std::min(state->end, to);
      add(from, begin, kParaverNotCreated);
      if (state->state != kParaverRunning) add(begin, end, state->state);
      const bool is_synchronization = state->state == kParaverSynchronization;
      if (begin < end && (is_synchronization || IsParaverMpiState(state->state))) {
        if (mpi_states_[is_synchronization]++ == 0) first_in_mpi_[is_synchronization] = begin;
        time_in_mpi_[is_synchronization] += end - begin;
      }
      has_teams_ |= state->state == kParaverForkJoin;
      from = std::max(begin, end);
    }
  }

  // Writes the pauses since the last edge outside MPI. Returns the region of one that reaches up to here and is still
  // open, since the counters at its end come with the record that follows.
  std::optional<std::uint32_t> PauseUntil(Tick tick) {
    if (call_ != kNothing || !summary_.has_running || tick <= outside_since_) return std::nullopt;
    FindStretches(outside_since_, tick);
    outside_since_ = tick;
    for (const ParaverState& stretch : stretches_) {
      const bool has_sample = last_sample_ == stretch.begin;
      if (!has_sample) RepeatCounters(stretch.begin);
      const std::uint32_t region = stretch.state == kParaverSynchronization ? facts_.barrier_region
                                   : stretch.state == kParaverForkJoin      ? facts_.scheduling_region
                                                                            : facts_.pause_region;
      rank_.Enter(stretch.begin, region);
      if (stretch.end == tick && has_sample) return region;
      RepeatCounters(stretch.end);
      rank_.Leave(stretch.end, region);
    }
    return std::nullopt;
  }

  // Where a pause begins without samples, what was counted around it counts as that of the running program.
  void RepeatCounters(Tick tick) {
    for (std::uint32_t i = 0; i < totals_.size(); ++i) {
      if (samples_[i] > 0) rank_.SetCounter(tick, i, totals_[i]);
    }
  }

  void BeginCall(const ParaverMoment& record, std::size_t index) {
    const Tick tick = record.tick;
    const std::uint32_t region = record.facts[index].index;
    regions_.EnterCallers(rank_, tick, CallersAt(0));
    messages_.OutsideUntil(tick, rank_);
    outside_since_ = tick;
    call_ = region;
    rank_.Enter(tick, region);
    regions_.BeginCall();
    collectives_.Enter(tick);
    // When it is left, and what calls entered at the same moment may post.
    Tick leave = kNever;
    bool others_send = false, others_receive = false, has_inner = false;
    const ParaverMoment* moment = &record;
    for (std::size_t ahead = 0; moment != nullptr && moment->tick <= leave; moment = events_.Peek(++ahead)) {
      for (std::size_t i = ahead == 0 ? index + 1 : 0; i < moment->facts.size(); ++i) {
        const ParaverFact& fact = moment->facts[i];
        has_inner |= leave == kNever && fact.event == ParaverEvent::kInnerCall;
        if (fact.event != ParaverEvent::kMpi) continue;
        if (leave == kNever) {
          leave = moment->tick;
        } else if (fact.is_enter()) {
          others_send |= MayPost(trace().regions[fact.index].call, true);
          others_receive |= MayPost(trace().regions[fact.index].call, false);
        }
      }
    }
    // Calls inside it may post and complete anything.
    const MpiCall call = has_inner ? MpiCall::kOther : trace().regions[region].call;
    messages_.InCall(tick, leave, call, others_send, others_receive, rank_);
  }

  void EndCall(const ParaverMoment& record, std::size_t index) {
    const Tick tick = record.tick;
    collectives_.Record(call_, facts_, rank_);
    rank_.Leave(tick, call_);
    in_calls_ += tick - outside_since_;
    call_ = kNothing;
    outside_since_ = tick;
    regions_.LeaveCallers(rank_, tick, CallersToCome(index));
    regions_.EndCall(rank_, tick);
  }

  void Tracing(Tick tick, std::uint32_t type, bool on) {
    if (is_tracing_ == on) return;
    regions_.Set(rank_, tick, type, on ? facts_.tracing_region : kNothing);
    if (on) {
      rank_.MeasurementOn(tick);
    } else {
      rank_.MeasurementOff(tick);
      // Switched off to the end, the rest of the run is not known.
      const bool may_follow = call_ != kNothing || Find(1, IsOfProgram) || events_.Peek(kMostAhead - 1) != nullptr;
      if (!may_follow) stopped_at_ = tick;
    }
    is_tracing_ = on;
  }

  // Regions of the callers of the call in a record to come and those of the same time, the outermost first. Until the
  // next call.
  const std::vector<std::uint32_t>& CallersAt(std::size_t ahead) {
    using Caller = std::pair<std::uint32_t, std::uint32_t>;
    call_callers_.clear();
    if (facts_.has_functions) return call_callers_;
    callers_by_level_.clear();
    const Tick tick = events_.Peek(ahead)->tick;
    for (; callers_by_level_.empty(); ++ahead) {
      const ParaverMoment* record = events_.Peek(ahead);
      if (record == nullptr || record->tick != tick) break;
      for (const ParaverFact& fact : record->facts) {
        if (fact.event != ParaverEvent::kCaller || fact.index == kNothing) continue;
        const auto same = std::ranges::find(callers_by_level_, fact.type, &Caller::first);
        if (same == callers_by_level_.end()) {
          callers_by_level_.emplace_back(fact.type, fact.index);
        } else {
          same->second = fact.index;
        }
      }
    }
    std::ranges::sort(callers_by_level_, std::greater<>(), &Caller::first);
    for (const auto& [level, region] : callers_by_level_) call_callers_.push_back(region);
    return call_callers_;
  }

  // Callers of the next call, from a fact of the record at hand on, when nothing else of the program comes before.
  const std::vector<std::uint32_t>& CallersToCome(std::size_t index) {
    call_callers_.clear();
    if (!regions_.has_callers()) return call_callers_;
    for (std::size_t i = 0; i < kMostAhead; ++i) {
      const ParaverMoment* record = events_.Peek(i);
      if (record == nullptr) break;
      for (std::size_t k = i == 0 ? index : 0; k < record->facts.size(); ++k) {
        const ParaverEvent event = record->facts[k].event;
        if (event == ParaverEvent::kMpi && record->facts[k].is_enter()) return CallersAt(i);
        const bool is_edge = event == ParaverEvent::kFunction || event == ParaverEvent::kUserEvent ||
                             event == ParaverEvent::kTracing || event == ParaverEvent::kApplication;
        if (is_edge) return call_callers_;
      }
    }
    return call_callers_;
  }

  void Finish() {
    const std::string place = fmt::format("rank {}", rank_.rank());
    Tick end = std::max(last_event_, application_end_.value_or(summary_.last_existing));
    if (stopped_at_) end = *stopped_at_;
    const std::optional<std::uint32_t> pause = PauseUntil(end);
    // The program is over: what its last burst counted behind the last sample is the tools' own.
    if (call_ == kNothing) RepeatCounters(end);
    if (pause) rank_.Leave(end, *pause);
    messages_.OutsideUntil(kNever, rank_);
    regions_.Finish(rank_, end);
    rank_.Leave(end, facts_.application_region);
    rank_.diagnostics().Add(anomaly::kCallEdgeMissing, events_.lost_edges(), "on " + place);
    rank_.diagnostics().AddPopulation(anomaly::kCallEdgeMissing, events_.edges());
    rank_.diagnostics().AddTime(anomaly::kCallEdgeMissing, events_.lost_time(), end - begin_);
    // Filters leave out states, or events of calls that states still show.
    if (!summary_.has_running) rank_.diagnostics().Add(anomaly::kRankWithoutStates, 1, place);
    // Synchronization is that of MPI where there are no threads and no team forks.
    const bool is_alone = trace().ranks[static_cast<std::size_t>(rank_.rank())].threads == 1 && !has_teams_;
    const std::size_t kinds = is_alone ? 2 : 1;
    const Tick missing = std::accumulate(time_in_mpi_, time_in_mpi_ + kinds, Tick{0}), in_mpi = in_calls_ + missing;
    rank_.diagnostics().AddTime(anomaly::kMpiStateOutsideCall, missing, in_mpi);
    constexpr double kNamed = 0.001;  // chosen: states and events may end a little apart
    if (static_cast<double>(missing) > kNamed * static_cast<double>(in_mpi)) {
      const Tick first = first_in_mpi_[mpi_states_[0] == 0];
      rank_.diagnostics().Add(anomaly::kMpiStateOutsideCall,
                              std::accumulate(mpi_states_, mpi_states_ + kinds, std::uint64_t{0}),
                              fmt::format("{} in MPI without a call at {:.6g} s", place, trace().Seconds(first)));
    }
    if (is_application_open_ && !stopped_at_ && !facts_.is_part) {
      rank_.diagnostics().Add(anomaly::kTraceEndsEarly, 1, place + " does not end");
    }
    for (std::uint32_t i = 0; i < totals_.size(); ++i) {
      constexpr double kSmallestShare = 0.99;  // chosen: single edges may lack samples in any trace
      const bool is_partial =
          static_cast<double>(call_samples_[i]) < kSmallestShare * static_cast<double>(sampled_calls_);
      if (samples_[i] == 0 || !is_partial) continue;
      rank_.DistrustCounter(i);
      rank_.diagnostics().Add(anomaly::kCounterNotAlwaysOn, 1,
                              fmt::format("{} on {}", trace().counters[i].name, place));
    }
  }

  const ParaverTraceFacts& facts_;
  RankBuilder rank_;
  EventCursor events_;
  const ParaverStates& summary_;
  OrderedStream<ParaverState> states_;
  // Those of MPI in which the rank was outside of calls so far, then those of synchronization; times in all of them.
  std::uint64_t mpi_states_[2] = {};
  Tick first_in_mpi_[2] = {}, time_in_mpi_[2] = {};
  bool has_teams_ = false;
  ParaverMessages messages_;
  CollectiveCalls collectives_;

  Tick begin_ = 0;
  Tick outside_since_ = 0;  // up to here pauses are written; in a call its enter
  Tick in_calls_ = 0;
  Tick last_event_ = 0;
  std::optional<Tick> application_end_;
  bool is_application_open_ = false;
  std::uint32_t call_ = kNothing;  // region of the call at hand
  ParaverRegions regions_;
  std::vector<std::uint32_t> call_callers_;                                // callers of the call asked for last
  std::vector<std::pair<std::uint32_t, std::uint32_t>> callers_by_level_;  // level and region; the same
  std::vector<ParaverState> stretches_;
  std::optional<bool> is_tracing_;  // nothing before the first event about it
  std::optional<Tick> stopped_at_, flush_since_;

  std::vector<std::int64_t> totals_;         // indexed by counter
  std::vector<std::uint64_t> samples_;       // indexed by counter
  std::vector<std::uint64_t> call_samples_;  // indexed by counter, at edges of calls
  std::uint64_t sampled_calls_ = 0;          // edges of calls with any counter
  std::optional<Tick> last_sample_;
};

}  // namespace

RankBuilder BuildParaverRank(const Trace& trace, std::int32_t rank, const ParaverTaskParts& parts,
                             const ParaverTraceFacts& facts) {
  return TimelineWriter(trace, rank, parts, facts).Run();
}

}  // namespace farscale
