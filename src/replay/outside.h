// What processes that replay the ranks of one run tell each other of messages and collective operations.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "replay/engine.h"
#include "replay/part_program.h"

namespace farscale {

// A side of a message that is posted by a rank of another process: the number-th of those that it sends here, or that
// this one sends there. kNothing: its sender no longer waits for the receiver.
struct OutsideStep {
  std::uint32_t number = 0;
  Step step = Step::kNothing;
  Tick time = 0;

  static constexpr std::size_t kBytes = 13;  // as another process gets it
};

// Who has arrived at operations, which are numbered among those of all processes.
struct ArrivedProcesses {
  std::uint32_t processes = 0;  // all of whose ranks have
  Tick latest = 0;
};
struct ArrivedSegment {
  std::uint32_t operation = 0;
  std::uint32_t first = 0;  // place
  Tick latest = 0;
};
struct CollectiveNews {
  std::map<std::uint32_t, ArrivedProcesses> processes;
  std::map<std::uint32_t, Tick> roots;
  std::vector<ArrivedSegment> segments;
  std::uint64_t steps = 0;  // of messages that were told of at the same time

  bool empty() const { return processes.empty() && roots.empty() && segments.empty() && steps == 0; }
  void Merge(const CollectiveNews& other);
};

// What follows from all news: when the last rank arrived at each operation at which all have, the roots as they are,
// and up to the ends of which segments all have arrived.
struct CollectiveAnswers {
  std::map<std::uint32_t, Tick> complete;
  std::map<std::uint32_t, Tick> roots;
  std::vector<ArrivedSegment> up_to;
  bool is_quiet = false;  // nobody had news
};

// Collects what the engine tells of own ranks [replay/engine.h].
class Outside {
 public:
  static constexpr bool kAny = true;

  Outside(const PartMatching& matching, PartProgram& program);

  void Posted(Step step, std::uint32_t message, Tick time);
  void Released(std::uint32_t message) { Posted(Step::kNothing, message, 0); }
  void Arrived(std::uint32_t operation, std::uint32_t missing, Tick latest);
  void RootArrived(std::uint32_t operation, Tick time);
  void ArrivedInOrder(std::uint32_t operation, std::uint32_t rank, Tick time);

  // Members that share messages with this one; what is to be told to each; and of operations.
  const std::vector<std::size_t>& partners() const { return partners_; }
  std::vector<std::string> TakeTexts();
  CollectiveNews TakeNews();

 private:
  const PartMatching& matching_;
  PartProgram& program_;
  std::vector<std::size_t> partners_;
  std::uint32_t first_shared_ = 0, end_shared_ = 0;  // messages
  std::vector<std::string> texts_;                   // by partner
  CollectiveNews news_;
};

// What the first member knows of operations that are not complete.
class CollectiveAnswerer {
 public:
  explicit CollectiveAnswerer(const PartProgram& program) : program_(program) {}
  CollectiveAnswers Answer(const CollectiveNews& news);

 private:
  void AddSegment(const ArrivedSegment& segment, CollectiveAnswers& answers);

  const PartProgram& program_;
  std::map<std::uint32_t, ArrivedProcesses> incomplete_;
  std::map<std::uint32_t, ScanArrivals> scans_;
};

// The steps of a text.
std::vector<OutsideStep> ReadSteps(const std::string& text);

// Does here what others told.
template <typename Engine>
void ApplyTexts(const std::vector<std::string>& texts, const PartMatching& matching, Engine& engine) {
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const MessageBlock& block = matching.blocks[i];
    for (const OutsideStep& step : ReadSteps(texts[i])) {
      const bool is_sender = step.step != Step::kReceive && step.step != Step::kReceiveRendezvous;
      const std::uint32_t message = (is_sender ? block.first_received : block.first_sent) + step.number;
      step.step == Step::kNothing ? engine.Release(message) : engine.Post(step.step, message, step.time);
    }
  }
}

template <typename Engine>
void ApplyAnswers(const CollectiveAnswers& answers, const PartMatching& matching, const PartProgram& program,
                  Engine& engine) {
  for (const auto& [of_all, time] : answers.roots) {
    const std::uint32_t operation = matching.Here(of_all);
    if (operation != kNoCollective) engine.RootArrives(operation, time);
  }
  for (const ArrivedSegment& segment : answers.up_to) {
    const std::uint32_t operation = matching.Here(segment.operation);
    const auto scan = program.scans.find(operation);
    if (scan == program.scans.end()) continue;
    for (const auto& [first, place] : scan->second.outside) {
      if (first == segment.first) engine.ArriveUpTo(operation, place, segment.latest);
    }
  }
  for (const auto& [of_all, latest] : answers.complete) {
    const std::uint32_t operation = matching.Here(of_all);
    if (operation != kNoCollective) engine.OthersArrive(operation, latest);
  }
}

}  // namespace farscale
