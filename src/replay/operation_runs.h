// What is known of many collective operations, of which neighbours mostly have the same: runs of equal values. So
// processes can tell each other of all operations in few bytes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

namespace farscale {

template <typename T>
struct OperationRun {
  std::uint32_t first = 0, end = 0;
  T value{};
};

// Rising and apart.
template <typename T>
using OperationRuns = std::vector<OperationRun<T>>;

// Of an operation behind all others.
template <typename T>
void AppendRun(OperationRuns<T>& runs, const OperationRun<T>& run) {
  if (run.first == run.end) return;
  if (!runs.empty() && runs.back().end == run.first && runs.back().value == run.value) {
    runs.back().end = run.end;
  } else {
    runs.push_back(run);
  }
}

// merge(into, other) for operations that are in both.
template <typename T, typename Merge>
void MergeRuns(OperationRuns<T>& into, const OperationRuns<T>& other, const Merge& merge) {
  OperationRuns<T> result;
  std::uint32_t at = 0;
  for (std::size_t i = 0, k = 0; i < into.size() || k < other.size();) {
    const OperationRun<T>* a = i < into.size() ? &into[i] : nullptr;
    const OperationRun<T>* b = k < other.size() ? &other[k] : nullptr;
    if (a != nullptr && a->end <= at) {
      ++i;
      continue;
    }
    if (b != nullptr && b->end <= at) {
      ++k;
      continue;
    }
    // What covers the next operations, and until where.
    if (a == nullptr || (b != nullptr && std::max(b->first, at) < std::max(a->first, at))) std::swap(a, b);
    OperationRun<T> run{std::max(a->first, at), a->end, a->value};
    if (b != nullptr && b->first > run.first) run.end = std::min(run.end, b->first);
    if (b != nullptr && b->first <= run.first) {
      run.end = std::min(run.end, b->end);
      merge(run.value, b->value);
    }
    at = run.end;
    AppendRun(result, run);
  }
  into = std::move(result);
}

// Values one after the other as lengths of runs, for what has no numbers of operations.
template <typename T>
using RunLengths = std::vector<std::pair<std::uint32_t, T>>;

template <typename T>
RunLengths<T> PackRuns(const std::vector<T>& values, std::uint32_t first, std::uint32_t end) {
  RunLengths<T> runs;
  for (std::uint32_t i = first; i < end; ++i) {
    if (runs.empty() || runs.back().second != values[i]) runs.emplace_back(0, values[i]);
    ++runs.back().first;
  }
  return runs;
}

template <typename T>
void UnpackRuns(const RunLengths<T>& runs, std::vector<T>& values, std::uint32_t first) {
  auto at = values.begin() + first;
  for (const auto& [count, value] : runs) at = std::fill_n(at, count, value);
}

// Nothing for one that no run contains.
template <typename T>
const T* FindInRuns(const OperationRuns<T>& runs, std::uint32_t operation) {
  const auto behind = std::ranges::upper_bound(runs, operation, {}, &OperationRun<T>::first);
  if (behind == runs.begin() || (behind - 1)->end <= operation) return nullptr;
  return &(behind - 1)->value;
}

}  // namespace farscale
