#include "results/hyperfine_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, 5> kCoresNames = {"cores", "ranks", "processes", "np", "n"};
constexpr std::string_view kThreadsName = "threads";

// The measurement of one command.
class Measurement {
 public:
  Measurement(const Json& json, const std::string& file, std::size_t number)
      : json_(json), where_(fmt::format("{}: results[{}]", file, number)) {
    if (!json.is_object()) Fail("is no measurement of a command");
  }

  // A row for every time that was measured, without its repeat.
  std::vector<FactorRow> Rows() const {
    FactorRow row;
    std::optional<std::int64_t> processes;
    std::vector<std::string> others;
    for (const auto& [name, value] : Parameters()) {
      const bool is_cores = std::ranges::find(kCoresNames, name) != kCoresNames.end();
      if (is_cores && processes) Fail("has two parameters with a number of cores, or of ranks");
      if (is_cores) processes = WholeOf(name, value);
      if (name == kThreadsName) row.threads = WholeOf(name, value);
      if (!is_cores && name != kThreadsName) others.push_back(name + "=" + value);
    }
    if (!processes) {
      Fail("has no parameter that says on how many cores it ran",
           "measure with hyperfine --parameter-list cores 1,2,4 'mpirun -n {cores} ./program'");
    }
    row.series = Join(others, ", ");
    row.ranks = *processes;
    row.cores = row.ranks * row.threads;
    std::vector<FactorRow> rows;
    for (const double seconds : Times()) {
      rows.push_back(row);
      rows.back().runtime = seconds;
    }
    return rows;
  }

 private:
  [[noreturn]] void Fail(const std::string& what, const std::string& advice = "") const {
    throw Error(ErrorKind::kInput, where_, what, advice);
  }

  std::map<std::string, std::string> Parameters() const {
    std::map<std::string, std::string> parameters;
    if (!json_.contains("parameters")) return parameters;
    if (!json_["parameters"].is_object()) Fail("has parameters that are no object");
    for (const auto& [name, value] : json_["parameters"].items())
      parameters[name] = value.is_string() ? value.get<std::string>() : value.dump();
    return parameters;
  }

  std::int64_t WholeOf(const std::string& name, const std::string& text) const {
    constexpr long long kMost = 1000000000;  // as in tables
    long long value = 0;
    if (!ParseInteger(text, value) || value < 1 || value > kMost)
      Fail(fmt::format("has '{}' as {}, which is no number of them", text, name));
    return value;
  }

  std::vector<double> Times() const {
    const bool has_all = json_.contains("times") && json_["times"].is_array() && !json_["times"].empty();
    const Json all = has_all ? json_["times"] : Json::array({json_.value("mean", Json())});
    std::vector<double> times;
    for (const Json& time : all) {
      if (!time.is_number() || !(time.get<double>() > 0) || !std::isfinite(time.get<double>()))
        Fail("has no times", "hyperfine --export-json writes them");
      times.push_back(time.get<double>());
    }
    return times;
  }

  const Json& json_;
  std::string where_;
};

}  // namespace

bool IsHyperfineJson(const Json& json) {
  if (!json.is_object() || json.contains("format") || !json.contains("results")) return false;
  const Json& results = json["results"];
  return results.is_array() && !results.empty() && results.front().is_object() && results.front().contains("command");
}

FactorTable TableOfHyperfine(const Json& json, const std::string& file) {
  FactorTable table;
  table.scaling_source = "file";
  std::map<std::pair<std::string, std::int64_t>, std::int64_t> repeats;
  std::size_t number = 0;
  for (const Json& result : json["results"]) {
    for (FactorRow& row : Measurement(result, file, number++).Rows()) {
      row.repeat = repeats[{row.series, row.cores}]++;
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

}  // namespace farscale
