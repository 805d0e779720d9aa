// OTF2 archives: the first byte of the input says which file of a good archive is replaced by the rest.
#include <filesystem>

#include "base/diagnostics.h"
#include "base/files.h"
#include "fuzz/analyse.h"
#include "fuzz/target.h"
#include "support/otf2_archive.h"
#include "support/temporary_folder.h"
#include "trace/trace.h"

namespace farscale::fuzz {
namespace {

constexpr const char* kFiles[] = {"traces.otf2",  "traces.def",   "traces/0.def",
                                  "traces/0.evt", "traces/1.evt", "traces/1001.evt"};

// Two ranks with every kind of record the reader knows, the first with a thread.
class GoodArchive {
 public:
  GoodArchive() {
    test::Otf2Archive archive(folder_ / "a", "traces");
    const std::uint32_t node = archive.Node("node0");
    archive.AddProcess(node, 2);
    archive.AddProcess(node);
    archive.AddMpi();
    const std::uint32_t team = archive.AddTeam({0, 1001});
    const auto sub = archive.AddCommunicator("sub", {1, 0});
    const auto metric = archive.AddMetricClass({"ins", "cyc"}, OTF2_METRIC_ACCUMULATED_START, OTF2_TYPE_UINT64);
    for (const std::uint64_t rank : {0u, 1u}) {
      const auto peer = static_cast<std::uint32_t>(1 - rank);
      auto events = archive.Location(rank);
      const std::string outside(kOutsideRegion);
      events.ProgramBegin(0, "app").Enter(0, outside).IrecvRequest(0, 200).Send(0, peer, 0, 3, 8).Leave(0, outside);
      events.MetricUnsigned(0, metric, {0, 0}).Enter(0, "main");
      for (std::uint64_t i = 0; i < 4; ++i) {
        const std::uint64_t t = 1000 * i + 10;
        events.MetricUnsigned(t, metric, {10 * t, 5 * t})
            .Enter(t, "step")
            .Enter(t + 1, "MPI_Irecv")
            .IrecvRequest(t + 1, 2 * i)
            .Leave(t + 2, "MPI_Irecv")
            .Enter(t + 3, "MPI_Isend")
            .Isend(t + 3, peer, 0, 7, 4096, 2 * i + 1)
            .Leave(t + 4, "MPI_Isend")
            .Enter(t + 5, "MPI_Waitall")
            .Irecv(t + 6, peer, 0, 7, 4096, 2 * i)
            .IsendComplete(t + 6, 2 * i + 1)
            .Leave(t + 7, "MPI_Waitall")
            .Enter(t + 8, "MPI_Sendrecv")
            .Send(t + 8, peer, 0, 1, 8)
            .Receive(t + 9, peer, 0, 1, 8)
            .Leave(t + 9, "MPI_Sendrecv")
            .Enter(t + 20, "MPI_Reduce")
            .Collective(t + 20, OTF2_COLLECTIVE_OP_REDUCE, sub, 0, 8, 8)
            .Leave(t + 25, "MPI_Reduce")
            .Enter(t + 30, "MPI_Ibarrier")
            .CollectiveRequest(t + 30, 100)
            .Leave(t + 31, "MPI_Ibarrier")
            .Enter(t + 32, "MPI_Wait")
            .CollectiveComplete(t + 32, OTF2_COLLECTIVE_OP_BARRIER, 0, OTF2_UNDEFINED_UINT32, 100)
            .Leave(t + 33, "MPI_Wait")
            .Measurement(t + 40, false)
            .Measurement(t + 50, true)
            .Flush(t + 60, t + 61);
        if (rank == 0) AddTeam(archive, team, t + 100);
        events.Leave(t + 900, "step");
      }
      events.Enter(4990, "MPI_Wait").Irecv(4991, peer, 0, 3, 8, 200).IrecvRequest(4991, 201).Leave(4992, "MPI_Wait");
      events.Leave(5000, "main");
      events.Enter(5000, outside).Irecv(5000, peer, 0, 4, 8, 201).Send(5000, peer, 0, 4, 8).Leave(5000, outside);
    }
    anchor_ = archive.Close();
    for (const char* file : kFiles) contents_.push_back(ReadFile(folder_ / "a" / file));
  }

  static void AddTeam(test::Otf2Archive& archive, std::uint32_t team, std::uint64_t t) {
    const std::string region = "!$omp parallel", barrier = "!$omp barrier", end = "!$omp implicit barrier";
    archive.Location(0).ThreadFork(t, 2);
    for (const std::uint64_t location : {0u, 1001u}) {
      archive.Location(location)
          .TeamBegin(t + 1, team)
          .Enter(t + 1, region)
          .Enter(t + 50, barrier)
          .Leave(t + 60, barrier)
          .Enter(t + 100, end)
          .Leave(t + 110, end)
          .Leave(t + 110, region)
          .TeamEnd(t + 110, team);
    }
    archive.Location(0).ThreadJoin(t + 120);
  }

  const std::string& anchor() const { return anchor_; }
  const std::string& content(std::size_t file) const { return contents_[file]; }
  void Write(std::size_t file, const std::string& content) const { WriteFile(folder_ / "a" / kFiles[file], content); }

 private:
  test::TemporaryFolder folder_;
  std::string anchor_;
  std::vector<std::string> contents_;
};

const GoodArchive& Archive() {
  static const GoodArchive archive;
  return archive;
}

}  // namespace

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (std::size_t file = 0; file < std::size(kFiles); ++file) {
    seeds.push_back(std::string(1, static_cast<char>(file)) + Archive().content(file));
  }
  return seeds;
}

void Try(const std::string& input) {
  if (input.empty()) return;
  const std::size_t file = static_cast<unsigned char>(input[0]) % std::size(kFiles);
  Archive().Write(file, input.substr(1));
  try {
    ReadOptions options;
    options.keep_threads = true;
    AnalyseTrace(Archive().anchor(), options, input.size() % 8 == 0);
  } catch (const Error&) {
  }
  Archive().Write(file, Archive().content(file));
}

}  // namespace farscale::fuzz
