#include "projection/model_settings.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <set>
#include <stdexcept>

#include "base/config.h"
#include "base/diagnostics.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "models/ensemble.h"
#include "stats/sample_quantiles.h"

namespace farscale {

ModelChoice ParseModelChoice(const std::string& text, const std::string& where) {
  const std::size_t colon = text.find(':');
  const std::string model = text.substr(0, colon);
  std::vector<int> dimensions;
  if (model.empty()) throw Error(ErrorKind::kUsage, where, "'" + text + "' names no model");
  if (colon != std::string::npos) {
    for (const std::string& part : Split(text.substr(colon + 1), ',')) {
      long long dimension = 0;
      if (!ParseInteger(part, dimension) || dimension < 1 || dimension > kLargestDimension) {
        throw Error(ErrorKind::kUsage, where,
                    fmt::format("'{}' has no dimension between 1 and {} behind the colon", text, kLargestDimension));
      }
      dimensions.push_back(static_cast<int>(dimension));
    }
  }
  return {{{model, dimensions}}, where};
}

ModelChoice ParseModelChoice(const ConfigTable& table, const std::string& key) {
  if (!table.IsTable(key)) return ParseModelChoice(table.RequiredString(key), table.Where(key));
  const ConfigTable choice = *table.Table(key);
  const std::string model = choice.RequiredString("model");
  const std::vector<int> dimensions = ParseDimensions(choice, "dimension");
  choice.RefuseUnknownKeys();
  return {{{model, dimensions}}, table.Where(key)};
}

std::string Describe(const ModelChoice& choice) {
  std::vector<std::string> options;
  for (const auto& [model, dimensions] : choice.options) {
    options.push_back(dimensions.empty() ? model
                                         : fmt::format("{} in dimension{} {}", model, dimensions.size() == 1 ? "" : "s",
                                                       fmt::join(dimensions, ", ")));
  }
  return Join(options, ", ");
}

std::vector<Candidate> Candidates(const ModelChoice& choice, const ModelLibrary& library, ModelRole role,
                                  std::optional<Factor> factor, bool is_of_times) {
  std::vector<Candidate> candidates;
  for (const auto& [name, dimensions] : choice.options) {
    const ScalingModel& model = library.Get(name, choice.where);
    candidates.push_back({&model, dimensions.empty() ? model.dimensions : dimensions, is_of_times});
  }
  if (!choice.options.empty()) return candidates;
  for (const ScalingModel* model : library.InOrder()) {
    if (model->Serves(role, factor)) candidates.push_back({model, model->dimensions, is_of_times});
  }
  return candidates;
}

const ModelChoice& ModelSettings::For(const PhaseId& phase, Factor factor) const {
  auto of_phase = by_phase.find(phase);
  if (of_phase == by_phase.end()) of_phase = by_phase.find(PhaseId(phase.name));
  for (const auto* choices : {of_phase == by_phase.end() ? nullptr : &of_phase->second, &by_factor}) {
    if (choices != nullptr && choices->contains(factor)) return choices->at(factor);
  }
  return standard;
}

void RequireModels(const ModelSettings& settings, const ModelLibrary& library) {
  const auto require = [&](const ModelChoice& choice) {
    for (const auto& [model, dimensions] : choice.options) library.Get(model, choice.where);
  };
  require(settings.standard);
  for (const auto& [factor, choice] : settings.by_factor) require(choice);
  for (const auto& [phase, choices] : settings.by_phase) {
    for (const auto& [factor, choice] : choices) require(choice);
  }
}

std::string Describe(const ModelSettings& settings, const ModelLibrary& library) {
  ModelChoice standard = settings.standard;
  std::string text, of_some;
  if (standard.options.size() == 1 && standard.options[0].second.size() == 1) {
    text = Describe(standard) + " for every factor";
  } else {  // "12 candidate models per factor, ...: constant, ...; mine for transferEfficiency"
    const bool is_chosen = !standard.options.empty();
    for (const ScalingModel* model : library.InOrder()) {
      if (is_chosen || !model->roles.contains(ModelRole::kCores)) continue;
      if (model->factors.empty()) {
        standard.options.emplace_back(model->id, std::vector<int>());
        continue;
      }
      std::vector<std::string_view> ids;
      for (const Factor factor : model->factors) ids.push_back(Describe(factor).id);
      of_some += fmt::format("; {} for {}", model->id, fmt::join(ids, ", "));
    }
    text = fmt::format(
        "{} candidate models per factor, weighted by how well each predicts the larger runs from the smaller ones: "
        "{}{}",
        standard.options.size(), Describe(standard), of_some);
  }
  if (settings.weighs_alike) text += "; all runs count alike";
  for (const auto& [factor, choice] : settings.by_factor) {
    text += fmt::format("; {}: {}", Describe(factor).id, Describe(choice));
  }
  for (const auto& [phase, choices] : settings.by_phase) {
    for (const auto& [factor, choice] : choices) {
      text += fmt::format("; {} in {}: {}", Describe(factor).id, phase.Text(), Describe(choice));
    }
  }
  return text;
}

void PlaceIntervals(std::vector<double>& draws, const std::vector<double>& coverages) {
  std::vector<double> shares;
  for (const double coverage : coverages) {
    shares.push_back(0.5 - coverage / 2);
    shares.push_back(0.5 + coverage / 2);
  }
  PlaceQuantiles(draws, shares);
}

IntervalBounds IntervalOf(const std::vector<double>& sorted, double coverage, double value) {
  constexpr double kNothing = 1e-6;  // chosen: lower bounds of efficiencies below this are printed as 0
  if (!(coverage >= 0 && coverage <= 1))
    throw std::domain_error("the coverage of an interval must lie between 0 and 1");
  const double low = std::min(value, QuantileOfSorted(sorted, 0.5 - coverage / 2));
  return {low < kNothing ? 0 : low, std::max(value, QuantileOfSorted(sorted, 0.5 + coverage / 2))};
}

namespace {

// Parts that only explain a factor are not extrapolated.
std::vector<Factor> ProjectionChildren(Factor factor, FactorTree tree) {
  std::vector<Factor> children = ChildrenOf(factor, tree);
  std::erase_if(children, [](Factor child) { return Describe(child).kind == FactorKind::kDetail; });
  return children;
}

// Adds the factors to fit for `factor` and returns at how many core counts they are known together: its finest complete
// parts, unless those are known too rarely to be fitted and the factor itself is known more often.
std::size_t AddFitted(const std::vector<FactorRow>& rows, FactorTree tree, Factor factor, std::vector<Factor>& fitted) {
  constexpr std::size_t kEnoughCounts = 3;  // to choose a model for a factor
  const std::vector<Factor> children = ProjectionChildren(factor, tree);
  std::set<std::int64_t> cores;  // at which the factor is known
  for (const FactorRow& row : rows) {
    if (row.values[factor]) cores.insert(row.cores);
  }
  std::size_t of_parts = children.empty() ? 0 : std::numeric_limits<std::size_t>::max();
  std::vector<Factor> parts;
  for (const Factor child : children) of_parts = std::min(of_parts, AddFitted(rows, tree, child, parts));
  const bool are_enough = of_parts > 0 && of_parts >= std::min(cores.size(), kEnoughCounts);
  const bool are_incomplete = of_parts == 0;  // still worth a projection of their own
  if (are_enough || are_incomplete) fitted.insert(fitted.end(), parts.begin(), parts.end());
  if (are_enough) return of_parts;
  if (!cores.empty()) fitted.push_back(factor);
  return cores.size();
}

}  // namespace

std::vector<Factor> PartsOf(Factor factor, const std::vector<Factor>& available) {
  std::vector<Factor> parts;
  bool complete = true;
  for (const Factor child : ProjectionChildren(factor, TreeOf(available))) {
    const std::vector<Factor> of_child = PartsOf(child, available);
    complete = complete && !of_child.empty();
    parts.insert(parts.end(), of_child.begin(), of_child.end());
  }
  if (complete && !parts.empty()) return parts;
  const bool is_available = std::find(available.begin(), available.end(), factor) != available.end();
  return is_available ? std::vector<Factor>{factor} : std::vector<Factor>();
}

std::vector<Factor> LossesAmong(const std::vector<Factor>& available) {
  const std::optional<Factor> whole = WholeAmong(available);
  return whole ? PartsOf(*whole, available) : available;
}

std::optional<Factor> WholeAmong(const std::vector<Factor>& available) {
  for (const Factor whole : {Factor::kGlobalEfficiency, Factor::kParallelEfficiency}) {
    if (!PartsOf(whole, available).empty()) return whole;
  }
  return std::nullopt;
}

std::vector<Factor> FittedFactors(const std::vector<FactorRow>& rows) {
  std::vector<Factor> fitted;
  AddFitted(rows, TreeOf(rows), Factor::kGlobalEfficiency, fitted);
  std::sort(fitted.begin(), fitted.end());
  return fitted;
}

}  // namespace farscale
