#include "report/compare/json.h"

#include <nlohmann/json.hpp>

#include "base/version.h"
#include "results/factor_table_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;
using Kind = Contribution::Kind;

std::string IdOf(const Contribution& part) {
  switch (part.kind) {
    case Kind::kFactor: return std::string(Describe(part.factor).id);
    case Kind::kBase: return "base";
    case Kind::kBaseInstructions: return "baseInstructions";
    case Kind::kBaseRate: return "baseInstructionRate";
    case Kind::kBaseIpc: return "baseIpc";
    case Kind::kBaseFrequency: return "baseFrequency";
    case Kind::kRest: break;
  }
  return "rest";
}

Json DifferenceToJson(const Decomposition& difference) {
  Json parts = Json::object();
  for (const Contribution& part : difference.parts) parts[IdOf(part)] = part.logarithm;
  Json json = {{"logarithm", difference.logarithm}, {"parts", parts}};
  if (const Contribution* largest = difference.Largest()) json["largest"] = IdOf(*largest);
  return json;
}

Json NumberToJson(const ComparedNumber& number) {
  Json json = Json::object();
  if (number.before) json["before"] = *number.before;
  if (number.after) json["after"] = *number.after;
  if (number.change) {
    json["ratio"] = number.change->ratio;
    json["low95"] = number.change->Low();
    json["high95"] = number.change->High();
    json["beyondNoise"] = number.is_beyond_noise;
  }
  return json;
}

Json CountToJson(const ComparedCount& count) {
  Json json = {{"cores", count.cores}, {"isCommon", count.is_common}};
  json["factors"] = Json::object();
  for (const ComparedFactor& one : count.factors) {
    json["factors"][std::string(Describe(one.factor).id)] = NumberToJson(one.number);
  }
  if (count.seconds.before || count.seconds.after) json["secondsPerIteration"] = NumberToJson(count.seconds);
  if (count.efficiency) {
    json["efficiencyIs"] = std::string(Describe(count.whole).id);
    json["efficiency"] = DifferenceToJson(*count.efficiency);
  }
  if (count.time) json["time"] = DifferenceToJson(*count.time);
  return json;
}

Json ValueToJson(const ProjectedValue& value) {
  Json json = {{"value", value.value}};
  if (value.interval80) json.update({{"low80", value.interval80->low}, {"high80", value.interval80->high}});
  return json;
}

Json PairToJson(const ProjectedPair& pair) {
  Json json = {{"evidence", pair.is_evidence}, {"apart", pair.is_apart}};
  if (pair.before) json["before"] = ValueToJson(*pair.before);
  if (pair.after) json["after"] = ValueToJson(*pair.after);
  return json;
}

Json TargetToJson(const ComparedTarget& target) {
  Json json = {{"cores", target.cores}, {"efficiencyIs", std::string(Describe(target.whole).id)}};
  json["factors"] = Json::object();
  for (const auto& [factor, pair] : target.factors) {
    json["factors"][std::string(Describe(factor).id)] = PairToJson(pair);
  }
  if (target.seconds.before || target.seconds.after) json["secondsPerIteration"] = PairToJson(target.seconds);
  if (target.explained) json["efficiency"] = DifferenceToJson(*target.explained);
  return json;
}

Json PhaseToJson(const ComparedPhase& phase) {
  Json json = {{"name", phase.name}, {"before", phase.before.name}, {"after", phase.after.name}};
  if (phase.before.IsGroup()) json["groupBefore"] = phase.before.group;
  if (phase.after.IsGroup()) json["groupAfter"] = phase.after.group;
  if (phase.reference) json["reference"] = *phase.reference;
  json["noise"] = phase.noise ? phase.noise->deviation : kUsualNoise;
  json["noiseIsMeasured"] = phase.noise.has_value();
  json["notes"] = phase.notes;
  json["counts"] = Json::array();
  for (const ComparedCount& count : phase.counts) json["counts"].push_back(CountToJson(count));
  json["targets"] = Json::array();
  for (const ComparedTarget& target : phase.targets) json["targets"].push_back(TargetToJson(target));
  return json;
}

}  // namespace

std::string WriteCompareJson(const std::vector<ComparedResults>& comparisons) {
  Json json = {{"format", "farscale-compare"}, {"version", kCompareVersion}, {"generator", Generator()}};
  json["comparisons"] = Json::array();
  for (const ComparedResults& compared : comparisons) {
    Json one = {{"before", compared.before}, {"after", compared.after}};
    one["onlyBefore"] = compared.only_before;
    one["onlyAfter"] = compared.only_after;
    one["diagnosticsBefore"] = FindingsToJson(compared.findings_before);
    one["diagnosticsAfter"] = FindingsToJson(compared.findings_after);
    one["phases"] = Json::array();
    for (const ComparedPhase& phase : compared.phases) one["phases"].push_back(PhaseToJson(phase));
    json["comparisons"].push_back(std::move(one));
  }
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
