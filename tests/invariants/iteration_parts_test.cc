// Parts of iterations on every real trace at hand, and the same parts at every number of ranks.
#include "phases/phase_cut.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "factors/phase_factors.h"
#include "phases/found_loop.h"
#include "replay/matching.h"
#include "support/random_program.h"
#include "support/traces.h"
#include "support/repeats.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

// Of every rank, in the order of time, with the part they belong to.
struct Piece {
  Interval interval;
  std::size_t part;
};

std::vector<Piece> PiecesOf(const std::vector<std::vector<RankCut>>& parts, std::size_t rank) {
  std::vector<Piece> pieces;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    if (parts[part].empty()) continue;
    for (const Interval& interval : parts[part][rank].iterations) pieces.push_back({interval, part});
  }
  std::stable_sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
    return std::pair(a.interval.begin.call, a.interval.begin.tick) <
           std::pair(b.interval.begin.call, b.interval.begin.tick);
  });
  return pieces;
}

// A collective lies in the same part on all its ranks: the part of every operation, by where each rank calls it.
void ExpectCollectivesInOnePart(const Trace& trace, const std::vector<std::vector<RankCut>>& parts,
                                const std::string& path) {
  const Matching matching = MatchTrace(trace);
  std::map<std::uint32_t, std::set<std::size_t>> parts_of;
  for (std::size_t rank = 0; rank < trace.size(); ++rank) {
    const RankTimeline& timeline = trace.timelines[rank];
    std::map<std::size_t, std::size_t> part_of_call;
    for (const Piece& piece : PiecesOf(parts, rank)) {
      for (std::uint32_t c = piece.interval.begin.call; c < piece.interval.end.call; ++c) part_of_call[c] = piece.part;
    }
    std::size_t posted = 0;
    for (std::size_t call = 0; call < timeline.calls(); ++call) {
      for (std::size_t r = timeline.first_record(call); r < timeline.first_record(call + 1); ++r) {
        const RecordKind kind = timeline.record_kind(r);
        if (kind != RecordKind::kCollective && kind != RecordKind::kCollectivePost) continue;
        const std::uint32_t operation = matching.ranks[rank].collectives[posted++];
        if (operation == kNoCollective || kind != RecordKind::kCollective) continue;
        const auto found = part_of_call.find(call);
        parts_of[operation].insert(found == part_of_call.end() ? parts.size() : found->second);
      }
    }
  }
  for (const auto& [operation, of] : parts_of) EXPECT_EQ(of.size(), 1u) << path << " collective " << operation;
}

TEST(IterationParts, LieInTheLoopOneAfterTheOther) {
  std::size_t with_parts = 0;
  for (const std::string& path : test::TracesToTry()) {
    const Trace trace = ReadTrace(path);
    const auto loop = FindLoopOfRun(trace);
    if (!loop) continue;
    const std::vector<RankCut> cuts = CutLoopBetweenBursts(trace, *loop);
    const auto parts = CutParts(trace, cuts, ShapeOf(trace, cuts));
    if (parts.empty()) continue;
    ++with_parts;
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      Tick reached = cuts[rank].window.begin.tick;
      std::uint32_t call = cuts[rank].window.begin.call;
      for (const Piece& piece : PiecesOf(parts, rank)) {
        EXPECT_GE(piece.interval.begin.tick, reached) << path << " rank " << rank;
        EXPECT_GE(piece.interval.begin.call, call) << path << " rank " << rank;
        EXPECT_LE(piece.interval.begin.tick, piece.interval.end.tick) << path << " rank " << rank;
        reached = piece.interval.end.tick;
        call = piece.interval.end.call;
      }
      EXPECT_LE(reached, cuts[rank].window.end.tick) << path << " rank " << rank;
    }
    ExpectCollectivesInOnePart(trace, parts, path);
  }
  EXPECT_GE(with_parts, 3u);
}

// Whatever the program: parts lie in the loop, in order, and clean iterations are some of all.
TEST(IterationParts, OfRandomPrograms) {
  std::size_t with_parts = 0;
  for (std::uint64_t seed = 0; seed < test::Repeats(300u); ++seed) {
    const Trace trace = test::MakeRandomProgram(seed, test::VariedOptions(seed));
    PhaseSpec spec = PhaseSpec::Region("loop");
    spec.span = Span::kEach;
    const PhaseCut cut = CutPhase(trace, spec);
    const IterationShape shape = ShapeOf(trace, cut.ranks);
    const auto parts = CutParts(trace, cut.ranks, shape);
    if (!parts.empty()) ++with_parts;
    for (std::size_t rank = 0; rank < trace.size() && !parts.empty(); ++rank) {
      Tick reached = cut.ranks[rank].window.begin.tick;
      for (const Piece& piece : PiecesOf(parts, rank)) {
        EXPECT_GE(piece.interval.begin.tick, reached) << "seed " << seed << " rank " << rank;
        EXPECT_LE(piece.interval.begin.tick, piece.interval.end.tick) << "seed " << seed << " rank " << rank;
        reached = piece.interval.end.tick;
      }
      EXPECT_LE(reached, cut.ranks[rank].window.end.tick) << "seed " << seed << " rank " << rank;
    }
    const CleanChoice choice = ChooseClean(trace, MatchTrace(trace), cut, {});
    EXPECT_EQ(choice.kept.size(), cut.iterations);
    EXPECT_GT(choice.Kept(), 0u);
  }
  EXPECT_GT(with_parts, 0u);
}

// Runs of a folder, the largest first.
std::vector<std::string> RunsOf(const std::string& folder) {
  std::map<int, std::string, std::greater<>> runs;
  for (const std::string& path : test::TracesToTry()) {
    const std::filesystem::path run = std::filesystem::path(path).parent_path();
    if (run.parent_path().filename() == folder) runs[std::stoi(run.filename().string())] = path;
  }
  std::vector<std::string> paths;
  for (const auto& [ranks, path] : runs) paths.push_back(path);
  return paths;
}

// Loops and parts as the largest run shows them. A run of two ranks lacks neighbours that larger ones have.
TEST(IterationParts, AreTheSameAtEveryNumberOfRanks) {
  const std::map<std::string, std::size_t> iterations = {
      {"lulesh-weak", 5},     {"lulesh-weak-cpu", 5}, {"comd-weak", 5},    {"comd-weak-noise", 5},
      {"lammps-lj-weak", 10}, {"npb-cg-strong", 18},  {"npb-lu-strong", 3}};
  for (const auto& [folder, count] : iterations) {
    std::shared_ptr<const IterationShape> shape;
    for (const std::string& path : RunsOf(folder)) {
      const Trace trace = ReadTrace(path);
      if (!shape) shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, PhaseSpec::FoundLoop()));
      PhaseSpec spec = PhaseSpec::FoundLoop();
      spec.shape = shape;
      EXPECT_EQ(CutPhase(trace, spec).iterations, count) << path;
      if (trace.size() < 4) continue;
      for (const std::string& name : shape->PartNames()) {
        PhaseSpec part = PhaseSpec::Region("auto:" + name);
        part.shape = shape;
        EXPECT_GE(CutPhase(trace, part).iterations + 1, count) << path << " " << name;
      }
    }
  }
}

// Whatever run shows what to look for: a part is found in a smaller run, or said to be missing there, as a study
// reports.
TEST(IterationParts, AreFoundOrMissingWhateverRunIsTheLargest) {
  for (const std::string folder : {"npb-cg-strong", "npb-mg-strong", "lulesh-weak", "lammps-lj-weak"}) {
    std::vector<Trace> traces;
    for (const std::string& path : RunsOf(folder)) traces.push_back(ReadTrace(path));
    for (std::size_t donor = 0; donor < traces.size(); ++donor) {
      const auto found = ShapeOfPhase(traces[donor], PhaseSpec::FoundLoop());
      if (!found) continue;
      const auto shape = std::make_shared<const IterationShape>(*found);
      for (std::size_t run = donor; run < traces.size(); ++run) {
        for (const std::string& name : shape->PartNames()) {
          PhaseSpec part = PhaseSpec::Region("auto:" + name);
          part.shape = shape;
          try {
            EXPECT_GT(CutPhase(traces[run], part).iterations, 0u) << traces[run].path << " " << name;
          } catch (const PhaseNotFound&) {
            EXPECT_NE(run, donor) << traces[run].path << " lacks its own part " << name;
          }
        }
      }
    }
  }
}

// The sum over the columns of NAS CG is a part whose turns grow with the ranks: each rank computes as many turns of
// three calls as doublings of the columns, and the long computation before it makes three calls at any number of ranks.
TEST(IterationParts, SumsOfCgAtEveryNumberOfRanks) {
  std::shared_ptr<const IterationShape> shape;
  const std::map<std::size_t, std::uint32_t> turns = {{64, 3}, {32, 3}, {16, 2}, {8, 2}, {4, 1}};
  for (const std::string& path : RunsOf("npb-cg-strong")) {
    const Trace trace = ReadTrace(path);
    if (!shape) shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, PhaseSpec::FoundLoop()));
    if (trace.size() < 4 || shape->parts.size() != 4) continue;
    for (const auto& [name, calls] : {std::pair{"computation 2", 3u}, {"computation 3", 3 * turns.at(trace.size())}}) {
      PhaseSpec part = PhaseSpec::Region(std::string("auto:") + name);
      part.shape = shape;
      const Interval iteration = CutPhase(trace, part).ranks[0].iterations[8];
      EXPECT_EQ(iteration.end.call - iteration.begin.call, calls) << path << " " << name;
    }
  }
}

}  // namespace
}  // namespace farscale
