#include "replay/outside.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace farscale {

void CollectiveNews::Merge(const CollectiveNews& other) {
  for (const auto& [operation, arrived] : other.processes) {
    ArrivedProcesses& into = processes[operation];
    into.processes += arrived.processes;
    into.latest = std::max(into.latest, arrived.latest);
  }
  roots.insert(other.roots.begin(), other.roots.end());
  segments.insert(segments.end(), other.segments.begin(), other.segments.end());
  steps += other.steps;
}

Outside::Outside(const PartMatching& matching, PartProgram& program) : matching_(matching), program_(program) {
  for (const MessageBlock& block : matching.blocks) partners_.push_back(block.member);
  texts_.resize(partners_.size());
  if (matching.blocks.empty()) return;
  first_shared_ = matching.blocks.front().first_sent;
  end_shared_ = matching.blocks.back().end_received;
}

void Outside::Posted(Step step, std::uint32_t message, Tick time) {
  if (message < first_shared_ || message >= end_shared_) return;
  const auto block = std::ranges::upper_bound(matching_.blocks, message, {}, &MessageBlock::first_sent) - 1;
  const bool is_sent = message < block->end_sent;
  const std::uint32_t number = message - (is_sent ? block->first_sent : block->first_received);
  char bytes[OutsideStep::kBytes];
  std::memcpy(bytes, &number, 4);
  std::memcpy(bytes + 4, &step, 1);
  std::memcpy(bytes + 5, &time, 8);
  texts_[static_cast<std::size_t>(block - matching_.blocks.begin())].append(bytes, sizeof bytes);
  ++news_.steps;
}

void Outside::Arrived(std::uint32_t operation, std::uint32_t missing, Tick latest) {
  // Only the others are missing.
  if (operation < matching_.shared_operations && missing == 1)
    news_.processes[matching_.OfAll(operation)] = {1, latest};
}

void Outside::RootArrived(std::uint32_t operation, Tick time) {
  if (operation < matching_.shared_operations) news_.roots[matching_.OfAll(operation)] = time;
}

void Outside::ArrivedInOrder(std::uint32_t operation, std::uint32_t rank, Tick time) {
  const auto scan = program_.scans.find(operation);
  if (scan == program_.scans.end()) return;
  const Program& program = program_.program;
  const std::uint32_t place = program.scan_orders[program.order_of_scan.at(operation)].places[rank];
  for (ScanSegment& segment : scan->second.segments) {
    if (place < segment.first || place >= segment.end) continue;
    segment.latest = std::max(segment.latest, time);
    if (--segment.arrivals == 0) {
      news_.segments.push_back({matching_.OfAll(operation), segment.first, segment.latest});
    }
  }
}

std::vector<std::string> Outside::TakeTexts() {
  return std::exchange(texts_, std::vector<std::string>(partners_.size()));
}

CollectiveNews Outside::TakeNews() { return std::exchange(news_, {}); }

CollectiveAnswers CollectiveAnswerer::Answer(const CollectiveNews& news) {
  CollectiveAnswers answers;
  answers.is_quiet = news.empty();
  answers.roots = news.roots;
  for (const ArrivedSegment& segment : news.segments) AddSegment(segment, answers);
  for (const auto& [operation, arrived] : news.processes) {
    ArrivedProcesses& all = incomplete_[operation];
    all.processes += arrived.processes;
    all.latest = std::max(all.latest, arrived.latest);
    if (all.processes < FindInRuns(program_.arrivals, operation)->processes) continue;
    answers.complete[operation] = all.latest;
    incomplete_.erase(operation);
  }
  return answers;
}

// Segments count as places of a scan.
void CollectiveAnswerer::AddSegment(const ArrivedSegment& segment, CollectiveAnswers& answers) {
  const std::vector<std::uint32_t>& awaited = program_.awaited_segments.at(segment.operation);
  auto found = scans_.find(segment.operation);
  if (found == scans_.end()) {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < awaited.size(); ++i) all.push_back(i);
    found = scans_.emplace(segment.operation, ScanArrivals(awaited.size(), all)).first;
  }
  ScanArrivals& arrivals = found->second;
  const std::size_t known = arrivals.known();
  arrivals.Arrive(static_cast<std::size_t>(std::ranges::lower_bound(awaited, segment.first) - awaited.begin()),
                  segment.latest);
  for (std::size_t i = known; i < arrivals.known(); ++i) {
    answers.up_to.push_back({segment.operation, awaited[i], arrivals.TimeFor(i)});
  }
}

std::vector<OutsideStep> ReadSteps(const std::string& text) {
  std::vector<OutsideStep> steps(text.size() / OutsideStep::kBytes);
  const char* at = text.data();
  for (OutsideStep& step : steps) {
    std::memcpy(&step.number, at, 4);
    std::memcpy(&step.step, at + 4, 1);
    std::memcpy(&step.time, at + 5, 8);
    at += OutsideStep::kBytes;
  }
  return steps;
}

}  // namespace farscale
