#include "trace/shared_paraver.h"

#include <fmt/format.h>

#include <numeric>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/parallel.h"
#include "parallel/bytes.h"
#include "parallel/job.h"
#include "trace/shared_reading.h"

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

constexpr std::string_view kReadText = "read Paraver text";

// What another process needs to read a piece of the text. The header and the names are those of the first process, so
// that no other reads more than its pieces.
struct PieceRequest {
  ParaverSelection selection;
  ParaverHeader header;
  ParaverNames counter_names;
  std::uint64_t size = 0;  // of the file
  std::uint64_t begin = 0, end = 0;
};

// Lines are counted from the begin of the piece.
struct PieceAnswer {
  std::vector<ParaverBlock> blocks;
  std::uint64_t lines = 0;  // whole ones
  std::optional<TextBlock> last;
};

std::string ReadPieceForOther(std::string_view bytes) {
  PieceRequest request;
  FromBytes(bytes, request);
  ParaverText text(request.selection.path);
  const std::uint64_t size = text.PlainSize().value_or(0);
  if (size != request.size) {
    throw Error(ErrorKind::kInput, request.selection.path,
                fmt::format("has {} bytes for one process and {} for another", request.size, size),
                "all processes must see the same files");
  }
  text.MakeBlocksFor(request.header.applications[request.selection.application].tasks.size());
  text.Confine(request.begin, request.end);
  PieceAnswer answer;
  answer.last = ReadBlocks(text, ScopeOf(request.selection, request.header, request.counter_names),
                           [&](ParaverBlock block) { answer.blocks.push_back(std::move(block)); });
  answer.lines = text.lines();
  return ToBytes(answer);
}

ParaverNames NamesOfCounters(const ParaverNames& names) {
  ParaverNames counters;
  for (const auto& [type, name] : names.types) {
    if (ClassifyParaverEvent(type) == ParaverEvent::kCounter) counters.types[type] = name;
  }
  return counters;
}

// Where pieces of a text behind its header begin, and where the last one ends: several for each process, so that what
// one has read travels while it reads on. The header goes with every question, so that pieces are longer than it.
std::vector<std::uint64_t> PiecesOf(std::uint64_t header, std::uint64_t end, std::size_t processes) {
  constexpr std::uint64_t kEach = 4, kLeast = std::uint64_t{1} << 12, kMost = std::uint64_t{1} << 25;  // chosen
  const std::uint64_t least = std::max(kLeast, 8 * header);
  const std::uint64_t bytes = std::clamp((end - header) / (kEach * processes) + 1, least, std::max(least, kMost));
  std::vector<std::uint64_t> edges;
  for (std::uint64_t begin = header; begin < end; begin += bytes) edges.push_back(begin);
  edges.push_back(end);
  return edges;
}

// In turns; the records of each piece are added in the order of the file.
void ReadPieces(PieceRequest request, const ParaverScope& scope, ParaverText& text, Helpers& helpers,
                ParaverRecords& records) {
  const std::size_t processes = helpers.processes().size() + 1;
  const std::vector<std::uint64_t> edges = PiecesOf(text.position(), request.size, processes);
  const std::size_t pieces = edges.size() - 1;
  const auto ask = [&](std::size_t piece) {
    if (piece >= pieces) return;
    request.begin = edges[piece];
    request.end = edges[piece + 1];
    helpers.Ask(helpers.processes()[piece % processes - 1], kReadText, ToBytes(request));
  };
  std::uint64_t lines = text.lines();  // before the piece
  const auto add = [&](ParaverBlock block) {
    block.ShiftLines(lines);
    records.Add(std::move(block));
  };
  for (std::size_t k = 1; k < processes; ++k) ask(k);
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    PieceAnswer answer;
    if (piece % processes == 0) {
      text.Confine(edges[piece], edges[piece + 1]);
      answer.last = ReadBlocks(text, scope, add);
      answer.lines = text.lines();
    } else {
      FromBytes(helpers.Answer(helpers.processes()[piece % processes - 1]), answer);
      ask(piece + processes);
      for (ParaverBlock& block : answer.blocks) add(std::move(block));
    }
    if (answer.last) {
      answer.last->first_line += lines;
      AddLastLine(request.selection.path, scope, *answer.last, records);
    }
    lines += answer.lines;
  }
  records.last_line = lines;
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
  if (const std::optional<std::uint64_t> size = text.PlainSize(); size && text.position() < *size) {
    Helpers helpers;
    if (!helpers.empty()) {
      ReadPieces({selection, header, NamesOfCounters(names), *size}, scope, text, helpers, records);
      return records;
    }
  }
  const auto last = ReadBlocks(text, scope, [&](ParaverBlock block) { records.Add(std::move(block)); });
  records.last_line = text.lines();
  if (last) AddLastLine(selection.path, scope, *last, records);
  return records;
}

Service TextReadingService() { return {kReadText, ReadPieceForOther}; }

}  // namespace farscale
