#include "trace/names.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"
#include "trace/anomalies.h"
#include "trace/trace.h"

namespace farscale {
namespace {

using testing::HasSubstr;
using testing::Optional;

Trace WithCounters(const std::vector<std::string>& names) {
  Trace trace;
  for (const std::string& name : names) trace.counters.push_back({name, "", "#", 1, false, true});
  return trace;
}

TEST(Counters, UsualNamesInAnyCase) {
  const Trace trace = WithCounters({"L2_MISSES", "papi_tot_ins", "PAPI_TOT_CYC", "perf::TASK-CLOCK"});
  EXPECT_THAT(ChooseCounter(trace, CounterMeaning::kInstructions, {}), Optional(1u));
  EXPECT_THAT(ChooseCounter(trace, CounterMeaning::kCycles, {}), Optional(2u));
  EXPECT_THAT(ChooseCounter(trace, CounterMeaning::kCpuTime, {}), Optional(3u));
  EXPECT_EQ(ChooseCounter(WithCounters({"L2_MISSES"}), CounterMeaning::kCycles, {}), std::nullopt);
}

TEST(Counters, OneBitOfANameIsWrong) {
  const auto damaged = [](const std::string& name) {
    Diagnostics diagnostics;
    CheckCounterName({name, "", "#"}, diagnostics);
    return diagnostics.count(anomaly::kCounterUnclear);
  };
  for (const char* usual : {"PAPI_TOT_CYC", "cpu-cycles", "PERF::TASK-CLOCK"}) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string name = usual;
      if (bit == 5 && std::isalpha(name[3])) continue;  // upper and lower case
      name[3] = static_cast<char>(name[3] ^ (1 << bit));
      EXPECT_EQ(damaged(name), 1u) << name;
    }
    EXPECT_EQ(damaged(usual), 0u);
  }
  EXPECT_EQ(damaged("PAPI_TOT_IIS"), 0u);  // instructions issued
  Diagnostics of_level;
  CheckCounterName({"PAPI_TOT_INS", "", "#", 1, false, false}, of_level);
  EXPECT_EQ(of_level.count(anomaly::kCounterUnclear), 1u);
}

TEST(Counters, TheNameGivenGoesFirst) {
  const Trace trace = WithCounters({"CPU_TIME", "BB_COUNT", "INS", "MY_CPU"});
  const CounterNames names = {"BB_COUNT", "", "MY_CPU"};
  EXPECT_THAT(ChooseCounter(trace, CounterMeaning::kInstructions, names), Optional(1u));
  EXPECT_THAT(ChooseCounter(trace, CounterMeaning::kCpuTime, names), Optional(3u));
}

TEST(Counters, AMissingNameIsAnErrorThatListsTheOthers) {
  const std::string error = test::ErrorOf(ErrorKind::kUsage, [] {
    ChooseCounter(WithCounters({"CPU_TIME", "BB_COUNT"}), CounterMeaning::kCycles, {"", "TOT_CYC", ""});
  });
  EXPECT_THAT(error, HasSubstr("no counter 'TOT_CYC' in this trace"));
  EXPECT_THAT(error, HasSubstr("it has CPU_TIME, BB_COUNT"));
}

// One count is `scale` units: milliseconds in thousandths are microseconds.
TEST(Counters, SecondsByUnitAndScale) {
  const auto per_second = [](const std::string& unit, double scale) {
    return CountsPerSecond({"CPU_TIME", "", unit, scale, false, true});
  };
  EXPECT_DOUBLE_EQ(per_second("#", 1), 1e9);
  EXPECT_DOUBLE_EQ(per_second("", 1), 1e9);
  EXPECT_DOUBLE_EQ(per_second("ns", 1), 1e9);
  EXPECT_DOUBLE_EQ(per_second(" us ", 1), 1e6);
  EXPECT_DOUBLE_EQ(per_second("\u00b5s", 1), 1e6);
  EXPECT_DOUBLE_EQ(per_second("ms", 1e-3), 1e6);
  EXPECT_DOUBLE_EQ(per_second("s", 1e-6), 1e6);
}

}  // namespace
}  // namespace farscale
