#include <algorithm>

#include "base/error.h"
#include "results/losses_json.h"

namespace farscale {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void RefuseLosses(const std::string& file, const std::string& what) {
  throw Error(ErrorKind::kInput, file, "is damaged: " + what);
}

ByWaitKind ByKind(const Json& json) {
  ByWaitKind values{};
  for (const WaitKindName& kind : WaitKindNames()) {
    values[static_cast<std::size_t>(kind.kind)] = json.value(std::string(kind.id), 0.0);
  }
  return values;
}

// All values, or those of a few ranks by their names.
std::vector<double> ByRank(const Json& json, const char* key, const std::vector<std::size_t>& ranks,
                           const std::string& file) {
  std::vector<double> values(ranks.size(), 0);
  if (!json.contains(key)) return values;
  if (json.at(key).is_array()) {
    values = json.at(key).get<std::vector<double>>();
    if (values.size() != ranks.size()) RefuseLosses(file, "a call path has values of other ranks than its phase");
    return values;
  }
  for (std::size_t i = 0; i < ranks.size(); ++i) values[i] = json.at(key).value(std::to_string(ranks[i]), 0.0);
  return values;
}

LossRaster RasterFrom(const Json& json, const std::string& file) {
  LossRaster raster;
  for (const Json& row : json) {
    const auto cells = row.get<std::vector<double>>();
    if (raster.rows++ == 0) raster.columns = cells.size();
    if (cells.empty() || cells.size() != raster.columns) RefuseLosses(file, "rows of a raster differ in length");
    raster.cells.insert(raster.cells.end(), cells.begin(), cells.end());
  }
  return raster;
}

// The value whose name has the id.
template <typename Shape>
Shape ShapeNamed(const std::string& id, std::size_t count, const std::string& file) {
  for (std::size_t i = 0; i < count; ++i) {
    if (NameOf(static_cast<Shape>(i)).id == id) return static_cast<Shape>(i);
  }
  RefuseLosses(file, "'" + id + "' is no shape of a load");
}

std::optional<LoadShape> ShapeFrom(const Json& json, const std::string& file) {
  if (!json.contains("shape")) return std::nullopt;
  const Json& from = json.at("shape");
  LoadShape shape;
  shape.over_ranks = ShapeNamed<ShapeOverRanks>(from.at("overRanks").get<std::string>(), kShapesOverRanks, file);
  shape.over_time = ShapeNamed<ShapeOverTime>(from.at("overTime").get<std::string>(), kShapesOverTime, file);
  shape.imbalance = from.at("imbalance").get<double>();
  shape.imbalance_in_iteration = from.at("imbalanceInIteration").get<double>();
  if (from.contains("imbalanceInStep")) shape.imbalance_in_step = from.at("imbalanceInStep").get<double>();
  shape.spread = from.at("spread").get<double>();
  shape.count = from.value("count", std::size_t{0});
  shape.ranks = from.value("ranks", std::vector<std::size_t>());
  shape.level = from.value("level", 0.0);
  shape.clearness = from.value("clearness", 0.0);
  shape.static_part = from.value("static", 0.0);
  shape.drifting_part = from.value("drifting", 0.0);
  shape.alternating_part = from.value("alternating", 0.0);
  shape.lasts = from.value("lasts", std::size_t{0});
  return shape;
}

ProcessGrid GridFrom(const Json& json, const std::string& file) {
  ProcessGrid grid;
  grid.extents = json.at("extents").get<std::vector<std::size_t>>();
  grid.periodic = json.at("periodic").get<std::vector<bool>>();
  grid.has_diagonals = json.at("diagonals").get<bool>();
  const auto source = std::find_if(std::begin(kGridSources), std::end(kGridSources),
                                   [&](GridSource one) { return json.at("source") == ToString(one); });
  if (source == std::end(kGridSources)) RefuseLosses(file, json.at("source").dump() + " is no source of a grid");
  grid.source = *source;
  grid.places = json.value("places", std::vector<std::size_t>());
  const bool in_place =
      std::all_of(grid.places.begin(), grid.places.end(), [&](std::size_t place) { return place < grid.size(); });
  if (!grid.places.empty() && (grid.places.size() != grid.size() || !in_place))
    RefuseLosses(file, "places lie outside of the grid");
  grid.explained = json.at("explained").get<double>();
  return grid;
}

PathRecord PathFrom(const Json& json, const std::vector<std::size_t>& ranks, const std::string& file) {
  PathRecord path;
  path.path = json.at("path").get<std::string>();
  path.innermost = json.value("innermost", path.path);
  path.is_mpi = json.at("isMpi").get<bool>();
  path.imbalance = json.at("criticalPathImbalance").get<double>();
  if (json.contains("slack")) path.slack = json.at("slack").get<double>();
  PathLosses& total = path.total;
  total.visits = json.at("visits").get<std::uint64_t>();
  total.time = json.at("time").get<double>();
  total.waiting = ByKind(json.at("waiting"));
  total.short_term = ByKind(json.at("shortTerm"));
  total.long_term = ByKind(json.at("longTerm"));
  if (json.contains("exitSkew")) total.exit_skew = ByKind(json.at("exitSkew"));  // unattributed before there were any
  total.indirect = json.at("indirect").get<double>();
  total.propagating = json.at("propagating").get<double>();
  total.caused = json.at("caused").get<double>();
  total.wrong_order = json.at("wrongOrder").get<double>();
  total.wrong_order_same = json.at("wrongOrderSameSource").get<double>();
  total.completion = json.at("completion").get<double>();
  total.critical = json.at("criticalPath").get<double>();
  total.nearly_critical = json.at("nearlyCritical").get<double>();
  total.intra = json.at("impactWithin").get<double>();
  total.inter = json.at("impactBetween").get<double>();
  const Json& by_rank = json.at("byRank");
  path.execution = ByRank(by_rank, "execution", ranks, file);
  path.waiting = ByRank(by_rank, "waiting", ranks, file);
  path.costs = ByRank(by_rank, "costs", ranks, file);
  path.critical = ByRank(by_rank, "criticalPath", ranks, file);
  path.shape = ShapeFrom(json, file);
  if (json.contains("costsByRankAndIteration")) path.raster = RasterFrom(json.at("costsByRankAndIteration"), file);
  return path;
}

std::optional<IntervalBounds> BoundsFrom(const Json& json) {
  if (json.is_null()) return std::nullopt;
  return IntervalBounds{json.at(0).get<double>(), json.at(1).get<double>()};
}

ProjectedLoss TargetFrom(const Json& json) {
  ProjectedLoss loss;
  loss.cores = json.at("cores").get<double>();
  loss.loss = json.at("loss").get<double>();
  loss.loss80 = BoundsFrom(json.at("loss80"));
  loss.loss95 = BoundsFrom(json.at("loss95"));
  loss.part = json.at("part").get<double>();
  loss.part80 = BoundsFrom(json.at("part80"));
  loss.part95 = BoundsFrom(json.at("part95"));
  loss.is_evidence = json.at("evidence").get<bool>();
  return loss;
}

LossMeasure MeasureFrom(const std::string& name, const std::string& file) {
  const auto* found = std::find_if(kLossMeasures.begin(), kLossMeasures.end(),
                                   [&](LossMeasure measure) { return ToString(measure) == name; });
  if (found == kLossMeasures.end()) RefuseLosses(file, "'" + name + "' is no measure of losses");
  return *found;
}

}  // namespace

namespace {

// Of every thread of the run, so that all numbers of the record name one.
std::vector<Location> LocationsFrom(const Json& json, const LossRecord& losses, const std::string& file) {
  std::vector<Location> locations;
  std::int32_t rank = 0;
  for (const Json& threads : json) {
    for (const Json& thread : threads) locations.push_back({rank, thread.get<std::int32_t>()});
    ++rank;
  }
  const bool is_known = std::all_of(losses.ranks.begin(), losses.ranks.end(),
                                    [&](std::size_t known) { return known < locations.size(); });
  if (locations.size() != losses.run_ranks || !is_known) {
    RefuseLosses(file, "its threads are not those of its phases");
  }
  return locations;
}

}  // namespace

LossRecord LossesFromJson(const Json& json, const std::string& file) {
  LossRecord losses;
  losses.trace = json.at("trace").get<std::string>();
  losses.phase = json.at("phase").get<std::string>();
  losses.cores = json.at("cores").get<std::int64_t>();
  losses.repeat = json.at("repeat").get<std::int64_t>();
  losses.iterations = json.at("iterations").get<std::size_t>();
  losses.run_ranks = json.at("runRanks").get<std::size_t>();
  losses.ranks = json.at("ranks").get<std::vector<std::size_t>>();
  if (json.contains("threads")) losses.locations = LocationsFrom(json.at("threads"), losses, file);
  losses.groups = json.at("groups").get<std::vector<std::string>>();
  losses.recurs = json.at("recurs").get<bool>();
  losses.length = json.at("length").get<double>();
  losses.window = json.at("window").get<double>();
  losses.allocation = json.at("allocation").get<double>();
  const auto rules = ParseDelayRules(json.at("rules").get<std::string>());
  if (!rules) RefuseLosses(file, json.at("rules").dump() + " are no rules of delay costs");
  losses.rules = *rules;
  losses.shape = ShapeFrom(json, file);
  if (json.contains("processGrid")) losses.grid = GridFrom(json.at("processGrid"), file);
  if (json.contains("waitsUnknown")) {
    const Json& waits = json.at("waitsUnknown");
    losses.unknown_waits = UnknownWaits{waits.at("calls").get<std::uint64_t>(), waits.at("example").get<std::string>()};
    return losses;
  }
  losses.waiting = ByKind(json.at("waiting"));
  losses.short_term = ByKind(json.at("shortTerm"));
  losses.long_term = ByKind(json.at("longTerm"));
  if (json.contains("exitSkew")) losses.exit_skew = ByKind(json.at("exitSkew"));
  losses.unattributed = ByKind(json.at("unattributed"));
  losses.lost = ByKind(json.at("notCharged"));
  losses.at_end = json.at("atEnd").get<double>();
  losses.indirect = json.at("indirect").get<double>();
  losses.propagating = json.at("propagating").get<double>();
  losses.wrong_order = json.at("wrongOrder").get<double>();
  for (const Json& path : json.at("callPaths")) losses.paths.push_back(PathFrom(path, losses.ranks, file));
  if (!json.contains("byFactor")) return losses;
  losses.by_factor.emplace();
  for (const Json& path : json.at("byFactor")) {
    losses.by_factor->paths.push_back({path.at("path").get<std::string>(), path.at("loadBalance").get<double>(),
                                       path.at("serialization").get<double>()});
    losses.by_factor->load_balance += losses.by_factor->paths.back().load_balance;
    losses.by_factor->serialization += losses.by_factor->paths.back().serialization;
  }
  return losses;
}

std::vector<LossProjection> LossProjectionsFromJson(const Json& json, const std::string& file) {
  std::vector<LossProjection> projections;
  for (const Json& one : json) {
    LossProjection& projection = projections.emplace_back();
    projection.phase = one.at("phase").get<std::string>();
    projection.measure = MeasureFrom(one.at("measure").get<std::string>(), file);
    projection.fitted_cores = one.at("fittedCores").get<std::vector<double>>();
    projection.obstacle = one.value("obstacle", "");
    for (const Json& entry : one.at("callPaths")) {
      PathLossProjection& path = projection.paths.emplace_back();
      path.path = entry.at("path").get<std::string>();
      path.model = entry.value("model", "");
      path.formula = entry.value("formula", "");
      for (const Json& point : entry.at("measured")) {
        path.measured.push_back({point.at("cores").get<double>(), point.at("loss").get<double>()});
      }
      for (const Json& target : entry.at("targets")) path.targets.push_back(TargetFrom(target));
    }
  }
  return projections;
}

}  // namespace farscale
