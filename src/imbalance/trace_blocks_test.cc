// The small programs of tests/programs/imbalance.txt with the waits, costs and critical paths worked out by hand there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "base/files.h"
#include "imbalance/waits/wait_states.h"
#include "imbalance/diagnosis.h"
#include "support/program.h"
#include "support/traces.h"

namespace farscale {
namespace {

constexpr double kExact = 1e-12;

// "25/3"
double Value(const std::string& text) {
  const std::size_t slash = text.find('/');
  return slash == std::string::npos ? std::stod(text) : std::stod(text) / std::stod(text.substr(slash + 1));
}

DiagnosisOptions OptionsOf(DelayRules rules) {
  DiagnosisOptions options;
  options.rules = rules;
  return options;
}

// What the programs expect, read off a diagnosis.
class Reading {
 public:
  Reading(const test::TextProgram& program, DelayRules rules)
      : trace_(program.trace),
        matching_(MatchTrace(trace_)),
        cut_(CutPhase(trace_, PhaseSpec::WholeRun())),
        states_(FindWaitStates(trace_, matching_, CollectActivities(trace_, cut_))),
        costs_(FindDelayCosts(states_, 1, rules)),
        diagnosis_(Diagnose(trace_, matching_, cut_, OptionsOf(rules))) {}

  double Of(const std::string& what) const {
    const std::size_t space = what.find(' ');
    const std::string quantity = what.substr(0, space), of = space == std::string::npos ? "" : what.substr(space + 1);
    if (quantity == "waitsum") return WaitSum(of);
    if (quantity == "cplen") return CriticalLength();
    if (quantity == "idle") return AtEnd(RankOf(of));
    if (quantity == "what") return Waiting(RankOf(of));
    if (quantity == "shortsum") return Total().ShortTerm();
    if (quantity == "longsum") return Total().LongTerm();
    if (quantity == "direct") return WaitSum("all") - Total().indirect;
    if (quantity == "indirect") return Total().indirect;
    if (quantity == "propagating") return Total().propagating;
    if (quantity == "terminal") return WaitSum("all") - Total().propagating;
    const std::size_t number = of.find('#');
    if (number != std::string::npos || quantity == "phi") {
      const std::size_t n = number == std::string::npos ? 1 : std::stoul(of.substr(number + 1));
      return OfWait(quantity, of.substr(0, number), n);
    }
    return OfLosses(quantity, of);
  }

 private:
  static std::size_t RankOf(const std::string& text) { return std::stoul(text.substr(1)); }

  // "Recv" and "comp" are named MPI_Recv and comp in the trace.
  bool IsNamed(PathId path, const std::string& name) const {
    const std::string& region = diagnosis_.paths.region_name(path);
    return region == name || region == "MPI_" + name;
  }

  PathLosses Total() const {
    PathLosses total;
    for (const PathLosses& losses : diagnosis_.totals) total += losses;
    return total;
  }

  double AtEnd(std::size_t rank) const { return diagnosis_.ranks[rank].Find(kAfterPhase)->Waiting(); }

  double Waiting(std::size_t rank) const {
    double sum = 0;
    for (const PathLosses& losses : diagnosis_.ranks[rank].losses) sum += losses.Waiting();
    return sum;
  }

  double WaitSum(const std::string& kind) const {
    if (kind == "all") return diagnosis_.Waiting() - diagnosis_.at_end;
    for (const WaitKindName& known : WaitKindNames()) {
      std::string id(known.id);
      id[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(id[0])));
      if (id == kind) return Total().waiting[static_cast<std::size_t>(known.kind)];
    }
    throw std::invalid_argument(kind);
  }

  double CriticalLength() const {
    double sum = 0;
    for (const PathSegment& segment : diagnosis_.critical) sum += trace_.Seconds(segment.end - segment.begin);
    return sum;
  }

  // "r1.Recv", the n-th wait of it.
  double OfWait(const std::string& quantity, const std::string& where, std::size_t n) const {
    const std::size_t rank = RankOf(where), dot = where.find('.');
    const RankActivities& activities = states_.activities.ranks[rank];
    for (std::size_t i = 0; i < states_.ranks[rank].waits.size(); ++i) {
      const WaitState& wait = states_.ranks[rank].waits[i];
      if (!IsNamed(activities.path_of_call(wait.call), where.substr(dot + 1)) || --n > 0) continue;
      return quantity == "phi" ? costs_.ranks[rank].waits[i].caused : static_cast<double>(wait.length);
    }
    return 0;
  }

  // "r1.Recv" or "Recv" of all ranks.
  double OfLosses(const std::string& quantity, const std::string& of) const {
    const std::size_t dot = of.find('.');
    const std::string name = dot == std::string::npos ? of : of.substr(dot + 1);
    double sum = 0;
    for (PathId path = 0; path < diagnosis_.paths.size(); ++path) {
      if (!IsNamed(path, name)) continue;
      const PathLosses* losses =
          dot == std::string::npos ? &diagnosis_.totals[path] : diagnosis_.ranks[RankOf(of)].Find(path);
      if (losses != nullptr) sum += OfPath(quantity, path, *losses);
    }
    return sum;
  }

  double OfPath(const std::string& quantity, PathId path, const PathLosses& losses) const {
    if (quantity == "wait") return losses.Waiting();
    if (quantity == "short") return losses.ShortTerm();
    if (quantity == "long") return losses.LongTerm();
    if (quantity == "exit") return losses.ExitSkew();
    if (quantity == "cp") return losses.critical;
    if (quantity == "compl") return losses.completion;
    if (quantity == "iota") return diagnosis_.imbalance[path];
    if (quantity == "avg") return losses.Execution() / static_cast<double>(diagnosis_.processes);
    if (quantity == "intra") return losses.intra;
    if (quantity == "inter") return losses.inter;
    if (quantity == "impact") return losses.Execution() + losses.intra + losses.inter;
    throw std::invalid_argument(quantity);
  }

  const Trace& trace_;
  Matching matching_;
  PhaseCut cut_;
  WaitStates states_;
  DelayCosts costs_;
  Diagnosis diagnosis_;
};

// Fork and the barrier at the end of a parallel region are a broadcast and a barrier among threads.
std::string ThreadsAsRanks(std::string text) {
  text = std::regex_replace(text, std::regex("\\bFork\\b"), "Bcast");
  return std::regex_replace(text, std::regex("\\bIBarrier\\b"), "Barrier");
}

// Compares every expectation with what is found; how many there were.
std::size_t ExpectAll(const std::vector<test::TextProgram>& programs) {
  // Of phases and the ideal network: tests of the rooms that know those.
  const std::set<std::string> elsewhere = {"T", "est", "tideal", "maxcomp", "avgcomp"};
  std::size_t expected = 0;
  for (const test::TextProgram& program : programs) {
    const Reading reading(program, DelayRules::kConserving);
    for (const auto& [what, value] : program.expect) {
      if (elsewhere.count(what) > 0) continue;
      const double number = Value(value);
      EXPECT_NEAR(reading.Of(what), number, kExact * (1 + number)) << program.name << ": " << what;
      ++expected;
    }
  }
  return expected;
}

TEST(Programs, HaveTheWaitsCostsAndPathsWorkedOutByHand) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/imbalance.txt");
  const std::vector<test::TextProgram> programs = test::ParsePrograms(ThreadsAsRanks(text));
  EXPECT_EQ(programs.size(), 14u);
  EXPECT_GT(ExpectAll(programs), 150u);
}

// In each of n rounds rank 1 computes for 1 s, waits 1 s for rank 0 and receives for 1 s. Then it sends to rank 2,
// which has waited since 1, for 3n - 1 s: of what keeps it, rank 1 computed n - 1 s more than it did, received for n s
// and waited for n s. So n of its seconds are indirect, and every second that rank 1 waited is passed on, however many
// waits there are.
TEST(Programs, ManyWaitsAreAllPassedOn) {
  for (const int n : {10, 64, 65, 100}) {
    std::string rank0, rank1;
    for (int i = 0; i < n; ++i) {
      const auto at = [&](int second) { return std::to_string(3 * i + second); };
      const std::string bar = i == 0 ? "" : " | ";
      rank0 += bar + "comp " + at(0) + "-" + at(2) + " | Send>1#a " + at(2) + "-" + at(3);
      rank1 += bar + "comp " + at(0) + "-" + at(1) + " | Recv<0#a " + at(1) + "-" + at(3);
    }
    const std::string end = std::to_string(3 * n), last = std::to_string(3 * n + 1);
    const test::TextProgram program = test::ParseProgram("r0: " + rank0 + "\nr1: " + rank1 + " | Send>2#b " + end +
                                                         "-" + last + "\nr2: comp 0-1 | Recv<1#b 1-" + last);
    const Reading reading(program, DelayRules::kBounded);
    EXPECT_NEAR(reading.Of("waitsum all"), 4 * n - 1, 1e-9);
    EXPECT_NEAR(reading.Of("indirect"), n, 1e-9) << n;
    EXPECT_NEAR(reading.Of("propagating"), n, 1e-9) << n;
    EXPECT_NEAR(reading.Of("longsum"), n, 1e-9) << n;
  }
}

// T12 with the rules of Scalasca: the end of the call at the synchronization point counts as work. The wait of 6 on
// rank 0 is for what rank 1 did since its first receive, that receive's 4 without waiting included: 5 in Recv, and the
// wait of 2 for rank 2. S = 7, so Recv on rank 1 costs 6 · 5/7, and the wait passes 6 · 2/7 on to rank 2.
TEST(Programs, ByTheRulesOfScalasca) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-1 | Send>1#a 1-2 | Recv<1#c 2-9\n"
      "r1: Recv<0#a 0-5 | Recv<2#b 5-8 | Send>0#c 8-9\n"
      "r2: comp 0-7 | Send>1#b 7-8\n");
  DiagnosisOptions options;
  options.rules = DelayRules::kScalasca;
  const Diagnosis diagnosis =
      Diagnose(program.trace, MatchTrace(program.trace), CutPhase(program.trace, PhaseSpec::WholeRun()), options);
  double short_term = 0, long_term = 0;
  for (PathId path = 0; path < diagnosis.paths.size(); ++path) {
    if (diagnosis.paths.Name(path) == "MPI_Recv") {
      EXPECT_NEAR(diagnosis.ranks[1].Find(path)->ShortTerm(), 30.0 / 7, kExact);
    }
    if (diagnosis.paths.Name(path) == "comp") {
      EXPECT_NEAR(diagnosis.ranks[2].Find(path)->LongTerm(), 12.0 / 7, kExact);
    }
    short_term += diagnosis.totals[path].ShortTerm();
    long_term += diagnosis.totals[path].LongTerm();
  }
  EXPECT_NEAR(short_term + long_term, 9, kExact);
}

// T9 with bounded costs. Rank 1 receives until 7 what rank 0 has sent at 6, and computes for 3 where rank 0 computes
// for 1 before the barrier: of the 3 that rank 0 waits there, 2 are computation and 1 the later end of the receive. All
// else is as by [Boehme13].
TEST(Programs, DelaysCostWhatTheyLastAtMost) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-5 | Send>1#a 5-6 | comp 6-7 | Barrier@1 7-11\n"
      "r1: comp 0-1 | Recv<0#a 1-7 | comp 7-10 | Barrier@1 10-11\n"
      "r2: comp 0-4 | Barrier@1 4-11\n"
      "r3: comp 0-7 | Barrier@1 7-11\n");
  const Reading reading(program, DelayRules::kBounded);
  for (const auto& [what, value] : std::map<std::string, double>{{"short r1.comp", 2},
                                                                 {"exit r1.Recv", 1},
                                                                 {"short r1.Recv", 3},
                                                                 {"short r0.comp", 4},
                                                                 {"long r0.comp", 6},
                                                                 {"indirect", 6}}) {
    EXPECT_NEAR(reading.Of(what), value, kExact) << what;
  }
}

// Rank 1 leaves a common call 600 later than rank 0 and then computes for 10,000 and a little more, up to 10 %: rank 0
// waits for it in the next one, and rank 2 for rank 0 behind that. The more costs what it lasts and the exit 600, on
// rank 0 and once more on rank 2, for every size of noise, none included.
TEST(Programs, CostsOfALateExitAreContinuousInTheNoise) {
  for (const std::string call : {"Barrier@1", "Allreduce@1", "Alltoall@1", "Allgather@1", "Reduce_scatter@1"}) {
    for (const std::string next : {"Barrier@2", "Allreduce@2"}) {
      for (const int noise : {0, 1, 2, 20, 200, 599, 600, 601, 1000}) {
        const auto at = [](int ticks) { return std::to_string(ticks); };
        const int end = 20600 + noise;
        const test::TextProgram program = test::ParseProgram(
            "comm pair: 0 1\n"
            "r0: comp 0-9999 | " +
            call + ":pair 9999-10000 | comp 10000-20000 | " + next + ":pair 20000-" + at(end + 1) + " | Send>2#m " +
            at(end + 1) + "-" + at(end + 2) +
            "\n"
            "r1: comp 0-9999 | " +
            call + ":pair 9999-10600 | comp 10600-" + at(end) + " | " + next + ":pair " + at(end) + "-" + at(end + 1) +
            "\n"
            "r2: comp 0-20001 | Recv<0#m 20001-" +
            at(end + 2) + "\n");
        const Reading reading(program, DelayRules::kBounded);
        const std::string name = call.substr(0, call.find('@'));
        EXPECT_NEAR(reading.Of("waitsum all"), 2 * (600 + noise), 1e-6);
        EXPECT_NEAR(reading.Of("short r1.comp"), noise, 1e-6) << call << " " << noise;
        EXPECT_NEAR(reading.Of("exit r1." + name),
                    600 + reading.Of("phi r0." + next.substr(0, next.find('@'))) * 600 / (600 + noise), 1e-6)
            << call << " " << noise;
      }
    }
  }
}

// Rank 1 leaves the first barrier at 6, rank 0 at 3, and both compute for 2. Rank 0 waits 8 - 5 = 3
// for rank 1 in the sum. Nothing is longer on rank 1; it left the first barrier 3 later, which is charged.
TEST(Programs, ExitSkewIsChargedToTheCallThatWasLeftLate) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-2 | Barrier@1 2-3 | comp 3-5 | Allreduce@2 5-9\n"
      "r1: comp 0-2 | Barrier@1 2-6 | comp 6-8 | Allreduce@2 8-9\n");
  const Diagnosis diagnosis =
      Diagnose(program.trace, MatchTrace(program.trace), CutPhase(program.trace, PhaseSpec::WholeRun()));
  double short_term = 0, exit_skew = 0, unattributed = 0;
  for (PathId path = 0; path < diagnosis.paths.size(); ++path) {
    short_term += diagnosis.totals[path].ShortTerm() + diagnosis.totals[path].LongTerm();
    exit_skew += diagnosis.totals[path].ExitSkew();
    if (diagnosis.paths.Name(path) == "MPI_Barrier") {
      EXPECT_NEAR(diagnosis.ranks[1].Find(path)->ExitSkew(), 3, kExact);
      EXPECT_NEAR(diagnosis.ranks[1].Find(path)->Costs(), 3, kExact);
    }
  }
  for (const double of_kind : diagnosis.unattributed) unattributed += of_kind;
  EXPECT_NEAR(exit_skew, 3, kExact);
  EXPECT_NEAR(short_term, 0, kExact);
  EXPECT_EQ(unattributed, 0);
}

// A window from 4 on: rank 0 is in it at once, and rank 1 from its first call on, at 8, before which it computes from
// 4 to 6 and is in a barrier of its own from 6 to 8. Rank 0 waits 10 - 5 = 5 for it: 2 s of computing and 2 s in that
// barrier before the phase, and 2 - 1 = 1 s of computing in it that rank 0 has less.
TEST(Programs, WhatLateRanksDoBeforeThePhase) {
  const test::TextProgram program = test::ParseProgram(
      "r0: comp 0-4 | work 4-5 | Barrier@1 5-11\n"
      "r1: comp 0-6 | Isend>0#m 6-8 | work 8-10 | Barrier@1 10-11\n");
  PhaseCut cut = CutPhase(program.trace, PhaseSpec::WholeRun());
  cut.spec.kind = PhaseSpec::Kind::kTimeWindow;
  for (const std::size_t rank : {0, 1}) {
    Interval& window = cut.ranks[rank].window;
    window.begin = EdgeAtTick(
        program.trace.timelines[rank],
        program.trace.begin() + static_cast<Tick>((rank == 0 ? 4 : 8) * program.trace.ticks_per_second), false);
    cut.ranks[rank].iterations = {window};
  }
  const Diagnosis diagnosis = Diagnose(program.trace, MatchTrace(program.trace), cut);
  std::map<std::string, double> costs;
  for (PathId path = 0; path < diagnosis.paths.size(); ++path) {
    if (diagnosis.totals[path].Costs() > 0) costs[diagnosis.paths.Name(path)] = diagnosis.totals[path].Costs();
  }
  EXPECT_NEAR(costs["(before the phase) / comp"], 2, kExact);
  EXPECT_NEAR(costs["(before the phase) / MPI_Isend"], 2, kExact);
  EXPECT_NEAR(costs["work"], 1, kExact);
  EXPECT_EQ(costs.size(), 3u);
}

// What ranks do at the end of a phase that is no whole run is charged as any other wait: rank 0 is done at 3, rank 1
// works on until 7.
TEST(Programs, WaitsAtTheEndOfAPhaseAreCharged) {
  const test::TextProgram program = test::ParseProgram("r0: work 0-3\nr1: work 0-7\n");
  PhaseCut cut = CutPhase(program.trace, PhaseSpec::WholeRun());
  EXPECT_NEAR(Diagnose(program.trace, MatchTrace(program.trace), cut).at_end, 4, kExact);
  cut.spec.kind = PhaseSpec::Kind::kFoundLoop;
  const Diagnosis diagnosis = Diagnose(program.trace, MatchTrace(program.trace), cut);
  EXPECT_EQ(diagnosis.at_end, 0);
  for (PathId path = 0; path < diagnosis.paths.size(); ++path) {
    if (diagnosis.paths.Name(path) == "work") {
      EXPECT_NEAR(diagnosis.ranks[1].Find(path)->ShortTerm(), 4, kExact);
    }
  }
}

TEST(Programs, AgreeWithAnotherImplementation) {
  const std::string text = ReadFile(test::SourceFolder() + "/tests/programs/random_losses.txt");
  const std::vector<test::TextProgram> programs = test::ParsePrograms(text);
  EXPECT_EQ(programs.size(), 60u);
  EXPECT_GT(ExpectAll(programs), 5000u);
}

}  // namespace
}  // namespace farscale
