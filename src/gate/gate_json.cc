#include <cmath>

#include "gate/outputs.h"
#include "results/fields.h"

namespace farscale {

template <>
std::vector<std::pair<Verdict, std::string>> NamesOf<Verdict>() {
  return FirstNames<Verdict>(4, [](Verdict verdict) { return IdOf(verdict); });
}

template <>
Fields<Blame> FieldsOf<Blame>() {
  return {
      Computed<Blame>("factor", [](const Blame& blame) { return IdOf(blame); }),
      Computed<Blame>(
          "effect", [](const Blame& blame) { return std::exp(blame.effect) - 1; },
          "Its relative change: -0.05 makes it 5 % worse"),
      Field("share", &Blame::share, "Of everything that makes it worse").Above(0).AtMost(1.000001),
  };
}

template <>
Fields<Judgement> FieldsOf<Judgement>() {
  using T = Judgement;
  const auto rule_of = [](const T& judgement, const JsonPlace& at) -> const Rule& {
    return at.Within<GateReport>().RuleOf(judgement);
  };
  const auto finite = [](std::optional<double> T::*member) {
    return [member](const T& judgement) {
      const std::optional<double>& value = judgement.*member;
      return value && std::isfinite(*value) ? value : std::nullopt;
    };
  };
  const auto has_interval = [](const T& judgement) {
    return judgement.interval && std::isfinite(judgement.interval->low) && std::isfinite(judgement.interval->high);
  };
  return Fields<T>{
      "gate/judgement",
      {
          Field("verdict", &T::verdict),
          Computed<T>(
              "rule", [rule_of](const T& judgement, const JsonPlace& at) { return rule_of(judgement, at).text; },
              "The rule in words"),
          Computed<T>(
              "where", [rule_of](const T& judgement, const JsonPlace& at) { return rule_of(judgement, at).where; },
              "File and line of the rule"),
          Computed<T>(
              "severity",
              [rule_of](const T& judgement, const JsonPlace& at) {
                return std::string(rule_of(judgement, at).severity == RuleSeverity::kError ? "error" : "warn");
              },
              "", OneOf({"error", "warn"})),
          Field("series", &T::series),
          Embed(&T::phase),
          Computed<T>(
              "factor", [](const T& judgement) { return IdOf(judgement.quantity); },
              "Id of a factor, timePerIteration or runtime"),
          Computed<T>(
              "check",
              [](const T& judgement) {
                return std::string(judgement.check == Judgement::Check::kLevel ? "level" : "change");
              },
              "Against a bound, or against the baseline", OneOf({"level", "change"})),
          Field("cores", &T::cores, "Judged; several: over all of them together").Above(0),
          Field("isProjected", &T::is_projected),
          Field("runs", &T::runs, "Of the results, at these core counts"),
          Field("commits", &T::commits, "Whose mean the value is, the newest one included; 1 without since").Above(0),
          Field("sentence", &T::sentence),
          Computed<T>("value", finite(&T::value), "Geometric mean of the runs, or projected; times in seconds"),
          Computed<T>("bound", finite(&T::bound),
                      "Of the value; for changes the share of the baseline that is allowed"),
          Computed<T>("baseline", finite(&T::before), "Value of the baseline"),
          Computed<T>("change", finite(&T::change), "Relative to the baseline: -0.05 is a drop of 5 %"),
          Field("interval", &T::interval,
                "Of the value, or of the change; it decided, unless the rule says to judge the value")
              .When(has_interval),
          Field("confidence", &T::confidence,
                "Of the interval: 0.95 or 0.8 of values, of changes 1 - 0.001 / m, unless the rule says another")
              .Above(0)
              .Below(1)
              .When(has_interval),
          Field("blame", &T::blame),
      }}
      .Schema(R"({"dependentRequired": {"interval": ["confidence"], "change": ["baseline", "value"]}})");
}

template <>
Fields<GateReport> FieldsOf<GateReport>() {
  using T = GateReport;
  return Fields<T>{
      "gate",
      {
          Field("results", &T::results, "Names of the files judged"),
          Field("rules", &T::rules, "File of the rules"),
          Field("baseline", &T::baseline, "In words; empty without one"),
          Computed<T>("verdict", [](const T& report) { return report.Overall(); }),
          Computed<T>("exitCode", [](const T& report) { return report.ExitCode(); }).Schema(R"({"enum": [0, 1, 4]})"),
          Computed<T>("summary", SummaryOf),
          Computed<T>(
              "rulesOff", [](const T& report) { return std::size_t{report.rule_set.rules_off}; },
              "Rules of severity off, which were not judged"),
          Field("judgements", &T::judgements),
          Field("diagnostics", &T::findings, "Anomalies of results and baseline"),
      }}
      .File("farscale-gate", kGateVersion, kGateVersion, "report of a gate");
}

std::string WriteGateJson(const GateReport& report) {
  return JsonOf(report).dump(2, ' ', false, OrderedJson::error_handler_t::replace) + "\n";
}

OrderedJson GateSchema() { return SchemaOf<GateReport>("Verdicts of farscale gate"); }

}  // namespace farscale
