#include "report/balance_answers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/format.h"
#include "report/balance_words.h"

namespace farscale {
namespace {

constexpr std::size_t kMostAnswers = 4;  // sentences, one a case
constexpr double kMostIterations = 1e6;  // of a run that anybody would make

// Of what an outcome is compared with.
double Makespan(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  return what_if.outcomes[ReferenceOf(what_if, one, outcome)].makespan;
}

// "the 15.6 s of the run with 16 ranks", or "15.6 s without balancing, placed in blocks".
std::string ComparedWith(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& outcome) {
  const std::string time = FormatSeconds(Makespan(what_if, one, outcome));
  if (outcome.gain_over_original)
    return fmt::format("the {} of the run with {}", time, CountOf(one.processors, "rank"));
  const BalanceConfiguration& reference = what_if.outcomes[ReferenceOf(what_if, one, outcome)].configuration;
  if (reference.placement == outcome.configuration.placement) return time + " without balancing";
  return fmt::format("{} {}placed {}", time, IsUnbalanced(outcome) ? "" : "without balancing, ",
                     NameOfPlacement(reference.placement));
}

// Whether there is an original run that is decomposed more coarsely.
bool IsFiner(const BalanceOutcome& outcome) {
  return outcome.gain_over_original && outcome.configuration.tasks != outcome.configuration.processors;
}

// What an outcome without balancing gains: by being finer than the original run, or by where tasks are placed.
std::string SayUnbalanced(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const std::string placed =
      HasSeveralPlacements(what_if, one) ? ", placed " + NameOfPlacement(lead.configuration.placement) + "," : "";
  const std::string takes =
      fmt::format("take{} {}", lead.configuration.tasks == 1 || IsFiner(lead) ? "s" : "", FormatSeconds(lead.makespan));
  std::string text = IsFiner(lead)
                         ? fmt::format("Over-decomposition alone, {} without balancing{}{} {}",
                                       TasksOn(lead.configuration), placed, placed.empty() ? "," : "", takes)
                         : fmt::format("Without balancing, {}{} {}", TasksOn(lead.configuration), placed, takes);
  if (&what_if.outcomes[ReferenceOf(what_if, one, lead)] == &lead) return text + ".";
  return fmt::format("{} instead of {}: {}.", text, ComparedWith(what_if, one, lead),
                     SayGain(GainOverTrace(what_if, one, lead)));
}

// "205 ms an iteration in a long run instead of 250 ms: 18.0 % less. Over the 40 iterations of the trace they take
// ...".
std::string SayTimes(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead,
                     const std::string& they_take) {
  const BalanceOutcome& reference = what_if.outcomes[ReferenceOf(what_if, one, lead)];
  return fmt::format(
      "{} an iteration in a long run instead of {}: {}. Over the {} of the trace {} {} instead of {}: {}.",
      FormatSeconds(LongRunIterationOf(what_if, lead)), FormatSeconds(LongRunIterationOf(what_if, reference)),
      SayGain(GainThatCounts(what_if, one, lead)),
      CountOf(what_if.runs[lead.configuration.run].iterations, "iteration"), they_take, FormatSeconds(lead.makespan),
      ComparedWith(what_if, one, lead), SayGain(GainOverTrace(what_if, one, lead)));
}

// After how many iterations what the first balancing point costs, and what comes before it, is made up for; of interest
// where the trace is shorter.
std::string SayWhenItPays(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const double iteration = LongRunIterationOf(what_if, lead);
  const double without = LongRunIterationOf(what_if, what_if.outcomes[ReferenceOf(what_if, one, lead)]);
  const auto traced = static_cast<double>(what_if.runs[lead.configuration.run].iterations);
  if (!(iteration < without)) return "";
  const double pays = (lead.makespan - traced * iteration) / (without - iteration);
  if (pays <= traced || pays > kMostIterations) return "";
  return fmt::format(" It pays after {}.", CountOf(static_cast<std::size_t>(std::ceil(pays)), "iteration"));
}

// What strategies do beside that.
std::string SayBestBalanced(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& lead) {
  const BalanceOutcome& best = what_if.outcomes[one.ranking.front()];
  const bool none_moves = std::all_of(one.ranking.begin(), one.ranking.end(),
                                      [&](std::size_t i) { return what_if.outcomes[i].migrations == 0; });
  const double iteration = LongRunIterationOf(what_if, best);
  const std::string takes = fmt::format("takes {} an iteration in a long run, {}", FormatSeconds(iteration),
                                        SayChange(iteration, LongRunIterationOf(what_if, lead)));
  const std::string name = NameWithTasks(what_if, one, best.configuration);
  if (best.migrations > 0) return fmt::format(" No strategy improves on that: the best, {}, {}.", name, takes);
  if (none_moves) return fmt::format(" No strategy finds anything worth moving: the best, {}, {}.", name, takes);
  return fmt::format(
      " No strategy gains by moving tasks: those that move some take longer, and the best, {}, moves none and {}.",
      name, takes);
}

// The gain over the original run, in what is finer and what is moved.
std::string SaySplit(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& best) {
  if (!IsFiner(best)) return "";
  const BalanceOutcome& alone = what_if.outcomes[best.baseline];
  const double original = Makespan(what_if, one, best);
  return fmt::format(" Over-decomposition alone, without balancing, takes {}: {}; balancing then makes it {}.",
                     FormatSeconds(alone.makespan), SayChange(alone.makespan, original),
                     SayChange(best.makespan, alone.makespan));
}

std::string SayNothingMoved(const WhatIf& what_if, const BalanceCase& one, const BalanceOutcome& best) {
  const bool none_moves = std::all_of(one.ranking.begin(), one.ranking.end(),
                                      [&](std::size_t i) { return what_if.outcomes[i].migrations == 0; });
  return fmt::format("On {} no strategy {}: the best, {}, {}takes {}", NameOfCase(what_if, one),
                     none_moves ? "finds anything worth moving" : "gains by moving tasks",
                     NameWithTasks(what_if, one, best.configuration), none_moves ? "" : "moves none and ",
                     SayTimes(what_if, one, best, "it takes"));
}

}  // namespace

std::string AnswerOf(const WhatIf& what_if, const BalanceCase& one) {
  const std::string on = "On " + NameOfCase(what_if, one);
  const BalanceVerdict verdict = VerdictOf(what_if, one);
  if (verdict == BalanceVerdict::kNothingBalanced) {
    return on + (one.processors == 1 ? " there is nothing to balance." : " nothing was balanced.");
  }
  const BalanceOutcome& lead = what_if.outcomes[*one.lead];
  if (IsUnbalanced(lead)) return SayUnbalanced(what_if, one, lead) + SayBestBalanced(what_if, one, lead);
  if (verdict == BalanceVerdict::kNothingMoved) return SayNothingMoved(what_if, one, lead);
  const bool is_plural = verdict == BalanceVerdict::kGains && lead.configuration.tasks != 1;
  const std::string instead = SayTimes(what_if, one, lead, is_plural ? "they take" : "it takes") +
                              SayWhenItPays(what_if, one, lead) + SaySplit(what_if, one, lead);
  if (verdict == BalanceVerdict::kGains) {
    return fmt::format("With {}, {} take{} {}", NameInCase(what_if, one, lead.configuration),
                       TasksOn(lead.configuration), lead.configuration.tasks == 1 ? "s" : "", instead);
  }
  const std::string name = NameWithTasks(what_if, one, lead.configuration);
  const char* both = IsFiner(lead) ? "over-decomposition and balancing bring" : "balancing brings";
  if (verdict == BalanceVerdict::kWithinNoise) {
    return fmt::format("{} {} no more than noise: the best, {}, takes {}", on, both, name, instead);
  }
  if (verdict == BalanceVerdict::kHardlyAnything) {
    return fmt::format("{} {} next to nothing: the best, {}, takes {}", on, both, name, instead);
  }
  const std::string ahead = IsFiner(lead) ? fmt::format("the run with {} stays ahead", CountOf(one.processors, "rank"))
                                          : "balancing costs more than it brings";
  return fmt::format("{} {}: even the best, {}, takes {}", on, ahead, name, instead);
}

std::vector<std::string> AnswersOf(const WhatIf& what_if) {
  const std::vector<BalanceCase> cases = CasesOf(what_if);
  if (cases.empty()) {
    return {what_if.left_out.empty() ? "Nothing was simulated."
                                     : "Nothing could be simulated: see below for what was left out, and why."};
  }
  const BalanceCase& first = MostTelling(what_if, cases);
  std::vector<std::string> answers = {AnswerOf(what_if, first)};
  for (const BalanceCase& one : cases) {
    if (&one != &first && answers.size() < kMostAnswers) answers.push_back(AnswerOf(what_if, one));
  }
  if (cases.size() > answers.size()) {
    answers.push_back(fmt::format("{} more are in the table.", CountOf(cases.size() - answers.size(), "case")));
  }
  return answers;
}

}  // namespace farscale
