#include "results/answers_json.h"

#include <array>
#include <nlohmann/json.hpp>

#include "base/error.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;
using Kind = CountBound::Kind;

// In files, in the order of the enumeration.
constexpr std::array<const char*, 4> kReaches = {"upTo", "atLeast", "onlyMeasured", "misfit"};
constexpr std::array<const char*, 3> kKinds = {"cores", "below", "moreThan"};

double CoresOf(const Json& json) {
  constexpr double kMost = 1e12;
  const double cores = json.get<double>();
  if (cores > 0 && cores <= kMost) return cores;
  throw Error(ErrorKind::kInput, "", "an answer has an impossible number of cores");
}

Factor FactorOf(const Json& json) {
  const auto factor = FactorById(json.get<std::string>());
  if (!factor) throw Error(ErrorKind::kInput, "", "unknown factor '" + json.get<std::string>() + "'");
  return *factor;
}

std::optional<double> NumberOf(const Json& json, const char* key) {
  return json.contains(key) ? std::optional(json.at(key).get<double>()) : std::nullopt;
}

Json ToJson(const OpenBounds& bounds) {
  return Json::array({bounds.low, bounds.high ? Json(*bounds.high) : Json(nullptr)});
}

std::optional<OpenBounds> BoundsOf(const Json& json, const char* key) {
  if (!json.contains(key)) return std::nullopt;
  const Json& bounds = json.at(key);
  return OpenBounds{bounds.at(0).get<double>(),
                    bounds.at(1).is_null() ? std::nullopt : std::optional(bounds.at(1).get<double>())};
}

Json ToJson(const CountBound& bound) { return {{kKinds[static_cast<std::size_t>(bound.kind)], bound.cores}}; }

CountBound CountOf(const Json& json) {
  for (std::size_t i = 0; i < kKinds.size(); ++i) {
    if (json.contains(kKinds[i])) return {static_cast<Kind>(i), CoresOf(json.at(kKinds[i]))};
  }
  throw Error(ErrorKind::kInput, "", "an answer has no number of cores");
}

Json ToJson(const PhaseProjection& projection, Factor factor, const CountAnswer& answer) {
  Json json = {{"value", ToJson(answer.value)}, {"evidence", IsEvidence(projection, factor, answer.value)}};
  if (answer.low) json["low80"] = ToJson(*answer.low);
  if (answer.high) json["high80"] = ToJson(*answer.high);
  return json;
}

CountAnswer AnswerOf(const Json& json) {
  CountAnswer answer{CountOf(json.at("value")), std::nullopt, std::nullopt};
  if (json.contains("low80")) answer.low = CountOf(json.at("low80"));
  if (json.contains("high80")) answer.high = CountOf(json.at("high80"));
  return answer;
}

Json ToJson(const PhaseProjection& projection, const SpeedupPeak& peak) {
  Json json = ToJson(projection, Factor::kSpeedup, peak.count);
  json["speedup"] = peak.speedup;
  if (peak.speedup80) json["speedup80"] = {peak.speedup80->low, peak.speedup80->high};
  return json;
}

SpeedupPeak PeakOf(const Json& json) {
  SpeedupPeak peak{AnswerOf(json), json.at("speedup").get<double>(), std::nullopt};
  if (const auto bounds = BoundsOf(json, "speedup80")) {
    peak.speedup80 = IntervalBounds{bounds->low, bounds->high.value_or(bounds->low)};
  }
  return peak;
}

Json ToJson(const PhaseProjection& projection, const TimeAnswer& time) {
  Json targets = Json::array();
  for (const ProjectedTime& target : time.targets) {
    Json json = {{"cores", target.cores},
                 {"ratio", target.ratio},
                 {"secondsPerIteration", target.seconds},
                 {"coreHoursPerIteration", CoreHours(target.cores, target.seconds)},
                 {"coreHours", CoreHours(target.cores, target.seconds) * time.iterations},
                 {"evidence", IsEvidence(projection, Factor::kSpeedup, target.cores)}};
    if (target.interval80) json["secondsPerIteration80"] = ToJson(*target.interval80);
    if (target.interval95) json["secondsPerIteration95"] = ToJson(*target.interval95);
    targets.push_back(json);
  }
  return {{"iterations", time.iterations}, {"targets", targets}};
}

TimeAnswer TimeOf(const Json& json) {
  TimeAnswer time{json.at("iterations").get<double>(), {}};
  for (const Json& target : json.at("targets")) {
    time.targets.push_back({CoresOf(target.at("cores")), target.at("ratio").get<double>(),
                            target.at("secondsPerIteration").get<double>(), BoundsOf(target, "secondsPerIteration80"),
                            BoundsOf(target, "secondsPerIteration95")});
  }
  return time;
}

Json ToJson(const PhaseProjection& projection, const PerfectAtTarget& at) {
  Json factors = Json::array();
  for (const PerfectFactor& perfect : at.factors) {
    Json json = {{"factor", Describe(perfect.factor).id}, {"gain", perfect.gain}};
    if (perfect.gain80) json["gain80"] = ToJson(*perfect.gain80);
    if (perfect.parallel_efficiency) json["parallelEfficiency"] = *perfect.parallel_efficiency;
    if (perfect.global_efficiency) json["globalEfficiency"] = *perfect.global_efficiency;
    if (perfect.seconds) json["secondsPerIteration"] = *perfect.seconds;
    factors.push_back(json);
  }
  return {{"cores", at.cores}, {"evidence", IsEvidence(projection, at.cores)}, {"factors", factors}};
}

PerfectAtTarget PerfectOf(const Json& json) {
  PerfectAtTarget at{CoresOf(json.at("cores")), {}};
  for (const Json& perfect : json.at("factors")) {
    at.factors.push_back({FactorOf(perfect.at("factor")), perfect.at("gain").get<double>(), BoundsOf(perfect, "gain80"),
                          NumberOf(perfect, "parallelEfficiency"), NumberOf(perfect, "globalEfficiency"),
                          NumberOf(perfect, "secondsPerIteration")});
  }
  return at;
}

}  // namespace

Json HorizonToJson(const EvidenceHorizon& horizon) {
  return {{"factor", Describe(horizon.factor).id},
          {"width", horizon.width},
          {"cores", horizon.cores},
          {"reach", kReaches[static_cast<std::size_t>(horizon.reach)]}};
}

EvidenceHorizon HorizonFromJson(const Json& json) {
  EvidenceHorizon horizon{FactorOf(json.at("factor")), json.at("width").get<double>(), CoresOf(json.at("cores")), {}};
  const auto reach = json.at("reach").get<std::string>();
  for (std::size_t i = 0; i < kReaches.size(); ++i) {
    horizon.reach = static_cast<EvidenceHorizon::Reach>(i);
    if (reach == kReaches[i]) return horizon;
  }
  throw Error(ErrorKind::kInput, "", "unknown reach '" + reach + "' of an evidence horizon");
}

Json AnswersToJson(const PhaseProjection& projection, const PhaseAnswers& answers) {
  Json json = Json::object();
  if (answers.reference) json["referenceCores"] = *answers.reference;
  json["levels"] = Json::array();
  for (const LevelAnswer& level : answers.levels) {
    Json one = {{"level", level.level}};
    if (level.parallel) one["parallelEfficiency"] = ToJson(projection, Factor::kParallelEfficiency, *level.parallel);
    if (level.relative) one["relativeEfficiency"] = ToJson(projection, Factor::kSpeedup, *level.relative);
    json["levels"].push_back(one);
  }
  if (answers.peak) json["speedupPeak"] = ToJson(projection, *answers.peak);
  if (answers.time) json["time"] = ToJson(projection, *answers.time);
  json["perfect"] = Json::array();
  for (const PerfectAtTarget& at : answers.perfect) json["perfect"].push_back(ToJson(projection, at));
  return json;
}

PhaseAnswers AnswersFromJson(const Json& json) {
  PhaseAnswers answers;
  if (json.contains("referenceCores")) answers.reference = CoresOf(json.at("referenceCores"));
  for (const Json& level : json.at("levels")) {
    LevelAnswer one{level.at("level").get<double>(), std::nullopt, std::nullopt};
    if (level.contains("parallelEfficiency")) one.parallel = AnswerOf(level.at("parallelEfficiency"));
    if (level.contains("relativeEfficiency")) one.relative = AnswerOf(level.at("relativeEfficiency"));
    if (one.relative && !answers.reference) throw Error(ErrorKind::kInput, "", "an answer is relative to no run");
    answers.levels.push_back(one);
  }
  if (json.contains("speedupPeak")) answers.peak = PeakOf(json.at("speedupPeak"));
  if (json.contains("time")) answers.time = TimeOf(json.at("time"));
  for (const Json& at : json.at("perfect")) answers.perfect.push_back(PerfectOf(at));
  return answers;
}

}  // namespace farscale
