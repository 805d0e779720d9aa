// Rules in one sentence:
//   FACTOR [of phase NAME] [of series NAME] [at COUNT, … | measured | targets] BOUND
// where a bound is ">= 0.75", "<= 1.5", "drops at most 3 %" or "rises at most 5 %". Names end where the next part
// begins, or stand in single quotes.
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "gate/rules.h"

namespace farscale {
namespace {

constexpr const char* kExample = "write it like 'parallelEfficiency of phase solve at 1024 >= 0.75'";

class Words {
 public:
  Words(const std::string& text, const std::string& where) : text_(text), where_(where) {
    for (const std::string& word : SplitWords(text)) words_.push_back(word);
  }

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
  static std::vector<std::string> SplitWords(const std::string& text) {
    std::vector<std::string> words;
    std::string word;
    bool quoted = false;
    for (const char c : text) {
      if (c == '\'') quoted = !quoted;
      if (!quoted && (c == ' ' || c == '\t' || c == ',')) {
        if (!word.empty()) words.push_back(std::move(word));
        word.clear();
        continue;
      }
      word += c;
    }
    if (!word.empty()) words.push_back(word);
    return words;
  }
  static std::string Unquoted(const std::string& word) {
    const std::size_t end = word.size() > 1 && word.back() == '\'' ? word.size() - 2 : word.size() - 1;
    return word.substr(1, end);
  }
  bool BeginsPart(std::size_t place) const {
    const std::string& word = words_[place];
    if (word == "at" || word == ">=" || word == "<=" || word == "drops" || word == "rises") return true;
    return word == "of" && place + 1 < words_.size() && (words_[place + 1] == "phase" || words_[place + 1] == "series");
  }

  std::string text_, where_;
  std::vector<std::string> words_;
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
  do {
    long long cores = 0;
    const std::string word = words.Next("a number of cores");
    if (!ParseInteger(word, cores) || cores < 1) words.Fail(fmt::format("'{}' is no number of cores", word));
    rule.cores.push_back(static_cast<double>(cores));
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
  } else {
    words.Fail(fmt::format("'{}' is not expected there", words.Next("")));
  }
}

}  // namespace

Rule ParseRuleInWords(const std::string& text, const std::string& where) {
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
