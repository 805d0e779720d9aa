#include "trace/paraver_ranks.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/parallel.h"
#include "parallel/bytes.h"
#include "trace/format_readers.h"
#include "trace/shared_portions.h"
#include "trace/shared_reading.h"
#include "trace/trace_builder.h"

namespace farscale {
namespace {

constexpr std::string_view kBuildRanks = "build Paraver ranks";

// The records of one task.
struct TaskRecords {
  std::int32_t rank = 0;
  std::vector<std::uint8_t> bytes;  // of all parts
  std::vector<std::uint32_t> blocks;
  std::vector<std::uint32_t> sizes;  // kParaverStreams a part
  ParaverOrders orders;
  ParaverStates states;
};

// What a block says of the records in it.
struct BlockNumbers {
  std::vector<std::uint32_t> types;
  ParaverBlockMeaning meaning;
};

struct RanksRequest {
  Trace definitions;
  ParaverTraceFacts facts;
  std::vector<BlockNumbers> blocks;
  std::vector<TaskRecords> tasks;
};

TaskRecords RecordsOf(const ParaverTaskParts& task, std::size_t rank) {
  TaskRecords records{static_cast<std::int32_t>(rank), {}, {}, {}, task.orders, task.states};
  records.bytes.reserve(task.Bytes());
  for (const ParaverTaskParts::Part& part : task.parts) {
    const std::size_t size = part.bytes[0] + part.bytes[1] + part.bytes[2];
    records.bytes.insert(records.bytes.end(), part.begin, part.begin + size);
    records.blocks.push_back(part.block);
    records.sizes.insert(records.sizes.end(), part.bytes.begin(), part.bytes.end());
  }
  return records;
}

ParaverTaskParts PartsOf(const TaskRecords& records, const ParaverBlocks& blocks) {
  ParaverTaskParts task;
  task.blocks = &blocks;
  task.orders = records.orders;
  task.states = records.states;
  const std::uint8_t* begin = records.bytes.data();
  for (std::size_t i = 0; i < records.blocks.size(); ++i) {
    ParaverTaskParts::Part& part = task.parts.emplace_back();
    part.begin = begin;
    part.block = records.blocks[i];
    std::copy_n(records.sizes.begin() + static_cast<std::ptrdiff_t>(kParaverStreams * i), kParaverStreams,
                part.bytes.begin());
    begin += part.bytes[0] + part.bytes[1] + part.bytes[2];
  }
  return task;
}

ParaverRank BuildRank(const Trace& definitions, const ParaverTaskParts& task, const ParaverTraceFacts& facts,
                      std::int32_t rank) {
  RankBuilder builder(definitions, rank);
  BuildParaverRank(definitions, task, facts, builder);
  ParaverRank built;
  built.timeline = builder.Finish();
  built.diagnostics = builder.diagnostics();
  return built;
}

std::string BuildRanksForOther(std::string_view bytes) {
  RanksRequest request;
  FromBytes(bytes, request);
  ParaverBlocks blocks;
  for (BlockNumbers& numbers : request.blocks) {
    blocks.blocks.emplace_back().types = std::move(numbers.types);
    blocks.meanings.push_back(std::move(numbers.meaning));
  }
  std::vector<ParaverRank> ranks(request.tasks.size());
  ParallelFor(ranks.size(), [&](std::size_t i) {
    const TaskRecords& task = request.tasks[i];
    ranks[i] = BuildRank(request.definitions, PartsOf(task, blocks), request.facts, task.rank);
  });
  return ToBytes(ranks);
}

}  // namespace

std::vector<ParaverRank> BuildParaverRanks(const Trace& definitions, const std::vector<ParaverTaskParts>& tasks,
                                           const ParaverTraceFacts& facts) {
  constexpr std::uint64_t kLeastBytes = 1 << 12;  // chosen: some hundred records
  std::vector<ParaverRank> ranks(tasks.size());
  std::vector<std::uint64_t> sizes;
  for (const ParaverTaskParts& task : tasks) sizes.push_back(task.Bytes());
  RanksRequest request;
  SharedWork work;
  work.service = kBuildRanks;
  work.begin = [](const std::vector<std::size_t>&) {};
  work.request = [&](const std::vector<std::size_t>& some) {
    if (request.definitions.ranks.empty()) {  // the first one
      request.definitions = definitions;
      request.facts = facts;
      const ParaverBlocks& blocks = *tasks[some[0]].blocks;
      for (std::size_t i = 0; i < blocks.blocks.size(); ++i) {
        request.blocks.push_back({blocks.blocks[i].types, blocks.meanings[i]});
      }
    }
    request.tasks.clear();
    for (const std::size_t rank : some) request.tasks.push_back(RecordsOf(tasks[rank], rank));
    std::string bytes = ToBytes(request);
    request.tasks.clear();
    return bytes;
  };
  work.take = [&](const std::vector<std::size_t>& some, std::string_view answer) {
    std::vector<ParaverRank> built;
    FromBytes(answer, built);
    for (std::size_t i = 0; i < built.size(); ++i) ranks[some[i]] = std::move(built[i]);
  };
  work.own = [&](const std::vector<std::size_t>& some) {
    std::vector<std::uint64_t> some_sizes;
    for (const std::size_t rank : some) some_sizes.push_back(sizes[rank]);
    const std::vector<std::size_t> order = LargestFirst(some_sizes);
    ParallelFor(some.size(), [&](std::size_t i) {
      const std::size_t rank = some[order[i]];
      ranks[rank] = BuildRank(definitions, tasks[rank], facts, static_cast<std::int32_t>(rank));
    });
  };
  ShareInPortions(sizes, kLeastBytes, work);
  return ranks;
}

Service RankBuildingService() { return {kBuildRanks, BuildRanksForOther}; }

}  // namespace farscale
