#include "report/jobs/pages.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/version.h"
#include "report/cells.h"

namespace farscale {
namespace {

std::string Percent(const std::optional<double>& share) { return share ? FormatPercent(*share) : "–"; }

std::string HoursOfCores(const CollectedJob& job) {
  return job.lost_core_hours ? FormatSignificant(*job.lost_core_hours, 3) : "–";
}

std::string Size(const CollectedJob& job) {
  if (job.threads == 1) return FormatCores(static_cast<double>(job.ranks));
  return fmt::format("{} × {}", FormatCores(static_cast<double>(job.ranks)), job.threads);
}

std::string HoursText(double core_hours) { return FormatSignificant(core_hours, 3); }

// "24 jobs lost 31.0 of 118 core hours (26.3 %), lmp most of them (28.0)".
std::string Summary(const CollectedJobs& jobs, const std::vector<ProgramJobs>& programs) {
  double lost = 0, used = 0;
  for (const ProgramJobs& program : programs) {
    lost += program.lost_core_hours;
    used += program.used_core_hours;
  }
  std::string text = fmt::format("{} job{} lost {} of {} core hours", FormatCount(jobs.jobs.size()),
                                 jobs.jobs.size() == 1 ? "" : "s", HoursText(lost), HoursText(used));
  if (used > 0) text += fmt::format(" ({})", FormatPercent(lost / used));
  if (programs.size() > 1 && lost > 0) {
    text += fmt::format("; {} lost most ({})", programs.front().program, HoursText(programs.front().lost_core_hours));
  }
  return text;
}

// One program after the other says something only where some have several jobs.
bool HasGroups(const CollectedJobs& jobs, const std::vector<ProgramJobs>& programs) {
  return programs.size() < jobs.jobs.size();
}

struct ProgramRow {
  FARSCALE_TEXTS(program, jobs, used, lost, share)
};

std::vector<ProgramRow> RowsOf(const std::vector<ProgramJobs>& programs) {
  std::vector<ProgramRow> rows;
  for (const ProgramJobs& program : programs) {
    rows.push_back({program.program, FormatCount(program.jobs), HoursText(program.used_core_hours),
                    program.known_core_hours > 0 ? HoursText(program.lost_core_hours) : "–",
                    program.known_core_hours > 0 ? FormatPercent(program.Efficiency()) : "–"});
  }
  return rows;
}

struct JobRow {
  FARSCALE_TEXTS(program, command, owner, started, size, nodes, elapsed, lost, ending, file)
};

ReportData RowOf(const CollectedJob& job) {
  ReportData row = ToData(JobRow{job.program, job.command, job.owner, job.started, Size(job),
                                 FormatCores(static_cast<double>(job.nodes)), FormatSeconds(job.elapsed),
                                 HoursOfCores(job), job.ending == "finalized" ? "" : job.ending, job.file});
  std::vector<FactorCell> cells;
  for (const Factor factor : {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency}) {
    cells.push_back(ColoredCell(Percent(job.factors[factor]), job.factors[factor]));
  }
  WriteData(cells, row["cells"]);
  row["warnings"] = job.warnings;
  const std::size_t count = job.warnings.size();
  row["warningCount"] = count == 0 ? "" : fmt::format("{} warning{}", count, count == 1 ? "" : "s");
  return row;
}

}  // namespace

std::string WriteJobsTable(const CollectedJobs& jobs, std::size_t top, std::size_t width) {
  std::vector<std::vector<std::string>> rows = {
      {"program", "ranks", "elapsed", "parallel", "balance", "communic.", "lost core h", "started", "owner", "ended"}};
  const std::size_t shown = top == 0 ? jobs.jobs.size() : std::min(top, jobs.jobs.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const CollectedJob& job = jobs.jobs[i];
    rows.push_back({job.program, Size(job), FormatSeconds(job.elapsed),
                    Percent(job.factors[Factor::kParallelEfficiency]), Percent(job.factors[Factor::kLoadBalance]),
                    Percent(job.factors[Factor::kCommunicationEfficiency]), HoursOfCores(job), job.started, job.owner,
                    job.ending == "finalized" ? "" : job.ending});
  }
  constexpr std::size_t kFewest = 6;
  const std::vector<ProgramJobs> programs = ByProgram(jobs);
  std::string text = Summary(jobs, programs) + ".\n\n";
  if (HasGroups(jobs, programs)) {
    std::vector<std::vector<std::string>> grouped = {{"program", "jobs", "core h", "lost core h", "parallel"}};
    for (const ProgramRow& row : RowsOf(programs)) {
      if (top > 0 && grouped.size() > top) break;
      grouped.push_back({row.program, row.jobs, row.used, row.lost, row.share});
    }
    text += FormatTableWithin(std::move(grouped), width, kFewest) + "\n";
  }
  text += FormatTableWithin(std::move(rows), width, kFewest);
  if (shown < jobs.jobs.size()) text += fmt::format("and {} more: --top 0 shows all\n", jobs.jobs.size() - shown);
  return text;
}

ReportModel BuildJobsModel(const CollectedJobs& jobs) {
  ReportModel model;
  ReportData& data = model.data;
  data["generator"] = Generator();
  data["folder"] = jobs.folder;
  const std::vector<ProgramJobs> programs = ByProgram(jobs);
  data["summary"] = Summary(jobs, programs);
  data["hasPrograms"] = HasGroups(jobs, programs);
  data["programs"] = ToData(RowsOf(programs));
  data["warnings"] = ReportData::array();
  for (const Finding& finding : jobs.findings) {
    data["warnings"].push_back(fmt::format("{} {}: {}", FormatCount(finding.count), finding.sentence, finding.example));
  }
  data["hasWarnings"] = !jobs.findings.empty();
  data["hasJobWarnings"] = std::ranges::any_of(jobs.jobs, [](const auto& job) { return !job.warnings.empty(); });
  data["jobs"] = ReportData::array();
  for (const CollectedJob& job : jobs.jobs) data["jobs"].push_back(RowOf(job));
  return model;
}

}  // namespace farscale
