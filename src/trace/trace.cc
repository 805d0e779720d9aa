#include "trace/trace.h"

#include <algorithm>
#include <functional>
#include <ranges>
#include <set>
#include <utility>

namespace farscale {
namespace {

template <typename Element>
std::uint64_t Bytes(const std::vector<Element>& elements) {
  return elements.capacity() * sizeof(Element);
}

}  // namespace

PackedColumn& PackedColumn::operator=(const PackedColumn& other) {
  if (this == &other) return *this;
  size_ = other.size_;
  words_ = other.words_;
  Allocate();
  std::copy_n(other.data_.get(), DataWords(), data_.get());
  return *this;
}

void PackedColumnBuilder::PackPending(std::size_t count) {
  const auto [smallest, largest] = std::minmax_element(pending_.get(), pending_.get() + count);
  const auto base = static_cast<std::uint64_t>(*smallest);
  // A value of up to 57 bits lies within the 8 bytes that begin at its first byte, wherever its first bit is; wider
  // ones take a whole word each.
  const auto bits = static_cast<std::uint32_t>(std::bit_width(static_cast<std::uint64_t>(*largest) - base));
  const std::uint32_t width = bits > 57 ? 64 : bits;
  const std::size_t first = words_.size();
  blocks_.push_back({*smallest, static_cast<std::uint32_t>(first), width});
  words_.resize(first + (count * width + 63) / 64);
  for (std::size_t i = 0; i < count && width > 0; ++i) {
    const std::uint64_t distance = static_cast<std::uint64_t>(pending_[i]) - base;
    const std::uint64_t bit = static_cast<std::uint64_t>(width) * i;
    const std::uint64_t shift = bit % 64;
    words_[first + bit / 64] |= distance << shift;
    if (shift + width > 64) words_[first + bit / 64 + 1] |= distance >> (64 - shift);
  }
}

PackedColumn PackedColumnBuilder::Finish() {
  if (size_ % PackedColumn::kBlock != 0) PackPending(size_ % PackedColumn::kBlock);
  pending_.reset();
  PackedColumn column;
  column.size_ = std::exchange(size_, 0);
  column.words_ = static_cast<std::uint32_t>(words_.size());
  column.Allocate();
  std::ranges::copy(words_, column.data_.get());
  std::uint64_t* next = column.data_.get() + words_.size();
  for (const PackedColumn::Block& block : blocks_) {
    std::memcpy(next, &block, sizeof block);
    next += PackedColumn::kWordsOfBlock;
  }
  words_ = {};
  blocks_ = {};
  return column;
}

double RankTimeline::counter_in_call(std::size_t counter, std::size_t call) const {
  const CounterData& data = counters_[counter];
  if (data.is_double) return counter_at_leave(counter, call) - counter_at_enter(counter, call);
  return static_cast<double>(data.in_call[call]);
}

double RankTimeline::counter_before_call(std::size_t counter, std::size_t call) const {
  const CounterData& data = counters_[counter];
  const std::size_t events = region_events();
  std::int64_t from = 0, to = 0;
  if (call > 0) {
    from = raw_counter_at_leave(counter, call - 1);
  } else if (events > 0 && columns_.event_call[0] == 0) {
    from = data.at_event[0];
  } else {
    return 0;  // the rank begins with this call
  }
  if (call < calls()) {
    to = data.at_enter[call];
  } else if (events > 0 && static_cast<std::size_t>(columns_.event_call[events - 1]) == calls()) {
    to = data.at_event[events - 1];
  } else {
    return 0;  // and ends with the one before
  }
  if (data.is_double) return std::bit_cast<double>(to) - std::bit_cast<double>(from);
  // Samples of any size: the difference wraps around as they do.
  return static_cast<double>(
      static_cast<std::int64_t>(static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from)));
}

std::uint64_t RankTimeline::MemoryBytes() const {
  std::uint64_t bytes = sizeof *this;
  bytes += std::apply([](const auto&... column) { return (column.MemoryBytes() + ...); }, AllOf(columns_));
  bytes += Bytes(counters_);
  for (const CounterData& data : counters_) {
    bytes += data.at_enter.MemoryBytes() + data.in_call.MemoryBytes() + data.at_event.MemoryBytes();
  }
  if (rare_ != nullptr) bytes += sizeof *rare_ + Bytes(pauses()) + Bytes(lock_epochs()) + Bytes(interruptions());
  return bytes + Bytes(endpoints_) + Bytes(collective_types_);
}

Tick Trace::begin() const {
  auto recorded = timelines | std::views::filter(std::not_fn(&RankTimeline::empty));
  return recorded.empty() ? 0 : std::ranges::min(recorded | std::views::transform(&RankTimeline::begin));
}

Tick Trace::end() const {
  auto recorded = timelines | std::views::filter(std::not_fn(&RankTimeline::empty));
  return recorded.empty() ? 0 : std::ranges::max(recorded | std::views::transform(&RankTimeline::end));
}

int Trace::threads() const {
  return ranks.empty() ? 1 : std::max(1, std::ranges::max(ranks, {}, &Rank::threads).threads);
}

bool Trace::IsCutOut() const { return std::ranges::any_of(regions, &Region::is_outside); }

std::optional<std::size_t> Trace::FindCounter(std::string_view name) const {
  const auto found = std::ranges::find(counters, name, &Counter::name);
  if (found == counters.end()) return std::nullopt;
  return static_cast<std::size_t>(found - counters.begin());
}

std::vector<std::string> Trace::UserRegionNames() const {
  std::set<std::string> names;
  for (const Region& region : regions) {
    if (region.IsUser()) names.insert(region.name);
  }
  return {names.begin(), names.end()};
}

std::uint64_t Trace::MemoryBytes() const {
  std::uint64_t bytes = sizeof *this + Bytes(nodes) + Bytes(ranks) + Bytes(regions) + Bytes(counters);
  for (const Communicator& communicator : communicators) {
    bytes += sizeof communicator + Bytes(communicator.members) + Bytes(communicator.remote);
  }
  for (const CartesianTopology& topology : topologies) bytes += sizeof topology + Bytes(topology.places);
  for (const RankTimeline& timeline : timelines) bytes += timeline.MemoryBytes();
  for (const WorkerThread& worker : team_threads.workers) {
    bytes += worker.timeline.MemoryBytes() + Bytes(worker.team_events);
  }
  for (const std::vector<TeamEvent>& of_rank : team_threads.of_ranks) bytes += Bytes(of_rank);
  for (const Device& device : devices) {
    for (const DeviceWork& work : device.of_ranks) bytes += sizeof work + Bytes(work.kernels) + Bytes(work.active);
  }
  return bytes;
}

}  // namespace farscale
