#include "report/readings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "base/format.h"
#include "base/text.h"
#include "projection/curve.h"
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

// Whole counts, each once: those measured, the targets, the last that is evidence, and as many of the curve's as fit,
// evenly. The curve's own are no whole ones, and readers choose cores.
std::vector<double> ChooseCounts(const PhaseProjection& phase, const FactorProjection& projection) {
  std::set<double> counts = MeasuredCounts(projection);
  for (const ProjectedValue& target : projection.targets) counts.insert(std::round(target.cores));
  if (phase.horizon) counts.insert(phase.horizon->cores);
  for (const FactorProjection& factor : phase.factors) {
    if (!factor.curve.empty()) counts.insert(std::floor(EvidenceUpTo(phase, factor.factor)));
  }
  std::set<double> others;
  for (const ProjectedValue& value : projection.curve) {
    if (counts.count(std::round(value.cores)) == 0) others.insert(std::round(value.cores));
  }
  const std::vector<double> rest(others.begin(), others.end());
  const std::size_t wanted = std::max(kFewestOthers, kMostCounts - std::min(kMostCounts, counts.size()));
  const std::size_t shown = std::min(rest.size(), wanted);
  for (std::size_t i = 0; i < shown; ++i) counts.insert(rest[i * rest.size() / shown]);
  std::vector<double> chosen;
  for (const double count : counts) {
    if (ReadCurve(projection, count)) chosen.push_back(count);
  }
  return chosen;
}

// Texts as codes of equally many digits, for the script to look up.
class Codes {
 public:
  std::size_t operator()(const std::string& text) {
    const bool is_short = text.size() == 5 && text.compare(0, 2, "0.") == 0 &&
                          text.find_first_not_of("0123456789", 2) == std::string::npos;
    if (is_short) return std::stoul(text.substr(2));
    const auto [found, is_new] = numbers_.emplace(text, texts_.size());
    if (is_new) texts_.push_back(text);
    return kFirst + found->second;
  }

  std::size_t Width() const {
    return kFirst + texts_.size() <= 36 * 36 ? 2 : kFirst + texts_.size() <= 36 * 36 * 36 ? 3 : 4;
  }
  const std::vector<std::string>& Texts() const { return texts_; }

  static std::string Joined(const std::vector<std::size_t>& codes, std::size_t width) {
    constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
    std::string joined;
    for (std::size_t code : codes) {
      std::string digits(width, '0');
      for (std::size_t i = width; i-- > 0; code /= 36) digits[i] = kDigits[code % 36];
      joined += digits;
    }
    return joined;
  }

 private:
  static constexpr std::size_t kFirst = 1000;
  std::vector<std::string> texts_;
  std::map<std::string, std::size_t> numbers_;
};

// One factor of one side, before it is known how many digits codes have.
struct FactorChoices {
  std::string id, tones;
  std::vector<std::size_t> values, measured;
};

FactorChoices ChoicesOf(const PhaseProjection& phase, const FactorProjection& factor, const std::vector<double>& counts,
                        Codes& codes) {
  const double reach = EvidenceUpTo(phase, factor.factor);
  FactorChoices choices{std::string(Describe(factor.factor).id), "", {}, {}};
  for (std::size_t place = 0; place < counts.size(); ++place) {
    const std::optional<ProjectedValue> value = ReadCurve(factor, counts[place]);
    const bool is_evidence = value && counts[place] <= reach;
    choices.values.push_back(codes(is_evidence ? FormatValue(factor.factor, value->value) : "-"));
    const bool is_known = value && value->interval80;
    choices.values.push_back(codes(is_known ? FormatValue(factor.factor, value->interval80->low) : "-"));
    choices.values.push_back(codes(is_known ? FormatValue(factor.factor, value->interval80->high) : "-"));
    if (!value) choices.tones += kNoTone;
    if (value) choices.tones += is_evidence ? ToneOf(factor.factor, value->value) : kNoEvidenceTone;
    const std::string runs = MeasuredAt(factor, counts[place]);
    if (runs.empty()) continue;
    choices.measured.push_back(place);
    choices.measured.push_back(codes(runs));
  }
  return choices;
}

// The factors of every side, and the texts that they share: `sides`, `texts`, `width`.
Data ChoicesOf(const std::vector<ReadSide>& sides, const std::vector<double>& counts) {
  Codes codes;
  std::vector<std::vector<FactorChoices>> all;
  for (const ReadSide& side : sides) {
    all.emplace_back();
    if (side.projection == nullptr) continue;
    for (const FactorProjection& factor : side.projection->factors) {
      if (!factor.curve.empty()) all.back().push_back(ChoicesOf(*side.projection, factor, counts, codes));
    }
  }
  const std::size_t width = codes.Width();
  Data data = {{"texts", codes.Texts()}, {"width", width}, {"sides", Data::array()}};
  for (std::size_t side = 0; side < sides.size(); ++side) {
    Data factors = Data::object();
    for (const FactorChoices& choices : all[side]) {
      factors[choices.id] = {{"values", Codes::Joined(choices.values, width)},
                             {"tones", choices.tones},
                             {"measured", Codes::Joined(choices.measured, width)}};
    }
    data["sides"].push_back({{"name", sides[side].name}, {"factors", factors}});
  }
  return data;
}

// What a table shows of a factor of one side.
Data ReadingCell(const ReadSide& side, Factor factor, double cores) {
  const FactorProjection* found = side.projection != nullptr ? side.projection->Find(factor) : nullptr;
  const std::optional<ProjectedValue> value = found != nullptr ? ReadCurve(*found, cores) : std::nullopt;
  if (!value) {
    return {{"text", "–"},    {"interval", ""},       {"hasInterval", false},
            {"measured", ""}, {"hasMeasured", false}, {"tone", kNoTone}};
  }
  const bool is_evidence = IsEvidence(*side.projection, factor, cores);
  const std::string measured = MeasuredAt(*found, cores);
  return {{"text", is_evidence ? FormatValue(factor, value->value) : kNotEvidence},
          {"interval", FormatBounds(factor, value->interval80)},
          {"hasInterval", true},
          {"measured", measured},
          {"hasMeasured", !measured.empty()},
          {"tone", is_evidence ? ToneOf(factor, value->value) : kNoEvidenceTone}};
}

// The last count at which every efficiency that matters most is evidence, but none before the largest run.
std::size_t FirstPlace(const PhaseProjection& projection, const std::vector<double>& counts) {
  const double largest = projection.fitted_cores.empty() ? counts.front() : projection.fitted_cores.back();
  double known = std::numeric_limits<double>::infinity();
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = projection.Find(factor);
    if (found != nullptr && !found->curve.empty()) known = std::min(known, EvidenceUpTo(projection, factor));
  }
  std::size_t place = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= largest || (IsEvidence(projection, counts[i]) && counts[i] <= known)) place = i;
  }
  return place;
}

// The place of the last count within the evidence horizon; -1 where there is none.
std::int64_t LastEvidence(const PhaseProjection& projection, const std::vector<double>& counts) {
  std::int64_t last = -1;
  for (const double count : counts) last += IsEvidence(projection, count) ? 1 : 0;
  return last;
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

// What is said of a count besides its numbers, on either side of the evidence horizon.
struct Notes {
  std::string within, beyond;
};

Notes NotesOf(const PhaseProjection& projection) {
  if (!projection.horizon) return {};
  const std::string cores = FormatCores(projection.horizon->cores);
  if (projection.horizon->reach == EvidenceHorizon::Reach::kAtLeast) return {"Evidence as far as the curves go.", ""};
  return {"Evidence ends at " + cores + " cores.", "Beyond the evidence, which ends at " + cores + " cores."};
}

}  // namespace

Readings ReadingsOfPhase(const std::vector<ReadSide>& sides, const std::string& anchor) {
  const PhaseProjection& projection = *sides.front().projection;
  const FactorProjection* curve = AnyCurve(projection);
  Readings readings;
  readings.table = {{"hasReadings", curve != nullptr}};
  if (curve == nullptr) return readings;
  const std::vector<double> counts = ChooseCounts(projection, *curve);
  const std::size_t place = FirstPlace(projection, counts);
  Data numbers = Data::array(), printed = Data::array(), ratios = Data::array();
  const double largest = projection.fitted_cores.empty() ? counts.back() : projection.fitted_cores.back();
  for (const double count : counts) {
    numbers.push_back(static_cast<std::int64_t>(count));
    printed.push_back(FormatCores(count));
    ratios.push_back(FormatRatio(count / largest));
  }
  Data names = Data::array();
  for (std::size_t side = 0; side < sides.size(); ++side) {
    names.push_back({{"name", sides[side].name}, {"side", std::to_string(side)}, {"isOther", side > 0}});
  }
  const Notes notes = NotesOf(projection);
  const bool is_within = IsEvidence(projection, counts[place]);
  readings.table.update({{"readingNote", is_within ? notes.within : notes.beyond},
                         {"readingCores", printed[place]},
                         {"readingRatio", ratios[place]},
                         {"readingCount", numbers[place].dump()},
                         {"readingLeast", numbers.front().dump()},
                         {"readingMost", numbers.back().dump()},
                         {"readingPlace", std::to_string(place)},
                         {"readingLast", std::to_string(counts.size() - 1)},
                         {"readingSides", names},
                         {"readings", ReadingRows(sides, counts[place])}});
  readings.choices = ChoicesOf(sides, counts);
  readings.choices.update({{"anchor", anchor},
                           {"numbers", numbers},
                           {"counts", printed},
                           {"ratios", ratios},
                           {"place", place},
                           {"lastEvidence", LastEvidence(projection, counts)},
                           {"within", notes.within},
                           {"beyond", notes.beyond}});
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
      const std::optional<ProjectedValue> value = ReadCurve(*factor, count);
      const std::string interval = value ? FormatBounds(factor->factor, value->interval80) : "–";
      const bool is_evidence = value && IsEvidence(projection, factor->factor, count);
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
