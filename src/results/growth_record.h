// Results of the grown runs of a program, as values [docs/schema/growth.schema.json].
#pragma once

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor.h"
#include "growth/rules/peer_rule.h"

namespace farscale {

enum class GrowthSource {
  kMeasured,
  kReplayed,  // a measured run by its own rules
  kGrown      // from smaller runs; of a number of ranks that was measured: a backtest
};

// One run of a phase.
struct GrowthRecordRow {
  std::int64_t ranks = 0;
  std::vector<std::int64_t> layout = {};         // extents of the grid of ranks; empty: none was found
  std::vector<std::int64_t> second_layout = {};  // ranks behind these that run a second program; may be empty
  GrowthSource source = GrowthSource::kMeasured;
  std::optional<std::int64_t> learned_up_to = std::nullopt;  // grown runs: ranks of the largest run they follow from
  double iteration = 0;                                      // seconds
  FactorValues factors = {};
  std::size_t iterations = 0, replayed = 0;  // grown runs only
};

// Ranks of equal place in the grid, in the largest run.
struct RankClassRecord {
  std::string place;
  std::int64_t ranks = 0;
  double computation = 0;  // seconds of an iteration, mean over ranks
};

// The rules learned for a phase, and how far they hold.
struct LearnedRecord {
  double explained = 0;  // share of the messages that follow rules
  double confirmed = 0;  // share of those whose rules hold for more than what they were read from
  RuleShares partners;   // to whom messages go
  RuleShares sizes;      // laws of their bytes
  std::vector<RankClassRecord> classes;
  std::string computation;  // the law of a rank's computation
  double spread = 0;        // between ranks of a class, standard deviation of the logarithm
  double noise = 0;         // between iterations, likewise
  // Where rules do not suffice: grown ranks are copies of those of the largest run.
  std::optional<StatisticalGrowth> copied = std::nullopt;
  std::vector<std::int64_t> runs_alone;  // ranks of runs whose ranks are in no class with ranks of others
};

struct GrowthRecord {
  std::string phase;
  std::string refusal;                   // why it is not grown; empty where it is
  std::optional<LearnedRecord> learned;  // nothing where no rules were found
  std::vector<GrowthRecordRow> rows;     // rising ranks, measured rows before grown ones
  std::vector<std::string> left_out;     // why some runs were not read or not grown
};

// A file of `farscale grow`.
struct GrowthFile {
  std::string network;          // that grown runs were replayed on
  std::string unknown_network;  // why messages take no time there, and transfer is not grown; empty where they do
  std::string scenario;         // under which runs were replayed before they were grown; empty: as measured
  std::vector<GrowthRecord> phases;
};

std::string WriteGrowthJson(const GrowthFile& file);
nlohmann::ordered_json GrowthSchema();

}  // namespace farscale
