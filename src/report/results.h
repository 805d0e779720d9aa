// Everything a study found out: what reports are made from, and a file from which they can be made again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/diagnostics.h"
#include "factors/factor_table.h"
#include "projection/projection.h"

namespace farscale {

// One run of the study, as measured. A run that could not be used has an error and nothing else but its path.
struct RunRecord {
  std::string path;
  std::string error;
  std::string program;
  std::string format;
  std::string creator;
  std::string fingerprint;  // SHA-256 over the files [trace/trace_reader.h]
  std::uint64_t bytes = 0;
  std::uint64_t events = 0;
  double seconds = 0;  // from the first to the last event
  std::int64_t cores = 0;
  std::int64_t ranks = 0;
  std::int64_t threads = 1;
  std::int64_t nodes = 0;
  std::int64_t repeat = 0;
  double coverage = 0;  // share of the run's time that lies in at least one phase
  std::vector<Finding> findings;

  friend bool operator==(const RunRecord&, const RunRecord&) = default;
};

struct PhaseRecord {
  std::string name;
  std::string description;  // which part of a run it is, in words

  friend bool operator==(const PhaseRecord&, const PhaseRecord&) = default;
};

// The runs of the study on another machine.
struct Variant {
  std::string id;           // in names of files
  std::string name;         // "without network noise"
  std::string description;  // what was replayed
  bool is_noise = true;     // what it gains is noise; else it is another machine in other respects too
  FactorTable table;
  std::vector<PhaseProjection> projections;
};

// What the variants of a study are for.
enum class Comparison { kNoise, kWhatIf };

struct Results {
  std::string title;
  std::string description;  // of the program and case; may be empty
  std::string models;       // how models were chosen, in words
  std::vector<RunRecord> runs;
  std::vector<PhaseRecord> phases;
  FactorTable table;
  std::vector<PhaseProjection> projections;
  Comparison comparison = Comparison::kNoise;
  std::vector<Variant> variants;
};

// Results of a bare factor table: no runs are known, phases are those of the table.
Results ResultsOfTable(const FactorTable& table, const std::vector<PhaseProjection>& projections,
                       const std::string& title);

}  // namespace farscale
