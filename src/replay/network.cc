#include "replay/network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/config.h"
#include "base/text.h"

namespace farscale {
namespace {

// Limits of what a file may say; chosen beyond any network.
constexpr int kMostTransfers = 1000000;
constexpr double kMostMicroseconds = 1e9;
constexpr double kSmallestBandwidth = 1e-3;  // MB/s

constexpr const char* kLatencyBound = "latency_at_most_us";
constexpr const char* kBandwidthBound = "bandwidth_at_least_MBps";
constexpr const char* kOverheadBound = "overhead_at_most_us";

// A number of the table that must not be negative, in the unit of the file.
void ReadNumber(const ConfigTable& table, const std::string& key, double unit, double& value) {
  const auto number = table.Number(key);
  if (!number) return;
  if (!(*number >= 0) || !(*number <= kMostMicroseconds)) {
    table.Fail(key, "'" + key + "' must lie between 0 and 1e9");
  }
  value = *number * unit;
}

// A bound of a number that is not known. Of a number that the table states itself, nothing holds that the standard
// says.
void ReadBound(const ConfigTable& table, const std::string& number, const std::string& key, double unit,
               std::optional<double>& bound) {
  if (table.Has(number)) bound.reset();
  const auto value = table.Number(key);
  if (!value) return;
  if (!(*value >= 0)) table.Fail(key, "'" + key + "' must not be negative");
  bound = *value * unit;
}

Link ParseLink(const ConfigTable& root, const std::string& key, const Link& standard) {
  Link link = standard;
  const auto table = root.Table(key);
  if (!table) return link;
  ReadNumber(*table, "latency_us", 1e-6, link.latency);
  ReadNumber(*table, "overhead_us", 1e-6, link.overhead);
  ReadBound(*table, "latency_us", kLatencyBound, 1e-6, link.latency_at_most);
  ReadBound(*table, "bandwidth_MBps", kBandwidthBound, 1e6, link.bandwidth_at_least);
  ReadBound(*table, "overhead_us", kOverheadBound, 1e-6, link.overhead_at_most);
  if (table->Has("bandwidth_MBps")) {
    link.bandwidth = table->RequiredNumber("bandwidth_MBps") * 1e6;
    if (!(link.bandwidth >= kSmallestBandwidth * 1e6)) {
      table->Fail("bandwidth_MBps", "'bandwidth_MBps' must be positive, at least 0.001");
    }
  }
  if (const auto limit = table->Integer("eager_limit")) {
    if (*limit < 0) table->Fail("eager_limit", "'eager_limit' must not be negative");
    link.eager_limit = static_cast<std::uint64_t>(*limit);
  }
  if (const auto starts = table->String("starts")) {
    if (*starts != "send" && *starts != "receive") table->Fail("starts", "'starts' must be \"send\" or \"receive\"");
    link.starts_at_receive = *starts == "receive";
  }
  table->RefuseUnknownKeys();
  return link;
}

template <typename Value>
using Names = std::vector<std::pair<std::string, Value>>;

// As MPI calls them, in small letters; `create` stands for everything that makes communicators and other handles.
const Names<CollectiveKind> kKindNames = {
    {"allgather", CollectiveKind::kAllgather}, {"allreduce", CollectiveKind::kAllreduce},
    {"alltoall", CollectiveKind::kAlltoall},   {"barrier", CollectiveKind::kBarrier},
    {"bcast", CollectiveKind::kBroadcast},     {"create", CollectiveKind::kCreateHandle},
    {"exscan", CollectiveKind::kExscan},       {"gather", CollectiveKind::kGather},
    {"reduce", CollectiveKind::kReduce},       {"reduce_scatter", CollectiveKind::kReduceScatter},
    {"scan", CollectiveKind::kScan},           {"scatter", CollectiveKind::kScatter}};
const Names<CollectiveGrowth> kGrowthNames = {{"none", CollectiveGrowth::kNone},
                                              {"constant", CollectiveGrowth::kConstant},
                                              {"linear", CollectiveGrowth::kLinear},
                                              {"log", CollectiveGrowth::kLogarithmic}};
const Names<CollectiveSize> kSizeNames = {{"min", CollectiveSize::kMin},
                                          {"mean", CollectiveSize::kMean},
                                          {"max", CollectiveSize::kMax},
                                          {"2max", CollectiveSize::kTwiceMax},
                                          {"send+receive", CollectiveSize::kSendPlusReceive}};

template <typename Value>
Value ByName(const ConfigTable& table, const std::string& key, const std::string& name, const Names<Value>& values) {
  std::vector<std::string> names;
  for (const auto& [known, value] : values) {
    if (known == name) return value;
    names.push_back(known);
  }
  table.Fail(key, "unknown '" + name + "'", "there are " + Join(names, ", "));
}

// ["log", "max"]
CollectiveHalf ParseHalf(const ConfigTable& table, const std::string& key) {
  const auto words = table.IsString(key) ? std::nullopt : table.Strings(key);
  if (!words || words->empty() || words->size() > 2) {
    table.Fail(key, "'" + key + "' must be [growth, size] such as [\"log\", \"max\"], or [\"none\"]");
  }
  CollectiveHalf half;
  half.growth = ByName(table, key, words->front(), kGrowthNames);
  if (words->size() == 2) half.size = ByName(table, key, words->back(), kSizeNames);
  return half;
}

std::optional<int> ParseTransfers(const ConfigTable& table, const std::string& key) {
  const auto count = table.Integer(key);
  if (!count) return std::nullopt;
  if (*count < 1 || *count > kMostTransfers) table.Fail(key, "'" + key + "' must be a positive number of transfers");
  return static_cast<int>(*count);
}

// The shortest number that is `value` again once multiplied by the unit. Not every value has one; then the nearest.
std::string InUnit(double value, double unit) {
  const double exact = value / unit;
  for (int digits = 1; digits <= 17; ++digits) {
    const std::string text = fmt::format("{:.{}g}", exact, digits);
    double number = 0;
    if (ParseNumber(text, number) && number * unit == value) return FormatExact(number);
  }
  for (const double number : {std::nextafter(exact, 0.0), std::nextafter(exact, 2 * exact)}) {
    if (number * unit == value) return FormatExact(number);
  }
  return FormatExact(exact);
}

// As a TOML string.
std::string Quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : ToUtf8(text)) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) {
      quoted += fmt::format("\\u{:04X}", static_cast<unsigned>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

std::string BoundToml(const char* key, const std::optional<double>& bound, double unit) {
  if (!bound) return "";
  return fmt::format("{} = {}\n", key, std::isinf(*bound) ? "inf" : InUnit(*bound, unit));
}

// `standard`: what leaving keys out means.
std::string LinkToml(const Link& link, const Link& standard) {
  std::string text = fmt::format("latency_us = {}\n", InUnit(link.latency, 1e-6));
  if (std::isfinite(link.bandwidth)) {
    text += fmt::format("bandwidth_MBps = {}\n", InUnit(link.bandwidth, 1e6));
  } else if (std::isfinite(standard.bandwidth) || standard.bandwidth_at_least) {
    text += "bandwidth_MBps = inf\n";
  }
  text += fmt::format("overhead_us = {}\n", InUnit(link.overhead, 1e-6));
  text += BoundToml(kLatencyBound, link.latency_at_most, 1e-6);
  text += BoundToml(kBandwidthBound, link.bandwidth_at_least, 1e6);
  text += BoundToml(kOverheadBound, link.overhead_at_most, 1e-6);
  text += fmt::format("eager_limit = {}\n", link.eager_limit);
  if (link.starts_at_receive != standard.starts_at_receive) {
    text += fmt::format("starts = \"{}\"\n", link.starts_at_receive ? "receive" : "send");
  }
  return text;
}

template <typename Value>
std::string NameOf(Value value, const Names<Value>& names) {
  for (const auto& [name, known] : names) {
    if (known == value) return name;
  }
  return "";
}

std::string HalfToml(const CollectiveHalf& half) {
  const std::string growth = NameOf(half.growth, kGrowthNames);
  if (half == CollectiveHalf()) return fmt::format("[\"{}\"]", growth);
  return fmt::format("[\"{}\", \"{}\"]", growth, NameOf(half.size, kSizeNames));
}

double BytesFor(CollectiveSize size, const CollectiveBytes& bytes) {
  switch (size) {
    case CollectiveSize::kMin: return bytes.smallest;
    case CollectiveSize::kMean:  // equal ones are not rounded
      return bytes.smallest == bytes.largest ? bytes.largest : bytes.sum / static_cast<double>(bytes.ranks);
    case CollectiveSize::kMax: return bytes.largest;
    case CollectiveSize::kTwiceMax: return 2 * bytes.largest;
    case CollectiveSize::kSendPlusReceive: return bytes.largest_sum;
  }
  return 0;
}

double Steps(CollectiveGrowth growth, std::size_t ranks) {
  if (ranks < 2) return 0;
  switch (growth) {
    case CollectiveGrowth::kNone: return 0;
    case CollectiveGrowth::kConstant: return 1;
    case CollectiveGrowth::kLinear: return static_cast<double>(ranks - 1);
    case CollectiveGrowth::kLogarithmic: return std::ceil(std::log2(static_cast<double>(ranks)));
  }
  return 0;
}

}  // namespace

// On free links collectives take no time whatever their growth.
bool Network::IsIdeal() const {
  const auto is_free = [](const Link& l) { return l.latency == 0 && l.overhead == 0 && std::isinf(l.bandwidth); };
  return is_free(local) && is_free(remote) && !HasContention();
}

std::string DescribeUnknown(const Link& link) {
  std::vector<std::string> parts;
  const auto add = [&](const char* what, const std::optional<double>& at_most, double assumed) {
    if (!at_most) return;
    const std::string known = std::isinf(*at_most) ? "unknown" : "at most " + FormatSeconds(*at_most);
    parts.push_back(fmt::format("{} {} ({} assumed)", what, known, FormatSeconds(assumed)));
  };
  add("latency", link.latency_at_most, link.latency);
  if (link.bandwidth_at_least) {
    const double bound = *link.bandwidth_at_least;
    const std::string known =
        bound > 0 ? fmt::format("at least {} MB/s", FormatSignificant(bound / 1e6, 4)) : "unknown";
    const std::string assumed =
        std::isinf(link.bandwidth) ? "infinite" : FormatSignificant(link.bandwidth / 1e6, 4) + " MB/s";
    parts.push_back(fmt::format("bandwidth {} ({} assumed)", known, assumed));
  }
  add("overhead", link.overhead_at_most, link.overhead);
  return Join(parts, ", ");
}

Network IdealNetwork() {
  Network network;
  network.id = "ideal";
  network.name = "Ideal network";
  network.source = "no latency, no end of bandwidth; calls cost nothing";
  return network;
}

Network ParseNetwork(const std::string& text, const std::string& file, const std::string& id) {
  const ConfigTable root = ConfigTable::Parse(text, file);
  Network network;
  network.id = id;
  network.name = root.String("name").value_or(id);
  network.source = root.String("source").value_or("");
  network.remote = ParseLink(root, "remote", Link());
  network.local = ParseLink(root, "local", network.remote);
  if (const auto table = root.Table("collectives")) {
    for (const std::string& name : table->Keys()) {
      const auto found = std::ranges::find(kKindNames, name, &Names<CollectiveKind>::value_type::first);
      if (found == kKindNames.end()) {
        std::vector<std::string> known;
        for (const auto& [kind_name, kind] : kKindNames) known.push_back(kind_name);
        const std::string advice = DidYouMean(name, known);
        table->Fail(name, "unknown collective '" + name + "'",
                    advice.empty() ? "there are " + Join(known, ", ") : advice);
      }
      const auto cost = table->Table(name);
      if (!cost) table->Fail(name, "a collective needs { in = [growth, size], out = [growth, size] }");
      network.collectives[static_cast<std::size_t>(found->second)] = {ParseHalf(*cost, "in"), ParseHalf(*cost, "out")};
      cost->RefuseUnknownKeys();
    }
  }
  if (const auto contention = root.Table("contention")) {
    network.sending = ParseTransfers(*contention, "sending");
    network.receiving = ParseTransfers(*contention, "receiving");
    contention->RefuseUnknownKeys();
  }
  root.RefuseUnknownKeys();
  return network;
}

std::string WriteNetworkToml(const Network& network) {
  std::string text = fmt::format("name = {}\nsource = {}\n", Quoted(network.name), Quoted(network.source));
  text += "\n[remote]\n" + LinkToml(network.remote, Link());
  text += "\n[local]\n" + LinkToml(network.local, network.remote);
  std::string collectives;
  for (const auto& [name, kind] : kKindNames) {
    const CollectiveCost& cost = network.CostOf(kind);
    if (cost == CollectiveCost()) continue;
    collectives += fmt::format("{} = {{ in = {}, out = {} }}\n", name, HalfToml(cost.fan_in), HalfToml(cost.fan_out));
  }
  if (!collectives.empty()) text += "\n[collectives]\n" + collectives;
  if (network.HasContention()) text += "\n[contention]\n";
  if (network.sending) text += fmt::format("sending = {}\n", *network.sending);
  if (network.receiving) text += fmt::format("receiving = {}\n", *network.receiving);
  return text;
}

std::array<CollectiveCost, kCollectiveKinds> StandardCollectives() {
  const CollectiveHalf none, tree{CollectiveGrowth::kLogarithmic, CollectiveSize::kMax};
  const CollectiveHalf once{CollectiveGrowth::kConstant, CollectiveSize::kMax};
  std::array<CollectiveCost, kCollectiveKinds> costs{};
  const auto of = [&](CollectiveKind kind) -> CollectiveCost& { return costs[static_cast<std::size_t>(kind)]; };
  of(CollectiveKind::kBarrier) = of(CollectiveKind::kAllreduce) = of(CollectiveKind::kCreateHandle) = {tree, tree};
  of(CollectiveKind::kBroadcast) = of(CollectiveKind::kScatter) = {none, tree};
  of(CollectiveKind::kGather) = of(CollectiveKind::kReduce) = {tree, none};
  of(CollectiveKind::kScan) = of(CollectiveKind::kExscan) = {tree, none};
  of(CollectiveKind::kReduceScatter) = {tree, once};
  of(CollectiveKind::kAllgather) = {{CollectiveGrowth::kLinear, CollectiveSize::kMax}, none};
  of(CollectiveKind::kAlltoall) = {{CollectiveGrowth::kLinear, CollectiveSize::kMean}, none};
  return costs;
}

Network Scaled(Network network, double latency, double bandwidth) {
  for (Link* link : {&network.local, &network.remote}) {
    link->latency *= latency;
    link->bandwidth *= bandwidth;
    if (link->latency_at_most) *link->latency_at_most *= latency;
    if (link->bandwidth_at_least) *link->bandwidth_at_least *= bandwidth;
  }
  return network;
}

void CollectiveBytes::Add(double sent, double received) {
  const bool is_one_way = sent == 0 || received == 0;
  const double share = is_one_way ? std::max(sent, received) : std::min(sent, received);
  smallest = ranks == 0 ? share : std::min(smallest, share);
  largest = std::max(largest, share);
  largest_sum = std::max(largest_sum, sent + received);
  sum += share;
  ++ranks;
}

double CollectiveSeconds(const Network& network, CollectiveKind kind, bool is_local, const CollectiveBytes& bytes,
                         std::size_t processors) {
  const Link& link = is_local ? network.local : network.remote;
  double seconds = 0;
  for (const CollectiveHalf& half : {network.CostOf(kind).fan_in, network.CostOf(kind).fan_out}) {
    const double steps = Steps(half.growth, half.growth == CollectiveGrowth::kLogarithmic ? processors : bytes.ranks);
    if (steps > 0) seconds += steps * (link.latency + link.TransferSeconds(BytesFor(half.size, bytes)));
  }
  return seconds;
}

bool ReplayRules::IsRendezvous(MpiCall call, std::uint64_t bytes, std::uint64_t limit) const {
  switch (call) {
    case MpiCall::kBufferedSend:
    case MpiCall::kImmediateBufferedSend: return false;  // completes locally, whatever its size [MPI 4.0, 3.4]
    case MpiCall::kWindowPost:
    case MpiCall::kWindowComplete: return false;  // only announce
    case MpiCall::kCollective:
    case MpiCall::kImmediateCollective: return false;  // among neighbours: each waits for what it receives
    case MpiCall::kSynchronousSend:
    case MpiCall::kImmediateSynchronousSend: return set == RuleSet::kCausal || bytes >= limit;
    default: return bytes >= limit;
  }
}

std::string ToString(RuleSet set) { return set == RuleSet::kBsc ? "bsc" : "causal"; }

}  // namespace farscale
