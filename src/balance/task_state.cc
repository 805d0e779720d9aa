#include "balance/task_state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/error.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr double kLargestState = 1e15;  // bytes

[[noreturn]] void Fail(const std::string& file, std::size_t line, const std::string& what) {
  throw Error(ErrorKind::kUsage, fmt::format("{}:{}", file, line), what,
              "the file has a line rank,bytes and then one for every rank");
}

}  // namespace

std::vector<double> EstimateTaskBytes(const TaskProgram& tasks) {
  std::vector<double> largest(tasks.tasks(), 0);
  for (const TaskMessage& message : tasks.program.task_messages) {
    if (message.is_sent) largest[message.from] = std::max(largest[message.from], static_cast<double>(message.bytes));
  }
  for (double& bytes : largest) bytes = kStateArrays * 8 * std::pow(bytes / 8, 1.5);
  return largest;
}

std::vector<double> ParseTaskBytes(const std::string& text, const std::string& file, std::size_t tasks) {
  std::vector<double> bytes(tasks, -1);
  std::istringstream lines(text);
  std::string line;
  for (std::size_t number = 1; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (number == 1) {
      if (line != "rank,bytes") Fail(file, number, "the first line is not rank,bytes");
      continue;
    }
    if (line.empty()) continue;
    const std::size_t comma = line.find(',');
    long long rank = -1;
    double value = -1;
    if (!ParseInteger(line.substr(0, comma), rank) || rank < 0) Fail(file, number, "no rank in '" + line + "'");
    const bool has_bytes = comma != std::string::npos && ParseNumber(line.substr(comma + 1), value);
    if (!has_bytes || !(value >= 0 && value <= kLargestState))
      Fail(file, number, "no number of bytes in '" + line + "'");
    if (rank >= static_cast<long long>(tasks)) continue;  // of a larger run
    double& of = bytes[static_cast<std::size_t>(rank)];
    if (of >= 0) Fail(file, number, fmt::format("rank {} is there twice", rank));
    of = value;
  }
  for (std::size_t rank = 0; rank < tasks; ++rank) {
    if (bytes[rank] < 0) Fail(file, 1, fmt::format("nothing is said of rank {}", rank));
  }
  return bytes;
}

}  // namespace farscale
