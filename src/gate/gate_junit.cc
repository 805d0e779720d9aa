#include <fmt/format.h>

#include <map>

#include "gate/judging.h"
#include "gate/outputs.h"
#include "plot/svg.h"

namespace farscale {
namespace {

enum class Outcome { kPassed, kFailed, kError, kSkipped };

// A rule that could not be decided is an error, as a test that did not run through; of one that only warns, nobody
// waits for the answer.
Outcome OutcomeOf(const GateReport& report, const Judgement& judgement) {
  if (judgement.verdict == Verdict::kFail) return Outcome::kFailed;
  if (judgement.verdict != Verdict::kNoEvidence) return Outcome::kPassed;
  return report.RuleOf(judgement).severity == RuleSeverity::kError ? Outcome::kError : Outcome::kSkipped;
}

std::string CaseOf(const GateReport& report, const Judgement& judgement) {
  const JudgementCells cells = CellsOf(judgement);
  const std::string name = fmt::format("{} at {}", report.RuleOf(judgement).text, CoresInWords(judgement.cores));
  std::string text = fmt::format("    <testcase name=\"{}\" classname=\"farscale.{}.{}\">\n", EscapeXml(name),
                                 EscapeXml(cells.phase), cells.factor);
  const std::string sentence = EscapeXml(judgement.sentence);
  switch (OutcomeOf(report, judgement)) {
    case Outcome::kFailed: text += fmt::format("      <failure message=\"{}\" type=\"fail\"/>\n", sentence); break;
    case Outcome::kError:
      text += fmt::format("      <error message=\"{}\" type=\"notEnoughEvidence\"/>\n", sentence);
      break;
    case Outcome::kSkipped: text += fmt::format("      <skipped message=\"{}\"/>\n", sentence); break;
    case Outcome::kPassed: break;
  }
  const char* warning = judgement.verdict == Verdict::kWarn ? "warning: " : "";
  text += fmt::format("      <system-out>{}{}</system-out>\n", warning, sentence);
  return text + "    </testcase>\n";
}

struct Tally {
  std::size_t tests = 0, failures = 0, errors = 0, skipped = 0;

  void Add(Outcome outcome) {
    ++tests;
    failures += outcome == Outcome::kFailed ? 1 : 0;
    errors += outcome == Outcome::kError ? 1 : 0;
    skipped += outcome == Outcome::kSkipped ? 1 : 0;
  }
};

}  // namespace

std::string WriteGateJunit(const GateReport& report) {
  std::map<std::size_t, std::string> cases;  // by rule
  std::map<std::size_t, Tally> tallies;
  Tally all;
  for (const Judgement& judgement : report.judgements) {
    cases[judgement.rule] += CaseOf(report, judgement);
    tallies[judgement.rule].Add(OutcomeOf(report, judgement));
    all.Add(OutcomeOf(report, judgement));
  }
  std::string text = fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"farscale gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n",
      all.tests, all.failures, all.errors);
  for (const auto& [rule, tests] : cases) {
    const Tally& tally = tallies[rule];
    text += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\">\n{}  </testsuite>\n",
        EscapeXml(report.rule_set.rules[rule].text), tally.tests, tally.failures, tally.errors, tally.skipped, tests);
  }
  return text + "</testsuites>\n";
}

}  // namespace farscale
