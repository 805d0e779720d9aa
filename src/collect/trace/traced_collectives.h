// Collectives, with the bytes that a rank sends and receives as Score-P counts them: what a root sends or receives
// counts once for every rank. One description of a collective serves its blocking and its non-blocking function, with
// counts of type int and of type MPI_Count.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
#include <memory>
#include <utility>
#include <vector>

#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"

namespace farscale::collect {

inline std::uint64_t Bytes(std::int64_t count, MPI_Datatype type) {
  int size = 0;
  if (count <= 0 || PMPI_Type_size(type, &size) != MPI_SUCCESS || size < 0) return 0;
  return static_cast<std::uint64_t>(count) * static_cast<std::uint64_t>(size);
}

// A rank that takes part in a collective. Arguments that only the root needs may be anything elsewhere.
struct Participant {
  const TracedCommunicator& communicator;
  bool is_root;

  std::uint64_t All(std::uint64_t bytes) const { return static_cast<std::uint64_t>(communicator.size) * bytes; }
  std::uint64_t Own(const auto* counts, MPI_Datatype type) const { return Bytes(counts[communicator.rank], type); }
  std::uint64_t Sum(const auto* counts, MPI_Datatype type) const {
    std::uint64_t sum = 0;
    for (int i = 0; i < communicator.size; ++i) sum += Bytes(counts[i], type);
    return sum;
  }
  std::uint64_t Sum(const auto* counts, const MPI_Datatype* types) const {
    std::uint64_t sum = 0;
    for (int i = 0; i < communicator.size; ++i) sum += Bytes(counts[i], types[i]);
    return sum;
  }
};

template <typename SizesOf>
struct Collective {
  OTF2_CollectiveOp operation;
  bool has_root;
  SizesOf sizes_of;  // CollectiveSizes of a participant and the arguments of the MPI function
};
template <typename SizesOf>
Collective(OTF2_CollectiveOp, bool, SizesOf) -> Collective<SizesOf>;

// With MPI_IN_PLACE, what a rank contributes is in the other buffer.
inline constexpr Collective kBarrier{OTF2_COLLECTIVE_OP_BARRIER, false,
                                     [](const Participant&, auto...) { return CollectiveSizes{}; }};
inline constexpr Collective kBcast{
    OTF2_COLLECTIVE_OP_BCAST, true,
    [](const Participant& own, const void*, auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {own.is_root ? own.All(Bytes(count, type)) : 0, Bytes(count, type)};
    }};

inline constexpr Collective kGather{OTF2_COLLECTIVE_OP_GATHER, true,
                                    [](const Participant& own, const void* out, auto out_count, MPI_Datatype out_type,
                                       const void*, auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
                                      return {out == MPI_IN_PLACE ? Bytes(count, type) : Bytes(out_count, out_type),
                                              own.is_root ? own.All(Bytes(count, type)) : 0};
                                    }};
inline constexpr Collective kGatherv{
    OTF2_COLLECTIVE_OP_GATHERV, true,
    [](const Participant& own, const void* out, auto out_count, MPI_Datatype out_type, const void*, const auto* counts,
       const auto*, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {out == MPI_IN_PLACE ? own.Own(counts, type) : Bytes(out_count, out_type),
              own.is_root ? own.Sum(counts, type) : 0};
    }};

inline constexpr Collective kScatter{OTF2_COLLECTIVE_OP_SCATTER, true,
                                     [](const Participant& own, const void*, auto out_count, MPI_Datatype out_type,
                                        const void* buffer, auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
                                       return {
                                           own.is_root ? own.All(Bytes(out_count, out_type)) : 0,
                                           buffer == MPI_IN_PLACE ? Bytes(out_count, out_type) : Bytes(count, type)};
                                     }};
inline constexpr Collective kScatterv{
    OTF2_COLLECTIVE_OP_SCATTERV, true,
    [](const Participant& own, const void*, const auto* counts, const auto*, MPI_Datatype out_type, const void* buffer,
       auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {own.is_root ? own.Sum(counts, out_type) : 0,
              buffer == MPI_IN_PLACE ? own.Own(counts, out_type) : Bytes(count, type)};
    }};

// MPI_Allgather and MPI_Alltoall.
inline constexpr auto kSizesOfEqualParts = [](const Participant& own, const void* out, auto out_count,
                                              MPI_Datatype out_type, const void*, auto count, MPI_Datatype type,
                                              auto...) -> CollectiveSizes {
  return {own.All(out == MPI_IN_PLACE ? Bytes(count, type) : Bytes(out_count, out_type)), own.All(Bytes(count, type))};
};
inline constexpr Collective kAllgather{OTF2_COLLECTIVE_OP_ALLGATHER, false, kSizesOfEqualParts};
inline constexpr Collective kAllgatherv{
    OTF2_COLLECTIVE_OP_ALLGATHERV, false,
    [](const Participant& own, const void* out, auto out_count, MPI_Datatype out_type, const void*, const auto* counts,
       const auto*, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {own.All(out == MPI_IN_PLACE ? own.Own(counts, type) : Bytes(out_count, out_type)), own.Sum(counts, type)};
    }};

inline constexpr Collective kAlltoall{OTF2_COLLECTIVE_OP_ALLTOALL, false, kSizesOfEqualParts};
// MPI_Alltoallv with a type for all parts, MPI_Alltoallw with one for each.
inline constexpr auto kSizesOfParts = [](const Participant& own, const void* out, const auto* out_counts, const auto*,
                                         auto out_types, const void*, const auto* counts, const auto*, auto types,
                                         auto...) -> CollectiveSizes {
  return {out == MPI_IN_PLACE ? own.Sum(counts, types) : own.Sum(out_counts, out_types), own.Sum(counts, types)};
};
inline constexpr Collective kAlltoallv{OTF2_COLLECTIVE_OP_ALLTOALLV, false, kSizesOfParts};
inline constexpr Collective kAlltoallw{OTF2_COLLECTIVE_OP_ALLTOALLW, false, kSizesOfParts};

// Every rank gives as much as it gets.
inline constexpr auto kSizesOfBuffer = [](const Participant&, const void*, const void*, auto count, MPI_Datatype type,
                                          auto...) -> CollectiveSizes {
  return {Bytes(count, type), Bytes(count, type)};
};
inline constexpr Collective kAllreduce{OTF2_COLLECTIVE_OP_ALLREDUCE, false, kSizesOfBuffer};
inline constexpr Collective kScan{OTF2_COLLECTIVE_OP_SCAN, false, kSizesOfBuffer};
inline constexpr Collective kExscan{OTF2_COLLECTIVE_OP_EXSCAN, false, kSizesOfBuffer};
inline constexpr Collective kReduce{
    OTF2_COLLECTIVE_OP_REDUCE, true,
    [](const Participant& own, const void*, const void*, auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {Bytes(count, type), own.is_root ? Bytes(count, type) : 0};
    }};
inline constexpr Collective kReduceScatter{OTF2_COLLECTIVE_OP_REDUCE_SCATTER, false,
                                           [](const Participant& own, const void*, const void*, const auto* counts,
                                              MPI_Datatype type, auto...) -> CollectiveSizes {
                                             return {own.Sum(counts, type), own.Own(counts, type)};
                                           }};
inline constexpr Collective kReduceScatterBlock{
    OTF2_COLLECTIVE_OP_REDUCE_SCATTER_BLOCK, false,
    [](const Participant& own, const void*, const void*, auto count, MPI_Datatype type, auto...) -> CollectiveSizes {
      return {own.All(Bytes(count, type)), Bytes(count, type)};
    }};

// As under the rules `bsc` [docs/formulas.md, rules].
inline ClockWait WaitOf(OTF2_CollectiveOp operation, const Participant& own) {
  if (operation == OTF2_COLLECTIVE_OP_SCAN || operation == OTF2_COLLECTIVE_OP_EXSCAN) return ClockWait::kLower;
  return operation == OTF2_COLLECTIVE_OP_REDUCE && !own.is_root ? ClockWait::kNothing : ClockWait::kAll;
}

// The communicator is the last argument of a blocking function and the last but the request of a non-blocking one; a
// root stands before it.
template <const auto& kCollective>
int TracedCollective(auto function, auto... arguments) {
  const auto all = std::tie(arguments...);
  constexpr std::size_t kLast = sizeof...(arguments) - 1;
  constexpr bool kIsBlocking =
      !std::is_same_v<std::tuple_element_t<kLast, std::tuple<decltype(arguments)...>>, MPI_Request*>;
  constexpr std::size_t kCommunicator = kIsBlocking ? kLast : kLast - 1;
  int root = std::numeric_limits<int>::min();
  if constexpr (kCollective.has_root) root = std::get<kCommunicator - 1>(all);
  const MPI_Comm in = std::get<kCommunicator>(all);
  const std::uint32_t recorded_root =
      kCollective.has_root ? static_cast<std::uint32_t>(root) : OTF2_COLLECTIVE_ROOT_NONE;
  if constexpr (kIsBlocking) {
    const TracedCommunicator* found = FindForCollective(in, kCollective.has_root);
    if (found == nullptr) return function(arguments...);
    const TracedCommunicator communicator = *found;
    const Participant own{communicator, kCollective.has_root && communicator.rank == root};
    Record(OTF2_EvtWriter_MpiCollectiveBegin);
    const int code = function(arguments...);
    ReduceClock(communicator.shadow, WaitOf(kCollective.operation, own));
    const CollectiveSizes sizes = kCollective.sizes_of(own, arguments...);
    Record(OTF2_EvtWriter_MpiCollectiveEnd, kCollective.operation, communicator.id, recorded_root, sizes.sent,
           sizes.received);
    return code;
  } else {
    const int code = function(arguments...);
    const TracedCommunicator* communicator = FindForCollective(in, kCollective.has_root);
    if (code != MPI_SUCCESS || communicator == nullptr) return code;
    const Participant own{*communicator, kCollective.has_root && communicator->rank == root};
    AddRequest(*std::get<kLast>(all), {.kind = RequestKind::kCollective,
                                       .communicator = communicator->id,
                                       .operation = kCollective.operation,
                                       .root = recorded_root,
                                       .sizes = kCollective.sizes_of(own, arguments...),
                                       .shadow = communicator->shadow,
                                       .wait = WaitOf(kCollective.operation, own)});
    return code;
  }
}

// Collectives among the neighbours of a topology: blocking, non-blocking and persistent ones. OTF2 has no records of
// them, and their communicator says nothing of who takes part, so each is recorded as the messages that it stands for:
// one to every neighbour, then one from each. What a rank waits for can be told from them [docs/formulas.md, replay].
// The functions are called in the place of the MPI's own one, which is their first argument.

// Above all tags of programs, which are of type int.
inline constexpr std::uint32_t kNeighbourTag = 1U << 31;

// A neighbour in the order in which a collective lists them. Where one rank is the neighbour in both directions of a
// dimension, the tag keeps the two apart.
struct Neighbour {
  int rank = MPI_PROC_NULL;
  std::uint32_t tag = kNeighbourTag;
};

struct Neighbours {
  std::vector<Neighbour> to, from;
};

inline Neighbours NeighboursInGrid(MPI_Comm in) {
  Neighbours all;
  int dimensions = 0;
  PMPI_Cartdim_get(in, &dimensions);
  for (int i = 0; i < dimensions; ++i) {
    int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
    PMPI_Cart_shift(in, i, 1, &below, &above);
    const std::uint32_t down = kNeighbourTag + 2 * static_cast<std::uint32_t>(i), up = down + 1;
    all.to.insert(all.to.end(), {{below, down}, {above, up}});
    all.from.insert(all.from.end(), {{below, up}, {above, down}});
  }
  return all;
}

inline std::vector<Neighbour> NeighboursOf(const std::vector<int>& ranks) {
  std::vector<Neighbour> neighbours;
  for (const int rank : ranks) neighbours.push_back({rank, kNeighbourTag});
  return neighbours;
}

inline Neighbours NeighboursInGraph(MPI_Comm in, int rank) {
  int count = 0;
  PMPI_Graph_neighbors_count(in, rank, &count);
  std::vector<int> ranks(static_cast<std::size_t>(count));
  PMPI_Graph_neighbors(in, rank, count, ranks.data());
  return {NeighboursOf(ranks), NeighboursOf(ranks)};
}

inline Neighbours NeighboursInDistributedGraph(MPI_Comm in) {
  int sources = 0, destinations = 0, is_weighted = 0;
  PMPI_Dist_graph_neighbors_count(in, &sources, &destinations, &is_weighted);
  std::vector<int> from(static_cast<std::size_t>(sources)), to(static_cast<std::size_t>(destinations));
  std::vector<int> from_weights(from.size()), to_weights(to.size());
  PMPI_Dist_graph_neighbors(in, sources, from.data(), from_weights.data(), destinations, to.data(), to_weights.data());
  return {NeighboursOf(to), NeighboursOf(from)};
}

inline Neighbours NeighboursOf(MPI_Comm in, int rank) {
  int topology = MPI_UNDEFINED;
  PMPI_Topo_test(in, &topology);
  if (topology == MPI_CART) return NeighboursInGrid(in);
  if (topology == MPI_GRAPH) return NeighboursInGraph(in, rank);
  return topology == MPI_DIST_GRAPH ? NeighboursInDistributedGraph(in) : Neighbours{};
}

// Bytes of the part for one neighbour: counts and types are those of all parts, or lists.
std::uint64_t BytesOfPart(auto count, MPI_Datatype type, std::size_t) { return Bytes(count, type); }
std::uint64_t BytesOfPart(const auto* counts, MPI_Datatype type, std::size_t i) { return Bytes(counts[i], type); }
std::uint64_t BytesOfPart(const auto* counts, const MPI_Datatype* types, std::size_t i) {
  return Bytes(counts[i], types[i]);
}

std::vector<NeighbourMessage> MessagesOf(const std::vector<Neighbour>& those, auto bytes_of) {
  std::vector<NeighbourMessage> messages;
  for (std::size_t i = 0; i < those.size(); ++i) {
    if (those[i].rank != MPI_PROC_NULL) messages.push_back({those[i].rank, those[i].tag, bytes_of(i)});
  }
  return messages;
}

// `rest`: nothing of a blocking collective, the request of a non-blocking one, information and the request of a
// persistent one. `call` takes them.
int WithNeighbours(MPI_Comm in, auto call, auto sent, auto received, auto... rest) {
  const TracedCommunicator* found = FindCommunicator(in);
  if (found == nullptr) return call(rest...);
  const std::uint32_t id = found->id;
  const Neighbours neighbours = NeighboursOf(in, found->rank);
  NeighbourMessages messages{MessagesOf(neighbours.to, sent), MessagesOf(neighbours.from, received)};
  if constexpr (sizeof...(rest) == 0) {
    for (const NeighbourMessage& one : messages.sent) Record(OTF2_EvtWriter_MpiSend, one.peer, id, one.tag, one.bytes);
    const int code = call();
    for (const NeighbourMessage& one : messages.received)
      Record(OTF2_EvtWriter_MpiRecv, one.peer, id, one.tag, one.bytes);
    return code;
  } else {
    const int code = call(rest...);
    const MPI_Request* request = std::get<sizeof...(rest) - 1>(std::tuple(rest...));
    if (code != MPI_SUCCESS) return code;
    AddRequest(*request, {.kind = RequestKind::kNeighbours,
                          .is_persistent = sizeof...(rest) == 2,
                          .communicator = id,
                          .neighbours = std::make_shared<const NeighbourMessages>(std::move(messages))});
    return code;
  }
}

// MPI_Neighbor_allgather and MPI_Neighbor_alltoall.
int TracedNeighbours(auto function, const void* out, auto out_count, MPI_Datatype out_type, void* buffer, auto count,
                     MPI_Datatype type, MPI_Comm in, auto... rest) {
  return WithNeighbours(
      in, [&](auto... more) { return function(out, out_count, out_type, buffer, count, type, in, more...); },
      [&](std::size_t i) { return BytesOfPart(out_count, out_type, i); },
      [&](std::size_t i) { return BytesOfPart(count, type, i); }, rest...);
}

int TracedNeighboursGather(auto function, const void* out, auto out_count, MPI_Datatype out_type, void* buffer,
                           const auto* counts, const auto* places, MPI_Datatype type, MPI_Comm in, auto... rest) {
  return WithNeighbours(
      in, [&](auto... more) { return function(out, out_count, out_type, buffer, counts, places, type, in, more...); },
      [&](std::size_t i) { return BytesOfPart(out_count, out_type, i); },
      [&](std::size_t i) { return BytesOfPart(counts, type, i); }, rest...);
}

// MPI_Neighbor_alltoallv with a type for all parts, MPI_Neighbor_alltoallw with one for each.
int TracedNeighboursParts(auto function, const void* out, const auto* out_counts, const auto* out_places,
                          auto out_types, void* buffer, const auto* counts, const auto* places, auto types, MPI_Comm in,
                          auto... rest) {
  return WithNeighbours(
      in,
      [&](auto... more) {
        return function(out, out_counts, out_places, out_types, buffer, counts, places, types, in, more...);
      },
      [&](std::size_t i) { return BytesOfPart(out_counts, out_types, i); },
      [&](std::size_t i) { return BytesOfPart(counts, types, i); }, rest...);
}

}  // namespace farscale::collect
