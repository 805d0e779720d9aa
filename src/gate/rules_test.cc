#include "gate/rules.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "base/diagnostics.h"

namespace farscale {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GateRules Parse(const std::string& text) { return ParseRules(ConfigTable::Parse(text, "gate.toml"), "gate.toml"); }

std::string ErrorOfRules(const std::string& text) {
  try {
    Parse(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(Rules, ReadsEveryKey) {
  const GateRules rules = Parse(R"(noise = 0.02
window = 5
[[rule]]
factor = "parallelEfficiency"
phase = "solve"
series = ["a", "b"]
cores = [64, 1024]
min = 0.75
warn = 0.8
max_drop = 0.03
severity = "warn"
confidence = 0.9
judge = "value"
undecided = "fail"
min_runs = 3
if_known = true
[[rule]]
factor = "runtime"
cores = "measured"
max = 10
severity = "off"
)");
  ASSERT_EQ(rules.rules.size(), 1u);
  EXPECT_EQ(rules.rules_off, 1u);
  EXPECT_EQ(rules.noise.deviation, 0.02);
  EXPECT_EQ(rules.window, 5);
  const Rule& rule = rules.rules.front();
  EXPECT_EQ(rule.where, "gate.toml:3");
  EXPECT_THAT(rule.phases, ElementsAre("solve"));
  EXPECT_THAT(rule.series, ElementsAre("a", "b"));
  EXPECT_THAT(rule.cores, ElementsAre(64, 1024));
  EXPECT_EQ(rule.min, 0.75);
  EXPECT_EQ(rule.warn, 0.8);
  EXPECT_EQ(rule.max_drop, 0.03);
  EXPECT_EQ(rule.confidence, 0.9);
  EXPECT_TRUE(rule.by_value);
  EXPECT_EQ(rule.undecided, Verdict::kFail);
  EXPECT_EQ(rule.min_runs, 3);
  EXPECT_TRUE(rule.only_warns);
  EXPECT_EQ(
      rule.text,
      "parallelEfficiency of phase solve of series a, b at 64, 1024 >= 0.75, warn unless >= 0.8, drops at most 3 %");
}

TEST(Rules, ToText) {
  const Rule rule = ParseRuleText("parallelEfficiency of phase solve at 1024 >= 0.75", "gate.toml:2");
  EXPECT_EQ(rule.quantity, Quantity::Of(Factor::kParallelEfficiency));
  EXPECT_THAT(rule.phases, ElementsAre("solve"));
  EXPECT_THAT(rule.cores, ElementsAre(1024));
  EXPECT_EQ(rule.min, 0.75);
  const Rule drop = ParseRuleText("loadBalance of phase lower sweep at measured drops at most 3 %", "");
  EXPECT_THAT(drop.phases, ElementsAre("lower sweep"));
  EXPECT_EQ(drop.counts, Rule::Counts::kMeasured);
  EXPECT_DOUBLE_EQ(*drop.max_drop, 0.03);
  const Rule time = ParseRuleText("timePerIteration of phase 'at sea' at 16, 32 and 64 cores <= 1.5", "");
  EXPECT_THAT(time.phases, ElementsAre("at sea"));
  EXPECT_THAT(time.cores, ElementsAre(16, 32, 64));
  EXPECT_EQ(time.max, 1.5);
  EXPECT_THAT(ParseRuleText("speedup >= 10", "").phases, IsEmpty());
}

TEST(Rules, GroupsInWords) {
  const Rule rule = ParseRuleText("loadBalance of phase time step of group pme of series a at 8 >= 0.5", "t");
  EXPECT_THAT(rule.phases, ElementsAre("time step"));
  EXPECT_THAT(rule.groups, ElementsAre("pme"));
  EXPECT_EQ(ToText(rule), "loadBalance of phase time step of group pme of series a at 8 >= 0.5");
}

// 1,024 is neither 1 and 24 cores nor octal.
TEST(Rules, CoreCountsInWordsArePlainDigits) {
  const auto why_not = [](const std::string& counts) {
    return ErrorOfRules(fmt::format("rules = [\"loadBalance at {} >= 0.9\"]", counts));
  };
  EXPECT_THAT(why_not("1,024"), HasSubstr("'024' is no number of cores, for it begins with a zero; write 1024"));
  EXPECT_THAT(why_not("16, 1,024"), HasSubstr("write 1024"));
  EXPECT_THAT(why_not("16, 032"), HasSubstr("begins with a zero; write 32"));
  EXPECT_THAT(why_not("0100"), HasSubstr("write 100"));
  EXPECT_THAT(why_not("2000000000"), HasSubstr("no whole number of cores"));
  for (const char* counts : {",16", "16,,32", "16, , 32", "16,,"}) {
    EXPECT_THAT(why_not(counts), HasSubstr("a number of cores is missing beside a comma")) << counts;
  }
  for (const char* counts : {"16,32", "16, 32, and 64 cores", "16,"}) EXPECT_EQ(why_not(counts), "") << counts;
}

// What a rule says of itself can be read again.
TEST(Rules, WordsOfARuleAreARule) {
  for (const char* text : {"parallelEfficiency of phase solve at 1024 >= 0.75", "runtime at targets <= 20",
                           "speedup of series x at 16, 32 >= 1.5, drops at most 2.5 %"}) {
    EXPECT_EQ(ToText(ParseRuleText(text, "")), text);
  }
}

// 75 is meant as a percentage of an efficiency, and is a fine bound of a speedup or a time.
TEST(Rules, RefusesPercentagesOfEfficiencies) {
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nphase = \"solve\"\nmin = 75"),
              HasSubstr("gate.toml:4: loadBalance is a share of at most 1 and 75 is none; if 75 % are meant, write "
                        "0.75"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.75\nwarn = 80"),
              HasSubstr("gate.toml:4: loadBalance is a share of at most 1 and 80 is none; if 80 % are meant, write "
                        "0.8"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = [\"speedup\", \"computationScalability\"]\nmin = 75"),
              HasSubstr("computationScalability is a share and 75 is none"));
  EXPECT_THAT(ErrorOfRules("rules = [\"globalEfficiency at 64 >= 75\"]"),
              HasSubstr("globalEfficiency is a share and 75 is none; if 75 % are meant, write 0.75"));
  EXPECT_EQ(ErrorOfRules("rules = [\"globalEfficiency >= 75 %\", \"computationScalability >= 1.2\"]"), "");
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 750"), HasSubstr("divide percentages by 100"));
  EXPECT_EQ(ErrorOfRules("rules = [\"speedup >= 75\", \"runtime <= 75\", \"loadBalance >= 1\"]"), "");
}

TEST(Rules, ErrorsNameFileAndLine) {
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalanse\"\nmin = 0.5"),
              HasSubstr("gate.toml:2: unknown factor 'loadBalanse'; did you mean 'loadBalance'?"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nminimum = 0.5"), HasSubstr("gate.toml:3: unknown key"));
  EXPECT_THAT(ErrorOfRules("[[rules]]\nfactor = \"loadBalance\"\nmin = 0.5"), HasSubstr("gate.toml:1"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\""), HasSubstr("the rule has no bound"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"runtime\"\nmin = 2"), HasSubstr("write 'max'"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmax_drop = 3"), HasSubstr("write 0.03"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmax_drop = -1"),
              HasSubstr("divide percentages by 100"));
  EXPECT_EQ(ErrorOfRules("[[rule]]\nfactor = \"runtime\"\nmax = 5\nwarn = 5"), "") << "the same is no contradiction";
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.8\nwarn = 0.7"),
              HasSubstr("'warn' must be above"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\ncores = 0\nmin = 0.5"),
              HasSubstr("no number of cores"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\ncores = \"all\"\nmin = 0.5"),
              HasSubstr("measured, targets"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nmin = 0.5"), HasSubstr("names no factor"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.5\nseverity = \"fatal\""),
              HasSubstr("gate.toml:4: 'fatal' is no value of 'severity'"));
  EXPECT_THAT(ErrorOfRules(""), HasSubstr("contains no rule"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"runtime\"\nmax_rise = 3"),
              HasSubstr("gate.toml:3: 'max_rise' is a share of the baseline and must lie between 0 and 1; if 3 % are "
                        "meant, write 0.03"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.5\nconfidence = 95"), HasSubstr("write 0.95"));
  EXPECT_THAT(ErrorOfRules("[[rule]]\nfactor = \"loadBalance\"\nmin = 0.5\nconfidence = 0.9999999999999999"),
              HasSubstr("at most 0.999999999"));
  for (const char* names : {"[]", "\"\"", "[\"solve\", \" \"]"}) {
    for (const char* key : {"phase", "series"}) {
      EXPECT_THAT(ErrorOfRules(fmt::format("[[rule]]\nfactor = \"loadBalance\"\n{} = {}\nmin = 0.5", key, names)),
                  HasSubstr(fmt::format("gate.toml:3: '{}' names none; leave the key out for all", key)));
    }
  }
  EXPECT_THAT(ErrorOfRules("rules = [\"loadBalance of phase '' >= 0.5\"]"), HasSubstr("a name is empty"));
  EXPECT_THAT(ErrorOfRules("rules = [\"loadBalance of phase >= 0.5\"]"), HasSubstr("a name is missing"));
  EXPECT_THAT(ErrorOfRules("rules = [\"loadBalance >= high\"]"), HasSubstr("'high' is no number"));
  EXPECT_THAT(ErrorOfRules("rules = [\"loadBalance quickly >= 0.5\"]"), HasSubstr("'quickly' is not expected there"));
  EXPECT_THAT(ErrorOfRules("rules = [\"loadBalance >=\"]"), HasSubstr("a number is missing at its end"));
}

}  // namespace
}  // namespace farscale
