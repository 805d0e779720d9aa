#include "report/rivals.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/format.h"
#include "base/text.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

constexpr double kWorthARow = 0.01;
constexpr std::size_t kMostTargets = 5;

// Some of the targets, evenly spaced, with the first and the last.
std::vector<std::size_t> ShownTargets(std::size_t count) {
  if (count <= kMostTargets) {
    std::vector<std::size_t> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i] = i;
    return all;
  }
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < kMostTargets; ++i) shown.push_back(i * (count - 1) / (kMostTargets - 1));
  return shown;
}

std::string NameOf(const Rival& rival) {
  return rival.dimension == 1 ? rival.model : fmt::format("{}, d = {}", rival.model, rival.dimension);
}

// Models without a row: those hardly believed, and those of no use with the reason.
std::string Others(const std::vector<Rival>& rivals) {
  std::vector<std::string> light, useless;
  for (const Rival& rival : rivals) {
    if (!IsUsable(rival.outcome)) {
      useless.push_back(NameOf(rival) + " (" + ToString(rival.outcome) + ")");
    } else if (rival.weight < kWorthARow) {
      light.push_back(NameOf(rival));
    }
  }
  std::string text;
  if (!light.empty()) text = "Below 1 %: " + Join(light, "; ") + ".";
  if (!useless.empty()) text += (text.empty() ? "" : " ") + std::string("Of no use: ") + Join(useless, "; ") + ".";
  return text;
}

}  // namespace

void AddRivals(const FactorProjection& projection, Data& data) {
  const std::vector<std::size_t> shown = ShownTargets(projection.targets.size());
  data["rivalCores"] = Data::array();
  for (const std::size_t target : shown) {
    data["rivalCores"].push_back({{"cores", FormatCores(projection.targets[target].cores)}});
  }
  data["rivals"] = Data::array();
  for (const Rival& rival : projection.rivals) {
    if (!IsUsable(rival.outcome) || rival.weight < kWorthARow) continue;
    Data row = {{"model", NameOf(rival)}, {"weight", fmt::format("{:.0f} %", 100 * rival.weight)}};
    row["values"] = Data::array();
    for (const std::size_t target : shown) {
      const bool known = target < rival.values.size();
      row["values"].push_back({{"value", known ? FormatFactor(rival.values[target]) : "–"}});
    }
    data["rivals"].push_back(std::move(row));
  }
  data["otherRivals"] = Others(projection.rivals);
  data["hasRivals"] = !data["rivals"].empty();
}

}  // namespace farscale
