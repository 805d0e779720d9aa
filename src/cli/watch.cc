// farscale watch: what the running programs of this user on this node have measured so far.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "cli/command.h"
#include "base/terminal.h"
#include "base/text.h"
#include "base/version.h"
#include "collect/measured_run.h"
#include "collect/measured_run_output.h"
#include "collect/page_file.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

struct WatchOptions {
  double interval = 2;
  bool once = false;
  bool json = false;
};

// Pages of running processes by job.
std::map<std::string, std::vector<collect::Page>> RunningJobs() {
  std::map<std::string, std::vector<collect::Page>> jobs;
  for (const collect::FoundPage& found : collect::FindPages("")) {
    if (found.is_running && found.page.begin_tick != 0) jobs[found.page.job].push_back(found.page);
  }
  return jobs;
}

std::string Share(double share) { return fmt::format("{:.1f} %", share * 100); }

void AddRows(const collect::MeasuredRun& run, std::vector<std::vector<std::string>>& cells) {
  const auto here = run.regions.front().ranks.size();
  for (const collect::RegionMetrics& region : run.regions) {
    std::vector<std::string> row = {&region == &run.regions.front() ? run.program : "  " + region.name,
                                    fmt::format("{} of {}", region.ranks.size(), run.ranks),
                                    collect::FormatSeconds(region.elapsed),
                                    "",
                                    "",
                                    "",
                                    fmt::format("{:.3g}", region.calls_a_millisecond),
                                    ""};
    if (region.efficiencies) {
      row[3] = Share(region.efficiencies->parallel);
      row[4] = Share(region.efficiencies->load_balance);
      row[5] = Share(region.efficiencies->communication);
      if (region.threads) row[7] = Share(collect::OpenMpEfficienciesOf(*region.threads).parallel);
    }
    if (here > 0) cells.push_back(std::move(row));
  }
}

void Print(const WatchOptions& options) {
  const auto jobs = RunningJobs();
  if (options.json) {
    std::string list;
    for (const auto& [job, pages] : jobs) {
      list += (list.empty() ? "" : ",\n") + collect::ToJsonText(collect::Summarize(pages), Generator());
    }
    fmt::print("[{}]\n", list);
    return;
  }
  if (jobs.empty()) {
    fmt::print("No program of yours is measured on this node. mpirun -n 8 farscale measure ./program starts one.\n");
    return;
  }
  std::vector<std::vector<std::string>> cells = {
      {"program", "ranks here", "elapsed", "parallel", "balance", "communic.", "calls/ms", "OpenMP"}};
  for (const auto& [job, pages] : jobs) AddRows(collect::Summarize(pages), cells);
  // Of hybrid programs alone.
  const auto is_empty = [](const std::vector<std::string>& row) { return row.back().empty(); };
  if (std::all_of(cells.begin() + 1, cells.end(), is_empty)) {
    for (std::vector<std::string>& row : cells) row.pop_back();
  }
  fmt::print("{}", FormatTableWithin(std::move(cells), TerminalColumns(STDOUT_FILENO), 4));
}

int Watch(const WatchOptions& options, const Common&) {
  const bool is_terminal = isatty(STDOUT_FILENO) != 0;
  while (true) {
    if (is_terminal && !options.once) fmt::print("\033[H\033[2J");
    Print(options);
    if (options.once) return 0;
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kOutput, "standard output", "cannot be written");
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

}  // namespace

void AddWatchCommand(CommandLine& line) {
  auto [command, options] = AddCommand<WatchOptions>(
      line, "watch", "Show the factors of your programs that run on this node under farscale, live", Watch);
  command->footer("Factors are those of the ranks on this node.");
  command->add_option("--interval", options.interval, "Seconds between updates")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--once", options.once, "Show once and exit");
  command->add_flag("--json", options.json, "Print a list of measured runs as JSON");
}

}  // namespace farscale
