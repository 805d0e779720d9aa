#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "cli/command.h"
#include "cli/table_options.h"
#include "results/factor_table_files.h"
#include "report/factor_text.h"
#include "study/phase_structure.h"
#include "study/run_study.h"
#include "study/study.h"

namespace farscale {
namespace {

struct FactorsOptions : TraceOptions {
  std::string span, series, groups, date, hybrid;
  std::string clean_iterations;  // to keep
  std::int64_t eager_limit = -1, reference = 0;
};

void Apply(const FactorsOptions& options, Study& study) {
  const bool is_for_regions =
      !options.span.empty() || options.skip > 0 || options.keep > 0 || !options.clean_iterations.empty();
  const auto single = std::ranges::find_if_not(study.phases, &PhaseSpec::Repeats);
  if (is_for_regions && single != study.phases.end()) {
    throw Error(ErrorKind::kUsage, "phase '" + single->name + "'",
                "--span, --skip, --keep and --clean are for regions that repeat", "name one with --phase");
  }
  for (PhaseSpec& phase : study.phases) {
    if (options.span == "whole") phase.span = Span::kWhole;
    if (options.span == "each") phase.span = Span::kEach;
    if (options.skip > 0) phase.skip = static_cast<std::size_t>(options.skip);
    if (options.keep > 0) phase.keep = static_cast<std::size_t>(options.keep);
    if (!options.clean_iterations.empty()) phase.clean = ParseClean(options.clean_iterations, "--clean");
  }
  const bool has_whole = std::ranges::any_of(
      study.phases, [](const PhaseSpec& phase) { return phase.kind == PhaseSpec::Kind::kWholeRun; });
  // TALP-Pages stops at a file without the region Global, which it expects first.
  if (options.format == "talp" && !has_whole) study.phases.insert(study.phases.begin(), PhaseSpec::WholeRun());
  ReplayRules& rules = study.factors.rules;
  if (!options.rules.empty()) rules.set = options.rules == "bsc" ? RuleSet::kBsc : RuleSet::kCausal;
  if (options.eager_limit >= 0) {
    if (rules.set == RuleSet::kBsc) {
      throw Error(ErrorKind::kUsage, "--eager-limit", "the rules bsc fix the eager limit at 32768 bytes",
                  "add --rules causal");
    }
    rules.eager_limit = static_cast<std::uint64_t>(options.eager_limit);
  }
  if (!options.scaling.empty()) study.scaling = ScalingByName(options.scaling);
  if (options.reference > 0) study.reference = options.reference;
  if (!options.series.empty()) study.series = options.series;
  if (!options.groups.empty()) {
    study.finds_groups = options.groups == "auto";
    study.groups.clear();
  }
  if (!options.counters.instructions.empty()) study.factors.counters.instructions = options.counters.instructions;
  if (!options.counters.cycles.empty()) study.factors.counters.cycles = options.counters.cycles;
}

// The format to write: as the option says, else the name of the file.
std::string FormatOf(const FactorsOptions& options) {
  const bool to_file = IsFile(options.output);
  if (options.format == "talp" && !to_file) {
    throw Error(ErrorKind::kUsage, "--format talp", "TALP has one file a run", "give a folder for them with -o");
  }
  if (options.format != "talp" && !options.date.empty()) {
    throw Error(ErrorKind::kUsage, "--date", "is for --format talp; other tables carry no date");
  }
  if (options.hybrid == "additive" && (!options.output.empty() || !options.format.empty())) {
    throw Error(ErrorKind::kUsage, "--hybrid additive", "is for the printed table",
                "factors.json holds the times of both schemes (totals.threadTimes)");
  }
  if (!options.format.empty()) return options.format;
  return to_file && IsJsonTable(options.output) ? "json" : "csv";
}

// The form of TALP goes into a folder, or into the file named when there is one run.
void WriteTable(const FactorTable& table, const std::string& format, const FactorsOptions& options,
                const Messages& messages) {
  if (options.output.empty() && options.format.empty()) {
    fmt::print("{}", FormatFactorTable(table, WidthOfOutput()));
    if (options.hybrid == "additive") fmt::print("\n{}", FormatAdditiveLosses(table, WidthOfOutput()));
    return;
  }
  if (format != "talp") {
    return WriteOutput(options.output.empty() ? "-" : options.output,
                       format == "json" ? WriteFactorJson(table) : WriteFactorCsv(table));
  }
  std::string timestamp = DateGiven(options.date);
  if (timestamp.ends_with('Z')) timestamp.pop_back();  // TALP's have no zone
  std::vector<std::string> left_out;
  const std::vector<NamedText> runs = WriteTalpJson(table, timestamp, left_out);
  const bool has_whole = std::ranges::any_of(table.rows, [](const FactorRow& row) { return row.phase == "whole"; });
  if (!has_whole) {
    messages.Warning("no phase 'whole', so there is no region Global, which badges of TALP-Pages need");
  }
  for (const std::string& row : left_out) messages.Warning(row + ": TALP has no place for it, so it is left out");
  const std::filesystem::path output = options.output;
  if (output.extension() == ".json") {
    if (runs.size() == 1) return WriteOutput(options.output, runs.front().second);
    throw Error(ErrorKind::kUsage, options.output,
                fmt::format("TALP has one file a run, and there are {}", runs.size()), "give a folder for them");
  }
  for (const auto& [name, text] : runs) CreateFolder((output / name).parent_path());
  for (const auto& [name, text] : runs) WriteFile(output / name, text);
}

FactorTable ReadTables(const FactorsOptions& options) {
  const bool is_for_traces = !options.phases.empty() || !options.span.empty() || !options.rules.empty() ||
                             !options.groups.empty() || !options.preset.empty() || !options.clean_iterations.empty() ||
                             !options.counters.instructions.empty() || !options.counters.cycles.empty() ||
                             options.skip > 0 || options.keep > 0 || options.eager_limit >= 0 ||
                             options.application > 0 || !options.accepted.empty();
  if (is_for_traces) {
    throw Error(ErrorKind::kUsage, options.inputs.front(),
                "is a factor table, which takes only --scaling, --reference, --series, --format and --date");
  }
  for (const std::string& input : options.inputs) RefuseOverwriting(input, options.output);
  TableOptions table_options;
  table_options.table = options.inputs.front();
  table_options.more_runs.assign(options.inputs.begin() + 1, options.inputs.end());
  table_options.scaling = options.scaling;
  table_options.reference = options.reference;
  FactorTable table = ReadTable(table_options);
  if (!options.series.empty()) {
    for (FactorRow& row : table.rows) row.series = options.series;
  }
  return table;
}

int Factors(const FactorsOptions& options, const Common& common) {
  const Messages messages(common);
  const std::string format = FormatOf(options);
  // Factors may be there already: as tables of this program, or measured by TALP.
  const bool are_tables = std::ranges::all_of(options.inputs, [](const std::string& input) {
    const std::string ending = std::filesystem::path(input).extension().string();
    return input == "-" || ending == ".json" || ending == ".csv" || ending == ".txt" || ending == ".dat";
  });
  if (are_tables) {
    const FactorTable table = ReadTables(options);
    messages.Findings("", table.findings);
    WriteTable(table, format, options, messages);
    return 0;
  }
  Study study = StudyOfInputs(options);
  for (const std::string& text : options.phases) {
    if (std::ranges::count(options.phases, text) > 1)
      throw Error(ErrorKind::kUsage, "--phase", "'" + text + "' is given twice");
  }
  Apply(options, study);
  const StudyResults measured = MeasureRuns(study, messages.Progress());
  const auto warn = [&] { messages.FindingsOf(measured.table, measured.runs); };
  const OnError on_error(warn);
  // The table goes on without the records of its runs, so it takes what they warn of along.
  FactorTable table = measured.table;
  std::vector<Finding> warnings;
  for (const RunRecord& run : measured.runs) MergeFindings(run.findings, warnings, run.path);
  std::erase_if(warnings, [&](const Finding& finding) {
    const bool is_there = std::ranges::find(table.findings, finding.id, &Finding::id) != table.findings.end();
    return is_there || finding.severity != Severity::kWarning;
  });
  MergeFindings(warnings, table.findings);
  WriteTable(table, format, options, messages);
  warn();
  if (options.output.empty() && options.format.empty() && !common.quiet) {
    PrintSentences({"Next: -o factors.json keeps this table, and farscale predict factors.json extrapolates it."});
  }
  return ReportFailures(measured.runs, measured.failure);
}

}  // namespace

void AddFactorsCommand(CommandLine& line) {
  auto [command, options] = AddCommand<FactorsOptions>(
      line, "factors", "Measure the efficiency factors of a study or of some traces", Factors);
  command->footer("Without -o the table is printed. The table is small; keep it, and predict from it later.");
  command
      ->add_option("input", options.inputs,
                   "A study file, traces of one program (.otf2, .prv, .prv.gz), a factor table, or "
                   "runs measured by TALP (.json)")
      ->required();
  AddPhaseOption(command, options);
  AddChoiceOption(command, "--span", options.span, {"whole", "each"},
                  "Count the whole window of a rank, or each occurrence (default: whole where the gaps are small)");
  AddIterationOptions(command, options);
  command->add_option("--clean", options.clean_iterations,
                      "Keep undisturbed iterations: longest for the longest run of them, or how many of the cleanest");
  AddChoiceOption(command, "--rules", options.rules, {"bsc", "causal"}, "Rules of the ideal replay (default: bsc)");
  command->add_option("--eager-limit", options.eager_limit, "With causal: bytes from which messages rendezvous")
      ->check(CLI::NonNegativeNumber);
  AddScalingOption(command, options.scaling, "How the runs scale (default: from how the work grows)");
  command->add_option("--reference", options.reference, "Cores of the reference run (default: the smallest)")
      ->check(CoreCount());
  AddChoiceOption(command, "--groups", options.groups, {"auto", "none"},
                  "Find groups of ranks that do different work: auto or none (default: as in the study, else auto)");
  AddTraceOptions(command, options);
  AddCounterOptions(command, options);
  AddChoiceOption(command, "--hybrid", options.hybrid, {"multiplicative", "additive"},
                  "Scheme for runs with threads: multiplicative, or additive beside it (default: multiplicative)");
  command->add_option("--series", options.series, "Name of the program in the table");
  command->add_option("--preset", options.preset, "Preset whose settings fill what the study leaves out");
  command->add_option("-o,--output", options.output,
                      "File to write, .json or .csv; - prints CSV; of --format talp a folder");
  AddChoiceOption(command, "--format", options.format, {"csv", "json", "talp"},
                  "What to write (default: by the name of the file)");
  command->add_option("--date", options.date,
                      "With --format talp: date of the runs, like 2026-11-20T12:00:00Z, or now (default: "
                      "CI_COMMIT_TIMESTAMP, or SOURCE_DATE_EPOCH)");
}

}  // namespace farscale
