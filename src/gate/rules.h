// The rules of a gate [docs/gate.md].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/config.h"
#include "factors/factor.h"
#include "factors/factor_table.h"

namespace farscale {

// The quantities that rules judge and histories show: efficiency factors and times.

struct Quantity {
  enum class Kind { kFactor, kTimePerIteration, kRuntime };
  Kind kind = Kind::kFactor;
  Factor factor = Factor::kParallelEfficiency;  // for kFactor only

  static Quantity Of(Factor factor) { return {Kind::kFactor, factor}; }
  static Quantity TimePerIteration() { return {Kind::kTimePerIteration, Factor::kParallelEfficiency}; }

  // Times are better when they are smaller, everything else when it is larger.
  bool IsTime() const { return kind != Kind::kFactor; }
  // As of a factor; times do not compare.
  bool IsOneAtReference() const { return !IsTime() && Describe(factor).IsOneAtReference(); }
  bool ComparesWithReference() const { return !IsTime() && Describe(factor).ComparesWithReference(); }

  friend bool operator==(const Quantity&, const Quantity&) = default;
};

// "timePerIteration", "runtime", or the id of a factor; nothing for anything else.
std::optional<Quantity> QuantityById(std::string_view id);
std::vector<std::string> QuantityIds();
std::string IdOf(const Quantity& quantity);
std::string NameOf(const Quantity& quantity);

// The value in one run, times in seconds; nothing if it is unknown. The standard error has the unit of the value.
std::optional<double> ValueOf(const FactorRow& row, const Quantity& quantity);
std::optional<double> ErrorOf(const FactorRow& row, const Quantity& quantity);

// For printing: "0.813", "2.35", "1.23 ms".
std::string FormatQuantity(const Quantity& quantity, double value);

enum class Verdict { kPass, kWarn, kFail, kUndecided };

// "pass", "warn", "fail", "notEnoughEvidence" in files; "not enough data" for people.
std::string IdOf(Verdict verdict);
std::string ToText(Verdict verdict);

struct Rule {
  // Which core counts a rule is about.
  enum class Counts {
    kAll,       // not said: every measured one; changes are judged over all of them together
    kMeasured,  // every measured one by itself
    kTargets,   // those the results are projected to
    kListed
  };

  std::string text;   // in words
  std::string where;  // "gate.toml:12"
  Quantity quantity;
  std::vector<std::string> phases;  // empty: all; names, or texts of groups [phases/phase_spec.h]
  std::vector<std::string> groups;  // groups of their ranks; empty: `phases` says it all
  std::vector<std::string> series;  // empty: all
  Counts counts = Counts::kAll;
  std::vector<double> cores;  // for kListed
  std::optional<double> min, max, warn;
  std::optional<double> max_drop, max_rise;  // relative: 0.03 is 3 % of the baseline
  // Changes that last, against the level since then: "accepted", a date or a commit [gate/judging.h]. Empty:
  // changes of the newest commit against those before it.
  std::string since;
  std::optional<double> confidence;  // for intervals and noise; nothing: the usual
  bool by_value = false;             // intervals and noise do not count
  std::optional<Verdict> undecided;  // where the interval contains the bound; nothing: the usual
  std::int64_t min_runs = 1;         // at a core count, for a measured value to be reliable
  bool if_known = false;             // silent where neither results nor baseline know the factor
  bool only_warns = false;

  bool HasLevel() const { return min || max || warn; }
  bool HasChange() const { return max_drop || max_rise; }
  // Bounds of values, and of changes for the worse: of each pair at most one is set.
  std::optional<double> Bound() const { return min ? min : max; }
  std::optional<double> AllowedChange() const { return max_drop ? max_drop : max_rise; }
};

struct GateRules {
  std::string file;
  bool is_built_in = false;  // then no file of the user's has them
  std::vector<Rule> rules;   // none is off
  std::size_t rules_off = 0;
  Noise noise;               // expected before anything is known
  std::int64_t window = 10;  // commits of a history that make the baseline, at most
};

// Throws a usage error with file and line for invalid rules and unknown keys, and for a file without rules.
GateRules ParseRules(const ConfigTable& config, const std::string& file);

// A rule in one sentence: "parallelEfficiency of phase solve at 1024 >= 0.75". Throws a usage error at `where`.
Rule ParseRuleText(const std::string& text, const std::string& where);

std::string ToText(const Rule& rule);

// Why a quantity cannot have this value of `min` or `warn`, such as an efficiency of 75; "" if it can.
std::string WhyNoBound(const Quantity& quantity, double value);
// "if 75 % are meant, write 0.75"; a general text for anything but a percentage.
std::string PercentageAdvice(double value);

}  // namespace farscale
