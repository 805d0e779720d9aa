// Writes OTF2 archives for tests and benchmarks, record by record, through the OTF2 library.
//
//   Otf2Archive archive(folder, "traces");
//   archive.AddWorld(2);
//   Otf2Location rank0 = archive.Location(0);
//   rank0.Enter(10, "MPI_Send").Send(10, 1, 0, 5, 1024).Leave(12, "MPI_Send");
//   ...
//   std::string anchor = archive.Close();
#pragma once

#include <otf2/otf2.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace farscale::test {

class Otf2Archive;

// Events of one location. Every method returns the writer, so that a test reads like a trace.
class Otf2Writer {
 public:
  Otf2Writer& Enter(std::uint64_t time, const std::string& region);
  Otf2Writer& Leave(std::uint64_t time, const std::string& region);
  Otf2Writer& Enter(std::uint64_t time, std::uint32_t region);
  Otf2Writer& Leave(std::uint64_t time, std::uint32_t region);
  Otf2Writer& Send(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes);
  Otf2Writer& Receive(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag,
                      std::uint64_t bytes);
  Otf2Writer& Isend(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
                    std::uint64_t request);
  Otf2Writer& IsendComplete(std::uint64_t time, std::uint64_t request);
  Otf2Writer& IrecvRequest(std::uint64_t time, std::uint64_t request);
  Otf2Writer& Irecv(std::uint64_t time, std::uint32_t peer, std::uint32_t comm, std::uint32_t tag, std::uint64_t bytes,
                    std::uint64_t request);
  Otf2Writer& RequestTest(std::uint64_t time, std::uint64_t request);
  Otf2Writer& RequestCancelled(std::uint64_t time, std::uint64_t request);
  Otf2Writer& Collective(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t comm, std::uint32_t root,
                         std::uint64_t sent, std::uint64_t received);
  Otf2Writer& CollectiveRequest(std::uint64_t time, std::uint64_t request);
  Otf2Writer& CollectiveComplete(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t comm,
                                 std::uint32_t root, std::uint64_t request);
  Otf2Writer& WindowCollective(std::uint64_t time, OTF2_CollectiveOp operation, std::uint32_t window);
  Otf2Writer& WindowLock(std::uint64_t time, std::uint32_t window, std::uint32_t target, OTF2_LockType type);
  Otf2Writer& Atomic(std::uint64_t time, std::uint32_t window, std::uint64_t bytes);
  Otf2Writer& FileOperation(std::uint64_t time, std::uint64_t bytes);
  Otf2Writer& WindowUnlock(std::uint64_t time, std::uint32_t window, std::uint32_t target);
  Otf2Writer& WindowGroup(std::uint64_t time, std::uint32_t window, std::uint32_t group);
  // On a stream of a device: a copy in a window, known by a number.
  Otf2Writer& BeginCopy(std::uint64_t time, std::uint32_t window, std::uint64_t id);
  Otf2Writer& EndCopy(std::uint64_t time, std::uint32_t window, std::uint64_t id);
  Otf2Writer& MetricUnsigned(std::uint64_t time, std::uint32_t metric, const std::vector<std::uint64_t>& values);
  Otf2Writer& MetricSigned(std::uint64_t time, std::uint32_t metric, const std::vector<std::int64_t>& values);
  Otf2Writer& MetricDouble(std::uint64_t time, std::uint32_t metric, const std::vector<double>& values);
  Otf2Writer& ThreadFork(std::uint64_t time, std::uint32_t threads);
  Otf2Writer& ThreadJoin(std::uint64_t time);
  Otf2Writer& TeamBegin(std::uint64_t time, std::uint32_t team);
  Otf2Writer& TeamEnd(std::uint64_t time, std::uint32_t team);
  Otf2Writer& Measurement(std::uint64_t time, bool on);
  Otf2Writer& Flush(std::uint64_t begin, std::uint64_t end);
  Otf2Writer& ProgramBegin(std::uint64_t time, const std::string& name);

 private:
  friend class Otf2Archive;
  Otf2Writer(Otf2Archive* archive, OTF2_EvtWriter* writer) : archive_(archive), writer_(writer) {}
  Otf2Archive* archive_;
  OTF2_EvtWriter* writer_;
};

class Otf2Archive {
 public:
  Otf2Archive(const std::filesystem::path& folder, const std::string& name);
  ~Otf2Archive();
  Otf2Archive(const Otf2Archive&) = delete;
  Otf2Archive& operator=(const Otf2Archive&) = delete;

  // A property of the archive, in its anchor.
  void Property(const std::string& name, const std::string& value);

  // Definitions; may be added until Close().
  // MPI_ names get the MPI paradigm, "cuda" and "hip" theirs, "acc" that of OpenACC, "sycl" one of accelerators; those
  // with "!$omp" in front that of OpenMP, and the role that they name. "cuda copy" and "cuda idle" have roles of their
  // own, too.
  std::uint32_t Region(const std::string& name);
  std::uint32_t String(const std::string& text);
  std::uint32_t Node(const std::string& name);
  // A process on a node with so many threads; its main thread is a location, the others have the numbers
  // 1000 + 100 * rank + thread.
  void AddProcess(std::uint32_t node, int threads = 1);
  // A device of a node.
  std::uint32_t AddDevice(std::uint32_t node);
  // A stream of a process, in a context of its own on a device.
  void AddStream(std::uint64_t location, std::uint32_t process, std::uint32_t device);
  // As they were before OTF2 3.0: a location of the process, with a name that tells devices apart.
  void AddStream(std::uint64_t location, std::uint32_t process, const std::string& name);
  // The time of a location is later than it should be by so much, from the time on.
  void SetClockOffset(std::uint64_t location, std::uint64_t time, std::int64_t offset);
  // So many processes on one node; MPI_COMM_WORLD is communicator 0, MPI_COMM_SELF communicator 1.
  void AddWorld(int ranks);
  // World and self for the processes added so far, spread over nodes as they are.
  void AddMpi();
  std::uint32_t AddCommunicator(const std::string& name, const std::vector<std::uint64_t>& world_ranks);
  std::uint32_t AddWindow(std::uint32_t communicator);
  std::uint32_t AddGroup(const std::vector<std::uint64_t>& world_ranks);
  // Of threads, by their locations.
  std::uint32_t AddTeam(const std::vector<std::uint64_t>& locations);
  // `coordinates` by local rank, written as they are: damage is the caller's.
  void AddTopology(std::uint32_t communicator, const std::vector<std::uint32_t>& extents, bool is_periodic,
                   const std::vector<std::vector<std::uint32_t>>& coordinates);
  std::uint32_t AddMetricClass(const std::vector<std::string>& names, OTF2_MetricMode mode, OTF2_Type type,
                               OTF2_MetricOccurrence occurrence = OTF2_METRIC_SYNCHRONOUS_STRICT);
  // `length`: of the run; 1 stands for one that the writer does not know.
  void SetClock(std::uint64_t ticks_per_second, std::uint64_t offset, std::uint64_t length = 1);
  // So many events in the definition of the location, whatever it has.
  void AnnounceEvents(std::uint64_t location, std::uint64_t events) { announced_[location] = events; }
  void DefineLastProcessFirst() { last_first_ = true; }
  // Region and communicator numbers in the events of a location are shifted by its mapping tables: what it writes as
  // n means (n + shift) mod count.
  void MapRegions(std::uint64_t location, const std::vector<std::uint64_t>& global_of_local);

  Otf2Writer Location(std::uint64_t location);

  // Writes the definitions and returns the path of the anchor file.
  std::string Close();

 private:
  friend class Otf2Writer;
  struct Process {
    std::uint32_t node;
    int threads;
  };
  struct Stream {
    std::uint64_t location;
    std::uint32_t process;
    std::uint32_t device;  // of OTF2 3.0, else none
    std::string name;
  };
  struct MetricClass {
    std::vector<std::string> names;
    OTF2_MetricMode mode;
    OTF2_MetricOccurrence occurrence;
    OTF2_Type type;
  };
  struct Topology {
    std::uint32_t communicator;
    std::vector<std::uint32_t> extents;
    bool is_periodic;
    std::vector<std::vector<std::uint32_t>> coordinates;
  };
  struct Communicator {
    std::string name;
    std::vector<std::uint64_t> members;
    bool is_self;
    bool is_team = false;
  };
  void WriteDefinitions();
  void WriteStreams();
  void WriteTopologies();

  std::filesystem::path folder_;
  std::string name_;
  OTF2_Archive* archive_;
  std::vector<std::string> strings_;
  std::map<std::string, std::uint32_t> string_index_;
  std::vector<std::string> regions_;
  std::map<std::string, std::uint32_t> region_index_;
  std::vector<std::string> nodes_;
  std::vector<Process> processes_;
  std::vector<std::uint32_t> devices_;  // their nodes
  std::vector<Stream> streams_;
  std::map<std::uint64_t, std::vector<std::pair<std::uint64_t, std::int64_t>>> clock_offsets_;
  std::vector<Communicator> communicators_;
  std::vector<std::uint32_t> windows_;                   // their communicators
  std::vector<std::vector<std::uint64_t>> rank_groups_;  // of no communicator
  std::vector<Topology> topologies_;
  std::vector<MetricClass> metrics_;
  std::map<std::uint64_t, OTF2_EvtWriter*> writers_;
  std::map<std::uint64_t, std::uint64_t> events_;
  std::map<std::uint64_t, std::uint64_t> announced_;
  std::map<std::uint64_t, std::vector<std::uint64_t>> region_maps_;
  bool last_first_ = false;
  std::uint64_t ticks_per_second_ = 1000000000;
  std::uint64_t offset_ = 0;
  std::uint64_t length_ = 1;
};

}  // namespace farscale::test
