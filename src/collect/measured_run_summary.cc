#include <algorithm>
#include <cstdio>

#include "collect/measured_run_text.h"
#include "collect/names.h"

namespace farscale::collect {
namespace {

// More than fit a terminal are in the file.
constexpr std::size_t kMostShown = 20;

template <typename... Values>
std::string Format(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

std::string Share(double share) { return Format("%.1f %%", share * 100); }

std::string Header(const MeasuredRun& run) {
  return Format("\nfarscale: %s on %d rank%s, %d node%s, %s, %llu MPI calls\n", run.program.c_str(), run.ranks,
                run.ranks == 1 ? "" : "s", static_cast<int>(run.nodes.size()), run.nodes.size() == 1 ? "" : "s",
                FormatSeconds(run.regions.front().elapsed).c_str(),
                static_cast<unsigned long long>(run.regions.front().mpi_calls));
}

std::string Tree(const RegionMetrics& whole) {
  if (!whole.efficiencies) return "";
  const Efficiencies& e = *whole.efficiencies;
  std::string text;
  const auto line = [&](const char* name, double share) { text += Format("  %-32s%8s\n", name, Share(share).c_str()); };
  line("Parallel efficiency", e.parallel);
  line("  Load balance", e.load_balance);
  line("    within nodes", e.load_balance_in);
  line("    between nodes", e.load_balance_out);
  line("  Communication efficiency", e.communication);
  if (whole.ideal_elapsed) {
    line("    Serialization", whole.useful_largest / *whole.ideal_elapsed);
    line("    Transfer", *whole.ideal_elapsed / whole.elapsed);
  }
  if (whole.cpu_share) line("CPU time of elapsed time", *whole.cpu_share);
  if (whole.instructions && whole.cycles) {
    text += Format("  %-32s%8.2f\n", "Instructions per cycle", *whole.instructions / *whole.cycles);
    text += Format("  %-32s%5.2f GHz\n", "Frequency", *whole.cycles / whole.useful_total * 1e-9);
  }
  return text;
}

std::string RegionTable(const MeasuredRun& run) {
  if (run.regions.size() < 2) return "";
  std::size_t width = 6;
  const std::size_t shown = std::min(run.regions.size() - 1, kMostShown);
  for (std::size_t i = 1; i <= shown; ++i) width = std::max(width, Width(run.regions[i].name));
  // Padded here, since printf counts bytes.
  const auto padded = [&](const std::string& name) { return name + std::string(width - Width(name), ' '); };
  std::string text = Format("\n  %s  %10s  %10s  %10s  %10s  %10s\n", padded("region").c_str(), "starts", "elapsed",
                            "parallel", "balance", "communic.");
  for (std::size_t i = 1; i <= shown; ++i) {
    const RegionMetrics& region = run.regions[i];
    text += Format("  %s  %10llu  %10s", padded(region.name).c_str(),
                   static_cast<unsigned long long>(region.most_starts), FormatSeconds(region.elapsed).c_str());
    if (region.efficiencies) {
      text +=
          Format("  %10s  %10s  %10s", Share(region.efficiencies->parallel).c_str(),
                 Share(region.efficiencies->load_balance).c_str(), Share(region.efficiencies->communication).c_str());
    }
    text += "\n";
  }
  if (shown + 1 < run.regions.size())
    text += Format("  and %d more\n", static_cast<int>(run.regions.size() - 1 - shown));
  return text;
}

}  // namespace

std::string FormatSeconds(double seconds) {
  if (seconds >= 0.9995) return Format("%.*f s", seconds < 10 ? 2 : seconds < 100 ? 1 : 0, seconds);
  if (seconds >= 0.9995e-3) return Format("%.*f ms", seconds < 1e-2 ? 2 : seconds < 1e-1 ? 1 : 0, seconds * 1e3);
  return Format("%.*f us", seconds < 1e-5 ? 2 : seconds < 1e-4 ? 1 : 0, seconds * 1e6);
}

std::string ToSummary(const MeasuredRun& run, const std::string& written) {
  std::string text = Header(run) + Tree(run.regions.front()) + RegionTable(run);
  for (const Remark& remark : RemarksOn(run)) {
    if (remark.is_warning) text += "warning: " + remark.sentence + "\n";
  }
  return text + written + "\n";
}

}  // namespace farscale::collect
