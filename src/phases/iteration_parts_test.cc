// The parts of iterations in programs whose structure is known.
#include "phases/phase_cut.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "phases/found_loop.h"
#include "support/errors.h"
#include "support/program.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What an iteration does, in seconds; all ranks in step, a call takes 1 s.
struct Shape {
  int ranks = 4;
  int iterations = 6;
  int force = 60;
  int exchanges = 6;       // rounds with a second of computation before each
  int density = 30;        // none: nothing, nor the collective behind it
  bool has_names = false;  // computation in regions of its own
};

// The text of one rank's timeline [support/program.h].
class Line {
 public:
  void Compute(const std::string& region, int seconds) {
    if (seconds > 0) Add(region, seconds);
  }
  void Call(const std::string& call) { Add(call, 1); }
  const std::string& text() const { return text_; }

 private:
  void Add(const std::string& what, int seconds) {
    text_ += fmt::format("{}{} {}-{}", text_.empty() ? "" : " | ", what, now_, now_ + seconds);
    now_ += seconds;
  }
  std::string text_;
  int now_ = 0;
};

Trace MakeProgram(const Shape& shape) {
  std::string text;
  for (int rank = 0; rank < shape.ranks; ++rank) {
    Line line;
    int collective = 1;
    const int next = (rank + 1) % shape.ranks, before = (rank + shape.ranks - 1) % shape.ranks;
    line.Compute("comp", 7);
    line.Call(fmt::format("Bcast@{}/0", collective++));
    for (int k = 0; k < shape.iterations; ++k) {
      line.Compute(shape.has_names ? "force" : "comp", shape.force);
      for (int i = 0; i < shape.exchanges; ++i) {
        if (i > 0) line.Compute("comp", 1);
        line.Call(fmt::format("Sendrecv>{}#m<{}#m", next, before));
      }
      line.Compute(shape.has_names ? "density" : "comp", shape.density);
      if (shape.density > 0) line.Call(fmt::format("Allreduce@{}", collective++));
    }
    line.Compute("comp", 9);
    line.Call(fmt::format("Barrier@{}", collective));
    text += fmt::format("r{}: {}\n", rank, line.text());
  }
  return test::ParseTrace(text);
}

std::vector<std::string> Names(const IterationShape& shape) { return shape.PartNames(); }

std::vector<Tick> Lengths(const Trace& trace, const PhaseSpec& spec, std::size_t rank) {
  std::vector<Tick> lengths;
  const PhaseCut cut = CutPhase(trace, spec);
  for (const Interval& interval : cut.ranks[rank].iterations) lengths.push_back(interval.length());
  return lengths;
}

// 60 s, six rounds of 1 s each with 1 s between, 30 s, an allreduce of 1 s.
TEST(IterationParts, ComputationsAndTheExchangeBetween) {
  const Trace trace = MakeProgram({});
  const auto shape = ShapeOfPhase(trace, PhaseSpec::FoundLoop());
  ASSERT_TRUE(shape);
  EXPECT_THAT(Names(*shape), ElementsAre("computation 1", "exchange", "computation 2"));
  EXPECT_EQ(shape->parts[1].kind, "exchange");
  for (std::size_t rank = 0; rank < 4; ++rank) {
    EXPECT_THAT(Lengths(trace, PhaseSpec::Region("auto:computation 1"), rank), testing::Each(60));
    EXPECT_THAT(Lengths(trace, PhaseSpec::Region("auto:exchange"), rank), testing::Each(11));
    EXPECT_THAT(Lengths(trace, PhaseSpec::Region("auto:computation 2"), rank), testing::Each(31));
  }
}

// Too few rounds for a part of their own: they end the computation before them.
TEST(IterationParts, FewRoundsBelongToTheComputation) {
  Shape program;
  program.exchanges = 2;
  const Trace trace = MakeProgram(program);
  EXPECT_THAT(Names(*ShapeOfPhase(trace, PhaseSpec::FoundLoop())), ElementsAre("computation 1", "computation 2"));
  EXPECT_THAT(Lengths(trace, PhaseSpec::Region("auto:computation 1"), 0), testing::Each(63));
}

TEST(IterationParts, AreNamedByTheirRegions) {
  Shape program;
  program.has_names = true;
  const Trace trace = MakeProgram(program);
  EXPECT_THAT(Names(*ShapeOfPhase(trace, PhaseSpec::FoundLoop())), ElementsAre("force", "comp", "density"));
}

TEST(IterationParts, OneThatIsAlikeThroughoutHasNone) {
  Shape program;
  program.force = 1;
  program.density = 1;
  program.exchanges = 40;
  const Trace trace = MakeProgram(program);
  const auto shape = ShapeOfPhase(trace, PhaseSpec::FoundLoop());
  ASSERT_TRUE(shape);
  EXPECT_TRUE(shape->parts.empty());
  const auto take_part = [&] { CutPhase(trace, PhaseSpec::Region("auto:force")); };
  EXPECT_THROW(take_part(), PhaseNotFound);
  EXPECT_THAT(test::ErrorOf(ErrorKind::kUsage, take_part),
              HasSubstr("the iterations have no part 'force'; they are alike throughout"));
}

// The shape of one run finds the same parts in another with other lengths, ranks and iterations.
TEST(IterationParts, AreRecognisedByStructure) {
  const auto shape = std::make_shared<const IterationShape>(*ShapeOfPhase(MakeProgram({}), PhaseSpec::FoundLoop()));
  Shape other;
  other.ranks = 8;
  other.iterations = 9;
  other.force = 25;  // now the shorter one
  const Trace trace = MakeProgram(other);
  PhaseSpec spec = PhaseSpec::Region("auto:computation 1");
  spec.shape = shape;
  EXPECT_THAT(Lengths(trace, spec, 5), testing::Each(25));
  spec = PhaseSpec::Region("auto:computation 2");
  spec.shape = shape;
  EXPECT_THAT(Lengths(trace, spec, 5), testing::Each(31));
}

// Without its density the part is missing, and the exchange that goes on into it cannot be told from it.
TEST(IterationParts, OneThatARunLacks) {
  const auto shape = std::make_shared<const IterationShape>(*ShapeOfPhase(MakeProgram({}), PhaseSpec::FoundLoop()));
  Shape other;
  other.density = 0;
  const Trace trace = MakeProgram(other);
  for (const std::string part : {"computation 2", "exchange"}) {
    PhaseSpec spec = PhaseSpec::Region("auto:" + part);
    spec.shape = shape;
    EXPECT_THROW(CutPhase(trace, spec), PhaseNotFound) << part;
  }
  PhaseSpec spec = PhaseSpec::Region("auto:computation 1");
  spec.shape = shape;
  EXPECT_THAT(Lengths(trace, spec, 2), testing::Each(60));
}

// As NAS CG does: 80 s, a sum in turns whose number grows with the ranks, and a last computation; a call of 1 s behind
// each.
Trace MakeSums(int turns, int sum, int last) {
  std::string text;
  for (int rank = 0; rank < 4; ++rank) {
    Line line;
    int collective = 1;
    const std::string exchange = fmt::format("Sendrecv>{}#m<{}#m", (rank + 1) % 4, (rank + 3) % 4);
    for (int k = 0; k < 6; ++k) {
      line.Compute("comp", 80);
      line.Call(exchange);
      for (int turn = 0; turn < turns; ++turn) {
        line.Compute("comp", sum);
        line.Call(exchange);
      }
      line.Compute("comp", last);
      line.Call(exchange);
    }
    line.Call(fmt::format("Barrier@{}", collective));
    text += fmt::format("r{}: {}\n", rank, line.text());
  }
  return test::ParseTrace(text);
}

std::vector<Tick> LengthsWith(const Trace& trace, const std::shared_ptr<const IterationShape>& shape,
                              const std::string& part) {
  PhaseSpec spec = PhaseSpec::Region("auto:" + part);
  spec.shape = shape;
  return Lengths(trace, spec, 1);
}

// Four turns of 10 + 1 s are one part, from the first to the last, and so are two turns in another run, and one.
TEST(IterationParts, TurnsOfAnInnerLoopAreOnePart) {
  const Trace large = MakeSums(4, 10, 25);
  const auto shape = std::make_shared<const IterationShape>(*ShapeOfPhase(large, PhaseSpec::FoundLoop()));
  ASSERT_THAT(Names(*shape), ElementsAre("computation 1", "computation 2", "computation 3"));
  EXPECT_THAT(LengthsWith(large, shape, "computation 1"), testing::Each(81));
  EXPECT_THAT(LengthsWith(large, shape, "computation 2"), testing::Each(44));
  EXPECT_THAT(LengthsWith(MakeSums(2, 10, 25), shape, "computation 2"), testing::Each(22));
  EXPECT_THAT(LengthsWith(MakeSums(1, 10, 25), shape, "computation 1"), testing::Each(81));
  EXPECT_THAT(LengthsWith(MakeSums(1, 10, 25), shape, "computation 2"), testing::Each(11));
}

// With fewer ranks the turns and the last computation are small beside the first: 3 and 8 s of 80 instead of 10 and 25.
// The last one is as long as a turn was there, and still is the last.
TEST(IterationParts, SmallOnesStayInTheirOrder) {
  const auto shape = std::make_shared<const IterationShape>(*ShapeOfPhase(MakeSums(4, 10, 25), PhaseSpec::FoundLoop()));
  const Trace small = MakeSums(2, 3, 8);
  EXPECT_THAT(LengthsWith(small, shape, "computation 1"), testing::Each(81));
  EXPECT_THAT(LengthsWith(small, shape, "computation 2"), testing::Each(8));
  EXPECT_THAT(LengthsWith(small, shape, "computation 3"), testing::Each(9));
}

// With the shape of the run itself nothing changes.
TEST(IterationParts, OwnShapeFindsTheSameLoop) {
  const Trace trace = MakeProgram({});
  PhaseSpec spec = PhaseSpec::FoundLoop();
  const PhaseCut alone = CutPhase(trace, spec);
  spec.shape = std::make_shared<const IterationShape>(*ShapeOfPhase(trace, spec));
  const PhaseCut again = CutPhase(trace, spec);
  ASSERT_EQ(again.iterations, alone.iterations);
  for (std::size_t k = 0; k < alone.iterations; ++k) {
    EXPECT_EQ(again.ranks[2].iterations[k].begin, alone.ranks[2].iterations[k].begin);
  }
  EXPECT_THROW(PhaseSpec::Region("auto:"), Error);
}

TEST(IterationParts, LikenessOfCalls) {
  EXPECT_DOUBLE_EQ(Likeness({{"a", 2}, {"b", 1}}, {{"a", 1}, {"c", 1}}), 1.0 / 4);  // 1 of 2 + 1 + 1
  EXPECT_DOUBLE_EQ(FunctionsInCommon({{"a", 2}, {"b", 1}}, {{"a", 1}, {"c", 1}}), 1.0 / 3);
  EXPECT_DOUBLE_EQ(Likeness({}, {}), 1);
}

}  // namespace
}  // namespace farscale
