#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <span>

#include "base/text.h"
#include "report/sections.h"
#include "report/figures.h"

namespace farscale {
namespace {

using Data = ReportData;

std::set<double> MeasuredCounts(const FactorProjection& projection) {
  std::set<double> counts;
  for (const DataPoint& point : projection.measured) counts.insert(point.cores);
  return counts;
}

// Whole counts, each once: those measured, the targets, the last that is reliable, and as many of the curve's as fit,
// evenly. The curve's own are no whole ones, and readers choose cores.
std::vector<double> ChooseCounts(const PhaseProjection& phase, const FactorProjection& projection) {
  std::set<double> counts = MeasuredCounts(projection);
  for (const ProjectedValue& target : projection.targets) counts.insert(std::round(target.cores));
  if (phase.reliable_range) counts.insert(phase.reliable_range->cores);
  for (const FactorProjection& factor : phase.factors) {
    if (!factor.curve.empty()) counts.insert(std::floor(ReliableUpTo(phase, factor.factor)));
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
    if (count <= ShownUpTo(phase) && ReadCurve(projection, count)) chosen.push_back(count);
  }
  return chosen;
}

constexpr std::size_t kFirstCode = 1000;

// The code of a text; `numbers` are those of texts that are no short numbers.
std::size_t CodeFor(const std::string& text, std::map<std::string, std::size_t>& numbers) {
  const bool is_short =
      text.size() == 5 && text.compare(0, 2, "0.") == 0 && text.find_first_not_of("0123456789", 2) == std::string::npos;
  return is_short ? std::stoul(text.substr(2)) : kFirstCode + numbers.emplace(text, numbers.size()).first->second;
}

// Codes of equally many digits, for the script to look up.
std::string JoinCodes(const std::vector<std::size_t>& codes, std::size_t width) {
  constexpr std::string_view kDigits = "0123456789abcdefghijklmnopqrstuvwxyz";
  std::string joined;
  for (std::size_t code : codes) {
    std::string digits(width, '0');
    for (std::size_t i = width; i-- > 0; code /= 36) digits[i] = kDigits[code % 36];
    joined += digits;
  }
  return joined;
}

// One factor on one machine, with lists of codes: it is not known yet how many digits these have.
Data Choices(const PhaseProjection& phase, const FactorProjection& factor, const std::vector<double>& counts,
             std::map<std::string, std::size_t>& numbers) {
  const auto code = [&](const std::string& text) { return CodeFor(text, numbers); };
  const double reliable = ReliableUpTo(phase, factor.factor), uncertain = UncertainUpTo(phase, factor.factor);
  std::string tones;
  std::vector<std::size_t> values, measured;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const std::optional<ProjectedValue> value = ReadCurve(factor, counts[i]);
    const bool is_reliable = value && counts[i] <= reliable;
    values.push_back(code(is_reliable ? FormatValue(factor.factor, value->value) : "-"));
    const bool is_known = value && value->interval80 && (is_reliable || counts[i] <= uncertain);
    values.push_back(code(is_known ? FormatValue(factor.factor, value->interval80->low) : "-"));
    values.push_back(code(is_known ? FormatValue(factor.factor, value->interval80->high) : "-"));
    if (!value) tones += kNoTone;
    if (value)
      tones += !is_reliable ? kUncertainTone : factor.factor == Factor::kSpeedup ? kNoTone : PopTone(value->value);
    const std::string runs = MeasuredAt(factor, counts[i]);
    if (runs.empty()) continue;
    measured.push_back(i);
    measured.push_back(code(runs));
  }
  return {{"model", factor.is_product ? "product" : WeighedModel(factor)},
          {"values", values},
          {"tones", tones},
          {"measured", measured}};
}

// The factors on every machine, and the texts that they share: `sides`, `texts`, `width`.
Data Choices(const std::vector<SampledMachine>& machines, const std::vector<double>& counts) {
  std::map<std::string, std::size_t> numbers;
  Data sides = Data::array();
  for (const auto& [name, projection] : machines) {
    Data factors = Data::object();
    const std::span<const FactorProjection> known =
        projection != nullptr ? projection->factors : std::span<const FactorProjection>();
    for (const FactorProjection& factor : known) {
      if (factor.curve.empty() || !IsShown(factor)) continue;
      factors[std::string(Describe(factor.factor).id)] = Choices(*projection, factor, counts, numbers);
    }
    sides.push_back({{"name", name}, {"factors", std::move(factors)}});
  }
  const std::size_t all = kFirstCode + numbers.size(), width = all <= 36 * 36 ? 2 : all <= 36 * 36 * 36 ? 3 : 4;
  for (Data& side : sides) {
    for (Data& factor : side["factors"]) {
      for (const char* list : {"values", "measured"}) factor[list] = JoinCodes(factor[list], width);
    }
  }
  std::vector<std::string> texts(numbers.size());
  for (const auto& [text, number] : numbers) texts[number] = text;
  return {{"texts", texts}, {"width", width}, {"sides", std::move(sides)}};
}

// The last count at which every efficiency that matters most is reliable, but none before the largest run.
std::size_t FirstIndex(const PhaseProjection& projection, const std::vector<double>& counts) {
  const double largest = projection.fitted_cores.empty() ? counts.front() : projection.fitted_cores.back();
  double known = std::numeric_limits<double>::infinity();
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kGlobalEfficiency}) {
    const FactorProjection* found = projection.Find(factor);
    if (found != nullptr && !found->curve.empty()) known = std::min(known, ReliableUpTo(projection, factor));
  }
  std::size_t index = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] <= largest || (IsReliable(projection, counts[i]) && counts[i] <= known)) index = i;
  }
  return index;
}

// The index of the last count that is no worse; -1 where there is none.
std::int64_t LastWith(Reliability level, const PhaseProjection& projection, const std::vector<double>& counts) {
  std::int64_t last = -1;
  for (const double count : counts) last += ReliabilityOf(projection, count) <= level ? 1 : 0;
  return last;
}

// The notes on reliable, uncertain and unknown counts.
std::array<std::string, 3> SampleNotes(const PhaseProjection& projection) {
  if (!projection.reliable_range) return {};
  const std::string cores = FormatCores(projection.reliable_range->cores);
  if (projection.reliable_range->reach == ReliableRange::Reach::kAtLeast)
    return {"Reliable as far as the curves go.", "", ""};
  const std::string only = ": reliable only up to " + cores + " cores.";
  return {"Reliable up to " + cores + " cores.", "Uncertain" + only, "Unknown" + only};
}

}  // namespace

std::pair<Data, Data> SampleValues(const std::vector<SampledMachine>& machines, const std::string& anchor) {
  const PhaseProjection& projection = *machines.front().second;
  const auto curve = std::ranges::find_if(projection.factors, [](const auto& factor) { return !factor.curve.empty(); });
  if (curve == projection.factors.end()) return {false, {}};
  const std::vector<double> counts = ChooseCounts(projection, *curve);
  const std::size_t index = FirstIndex(projection, counts);
  const double largest = projection.fitted_cores.empty() ? counts.back() : projection.fitted_cores.back();
  std::vector<std::int64_t> numbers;
  std::vector<std::string> printed, ratios;
  for (const double count : counts) {
    numbers.push_back(static_cast<std::int64_t>(count));
    printed.push_back(FormatCores(count));
    ratios.push_back(FormatRatio(count / largest));
  }
  const std::array<std::string, 3> notes = SampleNotes(projection);
  Data names = Data::array();
  for (std::size_t i = 0; i < machines.size(); ++i)
    names.push_back({{"name", machines[i].first}, {"machine", std::to_string(i)}, {"isOther", i > 0}});
  Data rows = Data::array();
  const FactorTree tree = projection.Tree();
  for (const FactorProjection& factor : projection.factors) {
    if (factor.curve.empty() || !IsShown(factor)) continue;
    const FactorType& type = Describe(factor.factor);
    rows.push_back({{"name", type.name}, {"factor", type.id}, {"depth", std::to_string(DepthOf(type.factor, tree))}});
  }
  // `count`, `least` and `most` are for a number field, `index` and `last` for a slider.
  Data table = {{"cores", printed[index]},
                {"ratio", ratios[index]},
                {"count", std::to_string(numbers[index])},
                {"least", std::to_string(numbers.front())},
                {"most", std::to_string(numbers.back())},
                {"index", std::to_string(index)},
                {"last", std::to_string(counts.size() - 1)},
                {"note", notes[static_cast<std::size_t>(ReliabilityOf(projection, counts[index]))]},
                {"hasOthers", machines.size() > 1},
                {"machines", std::move(names)},
                {"rows", std::move(rows)}};
  Data choices = Choices(machines, counts);
  choices.update({{"anchor", anchor},
                  {"numbers", numbers},
                  {"counts", printed},
                  {"ratios", ratios},
                  {"place", index},
                  {"lastReliable", LastWith(Reliability::kReliable, projection, counts)},
                  {"lastUncertain", LastWith(Reliability::kUncertain, projection, counts)},
                  {"reliable", notes[0]},
                  {"uncertain", notes[1]},
                  {"unknown", notes[2]}});
  return {std::move(table), std::move(choices)};
}

Data RowsBehindChart(const PhaseProjection& projection, const std::vector<const FactorProjection*>& factors) {
  std::set<double> counts;
  for (const FactorProjection* factor : factors) {
    counts.merge(MeasuredCounts(*factor));
    for (const DataPoint& point : GrownValues(projection, *factor)) counts.insert(point.cores);
    for (const ProjectedValue& target : factor->targets) counts.insert(target.cores);
  }
  Data rows = Data::array();
  for (const double count : counts) {
    Data cells = Data::array();
    for (const FactorProjection* factor : factors) {
      const std::optional<ProjectedValue> value = ReadCurve(*factor, count);
      const Reliability level = value ? ReliabilityOf(projection, factor->factor, count) : Reliability::kUnknown;
      const bool is_unknown = level == Reliability::kUnknown;
      const std::string interval = is_unknown ? "–" : FormatBounds(factor->factor, value->interval80);
      const std::string beyond = value && is_unknown ? ToString(level) : interval;
      const std::string text = level == Reliability::kReliable ? FormatValue(factor->factor, value->value) : beyond;
      cells.push_back({{"text", text},
                       {"interval", interval},
                       {"measured", MeasuredAt(*factor, count)},
                       {"grown", GrownAt(projection, *factor, count)},
                       {"reliability", value ? ReliabilityLabel(level) : ""}});
    }
    rows.push_back({{"cores", FormatCores(count)}, {"cells", std::move(cells)}});
  }
  return rows;
}

ReportData NamesById(const std::set<Factor>& factors) {
  ReportData names = ReportData::object();
  for (const Factor factor : factors) names[std::string(Describe(factor).id)] = Name(factor);
  return names;
}

std::string ToScriptJson(const ReportData& data) {
  std::string json;
  for (const char c : data.dump(-1, ' ', false, Data::error_handler_t::replace)) {
    json += c == '<' ? "\\u003c" : std::string(1, c);
  }
  return json;
}

}  // namespace farscale
