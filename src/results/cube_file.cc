#include "results/trace_events.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "base/parallel.h"
#include "base/text.h"
#include "base/files.h"
#include "imbalance/diagnosis.h"

namespace farscale {
namespace {

constexpr std::size_t kTarBlock = 512;

// Adds a file to an archive in the format of POSIX.1-1988 (ustar), which ends with two blocks of zeros.
void AddToTar(const std::string& name, const std::string& content, std::string& tar) {
  std::array<char, kTarBlock> header{};
  const auto put = [&](std::size_t at, const std::string& text) {
    std::memcpy(header.data() + at, text.data(), text.size());
  };
  put(0, name);
  put(100, "0000644");
  put(108, "0000000");
  put(116, "0000000");
  put(124, fmt::format("{:011o}", content.size()));
  put(136, "00000000000");
  put(148, "        ");  // the checksum counts as blanks
  header[156] = '0';
  put(257, std::string("ustar\0"
                       "00",
                       8));
  unsigned sum = 0;
  for (const char c : header) sum += static_cast<unsigned char>(c);
  put(148, fmt::format("{:06o}", sum) + std::string("\0 ", 2));
  tar.append(header.data(), kTarBlock);
  tar += content;
  tar.append((kTarBlock - content.size() % kTarBlock) % kTarBlock, '\0');
}

// Raw bytes of a number as this machine stores it; files say in which order that is.
template <typename Number>
void AppendRaw(Number number, std::string& bytes) {
  const auto raw = std::bit_cast<std::array<char, sizeof(Number)>>(number);
  bytes.append(raw.data(), raw.size());
}

struct Metric {
  std::string id;  // the one of Scalasca if it has the metric
  std::string name;
  std::string description;
  std::string parent;  // its id; empty: none
  std::function<double(const PathLosses&)> value;

  bool IsCount() const { return id == "visits"; }  // the others are seconds
};

// Scalasca's names for kinds of waits, and costs of the delays behind them; empty: nothing like it.
struct KindNames {
  WaitKind kind;
  const char* wait;
  const char* delay;
};
constexpr KindNames kKindNames[] = {
    {WaitKind::kLateSender, "mpi_latesender", "delay_latesender"},
    {WaitKind::kLateReceiver, "mpi_latereceiver", "delay_latereceiver"},
    {WaitKind::kLateBroadcast, "mpi_latebroadcast", "delay_12n"},
    {WaitKind::kEarlyReduce, "mpi_earlyreduce", ""},
    {WaitKind::kEarlyScan, "mpi_earlyscan", ""},
    {WaitKind::kWaitAtNxN, "mpi_wait_nxn", "delay_n2n"},
    {WaitKind::kWaitAtBarrier, "mpi_barrier_wait", "delay_barrier"},
    {WaitKind::kWaitAtFence, "mpi_rma_wait_at_fence", ""},
    {WaitKind::kLatePost, "mpi_rma_sync_late_post", ""},
    {WaitKind::kEarlyWait, "mpi_rma_early_wait", ""},
    {WaitKind::kWaitForLock, "mpi_rma_sync_lock_competition", ""},
    {WaitKind::kWaitAtThreadBarrier, "omp_ebarrier_wait", "delay_ompbarrier"},
    {WaitKind::kWaitAtImplicitBarrier, "omp_ibarrier_wait", ""},
};

const KindNames* NamesOfKind(WaitKind kind) {
  const auto* found = std::ranges::find(kKindNames, kind, &KindNames::kind);
  return found == std::end(kKindNames) ? nullptr : found;
}

// Call paths in the order of their tree, a path before those below it. The root is the time outside of all regions;
// what lies outside of the phase is below it, too.
struct CallTree {
  std::vector<std::vector<PathId>> children;
  std::vector<PathId> order;
  std::map<PathId, std::size_t> number;        // in it
  std::map<PathId, std::string> names;         // names of regions
  std::map<std::string, std::size_t> regions;  // name -> index
};

CallTree MakeCallTree(const Trace& trace, const Diagnosis& diagnosis) {
  CallTree tree;
  tree.children.resize(diagnosis.paths.size());
  for (PathId path = 1; path < diagnosis.paths.size(); ++path)
    tree.children[path < kSpecialPaths ? kOutsideRegions : diagnosis.paths.parent(path)].push_back(path);
  std::vector<PathId> stack = {kOutsideRegions};
  while (!stack.empty()) {
    const PathId path = stack.back();
    stack.pop_back();
    tree.number[path] = tree.order.size();
    tree.order.push_back(path);
    stack.insert(stack.end(), tree.children[path].rbegin(), tree.children[path].rend());
  }
  const std::string program = trace.program.empty() ? "program" : trace.program;
  for (const PathId path : tree.order) {
    tree.names[path] = path == kOutsideRegions ? program : std::string(diagnosis.paths.region_name(path));
    tree.regions.emplace(tree.names[path], tree.regions.size());
  }
  return tree;
}

// The value of a metric holds those of the metrics below it.
std::vector<Metric> MakeMetrics(const Diagnosis& diagnosis) {
  using L = PathLosses;
  std::vector<Metric> metrics;
  const auto add = [&](const std::string& parent, const std::string& id, std::string_view name, const char* description,
                       const auto& value) {
    metrics.push_back({id, std::string(name), description, parent, value});
  };
  const auto occurs = [&](const auto& value) {
    return std::ranges::any_of(diagnosis.totals, [&](const L& losses) { return std::invoke(value, losses) > 0; });
  };
  add("", "visits", "Visits", "Activities, which regions called in between part", &L::visits);
  add("", "time", "Time", "Time of all ranks", &L::time);
  add("time", "farscale_waiting", "Waiting", "Time in which a call could not go on because another rank was late",
      &L::Waiting);
  // The waiting part of calls on files is not known.
  const auto on_files = [](const L& losses) { return losses.individual_io + losses.collective_io; };
  if (occurs(on_files)) add("time", "mpi_io", "MPI file I/O", "Calls on files", on_files);
  if (occurs(&L::individual_io))
    add("mpi_io", "mpi_io_individual", "Individual", "Calls on files by one rank alone", &L::individual_io);
  if (occurs(&L::collective_io))
    add("mpi_io", "mpi_io_collective", "Collective", "Calls on files by all ranks of a file", &L::collective_io);
  add("", "delay", "Delay costs", "Waiting of other ranks that it caused", &L::Costs);
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto waiting = [k = static_cast<std::size_t>(kind.kind)](const L& losses) { return losses.waiting[k]; };
    if (!occurs(waiting)) continue;
    const KindNames* names = NamesOfKind(kind.kind);
    const std::string id = names != nullptr ? names->wait : "farscale_" + std::string(kind.id);
    add("farscale_waiting", id, kind.name, "Waiting of this kind", waiting);
    if (kind.kind == WaitKind::kEarlyWait && occurs(&L::late_complete)) {
      add(id, "mpi_rma_late_complete", "Late complete", "After the last one-sided operation of the late rank",
          &L::late_complete);
    }
    if (kind.kind != WaitKind::kLateSender) continue;
    add(id, "mpi_latesender_wo", "Messages in wrong order",
        "Late senders that another order of receiving would have avoided", &L::wrong_order);
    add("mpi_latesender_wo", "mpi_lswo_same", "From the same source", "The same for messages of one rank",
        &L::wrong_order_same);
  }
  for (const WaitKindName& kind : WaitKindNames()) {
    const auto k = static_cast<std::size_t>(kind.kind);
    const auto both = [k](const L& losses) { return losses.short_term[k] + losses.long_term[k]; };
    if (!occurs(both)) continue;
    const KindNames* names = NamesOfKind(kind.kind);
    const bool has_name = names != nullptr && *names->delay != 0;
    const std::string id = has_name ? names->delay : "farscale_delay_" + std::string(kind.id);
    add("delay", id + "_aggregate", kind.name, "Waits of this kind that it caused", both);
    add(id + "_aggregate", id, "Short-term", "Waits that it caused itself",
        [k](const L& losses) { return losses.short_term[k]; });
    add(id + "_aggregate", id + "_longterm", "Long-term", "Waits that those caused in turn",
        [k](const L& losses) { return losses.long_term[k]; });
  }
  add("delay", "farscale_exit_skew", "Exit skew",
      "Waits for ranks that left the call later, as far as nothing since explains them", &L::ExitSkew);
  add("", "mpi_wait_indirect", "Indirect waits", "Waits for ranks that had waited themselves", &L::indirect);
  add("", "mpi_wait_propagating", "Propagating waits", "Waits that make others wait", &L::propagating);
  add("", "critical_path", "Critical path", "Time on the critical path", &L::critical);
  return metrics;
}

void AddMetric(const std::vector<Metric>& metrics, std::size_t metric, std::string& xml) {
  const Metric& of = metrics[metric];
  xml += fmt::format(
      "<metric id=\"{}\" type=\"EXCLUSIVE\">\n<disp_name>{}</disp_name>\n<uniq_name>{}</uniq_name>\n"
      "<dtype>{}</dtype>\n<uom>{}</uom>\n<url></url>\n<descr>{}</descr>\n",
      metric, EscapeXml(of.name), of.id, of.IsCount() ? "UINT64" : "DOUBLE", of.IsCount() ? "occ" : "sec",
      EscapeXml(of.description));
  for (std::size_t child = 0; child < metrics.size(); ++child) {
    if (metrics[child].parent == of.id) AddMetric(metrics, child, xml);
  }
  xml += "</metric>\n";
}

// Call paths are at most kDeepestPath deep.
void AddPath(const CallTree& tree, PathId path, std::string& xml) {
  xml += fmt::format("<cnode id=\"{}\" calleeId=\"{}\">\n", tree.number.at(path), tree.regions.at(tree.names.at(path)));
  for (const PathId child : tree.children[path]) AddPath(tree, child, xml);
  xml += "</cnode>\n";
}

std::string Anchor(const Trace& trace, const CallTree& tree, const std::vector<Metric>& metrics) {
  std::string xml = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<cube version=\"4.4\">\n";
  xml += fmt::format("<attr key=\"Creator\" value=\"{}\"/>\n<doc></doc>\n<metrics>\n", EscapeXml(Generator()));
  for (std::size_t metric = 0; metric < metrics.size(); ++metric) {
    if (metrics[metric].parent.empty()) AddMetric(metrics, metric, xml);
  }
  xml += "</metrics>\n<program>\n";
  std::vector<std::string> names(tree.regions.size());
  for (const auto& [name, number] : tree.regions) names[number] = name;
  for (std::size_t region = 0; region < names.size(); ++region) {
    const std::string name = EscapeXml(names[region]);
    xml += fmt::format(
        "<region id=\"{}\" mod=\"\" begin=\"-1\" end=\"-1\">\n<name>{}</name>\n<mangled_name>{}</mangled_name>\n"
        "<paradigm>{}</paradigm>\n<role>function</role>\n<url></url>\n<descr></descr>\n</region>\n",
        region, name, name, names[region].starts_with("MPI_") ? "mpi" : "compiler");
  }
  AddPath(tree, kOutsideRegions, xml);
  xml += "</program>\n<system>\n";
  // Ranks by node; the numbers of locations are those of ranks.
  xml += "<systemtreenode Id=\"0\">\n<name>machine</name>\n<class>machine</class>\n";
  for (std::size_t node = 0; node < trace.nodes.size(); ++node) {
    xml += fmt::format("<systemtreenode Id=\"{}\">\n<name>{}</name>\n<class>node</class>\n", node + 1,
                       EscapeXml(trace.nodes[node]));
    for (std::size_t rank = 0; rank < trace.size(); ++rank) {
      if (trace.ranks[rank].node != static_cast<std::int32_t>(node)) continue;
      xml += fmt::format(
          "<locationgroup Id=\"{0}\">\n<name>rank {0}</name>\n<rank>{0}</rank>\n<type>process</type>\n"
          "<location Id=\"{0}\">\n<name>main thread</name>\n<rank>0</rank>\n<type>thread</type>\n</location>\n"
          "</locationgroup>\n",
          rank);
    }
    xml += "</systemtreenode>\n";
  }
  return xml + "</systemtreenode>\n</system>\n</cube>\n";
}

}  // namespace

std::string WriteCube(const Trace& trace, const Diagnosis& diagnosis) {
  const CallTree tree = MakeCallTree(trace, diagnosis);
  const std::vector<Metric> metrics = MakeMetrics(diagnosis);
  std::string tar;
  for (std::size_t metric = 0; metric < metrics.size(); ++metric) {
    // The index names the paths with values, the data have a row of all ranks for each.
    std::string index = "CUBEX.INDEX", data = "CUBEX.DATA";
    std::vector<std::uint32_t> numbers;
    for (std::uint32_t number = 0; number < tree.order.size(); ++number) {
      const PathId path = tree.order[number];
      if (diagnosis.IsOutside(path) || metrics[metric].value(diagnosis.totals[path]) == 0) continue;
      numbers.push_back(number);
      for (const RankLosses& rank : diagnosis.ranks) {
        const PathLosses* losses = rank.Find(path);
        const double value = losses == nullptr ? 0 : metrics[metric].value(*losses);
        if (metrics[metric].IsCount()) {
          AppendRaw(static_cast<std::uint64_t>(value), data);
        } else {
          AppendRaw(value, data);
        }
      }
    }
    AppendRaw(std::int32_t{1}, index);  // shows readers the byte order
    AppendRaw(std::uint16_t{0}, index);
    index += '\1';  // sparse
    AppendRaw(static_cast<std::uint32_t>(numbers.size()), index);
    for (const std::uint32_t number : numbers) AppendRaw(number, index);
    AddToTar(fmt::format("{}.index", metric), index, tar);
    AddToTar(fmt::format("{}.data", metric), data, tar);
  }
  AddToTar("anchor.xml", Anchor(trace, tree, metrics), tar);
  return tar.append(2 * kTarBlock, '\0');
}

}  // namespace farscale
