// Anomalies inside a readable trace. Each has a name, is counted, is printed in every report, and past a stated
// share of what it is counted among it fails the run. Nothing is dropped without being counted here.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

enum class Severity { kNote, kWarning };

// A fatal share that no count exceeds.
inline constexpr double kNeverFatal = 1.0;

// An oddity of a readable trace or table. Every room declares its own in namespace `anomaly`.
struct Anomaly {
  std::string_view id;  // in JSON
  Severity severity;
  std::string_view sentence;
  // A share of the time if that is known, else of the population; above it the run fails, unless the user accepts it.
  // All are chosen: the loss of a hundredth of the events still leaves the factors meaningful.
  double fatal_share = kNeverFatal;

  // The order of findings: warnings first, then by id.
  friend constexpr bool operator<(const Anomaly& a, const Anomaly& b) {
    return a.severity != b.severity ? a.severity > b.severity : a.id < b.id;
  }
};

// One anomaly as found: how often, among how many (0: not a share), and the first place it was seen.
struct Finding {
  std::string id;
  Severity severity = Severity::kNote;
  std::string sentence;
  std::uint64_t count = 0;
  std::uint64_t population = 0;
  std::string example;

  friend bool operator==(const Finding&, const Finding&) = default;
};

Finding AsFinding(const Anomaly& anomaly, const std::string& example, std::uint64_t count = 1);

// Ids of anomalies that the user accepts above their fatal share.
using AcceptedKinds = std::vector<std::string>;

// "...; --accept stateMissing uses the trace all the same": what to do about a refusal.
std::string AdviceToAccept(const std::string& advice, const Anomaly& anomaly);

class Diagnostics {
 public:
  // Adds `count` occurrences; the first `example` given is kept.
  void Add(const Anomaly& anomaly, std::uint64_t count = 1, std::string_view example = {});
  // Adds to what the anomaly is counted among.
  void AddPopulation(const Anomaly& anomaly, std::uint64_t population) { entries_[anomaly].population += population; }
  // Time that the anomaly falsifies and that it is a share of, in ticks: a better measure of damage than its count.
  void AddTime(const Anomaly& anomaly, std::int64_t falsified, std::int64_t all);
  // These kinds do not fail the run; their findings say that they were accepted.
  void Accept(const AcceptedKinds& kinds) { accepted_.insert(kinds.begin(), kinds.end()); }
  bool Accepts(const Anomaly& anomaly) const { return accepted_.contains(anomaly.id); }
  void Merge(const Diagnostics& other);

  std::uint64_t count(const Anomaly& anomaly) const { return At(anomaly).count; }
  // A share of the time if that is known, else of the population; 0 when nothing is.
  double Share(const Anomaly& anomaly) const { return At(anomaly).Share(); }
  const std::string& Example(const Anomaly& anomaly) const { return At(anomaly).example; }
  bool empty() const;
  // The findings in the order of anomalies; those that never occurred are left out.
  std::vector<Finding> findings() const;

  // Throws an input error naming the anomaly when its share is above its fatal share.
  void FailPastThreshold(const std::string& where) const;

 private:
  struct Entry {
    std::uint64_t count = 0;
    std::uint64_t population = 0;
    std::string example;
    std::int64_t falsified_time = 0, all_time = 0;  // 0: the anomaly has no time

    double Share() const;
  };
  const Entry& At(const Anomaly& anomaly) const;

  std::map<Anomaly, Entry> entries_;
  std::set<std::string, std::less<>> accepted_;
};

// "3 of 400, first at tick 17": how often and where; empty when there is nothing to add to the sentence.
std::string DetailOf(const Finding& finding);
// "clockBackwards: 3 of 400 events lie before ... (first ...)" for a terminal or a log; microseconds as times.
std::string ToSentence(const Finding& finding);
// The same of a file, in two lines of a terminal where that can be: without the first example, then with the end of the
// path alone.
std::string ToSentence(const Finding& finding, const std::string& where, std::size_t columns);
// Adds `more` to findings. Those with the same id become one: counts and populations add up, the first example stays.
// `source`: named before the examples of `more`, such as the run they are from.
void MergeFindings(const std::vector<Finding>& more, std::vector<Finding>& findings, const std::string& source = {});

// The exception that every room throws, and that main() turns into one sentence and an exit code.

// The kind fixes the exit code of the program.
enum class ErrorKind {
  kUsage = 2,          // wrong command line or study file
  kInput = 3,          // unreadable or damaged input
  kNotEnoughData = 4,  // readable, but not enough to answer the question
  kOutput = 5,         // cannot write the result
};

class Error : public std::runtime_error {
 public:
  // `where` is a file, "file:line", or "file, rank 3"; may be empty.
  // `what` is a clause without a full stop. `advice` says what to do next; may be empty.
  Error(ErrorKind kind, const std::string& where, const std::string& what, const std::string& advice = "");

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
  std::string where_;
};

}  // namespace farscale
