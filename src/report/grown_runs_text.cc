#include "report/grown_runs_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/text.h"
#include "pages/render.h"
#include "report/factor_text.h"

namespace farscale {
namespace {

constexpr std::size_t kMostRules = 8;  // chosen: they fit into two lines
constexpr double kSmallLoss = 0.005;   // not worth naming; chosen: half a percent
constexpr Factor kParts[] = {Factor::kLoadBalance, Factor::kSerialization, Factor::kTransfer};

struct AnswerText {
  FARSCALE_TEXTS(ranks, name, value, loss)  // the last: the factor that loses most, with its value
};

struct ProofText {
  std::string count, error;
  bool is_one = false;
  FARSCALE_TAGS(count, error, is_one)
};

struct GrownRowText {
  FARSCALE_TEXTS(ranks, layout, source, iteration, parallel, balance, serialization, transfer)
};

struct RuleText {
  bool is_first = false;
  std::string rule, share;
  FARSCALE_TAGS(is_first, rule, share)
};

struct ClassText {
  FARSCALE_TEXTS(place, ranks, computation)
};

struct CopiedText {
  FARSCALE_TEXTS(reason, ranks, fewest, median, most, messages)
};

struct LearnedText {
  std::optional<CopiedText> copied;
  std::string explained, computation, spread, noise, alone;
  std::vector<RuleText> partners, sizes;
  bool has_partners = false, has_sizes = false;
  FARSCALE_TAGS(copied, explained, computation, spread, noise, alone, partners, sizes, has_partners, has_sizes)
};

struct PartlyText {
  FARSCALE_TEXTS(ranks, replayed, iterations)
};

// The tags of grown_runs.txt.mustache.
struct GrownRunsText {
  std::string phase, refusal, scenario;
  std::vector<AnswerText> answers;
  std::optional<ProofText> proof;
  std::vector<GrownRowText> rows;
  std::optional<LearnedText> learned;
  std::vector<PartlyText> partly;
  std::vector<std::string> left_out;
  bool has_classes = false;
  std::vector<ClassText> classes;
  FARSCALE_TAGS(phase, refusal, scenario, answers, proof, rows, learned, partly, left_out, has_classes, classes)
};

std::string Ranks(std::int64_t ranks) { return FormatCount(static_cast<std::uint64_t>(ranks)); }

const GrowthRecordRow* MeasuredAt(const GrowthRecord& record, std::int64_t ranks) {
  const auto found = std::ranges::find_if(record.rows, [&](const GrowthRecordRow& row) {
    return row.ranks == ranks && row.source == GrowthSource::kMeasured;
  });
  return found == record.rows.end() ? nullptr : &*found;
}

// Parallel efficiency or, on a network that nobody knows, load balance.
Factor HeadlineIn(const GrowthRecordRow& row) {
  return row.factors[Factor::kParallelEfficiency] ? Factor::kParallelEfficiency : Factor::kLoadBalance;
}

std::optional<AnswerText> AnswerOf(const GrowthRecordRow& row) {
  const Factor headline = HeadlineIn(row);
  if (!row.factors[headline]) return std::nullopt;
  AnswerText answer{Ranks(row.ranks), NameInSentence(headline), FormatFactor(*row.factors[headline]), ""};
  if (headline == Factor::kLoadBalance) return answer;
  const Factor worst =
      *std::ranges::min_element(kParts, {}, [&](Factor factor) { return row.factors[factor].value_or(1); });
  const double value = row.factors[worst].value_or(1);
  if (value < 1 - kSmallLoss) answer.loss = fmt::format("{} ({})", NameInSentence(worst), FormatFactor(value));
  return answer;
}

// Of the backtests: how many there are, and their largest error.
std::optional<ProofText> ProofOf(const GrowthRecord& record) {
  std::size_t count = 0;
  double largest = 0;
  for (const GrowthRecordRow& row : record.rows) {
    const GrowthRecordRow* measured = row.source == GrowthSource::kGrown ? MeasuredAt(record, row.ranks) : nullptr;
    if (measured == nullptr) continue;
    const std::optional<double>&a = row.factors[HeadlineIn(row)], &b = measured->factors[HeadlineIn(row)];
    if (!a || !b) continue;
    ++count;
    largest = std::max(largest, std::abs(*a / *b - 1));
  }
  if (count == 0) return std::nullopt;
  return ProofText{std::to_string(count), FormatPercent(largest), count == 1};
}

std::string SourceText(const GrowthRecordRow& row, const std::string& scenario) {
  switch (row.source) {
    case GrowthSource::kMeasured: return scenario.empty() ? "measured" : scenario;
    case GrowthSource::kReplayed: return "replayed";
    case GrowthSource::kGrown: break;
  }
  return "grown from up to " + Ranks(row.learned_up_to.value_or(0));
}

std::string LayoutOf(const std::vector<std::int64_t>& layout) {
  std::vector<std::string> extents;
  for (const std::int64_t extent : layout) extents.push_back(std::to_string(extent));
  return Join(extents, " × ");
}

GrownRowText RowOf(const GrowthRecordRow& row, const std::string& scenario) {
  const auto value = [&](Factor factor) { return row.factors[factor] ? FormatFactor(*row.factors[factor]) : "-"; };
  std::string layout = LayoutOf(row.layout);
  if (!row.second_layout.empty()) layout += " + " + LayoutOf(row.second_layout);
  return {Ranks(row.ranks),
          layout.empty() ? "-" : layout,
          SourceText(row, scenario),
          FormatSeconds(row.iteration),
          value(Factor::kParallelEfficiency),
          value(Factor::kLoadBalance),
          value(Factor::kSerialization),
          value(Factor::kTransfer)};
}

// The most frequent ones, and all others together.
std::vector<RuleText> RulesOf(const std::vector<RuleRecord>& rules) {
  std::vector<RuleText> texts;
  double rest = 1;
  for (const RuleRecord& rule : rules) {
    if (texts.size() == kMostRules) break;
    texts.push_back({texts.empty(), rule.rule, FormatPercent(rule.share)});
    rest -= rule.share;
  }
  if (rules.size() > texts.size())
    texts.push_back({false, fmt::format("{} others", rules.size() - texts.size()), FormatPercent(std::max(0.0, rest))});
  return texts;
}

LearnedText LearnedOf(const LearnedRecord& learned) {
  std::vector<std::string> alone;
  for (const std::int64_t ranks : learned.runs_alone) alone.push_back(Ranks(ranks));
  std::optional<CopiedText> copied;
  if (const auto& of = learned.copied) {
    const auto count = [](double partners) { return fmt::format("{:.0f}", partners); };
    copied = CopiedText{of->reason,
                        Ranks(of->ranks),
                        count(of->fewest_partners),
                        count(of->median_partners),
                        count(of->most_partners),
                        fmt::format("{:.3g}", of->messages)};
  }
  return {.copied = copied,
          .explained = FormatPercent(learned.explained),
          .computation = learned.computation,
          .spread = FormatPercent(learned.spread),
          .noise = FormatPercent(learned.noise),
          .alone = Join(alone, ", "),
          .partners = RulesOf(learned.partners),
          .sizes = RulesOf(learned.sizes),
          .has_partners = !learned.partners.empty(),
          .has_sizes = !learned.sizes.empty()};
}

}  // namespace

std::string FormatGrownRuns(const GrowthRecord& record, const std::string& scenario, bool with_classes,
                            const Partials& texts, std::size_t width) {
  GrownRunsText text{.phase = record.phase, .refusal = record.refusal, .scenario = scenario, .proof = ProofOf(record)};
  for (const GrowthRecordRow& row : record.rows) {
    text.rows.push_back(RowOf(row, scenario));
    if (row.source != GrowthSource::kGrown || MeasuredAt(record, row.ranks) != nullptr) continue;
    if (const auto answer = AnswerOf(row)) text.answers.push_back(*answer);
    if (row.replayed < row.iterations)
      text.partly.push_back({Ranks(row.ranks), std::to_string(row.replayed), std::to_string(row.iterations)});
  }
  if (record.learned && record.refusal.empty()) {
    text.learned = LearnedOf(*record.learned);
    text.has_classes = with_classes && !record.learned->classes.empty();
    for (const RankClassRecord& of_class : record.learned->classes)
      text.classes.push_back({of_class.place, Ranks(of_class.ranks), FormatSeconds(of_class.computation)});
  }
  for (const std::string& reason : record.left_out) {
    if (reason != record.refusal) text.left_out.push_back(reason);
  }
  return RenderText(texts, "grown_runs.txt", ToData(text), width);
}

}  // namespace farscale
