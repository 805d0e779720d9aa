#include "benchmarks/paraver_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <utility>
#include <vector>

#include "benchmarks/synthetic.h"

namespace farscale::bench {
namespace {

constexpr int kRunning = 1, kWaitAll = 8, kImmediateSend = 10, kImmediateReceive = 11, kCollective = 13;

// When a rank enters and leaves the calls of one iteration.
struct Iteration {
  std::uint64_t irecv[2], isend[2], waitall[2], allreduce[2];
};

class Writer {
 public:
  Writer(const std::filesystem::path& path, int ranks) : stream_(path, std::ios::binary), ranks_(ranks) {
    for (int rank = 0; rank < ranks; ++rank) lengths_.emplace_back(static_cast<std::uint64_t>(rank));
    clocks_.assign(static_cast<std::size_t>(ranks), 1000000);
    since_.assign(static_cast<std::size_t>(ranks), 0);
  }

  // The header has the end of the run in it, which is known last: it is written as wide as any number can be.
  void Header(std::uint64_t duration) {
    std::string text = fmt::format("#Paraver (20/11/2026 at 10:00):{:020}_ns:1({}):1:{}(", duration, ranks_, ranks_);
    for (int rank = 0; rank < ranks_; ++rank) text += rank == 0 ? "1:1" : ",1:1";
    text += fmt::format("),1\nc:1:1:{}", ranks_);
    for (int rank = 0; rank < ranks_; ++rank) text += fmt::format(":{}", rank + 1);
    stream_.seekp(0);
    stream_ << text << '\n';
  }

  void Begin() {
    for (int rank = 0; rank < ranks_; ++rank) {
      Add(0, fmt::format("2:{0}:1:{0}:1:0:40000001:1:42000050:0:42000059:0\n", rank + 1));
    }
    Flush();
  }

  std::uint64_t Round(int number) {
    const bool has_collective = number % 8 == 7;
    std::vector<Iteration> iterations;
    for (int rank = 0; rank < ranks_; ++rank) iterations.push_back(Times(rank, has_collective));
    for (int rank = 0; rank < ranks_; ++rank) {
      const Iteration& i = iterations[static_cast<std::size_t>(rank)];
      Call(rank, i.irecv, 50000001, 4, kImmediateReceive, "");
      Call(rank, i.isend, 50000001, 3, kImmediateSend, "");
      Call(rank, i.waitall, 50000001, 6, kWaitAll, "");
      if (has_collective) {
        Call(rank, i.allreduce, 50000002, 10, kCollective, ":50100001:8:50100002:8:50100004:1");
      }
      const int up = (rank + Distance(number, ranks_)) % ranks_;
      const Iteration& other = iterations[static_cast<std::size_t>(up)];
      Add(i.isend[0], fmt::format("3:{0}:1:{0}:1:{1}:{1}:{2}:1:{2}:1:{3}:{4}:8192:7\n", rank + 1, i.isend[0], up + 1,
                                  other.irecv[0], std::max(other.waitall[1], i.isend[0])));
    }
    return Flush();
  }

  std::uint64_t End() {
    const std::uint64_t end = *std::max_element(clocks_.begin(), clocks_.end()) + 1000;
    for (int rank = 0; rank < ranks_; ++rank) {
      State(rank, since_[static_cast<std::size_t>(rank)], end, kRunning);
      Add(end, fmt::format("2:{0}:1:{0}:1:{1}:40000001:0\n", rank + 1, end));
    }
    Flush();
    return end;
  }

  void Close() {
    stream_.close();
    if (!stream_) throw std::runtime_error("the benchmark cannot write its trace");
  }

 private:
  Iteration Times(int rank, bool has_collective) {
    std::uint64_t& t = clocks_[static_cast<std::size_t>(rank)];
    Lengths& lengths = lengths_[static_cast<std::size_t>(rank)];
    const auto call = [&](std::uint64_t before, std::uint64_t length, std::uint64_t(&edges)[2]) {
      t += before;
      edges[0] = t;
      t += length;
      edges[1] = t;
    };
    Iteration i{};
    call(lengths.Next(), 200, i.irecv);
    call(100, 300, i.isend);
    call(lengths.Next(), 900, i.waitall);
    if (has_collective) call(400, 2500, i.allreduce);
    return i;
  }

  void Call(int rank, const std::uint64_t (&edges)[2], int type, int value, int state, const char* attributes) {
    std::uint64_t& since = since_[static_cast<std::size_t>(rank)];
    State(rank, since, edges[0], kRunning);
    State(rank, edges[0], edges[1], state);
    Add(edges[0],
        fmt::format("2:{0}:1:{0}:1:{1}:{2}:{3}{4}:42000050:{5}:42000059:{6}:70000001:3:80000001:{3}\n", rank + 1,
                    edges[0], type, value, attributes, 3 * (edges[0] - since), 2 * (edges[0] - since)));
    Add(edges[1], fmt::format("2:{0}:1:{0}:1:{1}:{2}:0:42000050:{3}:42000059:{4}:70000001:0:80000001:0\n", rank + 1,
                              edges[1], type, 3 * (edges[1] - edges[0]), 2 * (edges[1] - edges[0])));
    since = edges[1];
  }

  void State(int rank, std::uint64_t begin, std::uint64_t end, int state) {
    Add(begin, fmt::format("1:{0}:1:{0}:1:{1}:{2}:{3}\n", rank + 1, begin, end, state));
  }

  void Add(std::uint64_t time, std::string text) { records_.emplace_back(time, std::move(text)); }

  std::uint64_t Flush() {
    std::stable_sort(records_.begin(), records_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::uint64_t bytes = 0;
    for (const auto& [time, text] : records_) {
      stream_ << text;
      bytes += text.size();
    }
    records_.clear();
    return bytes;
  }

  std::ofstream stream_;
  int ranks_;
  std::vector<Lengths> lengths_;
  std::vector<std::uint64_t> clocks_, since_;
  std::vector<std::pair<std::uint64_t, std::string>> records_;
};

}  // namespace

std::string WriteParaverStencil(const std::filesystem::path& folder, int ranks, std::uint64_t bytes) {
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / "stencil.prv";
  Writer writer(path, ranks);
  writer.Header(0);
  writer.Begin();
  std::uint64_t written = 0;
  for (int number = 0; written < bytes; ++number) written += writer.Round(number);
  writer.Header(writer.End());
  writer.Close();
  return path.string();
}

}  // namespace farscale::bench
