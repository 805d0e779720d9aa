#include "study/shared_runs.h"

#include <algorithm>
#include <mutex>
#include <optional>

#include "base/memory.h"
#include "base/parallel.h"
#include "base/side_by_side.h"
#include "factors/factor.h"
#include "growth/make/grown_program.h"
#include "parallel/bytes.h"
#include "study/grown_study.h"
#include "study/measure_run.h"
#include "trace/trace_reader.h"

namespace farscale {

// Classes with private members, for another process.
template <typename Archive>
void serialize(Archive& archive, PhaseId& id) {
  archive(id.name, id.group);
}

template <typename Archive>
void serialize(Archive& archive, FactorValues& values) {
  for (std::size_t i = 0; i < kFactorCount; ++i) archive(values[static_cast<Factor>(i)]);
}

// Grown runs stay where they are grown.
template <typename Archive>
void save(Archive&, const std::shared_ptr<const GrownSource>&) {}
template <typename Archive>
void load(Archive&, std::shared_ptr<const GrownSource>&) {}

namespace {

constexpr std::string_view kMeasureRuns = "measure runs";

// Sent to another process, which measures some of the runs.
struct RunsRequest {
  Study study;
  std::vector<std::size_t> which;
  std::vector<Scenario> scenarios;
  Detail detail = Detail::kFactors;
};

RunUse UseOf(Detail detail) { return detail == Detail::kFactors ? RunUse::kReplay : RunUse::kLosses; }

void MeasureHere(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done) {
  std::mutex mutex;
  ForEachRun(study.runs, which, UseOf(detail), [&](std::size_t i) {
    AnalysedRun run = MeasureRun(study, study.runs[i], scenarios, false, detail);
    const std::lock_guard lock(mutex);
    done(i, std::move(run));
  });
}

std::string MeasureForOther(std::string_view text) {
  RunsRequest request;
  FromBytes(text, request);
  std::vector<AnalysedRun> runs(request.which.size());
  MeasureHere(request.study, request.which, request.scenarios, request.detail, [&](std::size_t i, AnalysedRun run) {
    runs[static_cast<std::size_t>(std::ranges::find(request.which, i) - request.which.begin())] = std::move(run);
  });
  return ToBytes(runs);
}

}  // namespace

Service MeasuringService() { return {kMeasureRuns, MeasureForOther}; }

void MeasureEach(const Study& study, const std::vector<std::size_t>& which, const std::vector<Scenario>& scenarios,
                 Detail detail, const std::function<void(std::size_t, AnalysedRun)>& done) {
  const bool is_grown = std::ranges::any_of(which, [&](std::size_t i) { return study.runs[i].grown != nullptr; });
  std::optional<Helpers> helpers;
  if (!is_grown && which.size() > 1) helpers.emplace();
  if (!helpers || helpers->empty()) {
    helpers.reset();
    return MeasureHere(study, which, scenarios, detail, done);
  }
  std::vector<std::uint64_t> sizes;
  for (const std::size_t i : which) sizes.push_back(ExpectedMemory(study.runs[i], UseOf(detail)));
  std::vector<std::vector<std::size_t>> shares =
      ShareOut(sizes, std::min(which.size(), helpers->processes().size() + 1));
  for (std::vector<std::size_t>& share : shares) {
    for (std::size_t& k : share) k = which[k];
  }
  const auto helper_of = [&](std::size_t share) { return helpers->processes()[share - 1]; };
  for (std::size_t k = 1; k < shares.size(); ++k) {
    RunsRequest request{study, shares[k], scenarios, detail};
    helpers->Ask(helper_of(k), kMeasureRuns, ToBytes(request));
  }
  MeasureHere(study, shares[0], scenarios, detail, done);
  for (std::size_t k = 1; k < shares.size(); ++k) {
    std::vector<AnalysedRun> runs;
    FromBytes(helpers->Answer(helper_of(k)), runs);
    for (std::size_t i = 0; i < runs.size(); ++i) done(shares[k][i], std::move(runs[i]));
  }
}

namespace {

// Bytes for each byte of a trace on disk, measured at the peak [docs/large-traces.md], with room to spare for traces
// that are packed better than those.
double BytesOfDiskByte(RunUse use) { return use == RunUse::kLosses ? 4 : 2; }

// Packed text is this many times as large when it is read; chosen: gzip packs Paraver traces to a tenth at best.
constexpr double kPacked = 10;

// Bytes for each MPI call of a grown run, which has no files.
double BytesOfCall(RunUse use) { return use == RunUse::kLosses ? 200 : 100; }

}  // namespace

std::uint64_t ExpectedMemory(const RunSpec& run, RunUse use) {
  if (run.is_measured) return 0;
  const double packed = run.trace.ends_with(".gz") ? kPacked : 1;
  const double bytes = run.grown != nullptr
                           ? BytesOfCall(use) * CountCalls(*run.grown->model, run.grown->grid)
                           : packed * BytesOfDiskByte(use) * static_cast<double>(BytesOfTrace(run.trace));
  return static_cast<std::uint64_t>(bytes);
}

void ForEachRun(const std::vector<RunSpec>& runs, const std::vector<std::size_t>& which, RunUse use,
                const std::function<void(std::size_t)>& body) {
  std::vector<std::uint64_t> sizes;
  for (const std::size_t i : which) sizes.push_back(ExpectedMemory(runs[i], use));
  for (const std::vector<std::size_t>& round : RoundsThatFit(sizes, MemoryBudget())) {
    ParallelFor(round.size(), [&](std::size_t k) { body(which[round[k]]); });
  }
}

}  // namespace farscale
