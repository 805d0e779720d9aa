#include "gate/rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "base/diagnostics.h"

namespace farscale {
namespace {

// Degrees of freedom of a configured noise; chosen: well above those of the first few commits.
constexpr double kStatedFreedom = 20;
constexpr double kPercent = 100;
constexpr const char* kTimePerIterationId = "timePerIteration";
constexpr const char* kRuntimeId = "runtime";
// Chosen: one wrong verdict in a billion; nearer to 1, no run is enough and numbers run out of digits.
constexpr double kMostConfidence = 0.999999999;
// Chosen: no program computes twice as well as its reference; a bound above is a percentage.
constexpr double kLargestScalability = 2;

std::string Shares(double share) { return fmt::format("{:.4g} %", 100 * share); }

template <typename Value>
Value OneOf(const ConfigTable& table, const std::string& key, const std::string& text,
            const std::vector<std::pair<std::string, Value>>& choices) {
  std::vector<std::string> names;
  for (const auto& [name, value] : choices) {
    if (name == text) return value;
    names.push_back(name);
  }
  table.Fail(key, fmt::format("'{}' is no value of '{}'", text, key), "there are " + Join(names, ", "));
}

void RequireShare(const ConfigTable& table, const std::string& key, const std::optional<double>& value) {
  if (!value || (*value >= 0 && *value < 1)) return;
  table.Fail(key, fmt::format("'{}' is a share of the baseline and must lie between 0 and 1", key),
             PercentageAdvice(*value));
}

void RequirePositive(const ConfigTable& table, const std::string& key, const std::optional<double>& value) {
  if (!value || (std::isfinite(*value) && *value > 0)) return;
  table.Fail(key, fmt::format("'{}' must be above 0", key));
}

// Names of phases or series. An empty list would mean all to some and none to others.
std::vector<std::string> ReadNames(const ConfigTable& table, const std::string& key) {
  const std::optional<std::vector<std::string>> names = table.Strings(key);
  if (!names) return {};
  const bool is_empty = names->empty() || std::any_of(names->begin(), names->end(),
                                                      [](const std::string& name) { return Trim(name).empty(); });
  if (is_empty) table.Fail(key, fmt::format("'{}' names none", key), "leave the key out for all");
  return *names;
}

void ReadCounts(const ConfigTable& table, Rule& rule) {
  if (!table.Has("cores")) return;
  if (table.IsString("cores")) {
    rule.counts = OneOf<Rule::Counts>(table, "cores", *table.String("cores"),
                                      {{"measured", Rule::Counts::kMeasured}, {"targets", Rule::Counts::kTargets}});
    return;
  }
  rule.counts = Rule::Counts::kListed;
  rule.cores.clear();
  const auto listed = table.Integers("cores").value_or(std::vector<std::int64_t>());
  for (const std::int64_t cores : listed) {
    if (cores < 1 || cores > kMostCores) {
      table.Fail("cores", fmt::format("{} is no number of cores", cores));
    }
    rule.cores.push_back(static_cast<double>(cores));
  }
  if (rule.cores.empty())
    table.Fail("cores", "the list of cores is empty", "leave the key out for all measured counts");
}

void ReadBounds(const ConfigTable& table, Rule& rule) {
  const auto read = [&](const char* key, std::optional<double>& bound) {
    if (!table.Has(key)) return;
    if (bound) table.Fail(key, fmt::format("the rule in words says '{}' already", key));
    bound = table.Number(key);
  };
  read("min", rule.min);
  read("max", rule.max);
  read("warn", rule.warn);
  read("max_drop", rule.max_drop);
  read("max_rise", rule.max_rise);
  RequirePositive(table, "min", rule.min);
  RequirePositive(table, "max", rule.max);
  RequirePositive(table, "warn", rule.warn);
  RequireShare(table, "max_drop", rule.max_drop);
  RequireShare(table, "max_rise", rule.max_rise);
}

// Times get worse by rising, everything else by falling.
void RefuseWrongSide(const Rule& rule) {
  const std::string id = IdOf(rule.quantity);
  const bool is_time = rule.quantity.IsTime();
  const auto refuse = [&](bool given, const char* key, const char* instead) {
    if (!given) return;
    throw Error(
        ErrorKind::kUsage, rule.where,
        fmt::format("{} is better when it is {}, so '{}' says nothing", id, is_time ? "smaller" : "larger", key),
        fmt::format("write '{}'", instead));
  };
  refuse(is_time && rule.min, "min", "max");
  refuse(is_time && rule.max_drop, "max_drop", "max_rise");
  refuse(!is_time && rule.max, "max", "min");
  refuse(!is_time && rule.max_rise, "max_rise", "max_drop");
  const bool crossed =
      is_time ? rule.max && rule.warn && *rule.warn > *rule.max : rule.min && rule.warn && *rule.warn < *rule.min;
  if (crossed) {
    throw Error(ErrorKind::kUsage, rule.where,
                fmt::format("'warn' must be {} '{}', so that a warning comes before a failure",
                            is_time ? "below" : "above", is_time ? "max" : "min"));
  }
  if (!rule.since.empty() && (rule.HasLevel() || !rule.HasChange() || rule.counts == Rule::Counts::kMeasured ||
                              rule.counts == Rule::Counts::kTargets)) {
    throw Error(ErrorKind::kUsage, rule.where, "'since' is about changes of the mean over core counts alone",
                fmt::format("say {}, list core counts or leave them out, and write other bounds as another rule",
                            is_time ? "max_rise" : "max_drop"));
  }
  if (!rule.HasLevel() && !rule.HasChange()) {
    throw Error(ErrorKind::kUsage, rule.where, "the rule has no bound",
                is_time ? "say max, warn or max_rise" : "say min, warn or max_drop");
  }
}

// True unless the rule is off.
bool ReadJudging(const ConfigTable& table, Rule& rule) {
  rule.confidence = table.Number("confidence");
  if (rule.confidence && !(*rule.confidence >= 0.5 && *rule.confidence <= kMostConfidence)) {
    table.Fail("confidence", fmt::format("'confidence' must be at least 0.5 and at most {}", kMostConfidence),
               *rule.confidence > 1 ? PercentageAdvice(*rule.confidence) : "");
  }
  if (const auto judge = table.String("judge")) {
    rule.by_value = OneOf<bool>(table, "judge", *judge, {{"interval", false}, {"value", true}});
  }
  if (const auto undecided = table.String("undecided")) {
    rule.undecided = OneOf<Verdict>(table, "undecided", *undecided,
                                    {{"pass", Verdict::kPass},
                                     {"warn", Verdict::kWarn},
                                     {"fail", Verdict::kFail},
                                     {"evidence", Verdict::kUndecided}});
  }
  rule.min_runs = table.Integer("min_runs").value_or(1);
  rule.if_known = table.Bool("if_known").value_or(false);
  if (rule.min_runs < 1) table.Fail("min_runs", "'min_runs' must be at least 1");
  const std::string severity = table.String("severity").value_or("error");
  const int level = OneOf<int>(table, "severity", severity, {{"error", 2}, {"warn", 1}, {"off", 0}});
  rule.only_warns = level == 1;
  return level > 0;
}

// One rule per factor.
void ParseRule(const ConfigTable& table, GateRules& set) {
  Rule rule;
  rule.where = table.Where();
  std::vector<Quantity> quantities;
  if (const auto words = table.String("rule")) {
    rule = ParseRuleText(*words, table.Where("rule"));
    quantities = {rule.quantity};
  }
  for (const std::string& id : table.Strings("factor").value_or(std::vector<std::string>())) {
    const auto quantity = QuantityById(id);
    if (!quantity) table.Fail("factor", "unknown factor '" + id + "'", DidYouMean(id, QuantityIds()));
    if (!rule.text.empty()) table.Fail("factor", "the rule in words names its factor already");
    quantities.push_back(*quantity);
  }
  if (quantities.empty()) {
    table.Fail("", "the rule names no factor", "say factor = \"parallelEfficiency\", or a rule in words");
  }
  if (table.Has("phase")) rule.phases = ReadNames(table, "phase");
  if (table.Has("group")) rule.groups = ReadNames(table, "group");
  if (table.Has("series")) rule.series = ReadNames(table, "series");
  if (table.Has("since")) {
    if (!rule.since.empty()) table.Fail("since", "the rule in words says 'since' already");
    rule.since = table.String("since").value_or("");
    if (Trim(rule.since).empty()) table.Fail("since", "'since' names nothing", "say \"accepted\", a date or a commit");
  }
  ReadCounts(table, rule);
  ReadBounds(table, rule);
  const bool is_on = ReadJudging(table, rule);
  table.RefuseUnknownKeys();
  for (const Quantity& quantity : quantities) {
    rule.quantity = quantity;
    RefuseWrongSide(rule);
    for (const auto& [key, bound] : {std::pair("min", rule.min), std::pair("warn", rule.warn)}) {
      const std::string why = bound ? WhyNoBound(quantity, *bound) : "";
      // The sentence of a rule says it already.
      if (!why.empty() && table.Has(key)) table.Fail(key, why, PercentageAdvice(*bound));
    }
    if (is_on) {
      set.rules.push_back(rule);
      set.rules.back().text = ToText(rule);
    } else {
      ++set.rules_off;
    }
  }
}

}  // namespace

std::string WhyNoBound(const Quantity& quantity, double value) {
  if (quantity.IsTime() || quantity.factor == Factor::kSpeedup) return "";
  const bool ends_at_one = Describe(quantity.factor).AtMostOne();
  if (value <= (ends_at_one ? 1 : kLargestScalability)) return "";
  return fmt::format("{} is a share{} and {} is none", IdOf(quantity), ends_at_one ? " of at most 1" : "",
                     FormatExact(value));
}

std::string PercentageAdvice(double value) {
  if (!(value >= 1 && value <= kPercent)) return "divide percentages by 100";
  return fmt::format("if {0} % are meant, write {1}", FormatExact(value), FormatExact(value / kPercent));
}

std::string IdOf(Verdict verdict) {
  switch (verdict) {
    case Verdict::kPass: return "pass";
    case Verdict::kWarn: return "warn";
    case Verdict::kFail: return "fail";
    default: return "notEnoughEvidence";
  }
}

std::string ToText(Verdict verdict) { return verdict == Verdict::kUndecided ? "not enough data" : IdOf(verdict); }

GateRules ParseRules(const ConfigTable& config, const std::string& file) {
  GateRules set;
  set.file = file;
  const std::optional<double> noise = config.Number("noise");
  if (noise) {
    if (!(*noise > 0 && *noise < 1))
      config.Fail("noise", "'noise' must lie between 0 and 1", "divide percentages by 100");
    set.noise = {*noise, kStatedFreedom};
  }
  set.window = config.Integer("window").value_or(set.window);
  if (set.window < 1) config.Fail("window", "'window' must be at least 1");
  for (const std::string& words : config.Strings("rules").value_or(std::vector<std::string>())) {
    set.rules.push_back(ParseRuleText(words, config.Where("rules")));
    RefuseWrongSide(set.rules.back());
  }
  for (const ConfigTable& table : config.Tables("rule")) ParseRule(table, set);
  config.RefuseUnknownKeys();
  if (set.rules.empty() && set.rules_off == 0) {
    throw Error(ErrorKind::kUsage, file, "contains no rule", "write [[rule]] with factor and min or max_drop");
  }
  return set;
}

std::string ToText(const Rule& rule) {
  std::string text = IdOf(rule.quantity);
  if (!rule.phases.empty()) text += " of phase " + Join(rule.phases, ", ");
  if (!rule.groups.empty()) text += " of group " + Join(rule.groups, ", ");
  if (!rule.series.empty()) text += " of series " + Join(rule.series, ", ");
  if (rule.counts == Rule::Counts::kMeasured) text += " at measured";
  if (rule.counts == Rule::Counts::kTargets) text += " at targets";
  std::vector<std::string> cores, bounds;
  for (const double count : rule.cores) cores.push_back(fmt::format("{:.0f}", count));
  if (!cores.empty()) text += " at " + Join(cores, ", ");
  const char* better = rule.quantity.IsTime() ? "<=" : ">=";
  if (rule.min) bounds.push_back(fmt::format(">= {}", FormatExact(*rule.min)));
  if (rule.max) bounds.push_back(fmt::format("<= {}", FormatExact(*rule.max)));
  if (rule.warn) bounds.push_back(fmt::format("warn unless {} {}", better, FormatExact(*rule.warn)));
  if (rule.max_drop) bounds.push_back("drops at most " + Shares(*rule.max_drop));
  if (rule.max_rise) bounds.push_back("rises at most " + Shares(*rule.max_rise));
  return text + " " + Join(bounds, ", ") + (rule.since.empty() ? "" : " since " + rule.since);
}

std::optional<Quantity> QuantityById(std::string_view id) {
  if (id == kTimePerIterationId) return Quantity::TimePerIteration();
  if (id == kRuntimeId) return Quantity{Quantity::Kind::kRuntime, Factor::kParallelEfficiency};
  const auto factor = FactorById(id);
  return factor ? std::optional(Quantity::Of(*factor)) : std::nullopt;
}

std::vector<std::string> QuantityIds() {
  std::vector<std::string> ids = FactorIds();
  ids.emplace_back(kTimePerIterationId);
  ids.emplace_back(kRuntimeId);
  return ids;
}

std::string IdOf(const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kTimePerIteration: return kTimePerIterationId;
    case Quantity::Kind::kRuntime: return kRuntimeId;
    default: return std::string(Describe(quantity.factor).id);
  }
}

std::string NameOf(const Quantity& quantity) {
  switch (quantity.kind) {
    case Quantity::Kind::kTimePerIteration: return "Time of an iteration";
    case Quantity::Kind::kRuntime: return "Run time";
    default: return std::string(Describe(quantity.factor).name);
  }
}

std::optional<double> ValueOf(const FactorRow& row, const Quantity& quantity) {
  if (quantity.kind == Quantity::Kind::kFactor) return row.values[quantity.factor];
  return quantity.kind == Quantity::Kind::kRuntime ? row.runtime : row.TimePerIteration();
}

std::optional<double> ErrorOf(const FactorRow& row, const Quantity& quantity) {
  if (quantity.kind == Quantity::Kind::kFactor) return row.standard_errors[quantity.factor];
  if (!row.runtime_error) return std::nullopt;
  return quantity.kind == Quantity::Kind::kRuntime ? *row.runtime_error : *row.runtime_error / row.iterations;
}

std::string FormatQuantity(const Quantity& quantity, double value) {
  if (quantity.IsTime()) return FormatSeconds(value);
  return quantity.factor == Factor::kSpeedup ? FormatSpeedup(value) : FormatFactor(value);
}

}  // namespace farscale
