#include "results/losses_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/version.h"
#include "imbalance/loss_remedy.h"
#include "results/factor_table_json.h"
#include "results/remedy_text.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

// Kinds that occur, by id.
Json ToJson(const ByWaitKind& values) {
  Json json = Json::object();
  for (const WaitKindName& kind : WaitKindNames()) {
    const double value = values[static_cast<std::size_t>(kind.kind)];
    if (value != 0) json[std::string(kind.id)] = value;
  }
  return json;
}

// Nothing for ranks that all have none; by rank where few have any.
void AddByRank(const char* key, const std::vector<double>& values, const std::vector<std::size_t>& ranks, Json& json) {
  const auto others = static_cast<std::size_t>(std::count(values.begin(), values.end(), 0.0));
  if (others == values.size()) return;
  if (4 * (values.size() - others) > values.size()) {
    json[key] = values;
    return;
  }
  json[key] = Json::object();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] != 0) json[key][std::to_string(ranks[i])] = values[i];
  }
}

Json ToJson(const LossRaster& raster) {
  Json rows = Json::array();
  for (std::size_t row = 0; row < raster.rows; ++row) {
    const auto first = raster.cells.begin() + static_cast<std::ptrdiff_t>(row * raster.columns);
    rows.push_back(std::vector<double>(first, first + static_cast<std::ptrdiff_t>(raster.columns)));
  }
  return rows;
}

Json ToJson(const LoadShape& shape, const std::string& remedy) {
  Json json = {{"overRanks", NameOf(shape.over_ranks).id},
               {"overTime", NameOf(shape.over_time).id},
               {"imbalance", shape.imbalance},
               {"imbalanceInIteration", shape.imbalance_in_iteration},
               {"spread", shape.spread}};
  if (shape.imbalance_in_step) json["imbalanceInStep"] = *shape.imbalance_in_step;
  if (shape.count > 0) {
    json["count"] = shape.count;
    json["ranks"] = shape.ranks;
    json["level"] = shape.level;
    json["clearness"] = shape.clearness;
  }
  if (shape.static_part + shape.drifting_part + shape.alternating_part > 0) {
    json["static"] = shape.static_part;
    json["drifting"] = shape.drifting_part;
    json["alternating"] = shape.alternating_part;
  }
  if (shape.lasts > 0) json["lasts"] = shape.lasts;
  if (!remedy.empty()) json["remedy"] = remedy;
  return json;
}

// Threads of every rank.
Json ToJson(const std::vector<Location>& locations) {
  Json json = Json::array();
  for (const Location& location : locations) {
    if (location.thread == 0) json.push_back(Json::array());
    json.back().push_back(location.thread);
  }
  return json;
}

Json ToJson(const ProcessGrid& grid) {
  Json json = {{"extents", grid.extents},
               {"periodic", grid.periodic},
               {"diagonals", grid.has_diagonals},
               {"source", ToString(grid.source)},
               {"explained", grid.explained}};
  if (!grid.places.empty()) json["places"] = grid.places;
  return json;
}

Json ToJson(const PathRecord& path, const LossRecord& losses) {
  const std::vector<std::size_t>& ranks = losses.ranks;
  Json json = {{"path", path.path},
               {"innermost", path.innermost.empty() ? path.path : path.innermost},
               {"isMpi", path.is_mpi},
               {"visits", path.total.visits},
               {"time", path.total.time},
               {"execution", path.total.Execution()},
               {"waiting", ToJson(path.total.waiting)},
               {"shortTerm", ToJson(path.total.short_term)},
               {"longTerm", ToJson(path.total.long_term)},
               {"exitSkew", ToJson(path.total.exit_skew)},
               {"indirect", path.total.indirect},
               {"propagating", path.total.propagating},
               {"caused", path.total.caused},
               {"wrongOrder", path.total.wrong_order},
               {"wrongOrderSameSource", path.total.wrong_order_same},
               {"completion", path.total.completion},
               {"criticalPath", path.total.critical},
               {"criticalPathImbalance", path.imbalance},
               {"nearlyCritical", path.total.nearly_critical},
               {"impactWithin", path.total.intra},
               {"impactBetween", path.total.inter}};
  if (path.slack) json["slack"] = *path.slack;
  Json by_rank = Json::object();
  AddByRank("execution", path.execution, ranks, by_rank);
  AddByRank("waiting", path.waiting, ranks, by_rank);
  AddByRank("costs", path.costs, ranks, by_rank);
  AddByRank("criticalPath", path.critical, ranks, by_rank);
  json["byRank"] = std::move(by_rank);
  if (path.shape) json["shape"] = ToJson(*path.shape, TextOf(RemedyForPath(losses, path)));
  if (!path.raster.cells.empty()) json["costsByRankAndIteration"] = ToJson(path.raster);
  return json;
}

}  // namespace

Json LossesToJson(const LossRecord& record) {
  Json json = {{"trace", record.trace},
               {"phase", record.phase},
               {"cores", record.cores},
               {"repeat", record.repeat},
               {"iterations", record.iterations},
               {"runRanks", record.run_ranks},
               {"ranks", record.ranks},
               {"groups", record.groups},
               {"recurs", record.recurs},
               {"length", record.length},
               {"window", record.window},
               {"allocation", record.allocation},
               {"rules", ToString(record.rules)}};
  if (!record.locations.empty()) json["threads"] = ToJson(record.locations);
  if (record.shape) json["shape"] = ToJson(*record.shape, TextOf(RemedyForAll(record)));
  if (record.grid) json["processGrid"] = ToJson(*record.grid);
  if (record.unknown_waits) {
    json["waitsUnknown"] = {{"calls", record.unknown_waits->calls}, {"example", record.unknown_waits->example}};
    return json;
  }
  json["waiting"] = ToJson(record.waiting);
  json["shortTerm"] = ToJson(record.short_term);
  json["longTerm"] = ToJson(record.long_term);
  json["exitSkew"] = ToJson(record.exit_skew);
  json["unattributed"] = ToJson(record.unattributed);
  json["notCharged"] = ToJson(record.lost);
  json["atEnd"] = record.at_end;
  json["indirect"] = record.indirect;
  json["propagating"] = record.propagating;
  json["wrongOrder"] = record.wrong_order;
  Json paths = Json::array();
  for (const PathRecord& path : record.paths) paths.push_back(ToJson(path, record));
  json["callPaths"] = std::move(paths);
  if (record.by_factor) {
    Json losses = Json::array();
    for (const PathFactorLoss& path : record.by_factor->paths) {
      losses.push_back(
          {{"path", path.path}, {"loadBalance", path.load_balance}, {"serialization", path.serialization}});
    }
    json["byFactor"] = std::move(losses);
  }
  return json;
}

namespace {

// Null where there is no interval.
Json ToJson(const std::optional<IntervalBounds>& bounds) {
  return bounds ? Json{bounds->low, bounds->high} : Json(nullptr);
}

}  // namespace

Json LossProjectionsToJson(const std::vector<LossProjection>& projections) {
  Json list = Json::array();
  for (const LossProjection& projection : projections) {
    Json paths = Json::array();
    for (const PathLossProjection& path : projection.paths) {
      Json measured = Json::array(), targets = Json::array();
      for (const DataPoint& point : path.measured) measured.push_back({{"cores", point.cores}, {"loss", point.value}});
      for (const ProjectedLoss& value : path.targets) {
        targets.push_back({{"cores", value.cores},
                           {"loss", value.loss},
                           {"loss80", ToJson(value.loss80)},
                           {"loss95", ToJson(value.loss95)},
                           {"part", value.part},
                           {"part80", ToJson(value.part80)},
                           {"part95", ToJson(value.part95)},
                           {"evidence", value.is_evidence}});
      }
      Json one = {{"path", path.path}, {"measured", std::move(measured)}};
      if (!path.model.empty()) one["model"] = path.model;
      if (!path.formula.empty()) one["formula"] = path.formula;
      one["targets"] = std::move(targets);
      paths.push_back(std::move(one));
    }
    Json json = {{"phase", projection.phase},
                 {"measure", ToString(projection.measure)},
                 {"fittedCores", projection.fitted_cores}};
    if (!projection.obstacle.empty()) json["obstacle"] = projection.obstacle;
    json["callPaths"] = std::move(paths);
    list.push_back(std::move(json));
  }
  return list;
}

std::string WriteLossesJson(const std::vector<LossRecord>& records, const std::vector<LossProjection>& projections,
                            const std::vector<Finding>& warnings) {
  Json json = {{"format", "farscale-losses"}, {"version", 1}, {"generator", Generator()}};
  Json list = Json::array();
  for (const LossRecord& record : records) list.push_back(LossesToJson(record));
  json["phases"] = std::move(list);
  json["projections"] = LossProjectionsToJson(projections);
  json["diagnostics"] = FindingsToJson(warnings);
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace farscale
