#include "results/measured_run_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/error.h"
#include "factors/anomalies.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWholeRun = "whole run";
constexpr const char* kWholePhase = "whole";  // what it is called where it comes from a trace

struct Reading {
  FactorTable table;
  std::set<std::string> jobs;
  std::map<std::tuple<std::string, PhaseId, std::int64_t>, std::int64_t> repeats;
};

void AddFinding(FactorTable& table, const std::string& id, const std::string& sentence, const std::string& example,
                Severity severity = Severity::kWarning) {
  for (Finding& finding : table.findings) {
    if (finding.id != id) continue;
    ++finding.count;
    return;
  }
  table.findings.push_back({id, severity, sentence, 1, 0, example});
}

constexpr double kMost = 1e9;
constexpr double kRounding = 1e-6;  // relative

[[noreturn]] void Damaged(const std::string& file, const std::string& field, const std::string& what) {
  throw Error(ErrorKind::kInput, file, fmt::format("{} {}: the file is damaged", field, what), "measure the run again");
}

// A number of an object that must be there; `field` is what an error calls it.
double Number(const Json& object, const char* key, const std::string& file, const std::string& field) {
  if (!object.contains(key)) Damaged(file, field, "is missing");
  const Json& value = object.at(key);
  if (!value.is_number()) Damaged(file, field, "is no number");
  const auto number = value.get<double>();
  if (!std::isfinite(number) || number < 0) Damaged(file, field, fmt::format("is {}, less than 0", number));
  return number;
}

std::int64_t Count(const Json& object, const char* key, std::int64_t least, const std::string& file,
                   const std::string& field) {
  const double number = Number(object, key, file, field);
  if (number != std::floor(number)) Damaged(file, field, fmt::format("is {}, which is no whole number", number));
  if (number < static_cast<double>(least)) Damaged(file, field, fmt::format("must be at least {}", least));
  if (number > kMost) Damaged(file, field, fmt::format("is {:.3g}, more than there can be", number));
  return static_cast<std::int64_t>(number);
}

bool Agree(double a, double b) { return std::abs(a - b) <= kRounding * std::max(std::abs(a), std::abs(b)); }

// The times of a region and the factors that were made of them have to fit each other.
void CheckTimes(const Json& region, const std::string& name, const std::string& file) {
  const auto number = [&](const char* key) {
    return Number(region, key, file, fmt::format("{} of region '{}'", key, name));
  };
  const double elapsed = number("elapsed"), average = number("usefulAverage"), largest = number("usefulLargest");
  const auto ranks = Count(region, "ranks", 1, file, fmt::format("ranks of region '{}'", name));
  const auto contradict = [&](const char* one, const char* other) {
    Damaged(file, fmt::format("{} and {} of region '{}'", one, other, name), "contradict each other");
  };
  if (largest > elapsed * (1 + kRounding)) contradict("usefulLargest", "elapsed");
  if (average > largest * (1 + kRounding)) contradict("usefulAverage", "usefulLargest");
  if (!Agree(number("usefulTotal"), average * static_cast<double>(ranks))) contradict("usefulTotal", "usefulAverage");
  const Json& factors = region.at("factors");
  const auto efficiency = factors.find("parallelEfficiency");
  if (efficiency == factors.end()) return;
  if (!(elapsed > 0)) Damaged(file, fmt::format("elapsed of region '{}'", name), "must be positive");
  if (!efficiency->is_number() || !Agree(efficiency->get<double>(), average / elapsed)) {
    contradict("parallelEfficiency", "usefulAverage");
  }
}

void RequireMeasuredRun(const Json& json, const std::string& file) {
  if (!json.is_object() || json.value("format", "") != kMeasuredRunFormat) {
    throw Error(ErrorKind::kInput, file, "is not a measured run",
                "several files at once must all be results of farscale measure");
  }
  const int version = json.at("version").get<int>();
  if (version != kMeasuredRunVersion) {
    throw Error(ErrorKind::kInput, file,
                fmt::format("has version {} of measured runs, this program reads {}", version, kMeasuredRunVersion));
  }
  const std::int64_t ranks = Count(json, "ranks", 1, file, "ranks");
  Count(json, "threads", 1, file, "threads");
  if (json.contains("missingRanks") && !json.at("missingRanks").empty()) {
    throw Error(ErrorKind::kInput, file,
                fmt::format("nothing is known of {} of its {} ranks", json.at("missingRanks").size(), ranks),
                "measure the run again");
  }
  if (json.at("nodes").empty()) Damaged(file, "nodes", "is empty");
  const Json& regions = json.at("regions");
  if (!regions.is_array() || regions.empty() || regions.at(0).at("name") != kWholeRun) {
    Damaged(file, "regions", "does not begin with the whole run");
  }
}

FactorValues FactorsOfRegion(const Json& region, const std::string& file) {
  FactorValues values;
  for (const auto& [id, value] : region.at("factors").items()) {
    const auto factor = FactorById(id);
    if (!factor) throw Error(ErrorKind::kInput, file, "unknown factor '" + id + "'");
    const double number = value.get<double>();
    if (!(number > 0)) throw Error(ErrorKind::kInput, file, id + " must be positive");
    values[*factor] = number;
  }
  return values;
}

// A region may have the name that the whole run has in tables, which would make it another run of the whole.
std::string PhaseOf(const std::string& region) {
  constexpr std::string_view kBefore = "region ";
  std::string_view rest = region;
  while (rest.starts_with(kBefore)) rest.remove_prefix(kBefore.size());
  return rest == kWholePhase || rest == kWholeRun ? std::string(kBefore) + region : region;
}

void AddRegion(const Json& json, const Json& region, bool is_whole, const std::string& file, Reading& reading) {
  const auto name = region.at("name").get<std::string>();
  const auto ranks = json.at("ranks").get<std::int64_t>();
  FactorTable& table = reading.table;
  CheckTimes(region, name, file);
  const std::string where = fmt::format("{} of {}", name, file);
  if (region.at("ranks").get<std::int64_t>() != ranks) {
    AddFinding(table, "regionOnSomeRanks", "regions that some ranks alone have started are left out", where);
    return;
  }
  FactorRow row;
  row.values = FactorsOfRegion(region, file);
  if (!row.values[Factor::kParallelEfficiency]) {
    AddFinding(table, "nothingUseful", "regions in which no rank computes are left out", where);
    return;
  }
  row.series = json.at("program").get<std::string>();
  row.phase = is_whole ? std::string(kWholePhase) : PhaseOf(name);
  row.ranks = ranks;
  row.threads = json.at("threads").get<std::int64_t>();
  row.cores = row.ranks * row.threads;
  row.nodes = static_cast<std::int64_t>(json.at("nodes").size());
  row.runtime = region.at("elapsed").get<double>();
  const auto starts = Count(region, "mostStarts", 0, file, "mostStarts");
  const bool is_even = Count(region, "fewestStarts", 0, file, "fewestStarts") == starts;
  if (!is_whole && is_even && starts > 0) row.iterations = static_cast<double>(starts);
  row.span = is_whole ? Span::kWhole : Span::kEach;
  row.repeat = reading.repeats[{row.series, row.phase, row.cores}]++;
  table.rows.push_back(std::move(row));
}

// What a run's own remarks are called in a table of several; the other ones are seen from the rows.
constexpr std::pair<const char*, const char*> kRemarks[] = {
    {"preempted", "runs had ranks that ran only part of the time, and useful time contains the rest"},
    {"manyCalls", "runs made so many MPI calls that measuring them may take more than 1 % of the time"},
    {"callsOfOtherThreads", "runs had MPI calls of other threads than the one whose time is measured"},
};
constexpr std::string_view kSeenOtherwise[] = {"aborted",      "endedBySignal", "notFinalized",     "lost",
                                               "ranksMissing", "nothingUseful", "regionOnSomeRanks"};

void AddRemarks(const Json& json, const std::string& file, FactorTable& table) {
  for (const Json& remark : json.value("diagnostics", Json::array())) {
    const auto id = remark.at("id").get<std::string>();
    const bool is_warning = remark.at("severity").get<std::string>() == "warning";
    auto sentence = remark.at("sentence").get<std::string>();
    std::string example = file;
    bool is_kept =
        is_warning && std::find(std::begin(kSeenOtherwise), std::end(kSeenOtherwise), id) == std::end(kSeenOtherwise);
    for (const auto& [known, of_several] : kRemarks) {
      if (id != known) continue;
      example += ": " + sentence;
      sentence = of_several;
      is_kept = true;
    }
    if (is_kept) AddFinding(table, id, sentence, example, is_warning ? Severity::kWarning : Severity::kNote);
  }
}

void AddFile(const MeasuredRunFile& file, Reading& reading) {
  try {
    const Json json = Json::parse(file.text);
    RequireMeasuredRun(json, file.file);
    if (!reading.jobs.insert(json.at("job").get<std::string>()).second) {
      throw Error(ErrorKind::kInput, file.file, "the same run is given twice");
    }
    if (json.at("ending").get<std::string>() != "finalized") {
      AddFinding(reading.table, "runNotFinalized", "runs ended before MPI_Finalize and count until then", file.file);
    }
    AddRemarks(json, file.file, reading.table);
    const Json& regions = json.at("regions");
    for (const Json& region : regions) AddRegion(json, region, &region == &regions.front(), file.file, reading);
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file.file, std::string("is damaged: ") + error.what());
  }
}

// Work that hardly grows with the cores is strong scaling, work that grows with them weak scaling; the nearer one in
// the logarithm is it, as for runs that were traced.
void GuessScaling(FactorTable& table) {
  const FactorRow* smallest = nullptr;
  const FactorRow* largest = nullptr;
  for (const FactorRow& row : table.rows) {
    if (row.phase != kWholePhase || row.series != table.rows.front().series) continue;
    if (smallest == nullptr || row.cores < smallest->cores) smallest = &row;
    if (largest == nullptr || row.cores > largest->cores) largest = &row;
  }
  if (smallest == nullptr || smallest->cores == largest->cores) return;
  const double growth = *largest->UsefulTime() / *smallest->UsefulTime();
  const double cores = static_cast<double>(largest->cores) / static_cast<double>(smallest->cores);
  table.scaling = growth > std::sqrt(cores) ? Scaling::kWeak : Scaling::kStrong;
  table.scaling_source = "useful time";
  const Anomaly& guessed = anomaly::kScalingGuessed;
  table.findings.push_back({std::string(guessed.id), guessed.severity, std::string(guessed.sentence), 1, 0,
                            fmt::format("useful time grows {:.3g} times from {} to {} cores: {} scaling; --scaling "
                                        "says otherwise",
                                        growth, smallest->cores, largest->cores, ToString(*table.scaling))});
}

}  // namespace

FactorTable TableOfMeasuredRuns(const std::vector<MeasuredRunFile>& files) {
  Reading reading;
  for (const MeasuredRunFile& file : files) AddFile(file, reading);
  FactorTable& table = reading.table;
  if (table.rows.empty()) {
    throw Error(ErrorKind::kInput, files.front().file, "no rank computed anything, so there are no factors");
  }
  const bool one_program = std::all_of(table.rows.begin(), table.rows.end(),
                                       [&](const FactorRow& row) { return row.series == table.rows.front().series; });
  GuessScaling(table);
  if (one_program) {
    for (FactorRow& row : table.rows) row.series.clear();
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const FactorRow& a, const FactorRow& b) { return a.cores < b.cores; });
  return std::move(reading.table);
}

}  // namespace farscale
