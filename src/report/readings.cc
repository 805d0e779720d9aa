#include "report/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "report/evidence.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

// The first curve there is; all of a phase are on the same grid.
const FactorProjection* AnyCurve(const PhaseProjection& projection) {
  for (const FactorProjection& factor : projection.factors) {
    if (!factor.curve.empty()) return &factor;
  }
  return nullptr;
}

std::set<double> MeasuredCounts(const FactorProjection& projection) {
  std::set<double> counts;
  for (const DataPoint& point : projection.measured) counts.insert(point.cores);
  return counts;
}

// Counts of the curve: those measured, the targets, and as many of the rest as fit, evenly.
std::vector<double> ChooseCounts(const FactorProjection& projection) {
  std::set<double> must = MeasuredCounts(projection);
  for (const ProjectedValue& target : projection.targets) must.insert(target.cores);
  std::vector<double> others;
  for (const ProjectedValue& value : projection.curve) {
    if (must.count(value.cores) == 0) others.push_back(value.cores);
  }
  std::vector<double> counts;
  for (const ProjectedValue& value : projection.curve) {
    if (must.count(value.cores) > 0) counts.push_back(value.cores);
  }
  const std::size_t shown = std::min(others.size(), kMostCounts);
  for (std::size_t i = 0; i < shown; ++i) counts.push_back(others[i * others.size() / shown]);
  std::sort(counts.begin(), counts.end());
  return counts;
}

const ProjectedValue* ValueAt(const FactorProjection& projection, double cores) {
  const auto found = std::lower_bound(projection.curve.begin(), projection.curve.end(), cores,
                                      [](const ProjectedValue& value, double count) { return value.cores < count; });
  return found != projection.curve.end() && found->cores == cores ? &*found : nullptr;
}

// "0.912", or "0.912, 0.908" of repeated runs; empty where there was no run.
std::string MeasuredAt(const FactorProjection& projection, double cores) {
  std::vector<std::string> values;
  for (const DataPoint& point : projection.measured) {
    if (point.cores == cores) values.push_back(FormatValue(projection.factor, point.value));
  }
  return Join(values, ", ");
}

Data FactorChoices(const PhaseProjection& phase, const FactorProjection& factor, const std::vector<double>& counts) {
  const double reach = EvidenceUpTo(phase, factor.factor);
  std::vector<std::string> values;
  std::string tones;
  Data measured = Data::object();
  for (std::size_t place = 0; place < counts.size(); ++place) {
    const ProjectedValue* value = ValueAt(factor, counts[place]);
    const bool is_evidence = value != nullptr && counts[place] <= reach;
    std::string text = is_evidence ? FormatValue(factor.factor, value->value) : "-";
    if (value != nullptr && value->interval80) {
      text += " " + FormatValue(factor.factor, value->interval80->low) + " " +
              FormatValue(factor.factor, value->interval80->high);
    }
    values.push_back(text);
    if (value == nullptr) tones += kNoTone;
    if (value != nullptr) tones += is_evidence ? ToneOf(factor.factor, value->value) : kNoEvidenceTone;
    const std::string runs = MeasuredAt(factor, counts[place]);
    if (!runs.empty()) measured[std::to_string(place)] = runs;
  }
  return {{"values", Join(values, ";")}, {"tones", tones}, {"measured", measured}};
}

Data SideChoices(const ReadSide& side, const std::vector<double>& counts) {
  Data factors = Data::object();
  if (side.projection != nullptr) {
    for (const FactorProjection& factor : side.projection->factors) {
      if (factor.curve.empty()) continue;
      factors[std::string(Describe(factor.factor).id)] = FactorChoices(*side.projection, factor, counts);
    }
  }
  return {{"name", side.name}, {"factors", factors}};
}

// What a table shows of a factor of one side.
Data ReadingCell(const ReadSide& side, Factor factor, double cores) {
  const FactorProjection* found = side.projection != nullptr ? side.projection->Find(factor) : nullptr;
  const ProjectedValue* value = found != nullptr ? ValueAt(*found, cores) : nullptr;
  if (value == nullptr) {
    return {{"text", "–"}, {"interval", ""}, {"hasInterval", false}, {"tone", kNoTone}};
  }
  const bool is_evidence = IsEvidence(*side.projection, factor, cores);
  return {{"text", is_evidence ? FormatValue(factor, value->value) : kNotEvidence},
          {"interval", FormatBounds(factor, value->interval80)},
          {"hasInterval", true},
          {"tone", is_evidence ? ToneOf(factor, value->value) : kNoEvidenceTone}};
}

// The last count that is evidence, but none before the largest run.
std::size_t FirstPlace(const PhaseProjection& projection, const std::vector<double>& counts) {
  const double largest = projection.fitted_cores.empty() ? counts.front() : projection.fitted_cores.back();
  std::size_t place = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= largest || IsEvidence(projection, counts[i])) place = i;
  }
  return place;
}

Data ReadingRows(const std::vector<ReadSide>& sides, double cores) {
  Data rows = Data::array();
  for (const FactorProjection& factor : sides.front().projection->factors) {
    if (factor.curve.empty()) continue;
    Data cells = Data::array();
    for (std::size_t side = 0; side < sides.size(); ++side) {
      cells.push_back(ReadingCell(sides[side], factor.factor, cores));
      cells.back()["side"] = std::to_string(side);
      cells.back()["isOther"] = side > 0;
    }
    rows.push_back({{"factor", std::string(Describe(factor.factor).id)},
                    {"name", Name(factor.factor)},
                    {"depth", std::to_string(DepthOf(factor.factor))},
                    {"cells", cells}});
  }
  return rows;
}

// A count with as many digits as it is printed with.
Data Printable(double count) {
  const double rounded = count < 100 ? std::round(10 * count) / 10 : std::round(count);
  if (rounded == std::round(rounded)) return static_cast<std::int64_t>(rounded);
  return rounded;
}

}  // namespace

Readings ReadingsOfPhase(const std::vector<ReadSide>& sides, const std::string& anchor) {
  const PhaseProjection& projection = *sides.front().projection;
  const FactorProjection* curve = AnyCurve(projection);
  Readings readings;
  readings.table = {{"hasReadings", curve != nullptr}};
  if (curve == nullptr) return readings;
  const std::vector<double> counts = ChooseCounts(*curve);
  const std::size_t place = FirstPlace(projection, counts);
  Data numbers = Data::array(), printed = Data::array(), ratios = Data::array(), choices = Data::array();
  const double largest = projection.fitted_cores.empty() ? counts.back() : projection.fitted_cores.back();
  for (const double count : counts) {
    numbers.push_back(Printable(count));
    printed.push_back(FormatCores(numbers.back().get<double>()));
    ratios.push_back(FormatRatio(count / largest));
  }
  Data names = Data::array();
  for (std::size_t side = 0; side < sides.size(); ++side) {
    choices.push_back(SideChoices(sides[side], counts));
    names.push_back({{"name", sides[side].name}, {"side", std::to_string(side)}, {"isOther", side > 0}});
  }
  readings.table.update({{"readingCores", printed[place]},
                         {"readingRatio", ratios[place]},
                         {"readingCount", numbers[place].dump()},
                         {"readingLeast", numbers.front().dump()},
                         {"readingMost", numbers.back().dump()},
                         {"readingPlace", std::to_string(place)},
                         {"readingLast", std::to_string(counts.size() - 1)},
                         {"readingSides", names},
                         {"readings", ReadingRows(sides, counts[place])}});
  readings.choices = {{"anchor", anchor}, {"numbers", numbers}, {"counts", printed},
                      {"ratios", ratios}, {"place", place},     {"sides", choices}};
  return readings;
}

ReportData RowsBehindChart(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors) {
  std::set<double> counts;
  for (const FactorProjection* factor : factors) {
    counts.merge(MeasuredCounts(*factor));
    for (const ProjectedValue& target : factor->targets) counts.insert(target.cores);
  }
  Data rows = Data::array();
  for (const double count : counts) {
    Data cells = Data::array();
    for (const FactorProjection* factor : factors) {
      const ProjectedValue* value = ValueAt(*factor, count);
      const std::string interval = value != nullptr ? FormatBounds(factor->factor, value->interval80) : "–";
      const bool is_evidence = value != nullptr && IsEvidence(projection, factor->factor, count);
      const std::string measured = MeasuredAt(*factor, count);
      cells.push_back({{"text", is_evidence ? FormatValue(factor->factor, value->value) : interval},
                       {"interval", interval},
                       {"isEvidence", is_evidence},
                       {"measured", measured},
                       {"hasMeasured", !measured.empty()}});
    }
    rows.push_back({{"cores", FormatCores(count)}, {"cells", cells}});
  }
  return rows;
}

std::string ToScriptJson(const ReportData& data) {
  std::string json;
  for (const char c : data.dump(-1, ' ', false, Data::error_handler_t::replace)) {
    if (c == '<') {
      json += "\\u003c";
    } else {
      json += c;
    }
  }
  return json;
}

}  // namespace farscale
