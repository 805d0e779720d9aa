#include "support/spmd_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>

#include "trace/trace.h"

namespace farscale::test {
namespace {

constexpr const char* kFunctions[] = {"MPI_Send",     "MPI_Recv",    "MPI_Isend",     "MPI_Irecv",
                                      "MPI_Sendrecv", "MPI_Waitall", "MPI_Allreduce", "MPI_Bcast",
                                      "MPI_Alltoall", "MPI_Gather",  "MPI_Allgather"};

// Of every communicator.
std::vector<std::string> MembersIn(const Trace& trace) {
  std::vector<std::string> texts;
  for (const Communicator& communicator : trace.communicators) {
    std::vector<std::int32_t> members = communicator.members;
    std::ranges::sort(members);
    texts.push_back(members.size() == trace.size() ? "among all" : fmt::format("among {}", fmt::join(members, " ")));
  }
  return texts;
}

// What the calls of a rank do, without their times.
std::vector<std::string> CallsOf(const Trace& trace, const std::vector<std::string>& members, std::size_t rank) {
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
        text += fmt::format(" kind {} root {} {}, {} B, {} B", static_cast<int>(type.kind), type.root,
                            members[type.communicator], of.bytes, of.received);
      } else if (says) {
        const Endpoint& endpoint = timeline.endpoints()[of.target];
        text += fmt::format(" peer {} tag {} {} {} B", endpoint.peer, endpoint.tag, members[endpoint.communicator],
                            of.bytes);
      }
      parts.push_back(std::move(text));
    }
    std::ranges::sort(parts);  // of a wait, in any order
    calls.push_back(fmt::format("{} [{}]", trace.regions[timeline.region(call)].name, fmt::join(parts, "; ")));
  }
  return calls;
}

}  // namespace

SpmdRank::SpmdRank(SpmdDefinitions& definitions, std::int32_t rank, std::int32_t ranks)
    : definitions_(definitions), builder_(definitions.builder.definitions(), rank), rank_(rank), ranks_(ranks) {}

void SpmdRank::Use(const std::vector<std::int32_t>& members) {
  members_ = members;
  communicator_ = 0;
  if (members.empty()) return;
  const auto [found, is_new] = definitions_.communicators.try_emplace(members);
  if (is_new) found->second = definitions_.builder.AddCommunicator({"made", members, {}, false});
  communicator_ = found->second;
}

std::uint32_t SpmdRank::Local(std::int32_t world_rank) const {
  if (members_.empty()) return static_cast<std::uint32_t>(world_rank);
  return static_cast<std::uint32_t>(std::ranges::find(members_, world_rank) - members_.begin());
}

template <typename Records>
void SpmdRank::Call(const std::string& function, const Records& records) {
  builder_.Enter(tick_, definitions_.functions.at(function));
  records();
  builder_.Leave(tick_, definitions_.functions.at(function));
}

void SpmdRank::BeginIteration() { builder_.Enter(tick_, definitions_.functions.at("step")); }
void SpmdRank::EndIteration() { builder_.Leave(tick_, definitions_.functions.at("step")); }
void SpmdRank::BeginSweep() { builder_.Enter(tick_, definitions_.functions.at("sweep")); }
void SpmdRank::EndSweep() { builder_.Leave(tick_, definitions_.functions.at("sweep")); }

void SpmdRank::Send(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Send", [&] { builder_.Send(Local(peer), communicator_, tag, bytes); });
}

void SpmdRank::Receive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Recv", [&] { builder_.Receive(Local(peer), communicator_, tag, bytes); });
}

void SpmdRank::PostSend(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  pending_.push_back({true, peer, communicator_, tag, bytes, ++requests_});
  Call("MPI_Isend", [&] { builder_.SendPost(Local(peer), communicator_, tag, bytes, requests_); });
}

void SpmdRank::PostReceive(std::int32_t peer, std::uint64_t bytes, std::uint32_t tag) {
  pending_.push_back({false, static_cast<std::int32_t>(Local(peer)), communicator_, tag, bytes, ++requests_});
  Call("MPI_Irecv", [&] { builder_.ReceivePost(requests_); });
}

void SpmdRank::SendReceive(std::int32_t to, std::int32_t from, std::uint64_t bytes, std::uint32_t tag) {
  Call("MPI_Sendrecv", [&] {
    if (to >= 0) builder_.Send(Local(to), communicator_, tag, bytes);
    if (from >= 0) builder_.Receive(Local(from), communicator_, tag, bytes);
  });
}

void SpmdRank::WaitAll() {
  Call("MPI_Waitall", [&] {
    for (const Posted& one : pending_) {
      if (one.is_send) {
        builder_.SendComplete(one.request);
      } else {
        builder_.ReceiveComplete(static_cast<std::uint32_t>(one.peer), one.communicator, one.tag, one.bytes,
                                 one.request);
      }
    }
    pending_.clear();
  });
}

void SpmdRank::AllReduce(std::uint64_t bytes) {
  Call("MPI_Allreduce",
       [&] { builder_.Collective(CollectiveKind::kAllreduce, communicator_, std::nullopt, bytes, bytes); });
}

void SpmdRank::Broadcast(std::int32_t root, std::uint64_t bytes) {
  Call("MPI_Bcast", [&] {
    builder_.Collective(CollectiveKind::kBroadcast, communicator_, Local(root), rank_ == root ? bytes : 0,
                        rank_ == root ? 0 : bytes);
  });
}

void SpmdRank::AllToAll(std::uint64_t bytes) {
  Call("MPI_Alltoall",
       [&] { builder_.Collective(CollectiveKind::kAlltoall, communicator_, std::nullopt, bytes, bytes); });
}

void SpmdRank::Gather(std::int32_t root, std::uint64_t bytes) {
  Call("MPI_Gather", [&] {
    builder_.Collective(CollectiveKind::kGather, communicator_, Local(root), bytes,
                        rank_ == root ? bytes * Members() : 0);
  });
}

void SpmdRank::AllGather(std::uint64_t bytes) {
  Call("MPI_Allgather",
       [&] { builder_.Collective(CollectiveKind::kAllgather, communicator_, std::nullopt, bytes, bytes * Members()); });
}

Trace RunSpmd(std::int32_t ranks, const std::function<void(SpmdRank&)>& program) {
  SpmdDefinitions definitions;
  for (const char* name : kFunctions) definitions.functions[name] = definitions.builder.AddRegion(name);
  for (const char* name : {"step", "sweep"}) definitions.functions[name] = definitions.builder.AddRegion(name);
  definitions.builder.AddWorld(ranks);
  std::deque<SpmdRank> all;
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    program(all.emplace_back(definitions, rank, ranks));
    definitions.builder.SetTimeline(all.back().builder());
  }
  return std::move(definitions.builder).Finish();
}

std::string CallDifference(const Trace& a, const Trace& b) {
  if (a.size() != b.size()) return fmt::format("{} ranks and {}", a.size(), b.size());
  const std::vector<std::string> members_of_a = MembersIn(a), members_of_b = MembersIn(b);
  for (std::size_t rank = 0; rank < a.size(); ++rank) {
    const std::vector<std::string> x = CallsOf(a, members_of_a, rank), y = CallsOf(b, members_of_b, rank);
    for (std::size_t call = 0; call < std::min(x.size(), y.size()); ++call) {
      if (x[call] != y[call]) return fmt::format("rank {}, call {}: {} and {}", rank, call, x[call], y[call]);
    }
    if (x.size() != y.size()) return fmt::format("rank {}: {} calls and {}", rank, x.size(), y.size());
  }
  return "";
}

}  // namespace farscale::test
