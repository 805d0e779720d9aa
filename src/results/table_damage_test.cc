// One wrong digit anywhere in a file with a table: no factor and no prediction may change by more than 1 % without a
// warning or a refusal.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/json_form.h"
#include "base/random.h"
#include "factors/factor_table.h"
#include "factors/scaling.h"
#include "replay/network.h"
#include "results/factor_table_files.h"
#include "results/json_fields.h"
#include "results/results.h"
#include "results/results_json.h"
#include "support/repeats.h"
#include "support/models.h"
#include "support/traces.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;
using Reader = std::function<FactorTable(const std::string&)>;

constexpr double kTarget = 1024;
constexpr double kHarmless = 0.01;

// A run whose ranks compute unequal times, two on a node, and lose time to dependencies and transfer.
FactorRow DrawRow(std::int64_t ranks, double work, bool has_counters, Random& random) {
  std::vector<double> useful;
  for (std::int64_t i = 0; i < ranks; ++i) {
    useful.push_back(work / static_cast<double>(ranks) * (1 + 0.3 * random.Uniform()));
  }
  FactorRow row;
  row.phase = "step";
  row.cores = row.ranks = ranks;
  row.nodes = ranks / 2;
  row.iterations = 20;
  PhaseTotals totals;
  totals.total_useful = std::accumulate(useful.begin(), useful.end(), 0.0);
  totals.average_useful = totals.total_useful / static_cast<double>(ranks);
  totals.largest_useful = totals.largest_computation = std::ranges::max(useful);
  for (std::size_t i = 0; i < useful.size(); i += 2) {
    totals.largest_node_load = std::max(totals.largest_node_load, (useful[i] + useful[i + 1]) / 2);
  }
  totals.ideal_elapsed = totals.largest_useful * (1 + 0.01 * std::log2(ranks) * (1 + random.Uniform()));
  totals.elapsed = totals.ideal_elapsed * (1 + 0.02 * std::log2(ranks) * (1 + random.Uniform()));
  totals.total_mpi = totals.elapsed * static_cast<double>(ranks) - totals.total_useful;
  if (has_counters) {
    totals.cycles = 2e9 * totals.total_useful * (1 + 0.05 * random.Uniform());
    totals.instructions = 1.5 * *totals.cycles * (1 + 0.05 * random.Uniform());
  }
  row.runtime = totals.elapsed;
  row.values = FactorsOf(totals, RuleSet::kBsc);
  for (const Factor factor : {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer}) {
    if (has_counters) row.standard_errors[factor] = 0.01 * random.Uniform();
  }
  row.loads = DistributionOf(useful);
  row.totals = totals;
  row.span = Span::kWhole;
  return row;
}

FactorTable DrawTable(std::uint64_t seed) {
  Random random(seed);
  FactorTable table;
  table.scaling = seed % 2 == 0 ? Scaling::kStrong : Scaling::kWeak;
  table.scaling_source = "study";
  table.rules = "bsc";
  const double work = std::pow(10, -3 + 5 * random.Uniform());
  for (std::int64_t ranks = 2; ranks <= 32; ranks *= 2) {
    const double growth = table.scaling == Scaling::kWeak ? static_cast<double>(ranks) : 1;
    table.rows.push_back(DrawRow(ranks, growth * work, seed % 3 != 0, random));
  }
  CompleteTable(table);
  return table;
}

std::vector<PhaseProjection> ProjectTable(const FactorTable& table) {
  ProjectionOptions options;
  options.targets = {kTarget};
  options.next_runs = false;
  return Project(table, test::AllModels(), options);
}

// What users see, by name; `warnings` are ids.
struct Outcome {
  std::map<std::string, double> factors, predictions;
  std::set<std::string> warnings;
};

// Predictions take long: they are made of tables that nothing is said about.
Outcome OutcomeOf(FactorTable table, const std::set<std::string>& known = {}) {
  PutInTerms(table, std::nullopt, std::nullopt);
  Outcome outcome;
  for (const Finding& finding : table.findings) {
    if (finding.severity == Severity::kWarning) outcome.warnings.insert(finding.id);
  }
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    for (const FactorType& type : AllFactors()) {
      const std::optional<double>& value = table.rows[i].values[type.factor];
      if (value) outcome.factors[fmt::format("{} of row {}", type.id, i)] = *value;
    }
  }
  if (!known.empty() && !std::ranges::includes(known, outcome.warnings)) return outcome;
  for (const PhaseProjection& projection : ProjectTable(table)) {
    for (const FactorProjection& factor : projection.factors) {
      if (factor.targets.empty()) continue;
      outcome.predictions[std::string(Describe(factor.factor).id)] = factor.targets.front().value;
    }
  }
  return outcome;
}

// The first value that is more than 1 % off, or missing.
std::string DifferenceOf(const std::map<std::string, double>& good, const std::map<std::string, double>& other) {
  for (const auto& [name, value] : good) {
    const auto found = other.find(name);
    if (found == other.end()) return name + " is missing";
    if (std::fabs(found->second / value - 1) > kHarmless)
      return fmt::format("{}: {:.6g} became {:.6g}", name, value, found->second);
  }
  return "";
}

// Of digits of numbers, not of names.
std::vector<std::size_t> PlacesOfDigits(const std::string& text, std::size_t begin) {
  std::vector<std::size_t> places;
  bool is_quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') is_quoted = !is_quoted;
    if (!is_quoted && i >= begin && text[i] >= '0' && text[i] <= '9') places.push_back(i);
  }
  return places;
}

struct Count {
  int changed = 0, silent = 0;
  std::string first;
};

// Changes one digit so many times.
Count ChangeDigits(const std::string& text, const Reader& read, int changes, std::uint64_t seed) {
  const Outcome good = OutcomeOf(read(text));
  EXPECT_THAT(good.predictions, testing::Not(testing::IsEmpty()));
  std::set<std::string> expected = good.warnings;
  expected.insert("");  // so that it is not empty
  const std::size_t begin = text.starts_with("{") ? 0 : text.find('\n');
  const std::vector<std::size_t> places = PlacesOfDigits(text, begin);
  Random random(seed);
  Count count;
  for (int i = 0; i < changes; ++i) {
    std::string damaged = text;
    char& digit = damaged[places[static_cast<std::size_t>(random.Uniform() * static_cast<double>(places.size()))]];
    digit = static_cast<char>('0' + (digit - '0' + 1 + static_cast<int>(random.Uniform() * 9)) % 10);
    ++count.changed;
    try {
      const Outcome outcome = OutcomeOf(read(damaged), expected);
      if (!std::ranges::includes(good.warnings, outcome.warnings)) continue;
      std::string difference = DifferenceOf(good.factors, outcome.factors);
      if (difference.empty()) difference = DifferenceOf(good.predictions, outcome.predictions);
      if (difference.empty()) continue;
      ++count.silent;
      const auto at = static_cast<std::size_t>(&digit - damaged.data());
      const std::size_t from = at < 60 ? 0 : at - 60;
      if (count.silent <= 8) count.first += difference + " in " + damaged.substr(from, 80) + "\n";
    } catch (const Error&) {
      continue;
    }
  }
  return count;
}

FactorTable ReadJson(const std::string& text) { return ReadTableFromJson(text, "t.json"); }
FactorTable ReadCsv(const std::string& text) { return ReadFactorCsv(text, "t.csv"); }

const std::uint64_t kTables = test::Repeats(std::uint64_t{10});

// Nothing else in a table tells its standard errors, so that only a checksum protects them.
FactorTable WithoutErrors(FactorTable table) {
  for (FactorRow& row : table.rows) row.standard_errors = {};
  return table;
}

TEST(TableDamage, NoDigitOfATableInJsonChangesSilently) {
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    const std::string text = WriteFactorJson(DrawTable(seed));
    const Outcome good = OutcomeOf(ReadJson(text));
    EXPECT_THAT(good.warnings, testing::IsEmpty());
    EXPECT_EQ(ChangeDigits(text, ReadJson, 30, seed).silent, 0);
  }
}

// As written before there were checksums, or elsewhere: everything that a prediction is made of is there twice.
TEST(TableDamage, NoDigitOfATableWithoutChecksumChangesSilently) {
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    Json json = Json::parse(WriteFactorJson(WithoutErrors(DrawTable(seed))));
    json.erase(kChecksumKey);
    const Count count = ChangeDigits(json.dump(1), ReadJson, 30, seed);
    EXPECT_EQ(count.silent, 0) << count.first;
  }
}

TEST(TableDamage, NoDigitOfATableInCsvChangesSilently) {
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    const std::string text = WriteFactorCsv(WithoutErrors(DrawTable(seed)));
    EXPECT_THAT(OutcomeOf(ReadCsv(text)).warnings, testing::IsEmpty());
    const Count count = ChangeDigits(text, ReadCsv, 30, seed);
    EXPECT_EQ(count.silent, 0) << count.first;
  }
}

TEST(TableDamage, NoDigitOfResultsChangesSilently) {
  for (std::uint64_t seed = 1; seed <= test::Repeats(3u); ++seed) {
    const FactorTable table = DrawTable(seed);
    const std::string text = WriteResultsJson(ResultsOfTable(table, ProjectTable(table), "t"));
    EXPECT_EQ(ChangeDigits(text, ReadJson, 40, seed).silent, 0);
  }
}

// A run of ranks that are outside MPI as long as drawn, as farscale measure writes it.
std::string MeasuredRun(std::int64_t ranks, Random& random) {
  const FactorRow row = DrawRow(ranks, 10, false, random);
  Json json = {{"format", "farscale-measured-run"}, {"version", 1}, {"generator", "farscale"}, {kChecksumKey, ""}};
  json.update(Json{{"job", fmt::format("job-{}", ranks)}, {"program", "app"}, {"ranks", ranks}, {"threads", 1}});
  json["ending"] = "finalized";
  json["nodes"] = Json::array({Json{{"name", "a"}, {"ranks", Json::array({0, 1})}}});
  const PhaseTotals& totals = *row.totals;
  Json region = {{"name", "whole run"}, {"ranks", ranks}, {"fewestStarts", 1}, {"mostStarts", 1}, {"span", "whole"}};
  region.update(Json{{"elapsed", totals.elapsed}, {"usefulAverage", totals.average_useful}});
  region.update(Json{{"usefulLargest", totals.largest_useful}, {"usefulTotal", totals.total_useful}});
  region["factors"] = {{"parallelEfficiency", *row.values[Factor::kParallelEfficiency]},
                       {"loadBalance", *row.values[Factor::kLoadBalance]},
                       {"communicationEfficiency", *row.values[Factor::kCommunicationEfficiency]}};
  json["regions"].push_back(region);
  region["name"] = "step";
  region["fewestStarts"] = region["mostStarts"] = 20;
  json["regions"].push_back(region);
  json[kChecksumKey] = ChecksumOf(json);
  return json.dump(2);
}

TEST(TableDamage, NoDigitOfAMeasuredRunChangesSilently) {
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    Random random(seed);
    std::vector<NamedText> files;
    for (const std::int64_t ranks : {2, 4, 8, 16})
      files.push_back({fmt::format("{}.json", ranks), MeasuredRun(ranks, random)});
    const auto read = [&](const std::string& text) {
      std::vector<NamedText> changed = files;
      changed[seed % 4].second = text;
      return TableOfMeasuredRuns(changed);
    };
    EXPECT_EQ(OutcomeOf(read(files[seed % 4].second)).warnings, std::set<std::string>{"scalingGuessed"});
    const Count count = ChangeDigits(files[seed % 4].second, read, 30, seed);
    EXPECT_EQ(count.silent, 0) << count.first;
  }
}

// A transfer of 0.5 beside totals and a parallel efficiency that say 0.974.
TEST(TableDamage, TransferOfTheSampleIsDoubted) {
  const std::string folder = test::SharedDataFolder() + "/cases/damage/";
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no shared data";
  EXPECT_THAT(OutcomeOf(ReadCsv(ReadFile(folder + "b1.csv"))).warnings, testing::Contains("parentNotProduct"));
  FactorTable table = ReadJson(ReadFile(folder + "b.json"));
  PutInTerms(table, std::nullopt, std::nullopt);
  const auto found = std::ranges::find(table.findings, "tableContradictsItself", &Finding::id);
  ASSERT_NE(found, table.findings.end());
  EXPECT_EQ(found->count, 1u);
  EXPECT_EQ(found->example, "transferEfficiency 0.5, totals give 0.974214 at 8 cores");
}

// As people write tables: so many digits; and means over runs, whose products are not the means of products.
TEST(TableDamage, RoundedTablesAndMeansAreGood) {
  for (std::uint64_t seed = 1; seed <= kTables; ++seed) {
    for (const int digits : {3, 4, 6}) {
      FactorTable table = DrawTable(seed);
      const double unit = std::pow(10, -digits);
      for (FactorRow& row : table.rows) {
        row.totals.reset();
        row.loads.reset();
        row.runtime = std::max(1.0, std::round(*row.runtime / unit)) * unit;
        for (const FactorType& type : AllFactors()) {
          std::optional<double>& value = row.values[type.factor];
          if (value) value = std::round(*value / unit) * unit;
        }
      }
      EXPECT_THAT(OutcomeOf(ReadCsv(WriteFactorCsv(table))).warnings, testing::IsEmpty()) << digits << ", " << seed;
    }
    FactorTable means = DrawTable(seed);
    Random random(seed);
    for (FactorRow& row : means.rows) {
      row.totals.reset();
      for (const Factor factor : {Factor::kParallelEfficiency, Factor::kCommunicationEfficiency, Factor::kSpeedup}) {
        *row.values[factor] *= 1 + 0.003 * (random.Uniform() - 0.5);
      }
    }
    EXPECT_THAT(OutcomeOf(ReadCsv(WriteFactorCsv(means))).warnings, testing::IsEmpty()) << seed;
  }
}

// Other programs write JSON with other blanks, keys in another order and 1 for 1.0.
TEST(TableDamage, ReformattedFilesAreAsTheyWere) {
  const Json json = Json::parse(WriteFactorJson(DrawTable(1)));
  const nlohmann::json sorted = nlohmann::json::parse(json.dump());
  std::string whole = json.dump();
  for (std::size_t at; (at = whole.find("20.0,")) != std::string::npos;) whole.replace(at, 5, "20,");
  for (const std::string& text : {json.dump(), json.dump(7), sorted.dump(), whole}) {
    EXPECT_THAT(OutcomeOf(ReadJson(text)).warnings, testing::IsEmpty());
  }
  Json changed = json;
  changed["rows"][0]["series"] = "other";
  EXPECT_THAT(ReadJson(changed.dump()).findings, testing::Contains(testing::Field(&Finding::id, "fileChanged")));
  changed.erase(kChecksumKey);
  EXPECT_THAT(ReadJson(changed.dump()).findings,
              testing::Not(testing::Contains(testing::Field(&Finding::id, "fileChanged"))));
}

}  // namespace
}  // namespace farscale
