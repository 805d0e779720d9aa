#include "results/factor_table_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "base/diagnostics.h"
#include "base/parallel.h"
#include "base/text.h"
#include "factors/factor_table.h"
#include "factors/factor.h"
#include "results/csv_text.h"

namespace farscale {
namespace {

constexpr std::string_view kErrorEnding = "Error";

// A value of the distribution of loads.
struct LoadColumn {
  std::string_view name;
  std::optional<double> LoadDistribution::*value;
  double smallest;
};

constexpr double kAny = -std::numeric_limits<double>::max();

constexpr std::array kLoadColumns = {
    LoadColumn{"loadDeviation", &LoadDistribution::deviation, 0},
    LoadColumn{"loadSkewness", &LoadDistribution::skewness, kAny},
    LoadColumn{"loadKurtosis", &LoadDistribution::kurtosis, kAny},
    LoadColumn{"loadQuantile5", &LoadDistribution::quantile5, kAny},
    LoadColumn{"loadQuantile25", &LoadDistribution::quantile25, kAny},
    LoadColumn{"loadQuantile50", &LoadDistribution::quantile50, kAny},
    LoadColumn{"loadQuantile75", &LoadDistribution::quantile75, kAny},
    LoadColumn{"loadQuantile95", &LoadDistribution::quantile95, kAny},
    LoadColumn{"loadLargestOfHalf", &LoadDistribution::largest_of_half, 1},
    LoadColumn{"loadPersistent", &LoadDistribution::persistent, 0},
    LoadColumn{"loadNoise", &LoadDistribution::noise, 0},
};

// A column, and what reads a field of it that is not empty into a row.
struct Column {
  std::string name;
  std::function<void(const std::string& text, FactorRow& row)> read;
};

[[noreturn]] void BadValue(const CsvReader& reader, const std::string& column, const std::string& value,
                           const std::string& expected) {
  throw Error(ErrorKind::kInput, reader.Where(),
              fmt::format("{} is '{}', which is not {}", column, ToUtf8(value), expected));
}

std::int64_t ReadWhole(const CsvReader& reader, const std::string& column, const std::string& text,
                       std::int64_t smallest) {
  long long value = 0;
  if (!ParseInteger(text, value) || value < smallest || value > 1000000000) {
    BadValue(reader, column, text, fmt::format("a whole number of at least {}", smallest));
  }
  return value;
}

double ReadNumber(const CsvReader& reader, const std::string& column, const std::string& text,
                  bool may_be_zero = false) {
  double value = 0;
  const bool is_one = ParseNumber(text, value) && (value > 0 || (may_be_zero && value == 0)) && value <= 1e300;
  if (!is_one) BadValue(reader, column, text, may_be_zero ? "a number of 0 or more" : "a positive number");
  return value;
}

double ReadLoad(const CsvReader& reader, const LoadColumn& column, const std::string& text) {
  double value = 0;
  if (!ParseNumber(text, value) || value < column.smallest || !(std::fabs(value) <= 1e300)) {
    BadValue(reader, std::string(column.name), text,
             column.smallest == kAny ? "a number" : fmt::format("a number of {} or more", column.smallest));
  }
  return value;
}

double ReadFactor(const CsvReader& reader, const FactorType& type, const std::string& text) {
  const double value = ReadNumber(reader, std::string(type.id), text);
  if (type.AtMostOne() && value > LargestGiven(type.factor)) {
    throw Error(ErrorKind::kInput, reader.Where(),
                fmt::format("{} is {}, but it is a share between 0 and 1", type.id, text), kShareAdvice);
  }
  return value;
}

// All columns that tables may have, standard errors last. `scaling`: that of the row at hand.
std::vector<Column> KnownColumns(const CsvReader& reader, std::optional<Scaling>& scaling) {
  std::vector<Column> columns;
  const auto add_whole = [&](const std::string& name, auto member, std::int64_t smallest) {
    columns.push_back({name, [=, &reader](const std::string& text, FactorRow& row) {
                         row.*member = ReadWhole(reader, name, text, smallest);
                       }});
  };
  const auto add_number = [&](const std::string& name, auto member, bool may_be_zero) {
    columns.push_back({name, [=, &reader](const std::string& text, FactorRow& row) {
                         row.*member = ReadNumber(reader, name, text, may_be_zero);
                       }});
  };
  columns.push_back({"series", [](const std::string& text, FactorRow& row) { row.series = ToUtf8(text); }});
  columns.push_back({"scaling", [&](const std::string& text, FactorRow&) {
                       scaling = ScalingByName(text);
                       if (!scaling) BadValue(reader, "scaling", text, "strong or weak");
                     }});
  columns.push_back({"phase", [](const std::string& text, FactorRow& row) { row.phase.name = ToUtf8(text); }});
  columns.push_back({"group", [&reader](const std::string& text, FactorRow& row) {
                       row.phase.group = ToUtf8(text);
                       CheckGroupName(reader.Where(), row.phase.group);
                     }});
  add_whole("cores", &FactorRow::cores, 1);
  add_whole("ranks", &FactorRow::ranks, 1);
  add_whole("threads", &FactorRow::threads, 1);
  add_whole("nodes", &FactorRow::nodes, 1);
  add_whole("repeat", &FactorRow::repeat, 0);
  add_number("runtime", &FactorRow::runtime, false);
  add_number("iterations", &FactorRow::iterations, false);
  for (const FactorType& type : AllFactors()) {
    columns.push_back({std::string(type.id), [&](const std::string& text, FactorRow& row) {
                         row.values[type.factor] = ReadFactor(reader, type, text);
                       }});
  }
  for (const LoadColumn& load : kLoadColumns) {
    columns.push_back({std::string(load.name), [&](const std::string& text, FactorRow& row) {
                         const double value = ReadLoad(reader, load, text);
                         if (!row.loads) row.loads.emplace();
                         (*row.loads).*load.value = value;
                       }});
  }
  add_number("runtime" + std::string(kErrorEnding), &FactorRow::runtime_error, true);
  for (const FactorType& type : AllFactors()) {
    const std::string name = std::string(type.id) + std::string(kErrorEnding);
    columns.push_back({name, [=, &reader, &type](const std::string& text, FactorRow& row) {
                         row.standard_errors[type.factor] = ReadNumber(reader, name, text, true);
                       }});
  }
  return columns;
}

std::vector<Column> ReadHeader(const std::vector<std::string>& fields, const std::string& where,
                               const std::vector<Column>& known) {
  std::vector<Column> columns;
  std::vector<std::string> names;
  for (const Column& column : known) names.push_back(column.name);
  for (const std::string& field : fields) {
    const std::string name(Trim(field));
    const auto found = std::ranges::find(known, name, &Column::name);
    if (found == known.end()) {
      std::string advice = DidYouMean(name, names);
      if (name.find(';') != std::string::npos) advice = "separate the columns by commas";
      if (advice.empty()) {
        std::erase_if(names, [](const std::string& one) { return one.ends_with(kErrorEnding); });
        advice = fmt::format("known columns: {}, and standard errors such as loadBalance{}", Join(names, ", "),
                             kErrorEnding);
      }
      throw Error(ErrorKind::kInput, where, "unknown column '" + name + "'", advice);
    }
    if (std::ranges::find(columns, name, &Column::name) != columns.end()) {
      throw Error(ErrorKind::kInput, where, "column '" + name + "' occurs twice");
    }
    columns.push_back(*found);
  }
  if (std::ranges::find(columns, "cores", &Column::name) == columns.end()) {
    throw Error(ErrorKind::kInput, where, "the column 'cores' is missing",
                "a factor table is a CSV file with a header line");
  }
  const auto is_measured = [](const Column& column) { return column.name == "runtime" || FactorById(column.name); };
  if (std::ranges::none_of(columns, is_measured)) {
    throw Error(ErrorKind::kInput, where, "there is no column with a factor or run times",
                "name one 'runtime', or after the id of a factor, such as loadBalance");
  }
  return columns;
}

constexpr std::int64_t kNoRepeat = -1;  // a row does not say it

void ReadRow(const CsvReader& reader, const std::vector<Column>& columns, const std::vector<std::string>& fields,
             FactorRow& row) {
  if (fields.size() != columns.size()) {
    throw Error(ErrorKind::kInput, reader.Where(),
                fmt::format("the line has {} fields, the header {}", fields.size(), columns.size()));
  }
  row.repeat = kNoRepeat;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!fields[i].empty()) columns[i].read(fields[i], row);
  }
  if (row.cores == 0) throw Error(ErrorKind::kInput, reader.Where(), "the number of cores is missing");
  if (row.ranks == 0) row.ranks = std::max<std::int64_t>(1, row.cores / row.threads);
  if (row.nodes.value_or(1) > row.cores) {
    throw Error(ErrorKind::kInput, reader.Where(),
                fmt::format("{} cores cannot lie on {} nodes", row.cores, *row.nodes));
  }
}

using ScalingOfSeries = std::map<std::string, Scaling>;  // from the column `scaling`

// Series that scale alike are a table with a scaling. Others get what compares with their reference at once; their
// times and speedups show the scaling from then on.
void ApplyScaling(const ScalingOfSeries& known, FactorTable& table) {
  if (known.empty()) return;
  const Scaling first = known.begin()->second;
  const bool are_alike = known.size() == table.Series().size() &&
                         std::ranges::all_of(known, [&](const auto& one) { return one.second == first; });
  if (are_alike) {
    table.scaling = first;
    return;
  }
  std::map<std::string, FactorTable> tables;
  for (const FactorRow& row : table.rows) {
    if (known.contains(row.series)) tables[row.series].rows.push_back(row);
  }
  for (auto& [series, own] : tables) {
    own.scaling = known.at(series);
    CompleteTable(own);
  }
  std::map<std::string, std::size_t> next;
  for (FactorRow& row : table.rows) {
    const auto own = tables.find(row.series);
    if (own != tables.end()) row = std::move(own->second.rows[next[own->first]++]);
  }
}

// The repeats of every core count of every phase.
class Repeats {
 public:
  // Gives the row the next repeat unless it has one; false where that is taken.
  bool Take(FactorRow& row) {
    const bool is_same =
        last_ != nullptr && cores_ == row.cores && key_.phase == row.phase && key_.series == row.series;
    if (!is_same) {  // else as often in files with many
      key_ = row.Key();
      cores_ = row.cores;
      last_ = &taken_[{key_, cores_}];
    }
    auto& [next, others] = *last_;
    if (row.repeat == kNoRepeat) row.repeat = next;
    if (row.repeat < next || !others.insert(row.repeat).second) return false;
    for (; others.erase(next) > 0; ++next) {
    }
    return true;
  }

 private:
  using Taken = std::pair<std::int64_t, std::set<std::int64_t>>;  // all below the first, and the others

  std::map<std::pair<PhaseKey, std::int64_t>, Taken> taken_;
  Taken* last_ = nullptr;
  PhaseKey key_;
  std::int64_t cores_ = 0;
};

// Only a group of ranks has fewer ranks than the run.
void CheckRanks(const CsvReader& reader, std::size_t line, const FactorRow& row) {
  const std::int64_t processes = row.cores / row.threads;
  const bool is_whole_run = row.ranks == processes;
  if (processes * row.threads == row.cores && (is_whole_run || (row.phase.IsGroup() && row.ranks < processes))) return;
  throw Error(ErrorKind::kInput, reader.WhereIs(line),
              fmt::format("{} cores are not {} ranks with {} thread{} each", row.cores, row.ranks, row.threads,
                          row.threads == 1 ? "" : "s"),
              row.ranks < processes ? "the column 'group' names the group of ranks that a row is about" : "");
}

}  // namespace

std::string WriteFactorCsv(const FactorTable& table) {
  // Which of the values that may be missing any row has. Rows are large, so that each is looked at once.
  std::array<bool, kFactorCount> has_value{}, has_error{};
  std::array<bool, kLoadColumns.size()> has_load{};
  bool has_runtime_errors = false;
  for (const FactorRow& row : table.rows) {
    for (std::size_t i = 0; i < kFactorCount; ++i) {
      has_value[i] |= row.values[static_cast<Factor>(i)].has_value();
      has_error[i] |= row.standard_errors[static_cast<Factor>(i)].has_value();
    }
    for (std::size_t i = 0; row.loads && i < kLoadColumns.size(); ++i) {
      has_load[i] |= ((*row.loads).*kLoadColumns[i].value).has_value();
    }
    has_runtime_errors |= row.runtime_error.has_value();
  }
  std::vector<Factor> factors, errors;
  std::vector<LoadColumn> loads;
  for (std::size_t i = 0; i < kFactorCount; ++i) {
    if (has_value[i]) factors.push_back(static_cast<Factor>(i));
    if (has_error[i]) errors.push_back(static_cast<Factor>(i));
  }
  for (std::size_t i = 0; i < kLoadColumns.size(); ++i) {
    if (has_load[i]) loads.push_back(kLoadColumns[i]);
  }
  std::string text = "series,phase,group,cores,ranks,threads,nodes,repeat,runtime,iterations";
  for (const Factor factor : factors) text += fmt::format(",{}", Describe(factor).id);
  if (has_runtime_errors) text += ",runtimeError";
  for (const Factor factor : errors) text += fmt::format(",{}{}", Describe(factor).id, kErrorEnding);
  for (const LoadColumn& column : loads) text += fmt::format(",{}", column.name);
  text += "\n";
  constexpr std::size_t kBlock = 4096;  // rows of a task; chosen
  std::vector<std::string> blocks(table.rows.size() / kBlock + 1);
  ParallelFor(blocks.size(), [&](std::size_t block) {
    const auto rows = std::span(table.rows).subspan(block * kBlock);
    std::string& lines = blocks[block];
    const auto add = [&](const std::optional<double>& value) {
      lines += ',';
      if (value) fmt::format_to(std::back_inserter(lines), "{}", *value);  // as FormatExact
    };
    for (const FactorRow& row : rows.first(std::min(kBlock, rows.size()))) {
      fmt::format_to(std::back_inserter(lines), "{},{},{},{},{},{},{},{}", CsvField(row.series),
                     CsvField(row.phase.name), CsvField(row.phase.group), row.cores, row.ranks, row.threads,
                     row.nodes ? std::to_string(*row.nodes) : "", row.repeat);
      add(row.runtime);
      add(row.iterations);
      for (const Factor factor : factors) add(row.values[factor]);
      if (has_runtime_errors) add(row.runtime_error);
      for (const Factor factor : errors) add(row.standard_errors[factor]);
      for (const LoadColumn& column : loads) add(row.loads ? (*row.loads).*column.value : std::nullopt);
      lines += '\n';
    }
  });
  for (const std::string& block : blocks) text += block;
  return text;
}

FactorTable ReadFactorCsv(const std::string& text, const std::string& file) {
  FactorTable table;
  table.scaling_source = "file";
  CsvReader reader(text, file);
  std::vector<Column> columns;
  Repeats taken;
  std::optional<Scaling> scaling;
  ScalingOfSeries of_series;
  std::vector<std::size_t> lines;  // line of each row
  for (std::vector<std::string> fields; reader.Next(fields);) {
    if (columns.empty()) {
      const bool has_numbers_alone = std::ranges::all_of(fields, [](const std::string& field) {
        double value = 0;
        return ParseNumber(std::string(Trim(field)), value);
      });
      const bool is_plain = has_numbers_alone && fields.size() == 2;
      columns = ReadHeader(is_plain ? std::vector<std::string>{"cores", "runtime"} : fields, reader.Where(),
                           KnownColumns(reader, scaling));
      if (!is_plain) continue;
    }
    FactorRow& row = table.rows.emplace_back();  // read in its place: rows are large
    scaling.reset();
    ReadRow(reader, columns, fields, row);
    if (scaling && *scaling != of_series.try_emplace(row.series, *scaling).first->second) {
      throw Error(ErrorKind::kInput, reader.Where(), "scaling is both strong and weak within a series",
                  "give runs of either kind their own name in the column 'series'");
    }
    if (!taken.Take(row)) {
      throw Error(ErrorKind::kInput, reader.Where(),
                  fmt::format("a second row for {} cores, repeat {}", row.cores, row.repeat),
                  "give every run of a core count its own repeat");
    }
    lines.push_back(reader.line());
    // Some rows show how long lines are; room for all is made then, as moving large rows again and again takes long.
    constexpr std::size_t kSome = 1024;
    if (table.rows.size() != kSome) continue;
    const auto all = static_cast<double>(text.size()), read = static_cast<double>(text.size() - reader.left());
    table.rows.reserve(static_cast<std::size_t>(1.02 * kSome * all / read));
  }
  if (table.rows.empty()) throw Error(ErrorKind::kInput, file, "the table has no rows");
  const bool has_groups = std::ranges::find(columns, "group", &Column::name) != columns.end();
  if (!has_groups) FindGroupsInOldTexts(table);
  for (std::size_t i = 0; i < table.rows.size(); ++i) CheckRanks(reader, lines[i], table.rows[i]);
  ApplyScaling(of_series, table);
  return table;
}

}  // namespace farscale
