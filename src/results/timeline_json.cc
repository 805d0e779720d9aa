#include "results/timeline_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kLetters = "cwtmno";  // of the states, in their order
constexpr std::array<const char*, kRunStates> kStateNames = {"computation", "waiting",    "transfer",
                                                        "mpi",         "notRunning", "outside"};
constexpr std::int64_t kMostColumns = 1 << 16;
constexpr std::int64_t kMostRanks = 1'000'000'000;
constexpr std::int64_t kMostIterations = 1'000'000'000;  // of one record

// "c5w3": five eighths computation, three waiting; "w": waiting alone.
std::string CellText(const PictureCell& cell) {
  std::string text;
  for (std::size_t state = 0; state < kRunStates; ++state) {
    if (cell[state] == 0) continue;
    text += kLetters[state];
    if (cell[state] < kCellLevels) text += static_cast<char>('0' + cell[state]);
  }
  return text;
}

std::string RowText(const std::vector<PictureCell>& row) {
  std::vector<std::string> parts;
  for (std::size_t first = 0, end = 0; first < row.size(); first = end) {
    while (end < row.size() && row[end] == row[first]) ++end;
    parts.push_back(CellText(row[first]));
    if (end - first > 1) parts.back() += fmt::format("*{}", end - first);
  }
  return Join(parts, " ");
}

[[noreturn]] void Damaged(const std::string& file, const std::string& text) {
  throw Error(ErrorKind::kInput, file, "is damaged: '" + text + "' is no part of a run's picture");
}

PictureCell CellOf(std::string_view text, const std::string& file) {
  PictureCell cell{};
  int sum = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::size_t state = kLetters.find(text[i]);
    if (state == std::string_view::npos) Damaged(file, std::string(text));
    const bool has_level = i + 1 < text.size() && text[i + 1] >= '1' && text[i + 1] < '0' + kCellLevels;
    const int level = has_level ? text[++i] - '0' : kCellLevels;
    cell[state] = static_cast<std::uint8_t>(level);
    sum += level;
  }
  if (sum != kCellLevels) Damaged(file, std::string(text));
  return cell;
}

std::vector<PictureCell> RowOf(const std::string& text, std::size_t columns, const std::string& file) {
  std::vector<PictureCell> row;
  for (const std::string& part : Split(text, ' ')) {
    const std::size_t star = part.find('*');
    long long count = 1;
    if (star != std::string::npos && !ParseInteger(part.substr(star + 1), count)) Damaged(file, part);
    if (count < 1 || count > static_cast<long long>(columns - row.size())) Damaged(file, part);
    row.insert(row.end(), static_cast<std::size_t>(count), CellOf(part.substr(0, star), file));
  }
  if (row.size() != columns) Damaged(file, text);
  return row;
}

Json SharesToJson(const RunPicture& picture) {
  Json shares = Json::object();
  for (std::size_t state = 0; state < kRunStates; ++state) {
    const StateShare& share = picture.shares[state];
    if (share.most <= 0) continue;
    shares[kStateNames[state]] = {{"mean", share.mean},
                             {"least", share.least},
                             {"leastRank", share.least_rank},
                             {"most", share.most},
                             {"mostRank", share.most_rank}};
  }
  return shares;
}

Json IterationToJson(const IterationRecord& record) {
  Json json = {{"begin", record.begin},
               {"end", record.end},
               {"elapsed", record.elapsed},
               {"useful", record.useful},
               {"parallelEfficiency", record.parallel_efficiency},
               {"loadBalance", record.load_balance}};
  if (record.disturbance) json["disturbance"] = *record.disturbance;
  if (record.iterations != 1) json["iterations"] = record.iterations;
  if (record.left_out != 0) json["leftOut"] = record.left_out;
  if (!record.reason.empty()) json["reason"] = record.reason;
  return json;
}

IterationRecord IterationFromJson(const Json& json, const std::string& file) {
  IterationRecord record;
  record.begin = json.at("begin").get<double>();
  record.end = json.at("end").get<double>();
  record.elapsed = json.at("elapsed").get<double>();
  record.useful = json.at("useful").get<double>();
  record.parallel_efficiency = json.at("parallelEfficiency").get<double>();
  record.load_balance = json.at("loadBalance").get<double>();
  if (json.contains("disturbance")) record.disturbance = json.at("disturbance").get<double>();
  record.iterations = json.value("iterations", std::int64_t{1});
  record.left_out = json.value("leftOut", std::int64_t{0});
  record.reason = json.value("reason", "");
  if (record.iterations < 1 || record.iterations > kMostIterations || record.left_out < 0 ||
      record.left_out > record.iterations) {
    throw Error(ErrorKind::kInput, file,
                fmt::format("is damaged: {} of {} iterations are left out", record.left_out, record.iterations));
  }
  return record;
}

}  // namespace

Json PictureToJson(const RunPicture& picture) {
  Json json = {{"seconds", picture.seconds},
               {"ranks", picture.ranks},
               {"ranksPerRow", picture.ranks_per_row},
               {"columns", picture.rows.empty() ? 0 : picture.rows.front().size()},
               {"nodeBegins", picture.node_begins}};
  if (!picture.problem.empty()) json["problem"] = picture.problem;
  json["shares"] = SharesToJson(picture);
  json["rows"] = Json::array();
  for (const std::vector<PictureCell>& row : picture.rows) json["rows"].push_back(RowText(row));
  return json;
}

RunPicture PictureFromJson(const Json& json, const std::string& file) {
  RunPicture picture;
  picture.seconds = json.at("seconds").get<double>();
  picture.ranks = json.at("ranks").get<std::int64_t>();
  picture.ranks_per_row = json.at("ranksPerRow").get<std::int64_t>();
  picture.node_begins = json.at("nodeBegins").get<std::vector<std::int64_t>>();
  picture.problem = json.value("problem", "");
  for (std::size_t state = 0; state < kRunStates; ++state) {
    if (!json.at("shares").contains(kStateNames[state])) continue;
    const Json& share = json.at("shares").at(kStateNames[state]);
    picture.shares[state] = {share.at("mean").get<double>(), share.at("least").get<double>(),
                             share.at("most").get<double>(), share.at("leastRank").get<std::int64_t>(),
                             share.at("mostRank").get<std::int64_t>()};
  }
  const auto columns = json.at("columns").get<std::int64_t>();
  if (columns < 0 || columns > kMostColumns) Damaged(file, fmt::format("columns: {}", columns));
  const auto rows = static_cast<std::int64_t>(json.at("rows").size());
  const bool fits = picture.ranks_per_row >= 1 && picture.ranks_per_row <= kMostRanks && picture.ranks <= kMostRanks &&
                    picture.ranks > (rows - 1) * picture.ranks_per_row &&
                    picture.ranks <= rows * picture.ranks_per_row && picture.seconds > 0;
  if (rows > 0 && !fits) Damaged(file, fmt::format("rows: {} of {} ranks", rows, picture.ranks));
  for (const Json& row : json.at("rows")) {
    picture.rows.push_back(RowOf(row.get<std::string>(), static_cast<std::size_t>(columns), file));
  }
  return picture;
}

Json MarksToJson(const std::vector<PhaseMarks>& phases) {
  Json json = Json::array();
  for (const PhaseMarks& phase : phases) {
    Json iterations = Json::array();
    for (const IterationRecord& record : phase.iterations) iterations.push_back(IterationToJson(record));
    json.push_back({{"phase", phase.phase}, {"iterations", iterations}});
    if (!phase.with_all) continue;
    Json& values = json.back()["withAll"] = Json::object();
    for (const FactorType& type : AllFactors()) {
      if ((*phase.with_all)[type.factor]) values[std::string(type.id)] = *(*phase.with_all)[type.factor];
    }
  }
  return json;
}

std::vector<PhaseMarks> MarksFromJson(const Json& json, const std::string& file) {
  std::vector<PhaseMarks> phases;
  for (const Json& phase : json) {
    PhaseMarks& marks = phases.emplace_back();
    marks.phase = phase.at("phase").get<std::string>();
    for (const Json& record : phase.at("iterations")) marks.iterations.push_back(IterationFromJson(record, file));
    if (!phase.contains("withAll")) continue;
    marks.with_all.emplace();
    for (const auto& [id, value] : phase.at("withAll").items()) {
      if (const std::optional<Factor> factor = FactorById(id)) (*marks.with_all)[*factor] = value.get<double>();
    }
  }
  return phases;
}

}  // namespace farscale
