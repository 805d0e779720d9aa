#include "trace/paraver_tasks.h"

#include <fmt/format.h>

#include <numeric>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"

namespace farscale {
namespace {

constexpr std::size_t kBlocksAtOnce = 8;  // chosen: 4 MiB of text, work for eight threads

// Names are needed to choose counters only.
ParaverScope ScopeOf(const ParaverSelection& selection, const ParaverHeader& header, const ParaverNames& names) {
  ParaverScope scope;
  scope.header = &header;
  scope.keep_threads = selection.keep_threads;
  scope.application = selection.application;
  for (const ParaverCommunicator& communicator : header.applications[scope.application].communicators) {
    scope.communicators.push_back(communicator.id);
  }
  std::sort(scope.communicators.begin(), scope.communicators.end());
  if (!selection.counters.all) {
    scope.keeps_counter = [&](std::uint32_t type) {
      return selection.counters.Keeps(ParaverCounter(names, type).name);
    };
  }
  return scope;
}

// Reads blocks of text while those before are taken apart, and calls take(block) in their order. Returns what stands
// behind the last whole line.
template <typename Take>
std::optional<TextBlock> ReadBlocks(ParaverText& text, const ParaverScope& scope, Take take) {
  std::vector<TextBlock> now, next;
  std::optional<TextBlock> last;
  const auto read = [&](std::vector<TextBlock>& blocks) {
    std::size_t count = 0;
    blocks.resize(kBlocksAtOnce);  // in the memory of those before
    while (count < kBlocksAtOnce && text.NextBlock(blocks[count])) {
      if (blocks[count].is_cut || blocks[count].is_endless) {
        last = std::move(blocks[count]);
      } else {
        ++count;
      }
    }
    blocks.resize(count);
  };
  read(now);
  while (!now.empty()) {
    std::vector<ParaverBlock> parsed(now.size());
    ParallelFor(now.size() + 1, [&](std::size_t i) {
      if (i == 0) {
        read(next);
      } else {
        parsed[i - 1] = ReadParaverBlock(scope, now[i - 1]);
      }
    });
    for (ParaverBlock& block : parsed) take(std::move(block));
    std::swap(now, next);
  }
  return last;
}

// A last line without newline is whole when the trace is: nothing is missing then.
void AddLastLine(const std::string& path, const ParaverScope& scope, const TextBlock& text, ParaverRecords& records) {
  if (text.is_endless) {
    throw Error(ErrorKind::kInput, path,
                fmt::format("has a line of more than {} bytes behind line {}, which no record is",
                            ParaverText::kLongestRecord, text.first_line - 1),
                "the trace is damaged");
  }
  ParaverBlock block = ReadParaverBlock(scope, text);
  const Tick duration = scope.header->duration;
  // Nor can its last number be the begin of another one.
  const bool is_whole = text.text.ends_with(":0\n") && block.tally.last_begin >= duration;
  if (block.tally.damaged > 0 || !is_whole) {
    records.is_cut_short = true;
    block = {};
    block.tally.lines = 1;
    block.tally.damaged = 1;
    block.tally.first_damage = {text.first_line, ": the file ends in the middle of this line"};
  }
  records.Add(std::move(block));
}

}  // namespace

void ParaverRecords::Add(ParaverBlock block) {
  Append(block.tally);
  const auto number = static_cast<std::uint32_t>(all.blocks.size());
  const std::uint8_t* begin = block.bytes.data();
  for (std::size_t i = 0; i < block.segments.size(); ++i) {
    const ParaverSegment& segment = block.segments[i];
    ParaverTaskParts& task = tasks[segment.task];
    task.parts.push_back({begin, segment.bytes, number});
    task.states.Append(block.states[i]);
    for (std::size_t s = 0; s < kParaverStreams; ++s) task.orders[s].Append(block.orders[i][s]);
    begin = std::accumulate(segment.bytes.begin(), segment.bytes.end(), begin,
                            [](const std::uint8_t* at, std::uint32_t size) { return at + size; });
  }
  for (const std::uint32_t task : block.root_tasks) tasks[task].has_roots = true;
  for (const ParaverThreadState& state : block.thread_states) thread_states[state.task].push_back(state);
  for (const ParaverThreadCount& count : block.thread_counts) thread_counts[count.task].push_back(count);
  block.thread_states = {};
  block.thread_counts = {};
  block.segments = {};
  block.orders = {};
  block.states = {};
  all.blocks.push_back(std::move(block));
}

ParaverRecords ReadParaverRecords(const ParaverSelection& selection, const ParaverHeader& header,
                                  const ParaverNames& names, ParaverText& text) {
  const ParaverScope scope = ScopeOf(selection, header, names);
  const std::size_t tasks = header.applications[selection.application].tasks.size();
  text.MakeBlocksFor(tasks);
  ParaverRecords records(tasks);
  const auto last = ReadBlocks(text, scope, [&](ParaverBlock block) { records.Add(std::move(block)); });
  records.last_line = text.lines();
  if (last) AddLastLine(selection.path, scope, *last, records);
  return records;
}

}  // namespace farscale
