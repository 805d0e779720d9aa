#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "base/files.h"
#include "report/figures.h"

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

ReportData ProgramRows(const std::vector<ProgramJobs>& programs) {
  ReportData rows = ReportData::array();
  for (const ProgramJobs& program : programs) {
    const bool is_known = program.known_core_hours > 0;
    rows.push_back({{"program", program.program},
                    {"jobs", FormatCount(program.jobs)},
                    {"used", HoursText(program.used_core_hours)},
                    {"lost", is_known ? HoursText(program.lost_core_hours) : "–"},
                    {"share", is_known ? FormatPercent(program.Efficiency()) : "–"}});
  }
  return rows;
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
    for (const ReportData& row : ProgramRows(programs)) {
      if (top > 0 && grouped.size() > top) break;
      std::vector<std::string>& cells = grouped.emplace_back();
      for (const char* tag : {"program", "jobs", "used", "lost", "share"}) cells.push_back(row[tag].get<std::string>());
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
  data["programs"] = ProgramRows(programs);
  data["warnings"] = ReportData::array();
  for (const Finding& finding : jobs.findings) {
    data["warnings"].push_back(fmt::format("{} {}: {}", FormatCount(finding.count), finding.sentence, finding.example));
  }
  data["hasWarnings"] = !jobs.findings.empty();
  data["hasJobWarnings"] = std::ranges::any_of(jobs.jobs, [](const auto& job) { return !job.warnings.empty(); });
  data["jobs"] = ReportData::array();
  for (const CollectedJob& job : jobs.jobs) {
    ReportData cells = ReportData::array();
    for (const Factor factor : {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency})
      cells.push_back(ColoredCell(Percent(job.factors[factor]), job.factors[factor]));
    const std::size_t warnings = job.warnings.size();
    data["jobs"].push_back(
        {{"program", job.program},
         {"command", job.command},
         {"owner", job.owner},
         {"started", job.started},
         {"size", Size(job)},
         {"nodes", FormatCores(static_cast<double>(job.nodes))},
         {"elapsed", FormatSeconds(job.elapsed)},
         {"lost", HoursOfCores(job)},
         {"ending", job.ending == "finalized" ? "" : job.ending},
         {"file", job.file},
         {"cells", std::move(cells)},
         {"warnings", job.warnings},
         {"warningCount", warnings == 0 ? "" : fmt::format("{} warning{}", warnings, warnings == 1 ? "" : "s")}});
  }
  return model;
}

}  // namespace farscale
