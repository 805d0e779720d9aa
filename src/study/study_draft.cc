#include "study/study_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "base/files.h"
#include "base/text.h"
#include "factors/thread_times.h"
#include "replay/clock_repair.h"
#include "results/results_json.h"
#include "trace/trace_reader.h"

namespace farscale {
namespace {

std::string QuotedToml(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned char>(c));
      continue;
    }
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + '"';
}

// A line of a comment: TOML allows no control characters there.
std::string OneLine(const std::string& text) {
  std::string line = ToUtf8(text);
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, ' ');
  return line;
}

std::string PathFrom(const std::string& folder, const std::string& path) {
  const auto whole = [](const std::string& text) { return std::filesystem::absolute(text).lexically_normal(); };
  return QuotedToml(TextOfPath(whole(path).lexically_proximate(whole(folder)).string()));
}

std::string HeaderText(const StudyDraft& draft) {
  std::string text;
  if (!draft.scaling) text += "# scaling = \"strong\" or \"weak\": only you know\n";
  text += "[study]\n";
  if (!draft.title.empty()) text += fmt::format("title = {}\n", QuotedToml(draft.title));
  text += draft.scaling ? fmt::format("scaling = \"{}\"    # by the growth of work\n", ToString(*draft.scaling))
                        : "# scaling = \"strong\"\n";
  if (draft.removes_noise)
    text +=
        "\n[noise]              # what noise costs; without this table runs are replayed once\n"
        "network = \"calibrated\"\n";
  if (draft.reports_here) text += "\n[report]\nfolder = \".\"\n";
  return text + "\n";
}

std::string RunsText(const StudyDraft& draft) {
  std::string text;
  for (const std::string& trace : draft.traces) {
    text += fmt::format("[[runs]]\ntrace = {}\n", PathFrom(draft.folder, trace));
    if (draft.application > 0) text += fmt::format("application = {}\n", draft.application);
    if (!draft.accepted.empty()) text += fmt::format("accept = [\"{}\"]\n", Join(draft.accepted, "\", \""));
    text += "\n";
  }
  for (const std::string& file : draft.measured) {
    text += fmt::format("[[runs]]\nmeasured = {}\n\n", PathFrom(draft.folder, file));
  }
  for (const std::string& why : draft.left_out) text += fmt::format("# left out: {}\n\n", OneLine(why));
  return text;
}

// A line of a study that takes clean iterations, or says why it does not.
std::string CleanText(const CleanAdvice& advice) {
  if (advice.standing_out == 0) return "# clean = true  # the longest run of undisturbed iterations: none stands out\n";
  const std::string which = fmt::format("{} of {} iterations of all runs", advice.standing_out, advice.iterations);
  if (advice.IsTaken()) return fmt::format("clean = true    # {} stand out as disturbed\n", which);
  return fmt::format("# clean = true  # {} stand out, but {}\n", which, advice.obstacle);
}

std::string PhasesText(const std::vector<std::string>& traces, const FoundPhases& found) {
  if (!found.loop) {
    return fmt::format(
        "# {}\n[[phases]]\nwhole = true\n# region = \"...\"  # of an iteration, where the program marks one\n",
        found.why);
  }
  const PhaseSpec& spec = *found.loop;
  std::string loop;
  if (spec.kind == PhaseSpec::Kind::kFoundLoop) {
    loop = "found = true    # the iterations that the MPI calls show\n";
  } else if (spec.kind == PhaseSpec::Kind::kRegion) {
    loop = fmt::format("region = {}\n", QuotedToml(spec.region));
  } else {
    loop = fmt::format("regex = {}\n", QuotedToml(spec.region));
  }
  std::string text =
      "[[phases]]\n" + loop + "# skip = 1      # leave out a warm-up; keep = 10 takes so many after that\n";
  text += CleanText(found.cleaning.at(""));
  for (const std::string& part : found.parts) {
    const auto lacks = found.lacks.find(part);
    const std::size_t without = lacks == found.lacks.end() ? 0 : lacks->second.size();
    // With one run only there is nothing to fit.
    const bool is_scarce = without > 0 && traces.size() - without < 2;
    const std::string comment = is_scarce ? "# " : "";
    text += fmt::format("\n{0}[[phases]]\n{0}{1}{0}part = {2}\n", comment, loop, QuotedToml(part));
    const CleanAdvice& of_part = found.cleaning.at(part);
    if (found.cleaning.at("").IsTaken() && of_part.standing_out > 0) {
      const std::string line = CleanText(of_part);
      text += line.starts_with('#') ? line : comment + line;
    }
    if (without > 0) text += fmt::format("# not in {}\n", OneLine(Join(lacks->second, ", ")));
  }
  return text;
}

// Runs of one program go through its loop equally often, or for longer with as much work in each iteration: of all
// ranks together (strong scaling), or of each (weak). Else what was found is not the same loop.
bool AreOfOneLoop(const std::vector<PhaseStructure>& structures) {
  constexpr double kFarOff = 1.4;  // as that of iterationsDiffer
  std::set<std::size_t> counts;
  std::vector<double> together, each;
  for (const PhaseStructure& structure : structures) {
    if (!structure.is_found || structure.iterations == 0) continue;
    counts.insert(structure.iterations);
    together.push_back(structure.useful / static_cast<double>(structure.iterations));
    each.push_back(together.back() / static_cast<double>(structure.ranks));
  }
  const auto is_even = [&](const std::vector<double>& works) {
    const auto [least, most] = std::minmax_element(works.begin(), works.end());
    return *most < kFarOff * *least;
  };
  return counts.size() < 2 || is_even(together) || is_even(each);
}

std::string SayCounts(const std::vector<PhaseStructure>& structures) {
  std::vector<std::string> counts;
  for (const PhaseStructure& structure : structures) {
    if (structure.is_found) counts.push_back(fmt::format("{} on {} ranks", structure.iterations, structure.ranks));
  }
  return Join(counts, ", ");
}

// An iteration that stands out in most of the runs does so because of what the program does in it: noise does not come
// at the same place again.
std::size_t IterationOfTheProgram(const std::vector<const Cleaning*>& runs) {
  std::map<std::size_t, std::size_t> counts;
  for (const Cleaning* run : runs) {
    for (std::size_t k = 0; k < run->standing_out.size(); ++k) counts[k + 1] += run->standing_out[k] ? 1 : 0;
  }
  for (const auto& [iteration, count] : counts) {
    if (count > 1 && 2 * count > runs.size()) return iteration;
  }
  return 0;
}

// `runs`: names of files, at least one.
std::string SuchAs(const std::vector<std::string>& runs) {
  return runs.size() == 1 ? "in " + runs.front() : fmt::format("in {} runs, such as {}", runs.size(), runs.front());
}

// Clean iterations of some runs do not compare with all iterations of others, nor with others' iterations that do more.
CleanAdvice AdviceOn(const std::string& part, const std::vector<std::string>& traces,
                     const std::vector<PhaseStructure>& structures) {
  CleanAdvice advice;
  std::vector<const Cleaning*> runs;
  std::vector<std::string> unjudged, takes_work;
  for (std::size_t i = 0; i < structures.size(); ++i) {
    const auto found = structures[i].cleaning.find(part);
    if (found == structures[i].cleaning.end()) continue;
    const Cleaning& run = *runs.emplace_back(&found->second);
    advice.iterations += run.standing_out.size();
    advice.standing_out += static_cast<std::size_t>(std::count(run.standing_out.begin(), run.standing_out.end(), true));
    if (!run.is_judged) unjudged.push_back(QuotedToml(traces[i]));
    if (run.takes_work) takes_work.push_back(QuotedToml(traces[i]));
  }
  if (!unjudged.empty()) {
    advice.obstacle = "disturbed ones cannot be told " + SuchAs(unjudged);
  } else if (!takes_work.empty()) {
    advice.obstacle = "without them the program does other work " + SuchAs(takes_work);
  } else if (const std::size_t iteration = IterationOfTheProgram(runs); iteration > 0) {
    advice.obstacle = fmt::format("iteration {} does in most runs, so the program makes it", iteration);
  }
  return advice;
}

}  // namespace

FoundPhases PhasesOf(const std::vector<std::string>& traces, const PhaseSpec& spec,
                     const std::vector<PhaseStructure>& structures) {
  FoundPhases found;
  if (std::none_of(structures.begin(), structures.end(), [](const PhaseStructure& one) { return one.is_found; })) {
    found.why = "No region marks iterations and the MPI calls show no loop: the whole run is the phase.";
    return found;
  }
  if (spec.kind == PhaseSpec::Kind::kFoundLoop && !AreOfOneLoop(structures)) {
    found.why = fmt::format(
        "The MPI calls show different loops ({}), whose iterations do not compute alike: the whole run is the phase.",
        SayCounts(structures));
    return found;
  }
  found.loop = spec;
  if (spec.shape) found.parts = spec.shape->PartNames();
  found.cleaning[""] = AdviceOn("", traces, structures);
  for (const std::string& part : found.parts) found.cleaning[part] = AdviceOn(part, traces, structures);
  for (std::size_t i = 0; i < structures.size(); ++i) {
    for (const std::string& part : found.parts) {
      const auto& has = structures[i].parts;
      if (std::find(has.begin(), has.end(), part) == has.end()) found.lacks[part].push_back(QuotedToml(traces[i]));
    }
  }
  return found;
}

std::string StudyDraft::Text() const {
  std::string text = HeaderText(*this) + RunsText(*this);
  if (measured.empty()) return text + PhasesText(traces, found);
  text += "[[phases]]\nwhole = true\n";
  for (const std::string& region : regions) text += fmt::format("\n[[phases]]\nregion = {}\n", QuotedToml(region));
  return text;
}

namespace {

constexpr std::string_view kSeal = "# Drafted by farscale run, which writes it again unless it was edited. Checksum: ";

std::string Checksum(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  return hash.Hex().substr(0, 16);
}

void LeaveOut(StudyDraft& study, const Error& error) {
  study.unreadable.push_back(error);
  study.left_out.emplace_back(error.what());
}

void DraftTraces(StudyDraft& study, const std::vector<std::string>& traces, const ProgressSink& progress) {
  ReadOptions options;
  if (study.application > 0) options.application = study.application;
  options.accepted = study.accepted;
  RunStructures runs = ReadStructures(traces, PhaseSpec::FoundLoop(), true, options, progress);
  std::vector<PhaseStructure> structures;
  for (std::size_t i = 0; i < traces.size(); ++i) {
    if (runs.errors[i]) {
      LeaveOut(study, *runs.errors[i]);
      continue;
    }
    study.traces.push_back(traces[i]);
    structures.push_back(std::move(runs.structures[i]));
  }
  if (!structures.empty()) study.found = PhasesOf(study.traces, runs.spec, structures);
}

// The phases are the regions that all measured runs have; traces are cut at the same.
void DraftMeasured(StudyDraft& study, const std::vector<std::string>& files) {
  bool is_first = true;
  for (const std::string& file : files) {
    try {
      const FactorTable table = ReadTableOfRuns({file});
      std::vector<std::string> regions;
      for (const FactorRow& row : table.rows) {
        if (row.phase != PhaseId("whole")) regions.push_back(row.phase.name);
      }
      if (is_first) study.regions = regions;
      is_first = false;
      std::erase_if(study.regions, [&](const std::string& name) { return std::ranges::count(regions, name) == 0; });
      study.measured.push_back(file);
    } catch (const Error& error) {
      LeaveOut(study, error);
    }
  }
  if (study.measured.size() < 2) return;
  const FactorTable table = ReadTableOfRuns(study.measured);
  study.scaling = table.scaling;
  const std::vector<std::string> programs = table.Series();
  if (programs.size() > 1) {
    throw Error(ErrorKind::kUsage, "", "the measured runs are of several programs: " + Join(programs, ", "),
                "name the files of one program");
  }
}

}  // namespace

StudyDraft DraftStudy(const InputFiles& files, StudyDraft draft, const ProgressSink& progress) {
  DraftMeasured(draft, files.measured);
  DraftTraces(draft, files.traces, progress);
  for (const std::string& file : files.traced) draft.left_out.push_back(file + ": the run of the trace beside it");
  if (draft.traces.empty() && draft.measured.empty()) throw draft.unreadable.front();
  draft.removes_noise = draft.measured.empty();
  return draft;
}

std::string SealDraft(const std::string& text, const std::string& command) {
  // Comments name files as they are; what is no UTF-8 there is no TOML.
  std::string line = command;
  std::ranges::replace_if(
      line, [](unsigned char c) { return c < 0x20; }, ' ');
  const std::string body = ToUtf8("# Change it and run it: " + line + "\n" + text);
  return std::string(kSeal) + Checksum(body) + "\n" + body;
}

bool IsUnchangedDraft(const std::string& text) {
  const std::size_t end = text.find('\n');
  if (!text.starts_with(kSeal) || end == std::string::npos) return false;
  return text.substr(kSeal.size(), end - kSeal.size()) == Checksum(std::string_view(text).substr(end + 1));
}

RunStructures ReadStructures(const std::vector<std::string>& traces, const PhaseSpec& spec, bool is_automatic,
                             const ReadOptions& options, const ProgressSink& progress, std::size_t width) {
  RunStructures runs{spec, std::vector<PhaseStructure>(traces.size()),
                     std::vector<std::optional<Error>>(traces.size())};
  std::size_t done = 0;
  bool is_chosen = !is_automatic;
  for (const std::size_t i : LargestFirst(traces)) {
    try {
      Trace trace = ReadTrace(traces[i], options);
      const Matching matching = MatchSynchronised(trace);
      if (!is_chosen) runs.spec = WithLoopOf(trace, runs.spec);
      is_chosen = true;
      PhaseStructure& structure = runs.structures[i];
      structure = DescribePhase(trace, matching, runs.spec, width);
      structure.diagnostics.Merge(trace.diagnostics);
      structure.diagnostics.Merge(CheckProcessorTime(trace, {}));
      if (!trace.team_threads.empty()) structure.diagnostics.Merge(ThreadStates(trace).diagnostics());
      if (!runs.spec.shape) runs.spec.shape = structure.shape;
    } catch (const Error& error) {
      runs.errors[i] = error;
    }
    if (progress) progress(++done, traces.size(), traces[i]);
  }
  return runs;
}

}  // namespace farscale
