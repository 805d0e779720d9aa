#include "phases/found_loop.h"

#include <gtest/gtest.h>

#include <memory>
#include <random>

#include "phases/phase_cut.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

// Two ranks that make the same calls; a call takes 2 ticks.
class LoopProgram {
 public:
  LoopProgram() {
    for (const char* name :
         {"MPI_Allreduce", "MPI_Barrier", "MPI_Bcast", "MPI_Reduce", "MPI_Sendrecv", "MPI_File_write"}) {
      builder_.AddRegion(name);
    }
    builder_.AddWorld(2);
    for (int rank = 0; rank < 2; ++rank) ranks_.push_back(std::make_unique<RankBuilder>(builder_.definitions(), rank));
  }

  enum { kAllreduce, kBarrier, kBcast, kReduce, kExchange, kWrite };

  // Computes, then calls.
  void Call(std::uint32_t function, Tick compute) {
    now_ += compute;
    for (std::uint32_t rank = 0; rank < 2; ++rank) {
      ranks_[rank]->Enter(now_, function);
      if (function == kExchange) {
        ranks_[rank]->Send(1 - rank, 0, 5, 8);
        ranks_[rank]->Receive(1 - rank, 0, 5, 8);
      }
      ranks_[rank]->Leave(now_ + 2, function);
    }
    now_ += 2;
    ++calls_;
  }
  // Marks where an iteration begins in truth.
  void Step() { truth_.push_back(calls_); }

  Trace Finish() {
    for (auto& rank : ranks_) builder_.SetTimeline(*rank);
    return std::move(builder_).Finish();
  }
  const std::vector<std::uint32_t>& truth() const { return truth_; }

 private:
  TraceBuilder builder_;
  std::vector<std::unique_ptr<RankBuilder>> ranks_;
  Tick now_ = 0;
  std::uint32_t calls_ = 0;
  std::vector<std::uint32_t> truth_;
};

using P = LoopProgram;

void Initialise(P& p) {
  for (int i = 0; i < 4; ++i) p.Call(P::kBcast, 10 + 7 * i);
  p.Call(P::kBarrier, 50);
}
void Finalise(P& p) { p.Call(P::kReduce, 30); }

// Begins of all iterations, found and true.
void ExpectFound(P& p) {
  const std::vector<std::uint32_t> truth = p.truth();
  const Trace trace = p.Finish();
  const auto found = FindLoopOfRun(trace);
  ASSERT_TRUE(found);
  for (const std::vector<std::uint32_t>& borders : found->borders) {
    EXPECT_EQ(std::vector<std::uint32_t>(borders.begin(), borders.end() - 1), truth);
  }
}

TEST(FoundLoop, BetweenInitialisationAndEnd) {
  P p;
  Initialise(p);
  for (int i = 0; i < 6; ++i) {
    p.Step();
    p.Call(P::kExchange, 100);
    p.Call(P::kExchange, 20);
    p.Call(P::kAllreduce, 40);
  }
  Finalise(p);
  ExpectFound(p);
}

TEST(FoundLoop, Growing) {
  P p;
  Initialise(p);
  for (int i = 0; i < 8; ++i) {
    p.Step();
    p.Call(P::kExchange, 100 + 20 * i);
    p.Call(P::kAllreduce, 40 + 10 * i);
  }
  Finalise(p);
  ExpectFound(p);
}

// Every other iteration computes twice as long, at the same calls.
TEST(FoundLoop, AlternatingLengths) {
  P p;
  Initialise(p);
  for (int i = 0; i < 10; ++i) {
    p.Step();
    p.Call(P::kExchange, i % 2 == 0 ? 100 : 200);
    p.Call(P::kAllreduce, 40);
  }
  Finalise(p);
  ExpectFound(p);
}

// The outer loop counts, not the inner one.
TEST(FoundLoop, Nested) {
  P p;
  Initialise(p);
  for (int i = 0; i < 4; ++i) {
    p.Step();
    p.Call(P::kBcast, 60);
    for (int k = 0; k < 10; ++k) {
      p.Call(P::kExchange, 30);
      p.Call(P::kAllreduce, 10);
    }
    p.Call(P::kReduce, 40);
  }
  p.Call(P::kBarrier, 10);
  ExpectFound(p);
}

// Solvers that take 7 to 12 steps to converge.
TEST(FoundLoop, InnerLoopsOfVaryingLength) {
  P p;
  Initialise(p);
  for (const int steps : {9, 12, 7, 10, 8}) {
    p.Step();
    p.Call(P::kBcast, 60);
    for (int k = 0; k < steps; ++k) {
      p.Call(P::kExchange, 30);
      p.Call(P::kAllreduce, 10);
    }
  }
  p.Call(P::kBarrier, 10);
  ExpectFound(p);
}

// Every tenth iteration writes, which belongs to it.
TEST(FoundLoop, PeriodicOutput) {
  P p;
  Initialise(p);
  for (int i = 0; i < 30; ++i) {
    p.Step();
    p.Call(P::kExchange, 100);
    p.Call(P::kAllreduce, 40);
    if (i % 10 == 9) p.Call(P::kWrite, 5);
  }
  Finalise(p);
  ExpectFound(p);
}

TEST(FoundLoop, NothingWhereNothingRepeats) {
  std::mt19937 random(7);
  for (int program = 0; program < 50; ++program) {
    P p;
    for (int i = 0; i < 120; ++i) {
      p.Call(static_cast<std::uint32_t>(random() % 6), static_cast<Tick>(1 + random() % 1000));
    }
    EXPECT_FALSE(FindLoopOfRun(p.Finish())) << program;
  }
  P once;
  Initialise(once);
  Finalise(once);
  EXPECT_FALSE(FindLoopOfRun(once.Finish()));
}

// The second rank is silent in the first iteration, so that the loop is not on every rank.
TEST(FoundLoop, ARankThatComesLate) {
  TraceBuilder builder;
  const std::uint32_t barrier = builder.AddRegion("MPI_Barrier"), reduce = builder.AddRegion("MPI_Allreduce");
  builder.AddWorld(2);
  for (int rank = 0; rank < 2; ++rank) {
    RankBuilder calls(builder.definitions(), rank);
    for (Tick step = rank; step < 4; ++step) {
      calls.Enter(1000 * step + 500, barrier);
      calls.Leave(1000 * step + 510, barrier);
      calls.Enter(1000 * step + 900, reduce);
      calls.Leave(1000 * step + 910, reduce);
    }
    builder.SetTimeline(calls);
  }
  EXPECT_FALSE(FindLoopOfRun(std::move(builder).Finish()));
}

// Computation between the last call of an iteration and the first of the next is 100: 30 behind the one, 70 before the
// other, as it is at the ends of the loop. The set-up ends with a call, so that the 70 stand alone.
TEST(FoundLoop, BurstsAtTheBordersAreDivided) {
  P p;
  p.Call(P::kBcast, 10);
  p.Call(P::kBarrier, 10);
  for (int i = 0; i < 4; ++i) {
    p.Call(P::kExchange, i == 0 ? 40 : 100);
    p.Call(P::kAllreduce, 50);
  }
  p.Call(P::kReduce, 60);
  const Trace trace = p.Finish();
  PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
  EXPECT_EQ(cut.iterations, 4u);
  // Set-up until 24, then 40 of lead; 4 iterations of 2 + 50 + 2 with 100 between them, and 60 of trail.
  EXPECT_EQ(cut.ranks[0].window.begin.tick, 24);
  EXPECT_EQ(cut.ranks[0].window.end.tick, 24 + 40 + 4 * 54 + 3 * 100 + 60);
  EXPECT_EQ(cut.ranks[0].iterations[1].begin.tick, 24 + 40 + 54 + 60);
  PhaseSpec kept = PhaseSpec::FoundLoop();
  kept.skip = 1;
  kept.keep = 2;
  cut = CutPhase(trace, kept);
  EXPECT_EQ(cut.iterations, 2u);
  EXPECT_EQ(cut.ranks[1].window.begin.tick, 24 + 40 + 54 + 60);
}

TEST(FoundLoop, WithoutLoopThePhaseIsTheWholeRun) {
  P p;
  Initialise(p);
  const Trace trace = p.Finish();
  const PhaseCut cut = CutPhase(trace, PhaseSpec::FoundLoop());
  EXPECT_EQ(cut.diagnostics.count(anomaly::kNoLoopFound), 1u);
  EXPECT_EQ(cut.ranks[0].window.begin.tick, trace.begin());
  EXPECT_EQ(cut.ranks[0].window.end.tick, trace.end());
}

}  // namespace
}  // namespace farscale
