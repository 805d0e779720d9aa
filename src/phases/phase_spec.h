// Which part of a run is a phase: what a study or the command line says, before it is looked for in a trace; and what a
// phase is known by in tables and results.
#pragma once

#include <compare>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

struct IterationShape;
struct Trace;

// Ways of counting the time of a phase [docs/formulas.md, spans].
enum class Span {
  kAuto,   // kWhole when the gaps between occurrences are below 2 % of their time on every rank, else kEach
  kWhole,  // one window a rank, from the first enter to the last leave of the kept iterations
  kEach,   // the occurrences only, leaving out what lies between them
};

// The longest run of consecutive clean iterations, instead of a number of the cleanest.
inline constexpr std::size_t kLongestRun = 0;

// "longest", or a number. Throws a usage error at `where`.
std::size_t ParseClean(const std::string& text, const std::string& where);

struct PhaseSpec {
  enum class Kind { kWholeRun, kRegion, kRegularExpression, kTimeWindow, kFoundLoop };

  std::string name = {};
  Kind kind = Kind::kWholeRun;
  std::string region = {};  // its name, or the regular expression its name must match as a whole
  std::string part = {};    // name of a part of the iterations [phases/iteration_shape.h]; empty: all of them
  double window_begin = 0;  // seconds since the earliest event of the run
  double window_end = 0;
  std::size_t skip = 0;                  // iterations left out at the beginning
  std::optional<std::size_t> keep = {};  // number of iterations that follow; all when absent
  // So many of the least disturbed of those that skip and keep leave, or kLongestRun; all when absent.
  std::optional<std::size_t> clean = {};
  Span span = Span::kAuto;
  std::string where = {};  // file and line that says so, for error messages
  // The shape of the iterations in another run of the program, to find the same loop and the same parts here.
  std::shared_ptr<const IterationShape> shape = nullptr;

  static PhaseSpec WholeRun();
  // Seconds since the start of the run.
  static PhaseSpec TimeWindow(double begin, double end);
  // The iterations that the MPI calls show.
  static PhaseSpec FoundLoop();
  // True if it consists of iterations of which some can be kept.
  bool Repeats() const { return kind != Kind::kWholeRun && kind != Kind::kTimeWindow; }
  // True if it depends on the shape of its iterations.
  bool NeedsShape() const { return kind == Kind::kFoundLoop || !part.empty(); }
  // A region by name, or between slashes by regular expression: "cycle", "/Lagrange.*/"; "found" for the found loop,
  // "found:exchange" for a part of it. "auto" is the same here [phases/phase_spec.h].
  static PhaseSpec Region(const std::string& text);
};

// "region cycle, iterations 2 to 11" and the like, for reports.
std::string Describe(const PhaseSpec& spec);
std::string ToString(Span span);

// Between the two in texts for people. No name of a group contains it; that of a phase may.
inline constexpr std::string_view kGroupSeparator = " / ";

// The two parts are compared, never their text: a phase may be called "a / b", and a group of the phase "a" may be "b".
struct PhaseId {
  std::string name;   // any text; empty where a table names no phases
  std::string group;  // a group of its ranks; empty: all of them

  PhaseId() = default;
  // A name alone is that of a whole phase, whatever it looks like.
  PhaseId(std::string whole) : name(std::move(whole)) {}  // NOLINT(google-explicit-constructor)
  PhaseId(const char* whole) : name(whole) {}             // NOLINT(google-explicit-constructor)
  PhaseId(std::string phase, std::string ranks) : name(std::move(phase)), group(std::move(ranks)) {}

  bool IsGroup() const { return !group.empty(); }
  bool IsUnnamed() const { return name.empty() && group.empty(); }
  // For people only: "iteration", "iteration / pme". A name that would read like a group stands in quotation marks,
  // so that no two read the same: "\"a / b\"" is a phase.
  std::string Text() const;

  friend bool operator==(const PhaseId&, const PhaseId&) = default;
  friend auto operator<=>(const PhaseId&, const PhaseId&) = default;
};

// The one that a text means: the phase of this name, else the phase or group that reads so, with quotation marks or
// without; nothing when there is none.
std::optional<PhaseId> PhaseByText(const std::vector<PhaseId>& known, const std::string& text);

std::vector<std::string> TextsOf(const std::vector<PhaseId>& phases);

// Throws an input error at `where` for a name of a group that would be taken for a phase and its group.
void CheckGroupName(const std::string& where, const std::string& group);

// "iteration / pme" as files before version 2 have it: a group of ranks where the text has the form of one. Whether it
// is one, only the ranks show.
std::optional<PhaseId> GroupInOldText(const std::string& text);

// Which loop of a run stands for the program where nobody names one.

// In the order in which they are taken [docs/formulas.md, loops found in the calls]: regions that mark the iterations,
// those without gaps first, then by size; the loop that the calls show; other regions that all ranks enter equally
// often, by size. Empty: there is none.
std::vector<PhaseSpec> LoopsOf(const Trace& trace);

// True if a phase is asked for by "auto", or a part by "auto:exchange".
bool IsAutomatic(const std::string& text);

// A found loop, or a part of it, becomes the first of those loops, or its part. Without any loop it stays as it is.
PhaseSpec WithLoopOf(const Trace& trace, const PhaseSpec& found);

}  // namespace farscale
