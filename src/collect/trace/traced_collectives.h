// Collectives, with the bytes that a rank sends and receives as Score-P counts them: what a root sends or receives
// counts once for every rank. One description of a collective serves its blocking and its non-blocking function
// (traced_functions.txt), with counts of type int and of type MPI_Count.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>
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

// Bytes of the part for one rank: counts and types are those of all parts, or lists.
std::uint64_t BytesOfPart(auto count, MPI_Datatype type, std::size_t) { return Bytes(count, type); }
std::uint64_t BytesOfPart(const auto* counts, MPI_Datatype type, std::size_t i) { return Bytes(counts[i], type); }
std::uint64_t BytesOfPart(const auto* counts, const MPI_Datatype* types, std::size_t i) {
  return Bytes(counts[i], types[i]);
}

inline std::uint64_t All(const TracedCommunicator& own, std::uint64_t bytes) {
  return static_cast<std::uint64_t>(own.size) * bytes;
}
std::uint64_t OfRank(const TracedCommunicator& own, const auto* counts, MPI_Datatype type) {
  return Bytes(counts[own.rank], type);
}
std::uint64_t Sum(const TracedCommunicator& own, const auto* counts, auto types) {
  std::uint64_t sum = 0;
  for (int i = 0; i < own.size; ++i) sum += BytesOfPart(counts, types, static_cast<std::size_t>(i));
  return sum;
}

// Sizes that a rank sends and receives, from its communicator and the arguments of the MPI function. With MPI_IN_PLACE,
// what a rank contributes is in the other buffer.
inline constexpr auto kNothing = [](const auto&, auto...) { return CollectiveSizes{}; };

inline constexpr auto kBcastSizes = [](const auto& own, const void*, auto count, MPI_Datatype type, auto...) {
  return CollectiveSizes{own.is_root ? All(own, Bytes(count, type)) : 0, Bytes(count, type)};
};

inline constexpr auto kGatherSizes = [](const auto& own, const void* out, auto out_count, MPI_Datatype out_type,
                                        const void*, auto count, MPI_Datatype type, auto...) {
  return CollectiveSizes{out == MPI_IN_PLACE ? Bytes(count, type) : Bytes(out_count, out_type),
                         own.is_root ? All(own, Bytes(count, type)) : 0};
};
inline constexpr auto kGathervSizes = [](const auto& own, const void* out, auto out_count, MPI_Datatype out_type,
                                         const void*, const auto* counts, const auto*, MPI_Datatype type, auto...) {
  return CollectiveSizes{out == MPI_IN_PLACE ? OfRank(own, counts, type) : Bytes(out_count, out_type),
                         own.is_root ? Sum(own, counts, type) : 0};
};

inline constexpr auto kScatterSizes = [](const auto& own, const void*, auto out_count, MPI_Datatype out_type,
                                         const void* buffer, auto count, MPI_Datatype type, auto...) {
  return CollectiveSizes{own.is_root ? All(own, Bytes(out_count, out_type)) : 0,
                         buffer == MPI_IN_PLACE ? Bytes(out_count, out_type) : Bytes(count, type)};
};
inline constexpr auto kScattervSizes = [](const auto& own, const void*, const auto* counts, const auto*,
                                          MPI_Datatype out_type, const void* buffer, auto count, MPI_Datatype type,
                                          auto...) {
  return CollectiveSizes{own.is_root ? Sum(own, counts, out_type) : 0,
                         buffer == MPI_IN_PLACE ? OfRank(own, counts, out_type) : Bytes(count, type)};
};

// MPI_Allgather and MPI_Alltoall.
inline constexpr auto kEqualParts = [](const auto& own, const void* out, auto out_count, MPI_Datatype out_type,
                                       const void*, auto count, MPI_Datatype type, auto...) {
  return CollectiveSizes{All(own, out == MPI_IN_PLACE ? Bytes(count, type) : Bytes(out_count, out_type)),
                         All(own, Bytes(count, type))};
};
inline constexpr auto kAllgathervSizes = [](const auto& own, const void* out, auto out_count, MPI_Datatype out_type,
                                            const void*, const auto* counts, const auto*, MPI_Datatype type, auto...) {
  return CollectiveSizes{All(own, out == MPI_IN_PLACE ? OfRank(own, counts, type) : Bytes(out_count, out_type)),
                         Sum(own, counts, type)};
};
// MPI_Alltoallv with a type for all parts, MPI_Alltoallw with one for each.
inline constexpr auto kParts = [](const auto& own, const void* out, const auto* out_counts, const auto*, auto out_types,
                                  const void*, const auto* counts, const auto*, auto types, auto...) {
  return CollectiveSizes{out == MPI_IN_PLACE ? Sum(own, counts, types) : Sum(own, out_counts, out_types),
                         Sum(own, counts, types)};
};

// MPI_Allreduce, MPI_Scan and MPI_Exscan: every rank gives as much as it gets.
inline constexpr auto kWholeBuffer = [](const auto&, const void*, const void*, auto count, MPI_Datatype type, auto...) {
  return CollectiveSizes{Bytes(count, type), Bytes(count, type)};
};
inline constexpr auto kReduceSizes = [](const auto& own, const void*, const void*, auto count, MPI_Datatype type,
                                        auto...) {
  return CollectiveSizes{Bytes(count, type), own.is_root ? Bytes(count, type) : 0};
};
inline constexpr auto kReduceScatterSizes = [](const auto& own, const void*, const void*, const auto* counts,
                                               MPI_Datatype type, auto...) {
  return CollectiveSizes{Sum(own, counts, type), OfRank(own, counts, type)};
};
inline constexpr auto kReduceScatterBlockSizes = [](const auto& own, const void*, const void*, auto count,
                                                    MPI_Datatype type, auto...) {
  return CollectiveSizes{All(own, Bytes(count, type)), Bytes(count, type)};
};

// As under the rules `bsc` [docs/formulas.md, rules].
inline ClockWait WaitOf(OTF2_CollectiveOp operation, const TracedCommunicator& own) {
  if (operation == OTF2_COLLECTIVE_OP_SCAN || operation == OTF2_COLLECTIVE_OP_EXSCAN) return ClockWait::kLower;
  return operation == OTF2_COLLECTIVE_OP_REDUCE && !own.is_root ? ClockWait::kNothing : ClockWait::kAll;
}

// The communicator is the last argument of a blocking function and the last but the request of a non-blocking one; a
// root stands before it.
template <OTF2_CollectiveOp kOperation, const auto& kSizes>
int TracedCollective(auto function, auto... arguments) {
  const auto all = std::tie(arguments...);
  constexpr std::size_t kLast = sizeof...(arguments) - 1;
  constexpr bool kIsBlocking =
      !std::is_same_v<std::tuple_element_t<kLast, std::tuple<decltype(arguments)...>>, MPI_Request*>;
  constexpr std::size_t kCommunicator = kIsBlocking ? kLast : kLast - 1;
  constexpr bool kHasRoot = kOperation == OTF2_COLLECTIVE_OP_BCAST || kOperation == OTF2_COLLECTIVE_OP_REDUCE ||
                            kOperation == OTF2_COLLECTIVE_OP_GATHER || kOperation == OTF2_COLLECTIVE_OP_GATHERV ||
                            kOperation == OTF2_COLLECTIVE_OP_SCATTER || kOperation == OTF2_COLLECTIVE_OP_SCATTERV;
  int root = std::numeric_limits<int>::min();
  if constexpr (kHasRoot) root = std::get<kCommunicator - 1>(all);
  const MPI_Comm in = std::get<kCommunicator>(all);
  const std::uint32_t recorded_root = kHasRoot ? static_cast<std::uint32_t>(root) : OTF2_COLLECTIVE_ROOT_NONE;
  if constexpr (kIsBlocking) {
    const TracedCommunicator* found = FindForCollective(in, kHasRoot);
    if (found == nullptr) return function(arguments...);
    TracedCommunicator own = *found;
    own.is_root = kHasRoot && found->rank == root;
    Record(OTF2_EvtWriter_MpiCollectiveBegin);
    const int code = function(arguments...);
    ReduceClock(own.shadow, WaitOf(kOperation, own));
    const auto [sent, received] = kSizes(own, arguments...);
    Record(OTF2_EvtWriter_MpiCollectiveEnd, kOperation, own.id, recorded_root, sent, received);
    return code;
  } else {
    const int code = function(arguments...);
    const TracedCommunicator* found = FindForCollective(in, kHasRoot);
    if (code != MPI_SUCCESS || found == nullptr) return code;
    TracedCommunicator own = *found;
    own.is_root = kHasRoot && found->rank == root;
    AddRequest(*std::get<kLast>(all), {.kind = RequestKind::kCollective,
                                       .communicator = own.id,
                                       .operation = kOperation,
                                       .root = recorded_root,
                                       .sizes = kSizes(own, arguments...),
                                       .shadow = own.shadow,
                                       .wait = WaitOf(kOperation, own)});
    return code;
  }
}

// Collectives among the neighbours of a topology: blocking, non-blocking and persistent ones. OTF2 has no records of
// them, and their communicator says nothing of who takes part, so each is recorded as the messages that it stands for:
// one to every neighbour, then one from each. What a rank waits for can be told from them [docs/formulas.md, replay].
// The functions are called in the place of the MPI's own one, which is their first argument.

// Without a sign, as in traces, above all tags of programs.
inline constexpr int kNeighbourTag = std::numeric_limits<int>::min();

// The neighbours in the order in which a collective lists them, as messages without bytes. Where one rank is the
// neighbour in both directions of a dimension, the tag keeps the two apart.
inline void FindNeighbours(MPI_Comm in, int rank, std::vector<Message>& to, std::vector<Message>& from) {
  const auto add = [](std::vector<Message>& neighbours, const std::vector<int>& ranks) {
    for (const int neighbour : ranks) neighbours.push_back({neighbour, kNeighbourTag, 0});
  };
  int topology = MPI_UNDEFINED, dimensions = 0, count = 0, sources = 0, is_weighted = 0;
  PMPI_Topo_test(in, &topology);
  if (topology == MPI_CART) {
    PMPI_Cartdim_get(in, &dimensions);
    for (int i = 0; i < dimensions; ++i) {
      int below = MPI_PROC_NULL, above = MPI_PROC_NULL;
      PMPI_Cart_shift(in, i, 1, &below, &above);
      const int down = kNeighbourTag + 2 * i, up = down + 1;
      to.insert(to.end(), {{below, down, 0}, {above, up, 0}});
      from.insert(from.end(), {{below, up, 0}, {above, down, 0}});
    }
  } else if (topology == MPI_GRAPH) {
    PMPI_Graph_neighbors_count(in, rank, &count);
    std::vector<int> ranks(static_cast<std::size_t>(count));
    PMPI_Graph_neighbors(in, rank, count, ranks.data());
    add(to, ranks);
    add(from, ranks);
  } else if (topology == MPI_DIST_GRAPH) {
    PMPI_Dist_graph_neighbors_count(in, &sources, &count, &is_weighted);
    std::vector<int> before(static_cast<std::size_t>(sources)), after(static_cast<std::size_t>(count));
    std::vector<int> weights_before(before.size()), weights_after(after.size());
    PMPI_Dist_graph_neighbors(in, sources, before.data(), weights_before.data(), count, after.data(),
                              weights_after.data());
    add(to, after);
    add(from, before);
  }
}

// Sets the bytes of messages by their index, and leaves out those to or from nobody.
void Fill(std::vector<Message>& messages, auto bytes_of) {
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].peer != MPI_PROC_NULL) messages[i].bytes = bytes_of(i);
  }
  std::erase_if(messages, [](const Message& one) { return one.peer == MPI_PROC_NULL; });
}

// `rest`: nothing of a blocking collective, the request of a non-blocking one, information and the request of a
// persistent one. `call` takes them.
int WithNeighbours(MPI_Comm in, auto call, auto sent, auto received, auto... rest) {
  const TracedCommunicator* found = FindCommunicator(in);
  if (found == nullptr) return call(rest...);
  const std::uint32_t id = found->id;
  std::vector<Message> to, from;
  FindNeighbours(in, found->rank, to, from);
  Fill(to, sent);
  Fill(from, received);
  if constexpr (sizeof...(rest) == 0) {
    for (const Message& one : to) Record(OTF2_EvtWriter_MpiSend, one.peer, id, one.tag, one.bytes);
    const int code = call();
    for (const Message& one : from) Record(OTF2_EvtWriter_MpiRecv, one.peer, id, one.tag, one.bytes);
    return code;
  } else {
    const int code = call(rest...);
    const MPI_Request* request = std::get<sizeof...(rest) - 1>(std::tuple(rest...));
    if (code != MPI_SUCCESS) return code;
    AddRequest(*request, {.kind = RequestKind::kNeighbours,
                          .is_persistent = sizeof...(rest) == 2,
                          .communicator = id,
                          .all_sent = std::move(to),
                          .all_received = std::move(from)});
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
