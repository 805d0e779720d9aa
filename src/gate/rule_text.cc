// Rules in one sentence:
//   FACTOR [of phase NAME] [of group NAME] [of series NAME] [at COUNT, … | measured | targets] BOUND [since NAME]
// where a bound is ">= 0.75", "<= 1.5", "drops at most 3 %" or "rises at most 5 %". Names end where the next part
// begins, or stand in single quotes.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/core_count.h"
#include "base/error.h"
#include "base/text.h"
#include "gate/rules.h"

namespace farscale {
namespace {

constexpr const char* kExample = "write it like 'parallelEfficiency of phase solve at 1024 >= 0.75'";

class Words {
 public:
  Words(const std::string& text, const std::string& where) : text_(text), where_(where) { SplitWords(text); }

  bool AtEnd() const { return next_ >= words_.size(); }
  // Takes these words when they come next.
  bool Take(const std::vector<std::string>& wanted) {
    if (words_.size() - next_ < wanted.size()) return false;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (words_[next_ + i] != wanted[i]) return false;
    }
    next_ += wanted.size();
    return true;
  }
  bool AtNumber() const {
    double number = 0;
    return !AtEnd() && ParseNumber(words_[next_], number);
  }
  std::string Next(const char* expected) {
    if (AtEnd()) Fail(fmt::format("{} is missing at its end", expected));
    return words_[next_++];
  }
  // Commas between the last word taken and the next.
  std::ptrdiff_t CommasAhead() const { return AtEnd() ? 0 : std::count(gaps_[next_].begin(), gaps_[next_].end(), ','); }
  // The last word taken when the next follows behind a comma alone, as in "1,024".
  std::string GluedBefore() const { return !AtEnd() && next_ > 0 && gaps_[next_] == "," ? words_[next_ - 1] : ""; }
  // Everything up to where another part of a rule begins.
  std::string Name() {
    if (!AtEnd() && words_[next_].front() == '\'') {
      const std::string name = Unquoted(words_[next_++]);
      if (Trim(name).empty()) Fail("a name is empty");
      return name;
    }
    std::vector<std::string> parts;
    while (!AtEnd() && !BeginsPart(next_)) parts.push_back(words_[next_++]);
    if (parts.empty()) Fail("a name is missing");
    return Join(parts, " ");
  }
  [[noreturn]] void Fail(const std::string& what) const {
    throw Error(ErrorKind::kUsage, where_, fmt::format("the rule \"{}\" cannot be read: {}", text_, what), kExample);
  }

 private:
  void SplitWords(const std::string& text) {
    bool quoted = false, in_word = false;
    std::string gap;
    for (const char c : text) {
      if (c == '\'') quoted = !quoted;
      if (!quoted && (c == ' ' || c == '\t' || c == ',')) {
        gap += c;
        in_word = false;
        continue;
      }
      if (!in_word) {
        words_.emplace_back();
        gaps_.push_back(std::exchange(gap, ""));
        in_word = true;
      }
      words_.back() += c;
    }
  }
  static std::string Unquoted(const std::string& word) {
    const std::size_t end = word.size() > 1 && word.back() == '\'' ? word.size() - 2 : word.size() - 1;
    return word.substr(1, end);
  }
  bool BeginsPart(std::size_t index) const {
    const std::string& word = words_[index];
    if (word == "at" || word == ">=" || word == "<=" || word == "drops" || word == "rises" || word == "since") {
      return true;
    }
    if (word != "of" || index + 1 == words_.size()) return false;
    return words_[index + 1] == "phase" || words_[index + 1] == "group" || words_[index + 1] == "series";
  }

  std::string text_, where_;
  std::vector<std::string> words_;
  std::vector<std::string> gaps_;  // what stands before each word
  std::size_t next_ = 0;
};

// "0.75", "75%" or "75 %".
double ReadNumber(Words& words) {
  std::string word = words.Next("a number");
  bool percent = word.back() == '%';
  if (percent) word.pop_back();
  double value = 0;
  if (!ParseNumber(word, value)) words.Fail(fmt::format("'{}' is no number", word));
  percent = words.Take({"%"}) || percent;
  return percent ? value / 100 : value;
}

void ReadCounts(Words& words, Rule& rule) {
  if (words.Take({"measured"})) {
    rule.counts = Rule::Counts::kMeasured;
    return;
  }
  if (words.Take({"targets"})) {
    rule.counts = Rule::Counts::kTargets;
    return;
  }
  rule.counts = Rule::Counts::kListed;
  if (words.CommasAhead() > 0) words.Fail(kEmptyCoreCount);
  do {
    std::int64_t cores = 0;
    const std::string before = words.GluedBefore();
    const std::string why = WhyNoCoreCount(words.Next("a number of cores"), cores, before);
    if (!why.empty()) words.Fail(why);
    rule.cores.push_back(static_cast<double>(cores));
    if (words.CommasAhead() > 1) words.Fail(kEmptyCoreCount);
    words.Take({"and"});
  } while (words.AtNumber());
  words.Take({"cores"});
}

void ReadPart(Words& words, Rule& rule) {
  const auto set = [&](std::optional<double>& bound, const char* name) {
    if (bound) words.Fail(fmt::format("it says {} twice", name));
    bound = ReadNumber(words);
  };
  if (words.Take({"of", "phase"})) {
    rule.phases.push_back(words.Name());
  } else if (words.Take({"of", "group"})) {
    rule.groups.push_back(words.Name());
  } else if (words.Take({"of", "series"})) {
    rule.series.push_back(words.Name());
  } else if (words.Take({"at"})) {
    ReadCounts(words, rule);
  } else if (words.Take({">="})) {
    set(rule.min, ">=");
  } else if (words.Take({"<="})) {
    set(rule.max, "<=");
  } else if (words.Take({"drops", "at", "most"})) {
    set(rule.max_drop, "how much it drops");
  } else if (words.Take({"rises", "at", "most"})) {
    set(rule.max_rise, "how much it rises");
  } else if (words.Take({"since"})) {
    if (!rule.since.empty()) words.Fail("it says since when twice");
    rule.since = words.Name();
  } else {
    words.Fail(fmt::format("'{}' is not expected there", words.Next("")));
  }
}

}  // namespace

Rule ParseRuleText(const std::string& text, const std::string& where) {
  Words words(text, where);
  Rule rule;
  rule.where = where;
  rule.text = text;
  const std::string id = words.Next("a factor");
  const auto quantity = QuantityById(id);
  if (!quantity) {
    const std::string advice = DidYouMean(id, QuantityIds());
    words.Fail(fmt::format("unknown factor '{}'{}", id, advice.empty() ? "" : ", " + advice));
  }
  rule.quantity = *quantity;
  while (!words.AtEnd()) ReadPart(words, rule);
  for (const std::optional<double>& change : {rule.max_drop, rule.max_rise}) {
    if (change && !(*change >= 0 && *change < 1)) {
      words.Fail("a drop or rise is a share of the baseline, such as 0.03 or 3 %");
    }
  }
  if (const std::string why = rule.min ? WhyNoBound(rule.quantity, *rule.min) : ""; !why.empty()) {
    words.Fail(fmt::format("{}; {}", why, PercentageAdvice(*rule.min)));
  }
  for (const std::optional<double>& bound : {rule.min, rule.max}) {
    if (bound && !(*bound > 0)) words.Fail("a bound must be above 0");
  }
  return rule;
}

}  // namespace farscale
