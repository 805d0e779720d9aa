#include "support/clocked_program.h"

#include <algorithm>

namespace farscale::test {
namespace {

constexpr Tick kLatency = 50;

}  // namespace

ClockedProgram::ClockedProgram(int ranks, std::uint64_t seed, double noise)
    : random_(seed), noise_(noise), clocks_(static_cast<std::size_t>(ranks)) {
  world_ = builder_.AddWorld(ranks);
  builder_.trace().path = "program";
  builder_.trace().program = "program";
  for (int rank = 0; rank < ranks; ++rank) {
    ranks_.push_back(std::make_unique<RankBuilder>(builder_.definitions(), rank));
  }
}

double ClockedProgram::Chance() {
  random_ = random_ * 6364136223846793005u + 1442695040888963407u;
  return static_cast<double>(random_ >> 40) / static_cast<double>(1 << 24);
}

std::uint32_t ClockedProgram::RegionOf(const std::string& name) {
  const auto [entry, is_new] = regions_.try_emplace(name, 0);
  if (is_new) entry->second = builder_.AddRegion(name);
  return entry->second;
}

std::uint32_t ClockedProgram::CommunicatorOf(const std::vector<int>& ranks) {
  if (ranks.empty()) return world_;
  const auto [entry, is_new] = communicators_.try_emplace(ranks, 0);
  if (is_new) {
    Communicator communicator;
    communicator.name = "part";
    communicator.members.assign(ranks.begin(), ranks.end());
    entry->second = builder_.AddCommunicator(std::move(communicator));
  }
  return entry->second;
}

void ClockedProgram::Enter(int rank, const std::string& region) { Of(rank).Enter(Clock(rank), RegionOf(region)); }
void ClockedProgram::Leave(int rank, const std::string& region) { Of(rank).Leave(Clock(rank), RegionOf(region)); }

void ClockedProgram::Compute(int rank, double ticks, const std::string& region) {
  if (!region.empty()) Enter(rank, region);
  Clock(rank) += static_cast<Tick>(ticks * (1 + noise_ * Chance()));
  if (!region.empty()) Leave(rank, region);
}

void ClockedProgram::EnterCall(int rank, const std::string& function) {
  Of(rank).Enter(Clock(rank), RegionOf(function));
}

void ClockedProgram::LeaveCall(int rank, const std::string& function, Tick tick) {
  Clock(rank) = tick;
  Of(rank).Leave(tick, RegionOf(function));
}

void ClockedProgram::Send(int from, int to, std::uint64_t bytes) {
  EnterCall(from, "MPI_Send");
  Of(from).Send(static_cast<std::uint32_t>(to), world_, 0, bytes);
  sent_[{from, to}].push_back(Clock(from));
  LeaveCall(from, "MPI_Send", Clock(from) + 2);
}

void ClockedProgram::Receive(int from, int to, std::uint64_t bytes) {
  std::vector<Tick>& sent = sent_[{from, to}];
  EnterCall(to, "MPI_Recv");
  Of(to).Receive(static_cast<std::uint32_t>(from), world_, 0, bytes);
  const Tick arrival = sent.at(0) + kLatency;
  sent.erase(sent.begin());
  LeaveCall(to, "MPI_Recv", std::max(Clock(to) + 2, arrival));
}

void ClockedProgram::Shift(const std::vector<int>& ranks, const std::vector<std::pair<int, int>>& to_and_from) {
  std::vector<Tick> posted = clocks_;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const auto [to, from] = to_and_from[i];
    Tick leave = Clock(ranks[i]) + 2;
    EnterCall(ranks[i], "MPI_Sendrecv");
    if (to >= 0) Of(ranks[i]).Send(static_cast<std::uint32_t>(to), world_, 1, 500);
    if (from >= 0) {
      Of(ranks[i]).Receive(static_cast<std::uint32_t>(from), world_, 1, 500);
      leave = std::max(leave, posted[static_cast<std::size_t>(from)] + kLatency);
    }
    LeaveCall(ranks[i], "MPI_Sendrecv", leave);
  }
}

void ClockedProgram::Exchange(const std::vector<std::vector<int>>& neighbours) {
  std::vector<Tick> posted(clocks_.size());
  std::uint64_t request = 0;
  for (int rank = 0; rank < ranks(); ++rank) {
    request = 0;
    for (std::size_t i = 0; i < neighbours[static_cast<std::size_t>(rank)].size(); ++i) {
      EnterCall(rank, "MPI_Irecv");
      Of(rank).ReceivePost(request++);
      LeaveCall(rank, "MPI_Irecv", Clock(rank) + 1);
    }
    for (const int peer : neighbours[static_cast<std::size_t>(rank)]) {
      EnterCall(rank, "MPI_Isend");
      Of(rank).SendPost(static_cast<std::uint32_t>(peer), world_, 2, 500, request++);
      LeaveCall(rank, "MPI_Isend", Clock(rank) + 1);
    }
    posted[static_cast<std::size_t>(rank)] = Clock(rank);
  }
  for (int rank = 0; rank < ranks(); ++rank) {
    const std::vector<int>& peers = neighbours[static_cast<std::size_t>(rank)];
    if (peers.empty()) continue;
    EnterCall(rank, "MPI_Waitall");
    Tick leave = Clock(rank) + 2;
    for (std::size_t i = 0; i < peers.size(); ++i) {
      Of(rank).ReceiveComplete(static_cast<std::uint32_t>(peers[i]), world_, 2, 500, i);
      Of(rank).SendComplete(peers.size() + i);
      leave = std::max(leave, posted[static_cast<std::size_t>(peers[i])] + kLatency);
    }
    LeaveCall(rank, "MPI_Waitall", leave);
  }
}

void ClockedProgram::Collective(const std::string& function, CollectiveKind kind, const std::vector<int>& ranks) {
  const std::uint32_t communicator = CommunicatorOf(ranks);
  std::vector<int> members = ranks;
  for (int rank = 0; ranks.empty() && rank < this->ranks(); ++rank) members.push_back(rank);
  const bool has_root = kind == CollectiveKind::kBroadcast || kind == CollectiveKind::kReduce ||
                        kind == CollectiveKind::kGather || kind == CollectiveKind::kScatter;
  Tick latest = 0;
  for (const int rank : members) latest = std::max(latest, Clock(rank));
  for (const int rank : members) {
    EnterCall(rank, function);
    Of(rank).Collective(kind, communicator, has_root ? std::optional<std::uint32_t>(0) : std::nullopt, 8, 8);
    LeaveCall(rank, function, latest + kLatency);
  }
}

void ClockedProgram::Call(int rank, const std::string& function, double ticks) {
  EnterCall(rank, function);
  LeaveCall(rank, function, Clock(rank) + static_cast<Tick>(ticks));
}

Trace ClockedProgram::Finish() {
  for (const auto& rank : ranks_) builder_.SetTimeline(*rank);
  return std::move(builder_).Finish();
}

}  // namespace farscale::test
