#include "support/spmd_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "trace/operations.h"

namespace farscale::test {
namespace {

constexpr const char* kFunctions[] = {"MPI_Send",     "MPI_Recv",    "MPI_Isend",     "MPI_Irecv",
                                      "MPI_Sendrecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast"};

// What the calls of a rank do, without their times.
std::vector<std::string> CallsOf(const Trace& trace, std::size_t rank) {
  const RankTimeline& timeline = trace.timelines[rank];
  std::vector<std::string> calls;
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    std::vector<std::string> parts;
    for (std::size_t record = timeline.first_record(call); record < timeline.first_record(call + 1); ++record) {
      const RankTimeline::Record of = timeline.record(record);
      const OperationPart part = PartOf(of.kind);
      std::string text = fmt::format("{}", static_cast<int>(of.kind));
      const bool says = part.type == OperationClass::kSend ? part.posts : part.completes;
      if (says && part.IsCollective()) {
        const CollectiveType& type = timeline.collective_types()[of.target];
        text += fmt::format(" kind {} root {} of {} ranks, {} B", static_cast<int>(type.kind), type.root,
                            trace.communicators[type.communicator].members.size(), of.bytes);
      } else if (says) {
        const Endpoint& endpoint = timeline.endpoints()[of.target];
        text += fmt::format(" peer {} tag {} {} B", endpoint.peer, endpoint.tag, of.bytes);
      }
      parts.push_back(std::move(text));
    }
    std::ranges::sort(parts);  // of a wait, in any order
    calls.push_back(fmt::format("{} [{}]", trace.regions[timeline.region(call)].name, fmt::join(parts, "; ")));
  }
  return calls;
}

}  // namespace

SpmdRank::SpmdRank(TraceBuilder& definitions, const std::map<std::string, std::uint32_t>& functions, std::int32_t rank,
                   std::int32_t ranks)
    : functions_(functions), builder_(definitions.definitions(), rank), rank_(rank), ranks_(ranks) {}

template <typename Records>
void SpmdRank::Call(const std::string& function, const Records& records) {
  builder_.Enter(tick_, functions_.at(function));
  records();
  builder_.Leave(tick_, functions_.at(function));
}

void SpmdRank::BeginIteration() { builder_.Enter(tick_, functions_.at("step")); }
void SpmdRank::EndIteration() { builder_.Leave(tick_, functions_.at("step")); }
void SpmdRank::BeginSweep() { builder_.Enter(tick_, functions_.at("sweep")); }
void SpmdRank::EndSweep() { builder_.Leave(tick_, functions_.at("sweep")); }

void SpmdRank::Send(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Send", [&] { builder_.Send(static_cast<std::uint32_t>(peer), 0, tag, bytes); });
}

void SpmdRank::Receive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Recv", [&] { builder_.Receive(static_cast<std::uint32_t>(peer), 0, tag, bytes); });
}

void SpmdRank::PostSend(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  pending_.push_back({true, peer, tag, bytes, ++requests_});
  Call("MPI_Isend", [&] { builder_.SendPost(static_cast<std::uint32_t>(peer), 0, tag, bytes, requests_); });
}

void SpmdRank::PostReceive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  pending_.push_back({false, peer, tag, bytes, ++requests_});
  Call("MPI_Irecv", [&] { builder_.ReceivePost(requests_); });
}

void SpmdRank::SendReceive(std::int32_t to, std::int32_t from, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Sendrecv", [&] {
    if (to >= 0) builder_.Send(static_cast<std::uint32_t>(to), 0, tag, bytes);
    if (from >= 0) builder_.Receive(static_cast<std::uint32_t>(from), 0, tag, bytes);
  });
}

void SpmdRank::WaitAll() {
  Call("MPI_Waitall", [&] {
    for (const Posted& one : pending_) {
      if (one.is_send) {
        builder_.SendComplete(one.request);
      } else {
        builder_.ReceiveComplete(static_cast<std::uint32_t>(one.peer), 0, one.tag, one.bytes, one.request);
      }
    }
    pending_.clear();
  });
}

void SpmdRank::AllReduce(std::uint64_t bytes) {
  Call("MPI_Allreduce", [&] { builder_.Collective(CollectiveKind::kAllreduce, 0, std::nullopt, bytes, bytes); });
}

void SpmdRank::Broadcast(std::int32_t root, std::uint64_t bytes) {
  Call("MPI_Bcast", [&] {
    builder_.Collective(CollectiveKind::kBroadcast, 0, static_cast<std::uint32_t>(root), rank_ == root ? bytes : 0,
                        rank_ == root ? 0 : bytes);
  });
}

Trace RunSpmd(std::int32_t ranks, const std::function<void(SpmdRank&)>& program) {
  TraceBuilder builder;
  std::map<std::string, std::uint32_t> functions;
  for (const char* name : kFunctions) functions[name] = builder.AddRegion(name);
  functions["step"] = builder.AddRegion("step");
  functions["sweep"] = builder.AddRegion("sweep");
  builder.AddWorld(ranks);
  std::deque<SpmdRank> all;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    program(all.emplace_back(builder, functions, rank, ranks));
    builder.SetTimeline(all.back().builder());
  }
  return std::move(builder).Finish();
}

std::string CallDifference(const Trace& a, const Trace& b) {
  if (a.size() != b.size()) return fmt::format("{} ranks and {}", a.size(), b.size());
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const std::vector<std::string> x = CallsOf(a, rank), y = CallsOf(b, rank);
    for (std::size_t call = 0; call < std::min(x.size(), y.size()); ++call) {
      if (x[call] != y[call]) return fmt::format("rank {}, call {}: {} and {}", rank, call, x[call], y[call]);
    }
    if (x.size() != y.size()) return fmt::format("rank {}: {} calls and {}", rank, x.size(), y.size());
  }
  return "";
}

}  // namespace farscale::test
