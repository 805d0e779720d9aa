// Collectives, with the bytes that a rank sends and receives as Score-P counts them: what a root sends or receives
// counts once for every rank. One description of a collective serves its blocking and its non-blocking function, with
// counts of type int and of type MPI_Count.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <limits>
#include <tuple>
#include <type_traits>

#include "collect/trace/communicators.h"
#include "collect/trace/ideal_clock.h"
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

}  // namespace farscale::collect
