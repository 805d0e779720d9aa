#include "trace/trace_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "trace/anomalies.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

constexpr Tick kMicrosecond = 1000;  // ticks are nanoseconds

// Steps of a region with a call in it, and stretches between some of them in which recording is off.
struct Recipe {
  std::int32_t ranks = 2;
  std::vector<Tick> steps;        // length of each, on all ranks
  std::vector<Tick> off;          // how long recording is off before each step; 0: on
  std::vector<Tick> early, late;  // by rank: switches off so much earlier than others, and on so much later
  bool is_last_off = false;       // off behind the last step, to the end
  std::string creator = "farscale 1";
  bool records_regions = false;
};

Trace Record(const Recipe& recipe) {
  TraceBuilder builder;
  const auto step = builder.AddRegion("step"), barrier = builder.AddRegion("MPI_Barrier");
  const auto counter = builder.AddCounter({});
  builder.AddWorld(recipe.ranks);
  builder.trace().creator = recipe.creator;
  if (recipe.records_regions) builder.trace().diagnostics.Add(anomaly::kRegionsAlone);
  for (std::int32_t rank = 0; rank < recipe.ranks; ++rank) {
    RankBuilder events(builder.definitions(), rank);
    const auto r = static_cast<std::size_t>(rank);
    Tick now = 0;
    std::int64_t count = 0;
    const auto edge = [&](Tick tick, std::uint32_t region, bool is_leave) {
      events.SetCounter(tick, counter, ++count);
      is_leave ? events.Leave(tick, region) : events.Enter(tick, region);
    };
    for (std::size_t k = 0; k < recipe.steps.size(); ++k) {
      if (recipe.off[k] > 0) {
        const Tick margin = 10 * kMicrosecond;  // room for what ranks do by themselves
        events.MeasurementOff(now + margin - recipe.early[r]);
        events.MeasurementOn(now + margin + recipe.off[k] + recipe.late[r]);
        now += 2 * margin + recipe.off[k];
      }
      edge(now, step, false);
      edge(now + recipe.steps[k] / 2, barrier, false);
      edge(now + recipe.steps[k] - 1, barrier, true);
      now += recipe.steps[k];
      edge(now, step, true);
    }
    if (recipe.is_last_off) {
      events.MeasurementOff(now);
      events.MeasurementOn(now + 77 * kMicrosecond);
      edge(now + 77 * kMicrosecond, step, false);
      edge(now + 77 * kMicrosecond, step, true);
    }
    builder.SetTimeline(events);
  }
  return std::move(builder).Finish();
}

Recipe Random(unsigned seed) {
  std::mt19937 random(seed);
  const auto pick = [&](Tick most) { return static_cast<Tick>(random() % static_cast<unsigned>(most)); };
  Recipe recipe;
  recipe.ranks = static_cast<std::int32_t>(1 + pick(6));
  for (Tick k = 0; k < 3 + pick(20); ++k) {
    recipe.steps.push_back((1 + pick(1000)) * kMicrosecond);
    recipe.off.push_back(pick(3) == 0 ? (1 + pick(100000)) * kMicrosecond : 0);
  }
  recipe.early.assign(static_cast<std::size_t>(recipe.ranks), 0);
  recipe.late = recipe.early;
  return recipe;
}

std::vector<Tick> TimesOf(const RankTimeline& timeline) {
  std::vector<Tick> times;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    times.insert(times.end(), {timeline.enter(call), timeline.leave(call)});
  }
  for (std::size_t event = 0; event < timeline.region_events(); ++event) times.push_back(timeline.event_tick(event));
  times.insert(times.end(), {timeline.begin(), timeline.end()});
  return times;
}

std::uint64_t Sum(const std::vector<Tick>& off) {
  Tick sum = 0;
  for (const Tick one : off) sum += one;
  return static_cast<std::uint64_t>(sum / kMicrosecond);
}

// What is left is the run as it would have been without these stretches, but for the margins around them.
TEST(SwitchedOff, OnAllRanksIsTakenOut) {
  for (unsigned seed = 0; seed < 30; ++seed) {
    const Recipe recipe = Random(seed);
    Recipe without = recipe;
    for (Tick& off : without.off) off = off > 0 ? 1 : 0;
    const Trace as_if = Record(without);
    Trace trace = Record(recipe);
    const auto length = static_cast<std::uint64_t>((trace.end() - trace.begin()) / kMicrosecond);
    const bool is_off_first = recipe.off.front() > 0;
    std::uint64_t expected = Sum(recipe.off);
    if (is_off_first) expected -= static_cast<std::uint64_t>(recipe.off.front() / kMicrosecond);
    LeaveOutSwitchedOff(trace);
    EXPECT_EQ(trace.diagnostics.count(anomaly::kSwitchedOff), expected) << seed;
    EXPECT_EQ(length - static_cast<std::uint64_t>((trace.end() - trace.begin()) / kMicrosecond), expected) << seed;
    const auto stretches = static_cast<Tick>(std::ranges::count_if(recipe.off, [](Tick off) { return off > 0; }));
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      const std::vector<Tick> times = TimesOf(trace.timelines[rank]), wanted = TimesOf(as_if.timelines[rank]);
      ASSERT_EQ(times.size(), wanted.size());
      for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], wanted[i], stretches) << seed << ' ' << i;
      EXPECT_TRUE(trace.timelines[rank].counter_is_reliable(0));
    }
  }
}

// Each rank is off longer than the others by its own margins, which stay as they were measured.
TEST(SwitchedOff, OnSomeRanksStays) {
  for (unsigned seed = 100; seed < 130; ++seed) {
    Recipe recipe = Random(seed);
    const Trace alike = [&] {
      Trace trace = Record(recipe);
      LeaveOutSwitchedOff(trace);
      return trace;
    }();
    for (std::size_t rank = 1; rank < recipe.early.size(); ++rank) {
      recipe.early[rank] = static_cast<Tick>(rank) * kMicrosecond;
      recipe.late[rank] = 9 * kMicrosecond;
    }
    Trace trace = Record(recipe);
    LeaveOutSwitchedOff(trace);
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      EXPECT_EQ(TimesOf(trace.timelines[rank]), TimesOf(alike.timelines[rank])) << seed;
      for (const Interruption& one : trace.timelines[rank].interruptions()) {
        EXPECT_EQ(one.end - one.begin, recipe.early[rank] + recipe.late[rank]) << seed;
      }
    }
  }
}

TEST(SwitchedOff, ARankThatIsNeverOffKeepsTheTime) {
  Recipe recipe{3, {1000, 1000}, {0, 5000}, {0, 0, 0}, {0, 0, 0}};
  Trace trace = Record(recipe);
  TraceBuilder builder;
  const Tick end = trace.end();
  recipe.off[1] = 0;
  recipe.steps[1] = end - 1000;
  trace.timelines[2] = Record(recipe).timelines[2];
  LeaveOutSwitchedOff(trace);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kSwitchedOff), 0u);
  EXPECT_EQ(trace.end(), end);
  EXPECT_EQ(trace.timelines[0].interruptions().size(), 1u);
}

TEST(SwitchedOff, ToTheEndOfTheRun) {
  Recipe recipe{2, {100000, 100000}, {0, 0}, {0, 0}, {0, 0}, true};
  Trace trace = Record(recipe);
  LeaveOutSwitchedOff(trace);
  EXPECT_EQ(trace.end(), 200000);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kSwitchedOff), 77u);
}

// What others count while recording is off is in the next sample: 1000 counts in the 5020 µs between the edges around
// it, of which 5000 are off.
TEST(SwitchedOff, CountsOfOthersGoWithTheirTime) {
  TraceBuilder builder;
  const auto step = builder.AddRegion("step");
  const auto counter = builder.AddCounter({});
  builder.AddWorld(1);
  builder.trace().creator = "Score-P 8.0";
  RankBuilder events(builder.definitions(), 0);
  for (const auto& [tick, value, is_leave] : {std::tuple<Tick, int, bool>{0, 10, false}, {1000, 30, true}}) {
    events.SetCounter(tick, counter, value);
    is_leave ? events.Leave(tick, step) : events.Enter(tick, step);
  }
  events.MeasurementOff(1010);
  events.MeasurementOn(6010);
  for (const auto& [tick, value, is_leave] : {std::tuple<Tick, int, bool>{6020, 1034, false}, {7020, 1050, true}}) {
    events.SetCounter(tick, counter, value);
    is_leave ? events.Leave(tick, step) : events.Enter(tick, step);
  }
  builder.SetTimeline(events);
  Trace trace = std::move(builder).Finish();
  LeaveOutSwitchedOff(trace);
  const RankTimeline& timeline = trace.timelines[0];
  EXPECT_EQ(timeline.event_tick(2), 1020);
  EXPECT_TRUE(timeline.counter_is_reliable(0));
  EXPECT_EQ(timeline.counter_at_event(0, 1), 30);
  EXPECT_EQ(timeline.counter_at_event(0, 2), 34);  // 1034 − 1004 · 5000 / 5020
  EXPECT_EQ(timeline.counter_at_event(0, 3), 50);
}

TEST(SwitchedOff, OfRegionsThatWereRecordedAloneTheRestStays) {
  Recipe recipe{2, {1000, 1000}, {0, 5000}, {0, 0}, {0, 0}};
  recipe.records_regions = true;
  Trace trace = Record(recipe);
  const Tick end = trace.end();
  LeaveOutSwitchedOff(trace);
  EXPECT_EQ(trace.end(), end);
  EXPECT_EQ(trace.diagnostics.count(anomaly::kSwitchedOff), 0u);
  EXPECT_TRUE(trace.timelines[0].interruptions().empty());
}

}  // namespace
}  // namespace farscale
