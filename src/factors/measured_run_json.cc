#include "factors/measured_run_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "base/error.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kWholeRun = "whole run";
constexpr double kRounding = 1e-6;
constexpr const char* kWholePhase = "whole";  // what it is called where it comes from a trace

struct Reading {
  FactorTable table;
  std::set<std::string> jobs;
  std::map<std::tuple<std::string, std::string, std::int64_t>, std::int64_t> repeats;
};

void AddFinding(FactorTable& table, const std::string& id, const std::string& sentence, const std::string& example) {
  for (Finding& finding : table.findings) {
    if (finding.id != id) continue;
    ++finding.count;
    return;
  }
  table.findings.push_back({id, Severity::kWarning, sentence, 1, 0, example});
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
  if (json.contains("missingRanks") && !json.at("missingRanks").empty()) {
    throw Error(ErrorKind::kInput, file,
                fmt::format("nothing is known of {} of its {} ranks", json.at("missingRanks").size(),
                            json.at("ranks").get<std::int64_t>()),
                "measure the run again");
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

// Numbers of one region that must fit together; a file that was changed by hand may say anything.
void RequireTimes(const Json& region, const std::string& where) {
  const double elapsed = region.at("elapsed").get<double>(), largest = region.at("usefulLargest").get<double>();
  const double average = region.at("usefulAverage").get<double>(), total = region.at("usefulTotal").get<double>();
  const bool is_possible = average >= 0 && largest >= 0 && total >= 0 && average <= largest * (1 + kRounding) &&
                           largest <= elapsed * (1 + kRounding);
  if (!is_possible) {
    throw Error(ErrorKind::kInput, where, "useful times and elapsed time contradict each other",
                "the file was changed");
  }
}

std::int64_t CountOf(const Json& json, const std::string& id, const std::string& file) {
  if (!json.at(id).is_number_integer() || json.at(id).get<std::int64_t>() < 1 ||
      json.at(id).get<std::int64_t>() > std::numeric_limits<std::int32_t>::max()) {
    throw Error(ErrorKind::kInput, file, id + " must be a whole number from 1 on");
  }
  return json.at(id).get<std::int64_t>();
}

// Remarks on the whole run that bear on its factors, as the run itself made them.
void AddDoubts(const Json& json, const std::string& file, FactorTable& table) {
  static const std::set<std::string> doubts = {"preempted",       "manyCalls",    "callsOfOtherThreads",
                                               "idealIncomplete", "traceFlushed", "tooManyRegions"};
  if (!json.contains("diagnostics")) return;
  for (const Json& remark : json.at("diagnostics")) {
    const auto id = remark.at("id").get<std::string>();
    if (!doubts.contains(id) || remark.at("severity").get<std::string>() != "warning") continue;
    AddFinding(table, id, "runs were measured with doubts", file + ": " + remark.at("sentence").get<std::string>());
  }
}

void AddRegion(const Json& json, const Json& region, bool is_whole, const std::string& file, Reading& reading) {
  const auto name = region.at("name").get<std::string>();
  const std::int64_t ranks = CountOf(json, "ranks", file);
  FactorTable& table = reading.table;
  const std::string where = fmt::format("{} of {}", name, file);
  if (region.at("ranks").get<std::int64_t>() != ranks) {
    AddFinding(table, "regionOnSomeRanks", "regions that some ranks alone have started are left out", where);
    return;
  }
  RequireTimes(region, where);
  FactorRow row;
  row.values = FactorsOfRegion(region, file);
  if (!row.values[Factor::kParallelEfficiency]) {
    AddFinding(table, "nothingUseful", "regions in which no rank computes are left out", where);
    return;
  }
  row.series = json.at("program").get<std::string>();
  // A region of the program may have the name of the whole run; it is another phase.
  row.phase = is_whole ? kWholePhase : name == kWholePhase || name == kWholeRun ? "region " + name : name;
  row.ranks = ranks;
  row.threads = CountOf(json, "threads", file);
  row.cores = row.ranks * row.threads;
  row.nodes = static_cast<std::int64_t>(json.at("nodes").size());
  row.runtime = region.at("elapsed").get<double>();
  if (!(*row.runtime > 0)) throw Error(ErrorKind::kInput, file, "elapsed must be positive");
  const auto starts = region.at("mostStarts").get<double>();
  if (!is_whole && region.at("fewestStarts").get<double>() == starts && starts > 0) row.iterations = starts;
  row.span = is_whole ? Span::kWhole : Span::kEach;
  row.repeat = reading.repeats[{row.series, row.phase, row.cores}]++;
  table.rows.push_back(std::move(row));
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
    AddDoubts(json, file.file, reading.table);
    bool is_whole = true;  // the first one
    for (const Json& region : json.at("regions")) {
      AddRegion(json, region, is_whole, file.file, reading);
      is_whole = false;
    }
  } catch (const nlohmann::json::exception& error) {
    throw Error(ErrorKind::kInput, file.file, std::string("is damaged: ") + error.what());
  }
}

double UsefulOf(const FactorRow& row) {
  return static_cast<double>(row.ranks) * *row.runtime * *row.values[Factor::kParallelEfficiency];
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
  const double growth = UsefulOf(*largest) / UsefulOf(*smallest);
  const double cores = static_cast<double>(largest->cores) / static_cast<double>(smallest->cores);
  table.scaling = growth > std::sqrt(cores) ? Scaling::kWeak : Scaling::kStrong;
  table.scaling_source = "useful time";
  const AnomalyType& guessed = Describe(Anomaly::kScalingGuessed);
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
