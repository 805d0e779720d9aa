// Which part of a run is a phase: what a study or the command line says, before it is looked for in a trace.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace farscale {

struct IterationShape;

// How the time of a phase is counted [docs/formulas.md, spans].
enum class Span {
  kAuto,   // kWhole when the gaps between occurrences are below 2 % of their time on every rank, else kEach
  kWhole,  // one window a rank, from the first enter to the last leave of the kept iterations
  kEach,   // the occurrences only, leaving out what lies between them
};

// Which iterations are kept, of those that skip and keep leave, by how little disturbed they are.
struct CleanSpec {
  enum class Kind {
    kAll,
    kLongest,   // the longest run of consecutive clean ones
    kCleanest,  // `count` of them, wherever they are
  };

  Kind kind = Kind::kAll;
  std::size_t count = 0;
};

// "longest", or a number. Throws a usage error at `where`.
CleanSpec ParseClean(const std::string& text, const std::string& where);

struct PhaseSpec {
  enum class Kind { kWholeRun, kRegion, kRegularExpression, kTimeWindow, kFoundLoop };

  std::string name;
  Kind kind = Kind::kWholeRun;
  std::string region;       // its name, or the regular expression its name must match as a whole
  std::string part;         // of the iterations, by its name [phases/iteration_shape.h]; empty: all of them
  double window_begin = 0;  // seconds since the earliest event of the run
  double window_end = 0;
  std::size_t skip = 0;             // iterations left out at the beginning
  std::optional<std::size_t> keep;  // how many iterations follow; all when absent
  CleanSpec clean;
  Span span = Span::kAuto;
  std::string where;  // file and line that says so, for error messages
  // What the iterations look like in another run of the program, to find the same loop and the same parts here.
  std::shared_ptr<const IterationShape> shape = nullptr;

  static PhaseSpec WholeRun();
  // The iterations that the MPI calls show.
  static PhaseSpec FoundLoop();
  // Whether it consists of iterations of which some can be kept.
  bool Repeats() const { return kind != Kind::kWholeRun && kind != Kind::kTimeWindow; }
  // Whether it depends on what its iterations look like.
  bool NeedsShape() const { return kind == Kind::kFoundLoop || !part.empty(); }
  // A region by name, or between slashes by regular expression: "cycle", "/Lagrange.*/"; "found" for the found loop,
  // "found:exchange" for a part of it. "auto" is the same here [phases/loop_choice.h].
  static PhaseSpec Region(const std::string& text);
};

// "region cycle, iterations 2 to 11" and the like, for reports.
std::string Describe(const PhaseSpec& spec);
std::string ToString(Span span);

}  // namespace farscale
