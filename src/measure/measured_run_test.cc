#include "measure/measured_run.h"

#include <gmock/gmock.h>

#include <cstring>
#include <nlohmann/json.hpp>

#include "collect/text.h"

namespace farscale {
namespace {

using namespace collect;

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;

// A process that ended at MPI_Finalize, with a clock in nanoseconds: elapsed and MPI time in milliseconds.
Page PageOf(int rank, int ranks, const char* host, std::uint64_t elapsed, std::uint64_t mpi) {
  Page page{};
  std::memcpy(page.magic, kPageMagic, sizeof page.magic);
  page.version = kPageVersion;
  page.rank = rank;
  page.ranks = ranks;
  page.termination = Termination::kFinalized;
  page.begin_tick = page.begin_clock = 1'000'000'000;
  page.end_tick = page.end_clock = page.begin_tick + elapsed * 1'000'000;
  std::strcpy(page.job, "job");
  std::strcpy(page.host, host);
  std::strcpy(page.program, "app");
  std::strcpy(page.command, "./app\n-n\n3\n");
  page.regions = 1;
  CopyName("whole run", page.region[0].name);
  page.region[0].starts = page.region[0].stops = 1;
  page.region[0].total.elapsed = elapsed * 1'000'000;
  page.region[0].total.mpi = mpi * 1'000'000;
  page.region[0].total.calls = 100;
  return page;
}

void AddRegion(Page& page, const char* name, std::uint64_t starts, std::uint64_t elapsed, std::uint64_t mpi) {
  RegionRecord& region = page.region[page.regions++];
  CopyName(name, region.name);
  region.starts = region.stops = starts;
  region.total.elapsed = elapsed * 1'000'000;
  region.total.mpi = mpi * 1'000'000;
  region.last_stop = region.total.elapsed;
}

// From `begin` to `end` of the rank's run, in milliseconds.
void PlaceRegion(Page& page, std::uint64_t begin, std::uint64_t end) {
  RegionRecord& region = page.region[page.regions - 1];
  region.first_start = begin * 1'000'000;
  region.last_stop = end * 1'000'000;
}

// Four ranks that are in a region one after the other, each 10 ms and on the node of that name.
std::vector<Page> OneAfterTheOther(const std::vector<const char*>& hosts) {
  std::vector<Page> pages;
  for (int rank = 0; rank < 4; ++rank) {
    pages.push_back(PageOf(rank, 4, hosts[static_cast<std::size_t>(rank)], 100, 20));
    AddRegion(pages.back(), "output", 1, 10, 0);
    PlaceRegion(pages.back(), static_cast<std::uint64_t>(10 * rank), static_cast<std::uint64_t>(10 * rank + 10));
  }
  return pages;
}

std::vector<std::string> Ids(const MeasuredRun& run) {
  std::vector<std::string> ids;
  for (const Finding& finding : FindingsOn(run)) ids.push_back(finding.id);
  return ids;
}

// Two nodes with two ranks. T = 100 ms, useful 80, 60, 40, 40: the mean is 55, the largest 80, node loads are 70 and
// 40. PE = 55/100, LB = 55/80, out = 55/70, in = 70/80, CommE = 80/100.
TEST(MeasuredRun, HasTheFactorsOfTheDefinitions) {
  const MeasuredRun run = Summarize(
      {PageOf(3, 4, "b", 100, 60), PageOf(0, 4, "a", 100, 20), PageOf(2, 4, "b", 100, 60), PageOf(1, 4, "a", 100, 40)});
  ASSERT_EQ(run.nodes.size(), 2U);
  EXPECT_THAT(run.nodes[1].second, ElementsAre(2, 3));
  EXPECT_THAT(run.command, ElementsAre("./app", "-n", "3"));
  const MeasuredRegion& whole = run.regions.front();
  EXPECT_THAT(whole.totals.elapsed, DoubleNear(0.1, 1e-12));
  ASSERT_TRUE(whole.factors[Factor::kParallelEfficiency].has_value());
  EXPECT_THAT(*whole.factors[Factor::kParallelEfficiency], DoubleNear(0.55, 1e-12));
  EXPECT_THAT(*whole.factors[Factor::kLoadBalance], DoubleNear(0.6875, 1e-12));
  EXPECT_THAT(*whole.factors[Factor::kLoadBalanceOut], DoubleNear(55.0 / 70, 1e-12));
  EXPECT_THAT(*whole.factors[Factor::kLoadBalanceIn], DoubleNear(0.875, 1e-12));
  EXPECT_THAT(*whole.factors[Factor::kCommunicationEfficiency], DoubleNear(0.8, 1e-12));
  EXPECT_THAT(whole.totals.largest_node_load, DoubleNear(0.07, 1e-12));
  EXPECT_EQ(whole.mpi_calls, 400U);
  EXPECT_THAT(whole.calls_a_millisecond, DoubleNear(1.0, 1e-12));
}

TEST(MeasuredRun, TakesTheLongestRankAsElapsed) {
  const MeasuredRun run = Summarize({PageOf(0, 2, "a", 100, 0), PageOf(1, 2, "a", 50, 0)});
  EXPECT_THAT(*run.regions.front().factors[Factor::kParallelEfficiency], DoubleNear(0.75, 1e-12));
}

// From 0 to 40 ms, of which every rank computes 10: a quarter, as in the factors of a trace.
TEST(MeasuredRun, CountsARegionFromItsFirstStartToItsLastStop) {
  const MeasuredRun run = Summarize(OneAfterTheOther({"a", "a", "a", "a"}));
  const MeasuredRegion& region = run.regions[1];
  EXPECT_TRUE(region.is_whole_span);
  EXPECT_THAT(region.totals.elapsed, DoubleNear(0.04, 1e-12));
  EXPECT_THAT(*region.factors[Factor::kParallelEfficiency], DoubleNear(0.25, 1e-12));
  EXPECT_THAT(*region.factors[Factor::kLoadBalance], DoubleNear(1, 1e-12));
  EXPECT_EQ(nlohmann::json::parse(MeasuredRunJson(run))["regions"][1]["span"], "whole");
}

TEST(MeasuredRun, CountsOccurrencesAloneWhereClocksDoNotCompare) {
  const MeasuredRun run = Summarize(OneAfterTheOther({"a", "a", "b", "b"}));
  EXPECT_FALSE(run.regions[1].is_whole_span);
  EXPECT_THAT(run.regions[1].totals.elapsed, DoubleNear(0.01, 1e-12));
}

// Gaps of 1.9 ms in 100 are less than 2 %, those of 2.1 are not.
TEST(MeasuredRun, CountsOccurrencesAloneWhereARankHasGaps) {
  for (const bool has_gaps : {false, true}) {
    std::vector<Page> pages = {PageOf(0, 2, "a", 200, 20), PageOf(1, 2, "a", 200, 20)};
    for (Page& page : pages) AddRegion(page, "step", 5, 1000, 100);
    PlaceRegion(pages[1], 0, has_gaps ? 1021 : 1019);
    const MeasuredRun run = Summarize(pages);
    EXPECT_EQ(run.regions[1].is_whole_span, !has_gaps);
    EXPECT_THAT(run.regions[1].totals.elapsed, DoubleNear(has_gaps ? 1.0 : 1.019, 1e-12));
  }
}

// On the ideal network the ranks are in the region from 0 to 10 and from 5 to 15 ms.
TEST(MeasuredRun, TakesTheIdealTimeOfTheSameSpan) {
  std::vector<Page> pages = {PageOf(0, 2, "a", 100, 20), PageOf(1, 2, "a", 100, 20)};
  for (std::size_t rank = 0; rank < 2; ++rank) {
    pages[rank].flags |= kHasIdeal;
    AddRegion(pages[rank], "step", 1, 20, 10);
    pages[rank].region[1].total.ideal = 10'000'000;
    pages[rank].region[1].first_start_ideal = rank * 5'000'000;
    pages[rank].region[1].last_stop_ideal = 10'000'000 + rank * 5'000'000;
  }
  EXPECT_THAT(Summarize(pages).regions[1].totals.ideal_elapsed, DoubleNear(0.015, 1e-12));
}

TEST(MeasuredRun, CountsARegionThatIsOpenUntilNow) {
  std::vector<Page> pages = {PageOf(0, 2, "a", 100, 20), PageOf(1, 2, "a", 100, 20)};
  for (Page& page : pages) {
    AddRegion(page, "step", 1, 0, 0);
    PlaceRegion(page, 30, 0);
    page.region[1].open = 1;
    page.region[1].at_start.elapsed = 30'000'000;
    page.end_tick = page.end_clock = 0;
    page.termination = Termination::kRunning;
    EndAsOf(page, page.begin_tick + 90'000'000, page.begin_clock + 90'000'000);
  }
  EXPECT_THAT(Summarize(pages).regions[1].totals.elapsed, DoubleNear(0.06, 1e-12));
}

TEST(MeasuredRun, SaysWhichRegionsAreOnSomeRanksOnly) {
  Page first = PageOf(0, 2, "a", 100, 20), second = PageOf(1, 2, "a", 100, 20);
  AddRegion(first, "output", 3, 10, 0);
  AddRegion(first, "step", 5, 50, 10);
  AddRegion(second, "step", 4, 40, 10);
  const MeasuredRun run = Summarize({first, second});
  ASSERT_EQ(run.regions.size(), 3U);
  EXPECT_EQ(run.regions[1].name, "output");
  EXPECT_THAT(run.regions[1].ranks, ElementsAre(0));
  EXPECT_THAT(*run.regions[1].factors[Factor::kParallelEfficiency], DoubleNear(1.0, 1e-12));
  // T = 50, useful 40 and 30.
  EXPECT_THAT(*run.regions[2].factors[Factor::kParallelEfficiency], DoubleNear(0.7, 1e-12));
  EXPECT_EQ(run.regions[2].fewest_starts, 4U);
  EXPECT_THAT(Ids(run), ElementsAre("regionOnSomeRanks", "regionStartsDiffer", "noCounters"));
}

TEST(MeasuredRun, SaysWhyNothingIsCounted) {
  const auto reason = [](std::uint32_t flags) {
    Page page = PageOf(0, 1, "a", 100, 20);
    page.flags |= flags;
    const MeasuredRun run = Summarize({page});
    return FindingsOn(run).back().sentence;
  };
  EXPECT_THAT(reason(kCountersRefused), HasSubstr("the machine shows no hardware counters"));
  EXPECT_THAT(reason(kCountersRefused | kCountersForbidden), HasSubstr("set kernel.perf_event_paranoid to 2 or less"));
  EXPECT_THAT(reason(kCountersRefused | kCountersSlow), HasSubstr("rdpmc"));
  EXPECT_THAT(reason(kCountersRefused | kCountersNoPapi), HasSubstr("libpapi"));
}

TEST(MeasuredRun, CountsARegionLeftOpenUntilTheEndOnce) {
  Page page = PageOf(0, 1, "a", 100, 20);
  AddRegion(page, "step", 1, 50, 10);
  page.region[1].open = 1;
  page.region[1].stops = 0;
  const MeasuredRun run = Summarize({page});
  EXPECT_THAT(run.regions[1].totals.elapsed, DoubleNear(0.05, 1e-12));
  EXPECT_THAT(Ids(run), ElementsAre("regionLeftOpen", "noCounters"));
}

TEST(MeasuredRun, KnowsHowItEndedAndWhoIsMissing) {
  Page aborted = PageOf(1, 4, "a", 100, 20), killed = PageOf(3, 4, "a", 100, 20);
  aborted.termination = Termination::kAborted;
  killed.termination = Termination::kSignal;
  killed.signal = 15;
  const MeasuredRun run = Summarize({killed, aborted});
  EXPECT_EQ(run.termination, Termination::kAborted);
  EXPECT_THAT(run.missing, ElementsAre(0, 2));
  EXPECT_THAT(run.not_finalized, ElementsAre(1, 3));
  EXPECT_THAT(Ids(run), ElementsAre("aborted", "ranksMissing", "noCounters"));
}

// Rank 1 was killed after 40 ms and the launcher told the others to end. It computed for 40 ms, rank 0 for 30: the
// mean is 35, T is 50, the time of the longest rank.
TEST(MeasuredRun, NamesTheRankThatEndedFirst) {
  Page told = PageOf(0, 2, "a", 50, 20), killed = PageOf(1, 2, "a", 40, 0);
  told.termination = Termination::kSignal;
  told.signal = 15;
  killed.termination = Termination::kLost;
  const MeasuredRun run = Summarize({told, killed});
  EXPECT_EQ(run.termination, Termination::kLost);
  told.end_tick = told.end_clock = killed.end_clock;  // what is known of it ends with the first one
  EXPECT_THAT(Summarize({told, killed}).ended_first, ElementsAre(1));
  EXPECT_THAT(run.ended_first, ElementsAre(1));
  EXPECT_THAT(*run.regions.front().factors[Factor::kLoadBalance], DoubleNear(35.0 / 40, 1e-12));
  EXPECT_EQ(FindingsOn(run).front().sentence,
            "rank 1 ended without MPI_Finalize, killed or by _exit, before the others; what was measured until then is "
            "reported");
  told.signal = 11;  // a fault explains the rest
  EXPECT_THAT(Summarize({told, killed}).ended_first, ElementsAre(0));
  // Killed at once, as far as the guard saw: the one that was waiting in MPI is the other one's victim.
  told = killed;
  told.rank = 0;
  EXPECT_THAT(Summarize({told, killed}).ended_first, ElementsAre(0, 1));
  told.entered = 1'030'000'000;
  EXPECT_THAT(Summarize({told, killed}).ended_first, ElementsAre(1));
}

TEST(MeasuredRun, HasNoFactorsWhereNobodyComputes) {
  const MeasuredRun run = Summarize({PageOf(0, 1, "a", 100, 100)});
  EXPECT_FALSE(run.regions.front().factors[Factor::kParallelEfficiency].has_value());
  EXPECT_THAT(Ids(run), ElementsAre("nothingUseful", "noCounters"));
}

TEST(MeasuredRun, WarnsOfPreemptionAndOfManyCalls) {
  Page page = PageOf(0, 1, "a", 100, 20);
  page.region[0].cpu_ticks = 100'000'000;
  page.region[0].total.cpu = 80'000'000;
  page.region[0].total.preemptions = 7;
  page.region[0].total.calls = 40'000;
  const MeasuredRun run = Summarize({page});
  EXPECT_THAT(*run.regions.front().cpu_share, DoubleNear(0.8, 1e-12));
  EXPECT_THAT(Ids(run), ElementsAre("manyCalls", "preempted", "noCounters"));
}

// Useful instructions over useful time: 3e8 cycles in 80 ms and 1.5 instructions a cycle.
TEST(MeasuredRun, SaysWhereIdealClocksAssumeTooMuch) {
  Page page = PageOf(0, 1, "a", 100, 20);
  page.flags |= kHasIdeal;
  page.region[0].total.ideal = 90'000'000;
  page.large_messages = 3;
  EXPECT_THAT(Ids(Summarize({page})), testing::Contains("idealLargeMessages"));
  page.not_followed = 1;  // then nothing is known
  EXPECT_THAT(Ids(Summarize({page})), testing::Not(testing::Contains("idealLargeMessages")));
}

TEST(MeasuredRun, ReportsCounters) {
  Page page = PageOf(0, 1, "a", 100, 20);
  page.flags |= kHasCounters;
  page.region[0].total.instructions = 450'000'000;
  page.region[0].total.cycles = 300'000'000;
  const auto json = nlohmann::json::parse(MeasuredRunJson(Summarize({page})));
  EXPECT_THAT(json["regions"][0]["ipc"].get<double>(), DoubleNear(1.5, 1e-12));
  EXPECT_THAT(json["regions"][0]["frequency"].get<double>(), DoubleNear(3.75e9, 1));
  EXPECT_TRUE(json["diagnostics"].empty());
}

}  // namespace
}  // namespace farscale
