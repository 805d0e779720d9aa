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

// `runs`: names of files, at least one.
std::string SuchAs(const std::vector<std::string>& runs) {
  return runs.size() == 1 ? "in " + runs.front() : fmt::format("in {} runs, such as {}", runs.size(), runs.front());
}

// Clean iterations of some runs do not compare with all iterations of others, nor with others' iterations that do more.
CleanAdvice AdviceOn(const std::string& part, const std::vector<std::string>& traces,
                     const std::vector<PhaseStructure>& structures) {
  CleanAdvice advice;
  std::size_t runs = 0;
  std::map<std::size_t, std::size_t> counts;  // runs, keyed by the iteration that stands out
  std::vector<std::string> unjudged, takes_work;
  for (std::size_t i = 0; i < structures.size(); ++i) {
    const auto found = structures[i].cleaning.find(part);
    if (found == structures[i].cleaning.end()) continue;
    const Cleaning& run = found->second;
    ++runs;
    for (std::size_t k = 0; k < run.standing_out.size(); ++k) counts[k + 1] += run.standing_out[k] ? 1 : 0;
    advice.iterations += run.standing_out.size();
    advice.standing_out += static_cast<std::size_t>(std::count(run.standing_out.begin(), run.standing_out.end(), true));
    if (!run.is_judged) unjudged.push_back(QuotedToml(traces[i]));
    if (run.takes_work) takes_work.push_back(QuotedToml(traces[i]));
  }
  // An iteration that stands out in most of the runs does so because of what the program does in it: noise does not
  // come at the same place again.
  const auto usual = std::ranges::find_if(
      counts, [&](const auto& iteration) { return iteration.second > 1 && 2 * iteration.second > runs; });
  if (!unjudged.empty()) {
    advice.obstacle = "disturbed ones cannot be told " + SuchAs(unjudged);
  } else if (!takes_work.empty()) {
    advice.obstacle = "without them the program does other work " + SuchAs(takes_work);
  } else if (usual != counts.end()) {
    advice.obstacle = fmt::format("iteration {} does in most runs, so the program makes it", usual->first);
  }
  return advice;
}

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

}  // namespace

FoundPhases PhasesOf(const std::vector<std::string>& traces, const PhaseSpec& spec,
                     const std::vector<PhaseStructure>& structures) {
  FoundPhases found;
  if (std::none_of(structures.begin(), structures.end(), [](const PhaseStructure& one) { return one.is_found; })) {
    found.why = "No region marks iterations and the MPI calls show no loop: the whole run is the phase.";
    return found;
  }
  if (spec.kind == PhaseSpec::Kind::kFoundLoop && !AreOfOneLoop(structures)) {
    std::vector<std::string> counts;
    for (const PhaseStructure& structure : structures) {
      if (structure.is_found) counts.push_back(fmt::format("{} on {} ranks", structure.iterations, structure.ranks));
    }
    found.why = fmt::format(
        "The MPI calls show different loops ({}), whose iterations do not compute alike: the whole run is the phase.",
        Join(counts, ", "));
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
  std::string text;
  if (!scaling) text += "# scaling = \"strong\" or \"weak\": only you know\n";
  text += "[study]\n";
  if (!title.empty()) text += fmt::format("title = {}\n", QuotedToml(title));
  text += scaling ? fmt::format("scaling = \"{}\"    # by the growth of work\n", ToString(*scaling))
                  : "# scaling = \"strong\"\n";
  if (removes_noise)
    text +=
        "\n[noise]              # what noise costs; without this table runs are replayed once\n"
        "network = \"calibrated\"\n";
  if (reports_here) text += "\n[report]\nfolder = \".\"\n";
  text += "\n";
  for (const std::string& trace : traces) {
    text += fmt::format("[[runs]]\ntrace = {}\n", PathFrom(folder, trace));
    if (application > 0) text += fmt::format("application = {}\n", application);
    if (!accepted.empty()) text += fmt::format("accept = [\"{}\"]\n", Join(accepted, "\", \""));
    text += "\n";
  }
  for (const std::string& file : measured) {
    text += fmt::format("[[runs]]\nmeasured = {}\n\n", PathFrom(folder, file));
  }
  for (const std::string& why : left_out) text += fmt::format("# left out: {}\n\n", OneLine(why));
  if (measured.empty()) return text + PhasesText(traces, found);
  text += "[[phases]]\nwhole = true\n";
  for (const std::string& region : regions) text += fmt::format("\n[[phases]]\nregion = {}\n", QuotedToml(region));
  return text;
}

StudyDraft DraftStudy(const InputFiles& files, StudyDraft draft, const ProgressSink& progress) {
  // The phases are the regions that all measured runs have; traces are cut at the same.
  for (const std::string& file : files.measured) {
    try {
      const FactorTable table = ReadTableOfRuns({file});
      std::vector<std::string> regions;
      for (const FactorRow& row : table.rows) {
        if (row.phase != PhaseId("whole")) regions.push_back(row.phase.name);
      }
      if (draft.measured.empty()) draft.regions = regions;
      std::erase_if(draft.regions, [&](const std::string& name) { return std::ranges::count(regions, name) == 0; });
      draft.measured.push_back(file);
    } catch (const Error& error) {
      LeaveOut(draft, error);
    }
  }
  if (draft.measured.size() > 1) {
    const FactorTable table = ReadTableOfRuns(draft.measured);
    draft.scaling = table.scaling;
    const std::vector<std::string> programs = table.Series();
    if (programs.size() > 1) {
      throw Error(ErrorKind::kUsage, "", "the measured runs are of several programs: " + Join(programs, ", "),
                  "name the files of one program");
    }
  }
  ReadOptions options;
  if (draft.application > 0) options.application = draft.application;
  options.accepted = draft.accepted;
  PhaseSpec loop = PhaseSpec::FoundLoop();
  std::vector<PhaseStructure> structures = ReadStructures(files.traces, true, options, progress, loop);
  for (std::size_t i = 0; i < structures.size(); ++i) {
    if (structures[i].error) LeaveOut(draft, *structures[i].error);
    if (!structures[i].error) draft.traces.push_back(files.traces[i]);
  }
  std::erase_if(structures, [](const PhaseStructure& structure) { return structure.error.has_value(); });
  if (!structures.empty()) draft.found = PhasesOf(draft.traces, loop, structures);
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

std::vector<PhaseStructure> ReadStructures(const std::vector<std::string>& traces, bool is_automatic,
                                           const ReadOptions& options, const ProgressSink& progress, PhaseSpec& spec,
                                           std::size_t width) {
  std::vector<PhaseStructure> structures(traces.size());
  std::size_t done = 0;
  bool is_chosen = !is_automatic;
  for (const std::size_t i : LargestFirst(traces)) {
    try {
      Trace trace = ReadTrace(traces[i], options);
      const Matching matching = MatchSynchronised(trace);
      if (!is_chosen) spec = WithLoopOf(trace, spec);
      is_chosen = true;
      PhaseStructure& structure = structures[i];
      structure = DescribePhase(trace, matching, spec, width);
      structure.diagnostics.Merge(trace.diagnostics);
      structure.diagnostics.Merge(CheckProcessorTime(trace, {}));
      if (!trace.team_threads.empty()) structure.diagnostics.Merge(ThreadStates(trace).diagnostics());
      if (!spec.shape) spec.shape = structure.shape;
    } catch (const Error& error) {
      structures[i].error = error;
    }
    if (progress) progress(++done, traces.size(), traces[i]);
  }
  return structures;
}

}  // namespace farscale
