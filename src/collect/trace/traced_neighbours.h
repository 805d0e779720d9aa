// Collectives among the neighbours of a topology: blocking, non-blocking and persistent ones. OTF2 has no records of
// them, and their communicator says nothing of who takes part, so each is recorded as the messages that it stands for:
// one to every neighbour, then one from each. What a rank waits for can be told from them [docs/formulas.md, replay].
// The functions are called in the place of the MPI's own one, which is their first argument.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>
#include <vector>

#include "collect/trace/communicators.h"
#include "collect/trace/recorder.h"
#include "collect/trace/requests.h"
#include "collect/trace/traced_collectives.h"

namespace farscale::collect {

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

// Of the part for one neighbour: counts and types are those of all parts, or lists.
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
