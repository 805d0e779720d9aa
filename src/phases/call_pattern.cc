#include "phases/found_loop.h"

#include <algorithm>
#include <functional>
#include <unordered_map>
#include <utility>

#include "stats/sample_quantiles.h"
#include "trace/trace.h"

namespace farscale {
namespace {

// All are chosen, and tested on the loops of the sample traces (tests/invariants/found_loops_test.cc).
constexpr std::size_t kFewestIterations = 3;
constexpr std::size_t kFewestCalls = 8;  // in all iterations
constexpr double kLeastSimilarity = 0.6;
constexpr double kLeastWhenKnown = 0.4;  // where another run shows what iterations are like
constexpr double kLeastCoverage = 0.1;   // share of the rank's time
constexpr std::size_t kFewRepeats = 2;
constexpr std::size_t kMostCandidates = 16;
constexpr Tick kLongBurst = 50;       // a long burst is at least this fraction of the longest
constexpr double kSmallestGap = 1.5;  // ratio between the long bursts and the others

// Between every two marks that follow each other.
std::vector<std::uint32_t> NumbersOfCalls(const std::vector<std::uint32_t>& marks) {
  std::vector<std::uint32_t> numbers;
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) numbers.push_back(marks[k + 1] - marks[k]);
  return numbers;
}

// Values by the order of their first occurrence. `kinds`: how many there are.
std::vector<std::uint32_t> Numbered(const std::vector<std::uint64_t>& values, std::size_t& kinds) {
  std::unordered_map<std::uint64_t, std::uint32_t> known;
  std::vector<std::uint32_t> numbers;
  numbers.reserve(values.size());
  for (const std::uint64_t value : values) {
    numbers.push_back(known.try_emplace(value, static_cast<std::uint32_t>(known.size())).first->second);
  }
  kinds = known.size();
  return numbers;
}

// The calls of a rank.
struct CallSeries {
  const RankTimeline& timeline;
  std::vector<std::uint32_t> ids = {}, pairs = {};  // symbols, and symbols with the one behind
  std::size_t kinds = 0, pair_kinds = 0;
  std::vector<Tick> enters = {};
  double run = 1;  // ticks
};

using Reach = std::pair<std::size_t, std::size_t>;  // calls of an iteration before its mark, and from it on

std::uint64_t SymbolPair(std::uint32_t a, std::uint32_t b) { return static_cast<std::uint64_t>(a) << 32 | b; }

double Covered(const CallSeries& series, std::uint32_t first, std::uint32_t end) {
  const Tick until = end < series.ids.size() ? series.enters[end] : series.timeline.end();
  return static_cast<double>(until - series.enters[first]) / series.run;
}

// Adds a candidate, whose borders are calls that may mark an iteration: those of one symbol, or those behind long
// bursts between the same two symbols.
void AddCandidate(const CallSeries& series, std::vector<std::uint32_t> marks, std::vector<CallLoop>& all) {
  if (marks.size() < kFewestIterations) return;
  CallLoop& candidate = all.emplace_back();
  candidate.coverage = Covered(series, marks.front(), marks.back());
  candidate.borders = std::move(marks);
}

Tick Burst(const CallSeries& series, std::size_t call) {
  return series.enters[call] - series.enters[call - 1] - series.timeline.duration(call - 1);
}

// The calls behind the longest bursts, and all of them.
void AddLongest(const CallSeries& series, std::vector<std::uint32_t>& calls, std::vector<CallLoop>& all) {
  std::vector<Tick> lengths;
  for (const std::uint32_t call : calls) lengths.push_back(Burst(series, call));
  std::ranges::sort(lengths);
  Tick threshold = 0;
  double widest = kSmallestGap;
  for (std::size_t i = 1; i < lengths.size(); ++i) {
    const double ratio = static_cast<double>(lengths[i]) / static_cast<double>(std::max<Tick>(lengths[i - 1], 1));
    if (ratio < widest) continue;
    widest = ratio;
    threshold = lengths[i];
  }
  std::vector<std::uint32_t> long_ones = calls;
  std::erase_if(long_ones, [&](std::uint32_t call) { return Burst(series, call) < threshold; });
  if (long_ones.size() < calls.size()) AddCandidate(series, std::move(long_ones), all);
  AddCandidate(series, std::move(calls), all);
}

// Those that cover most of the run, at most two with as many calls.
std::vector<CallLoop> FindCandidates(const CallSeries& series) {
  std::vector<CallLoop> all;
  std::vector<std::vector<std::uint32_t>> by_kind(series.kinds);
  for (std::uint32_t i = 0; i < series.ids.size(); ++i) by_kind[series.ids[i]].push_back(i);
  for (std::vector<std::uint32_t>& calls : by_kind) AddCandidate(series, std::move(calls), all);
  // The longest bursts between each pair of symbols, and of all, where their lengths leave a gap to the others.
  Tick longest = 0;
  for (std::size_t i = 1; i < series.ids.size(); ++i) longest = std::max(longest, Burst(series, i));
  std::map<std::uint64_t, std::vector<std::uint32_t>> pairs;
  std::vector<std::uint32_t> any;
  for (std::uint32_t i = 1; i < series.ids.size(); ++i) {
    if (Burst(series, i) * kLongBurst < longest) continue;
    pairs[SymbolPair(series.ids[i - 1], series.ids[i])].push_back(i);
    any.push_back(i);
  }
  for (auto& [pair, calls] : pairs) AddLongest(series, calls, all);
  AddLongest(series, any, all);
  std::ranges::stable_sort(all, std::greater<>(), &CallLoop::coverage);
  std::vector<CallLoop> chosen;
  std::unordered_map<std::size_t, int> of_size;
  for (CallLoop& candidate : all) {
    if (candidate.coverage < kLeastCoverage / 2 || chosen.size() == kMostCandidates) break;
    if (of_size[candidate.borders.size()]++ < 2) chosen.push_back(std::move(candidate));
  }
  return chosen;
}

// Weighted by their calls: what they share over all, of pairs of calls that follow each other, each pair at most so
// often.
double Similarity(const CallSeries& series, const std::vector<std::uint32_t>& calls, std::size_t most_repeats) {
  const std::vector<std::uint32_t> lengths = NumbersOfCalls(calls);
  const std::size_t typical = PlaceOfMedian(lengths);
  std::vector<std::uint32_t> bag(series.pair_kinds), used(series.pair_kinds);
  std::size_t size = 0;
  for (std::uint32_t i = calls[typical]; i < calls[typical + 1]; ++i) {
    if (++bag[series.pairs[i]] <= most_repeats) ++size;
  }
  double shared = 0, total = 0;
  for (std::size_t k = 0; k + 1 < calls.size(); ++k) {
    if (k == typical && calls.size() > 2) continue;  // like itself
    std::size_t common = 0, own = 0;
    for (std::uint32_t i = calls[k]; i < calls[k + 1]; ++i) {
      const std::uint32_t count = ++used[series.pairs[i]];
      if (count > most_repeats) continue;
      ++own;
      if (count <= bag[series.pairs[i]]) ++common;
    }
    for (std::uint32_t i = calls[k]; i < calls[k + 1]; ++i) used[series.pairs[i]] = 0;
    shared += static_cast<double>(common * lengths[k]);
    total += static_cast<double>((own + size - common) * lengths[k]);
  }
  return shared / total;
}

// Likeness of the segments between calls to the one of median length. Inner loops may differ in turns, so repeats
// may count or not.
double Similarity(const CallSeries& series, const std::vector<std::uint32_t>& calls) {
  return std::max(Similarity(series, calls, series.ids.size()), Similarity(series, calls, kFewRepeats));
}

std::size_t CommonBefore(const CallSeries& series, std::size_t a, std::size_t b) {
  std::size_t n = 0;
  while (n < a && n < b && series.ids[a - 1 - n] == series.ids[b - 1 - n]) ++n;
  return n;
}

std::size_t CommonFrom(const CallSeries& series, std::size_t a, std::size_t b) {
  std::size_t n = 0;
  while (a + n < series.ids.size() && b + n < series.ids.size() && series.ids[a + n] == series.ids[b + n]) ++n;
  return n;
}

// Calls before the loop may look like the end of an iteration, calls behind it like the begin of one, by
// some calls or by whole iterations that have no mark. The loop begins behind the longest of the bursts in question.
// Returns whether there was no question.
bool FollowCores(const CallSeries& series, const std::vector<std::uint32_t>& marks, const Reach& core,
                 std::vector<std::uint32_t>& borders) {
  std::size_t period = series.ids.size();
  for (std::size_t k = 0; k + 1 < marks.size(); ++k) period = std::min<std::size_t>(period, marks[k + 1] - marks[k]);
  const std::size_t slack = core.first + core.second - std::min(core.first + core.second, period);
  if (5 * slack >= 4 * period && slack < period) {  // all but a few calls of one more, which lacks the mark
    borders.push_back(marks[0] - static_cast<std::uint32_t>(core.first));
    borders.insert(borders.end(), marks.begin(), marks.end());
    borders.push_back(marks.back() + static_cast<std::uint32_t>(core.second));
    return false;
  }
  std::size_t start = marks[0] - core.first;
  for (std::size_t i = start; i <= marks[0] - core.first + slack % period; ++i) {
    if (i > 0 && (start == 0 || Burst(series, i) > Burst(series, start))) start = i;
  }
  const std::size_t end = marks.back() + core.second;
  for (; start + period <= marks[0]; start += period) borders.push_back(static_cast<std::uint32_t>(start));
  const std::size_t head = marks[0] - std::min<std::size_t>(start, marks[0]);
  for (const std::uint32_t mark : marks) borders.push_back(mark - static_cast<std::uint32_t>(head));
  if (slack == 0) {
    borders.push_back(static_cast<std::uint32_t>(end));
  } else {
    for (std::size_t at = borders.back() + period; at <= end; at += period) {
      borders.push_back(static_cast<std::uint32_t>(at));
    }
  }
  return slack == 0;
}

// Between two marks, where the tail of one iteration ends and the head of the next begins.
std::uint32_t Border(const CallSeries& series, const std::vector<std::uint32_t>& marks, std::size_t k, std::size_t head,
                     std::size_t tail) {
  const std::size_t from = marks[k], to = marks[k + 1];
  const bool tail_fits = from + tail <= to && CommonFrom(series, from, marks.back()) >= tail;
  const bool head_fits = to >= from + head && CommonBefore(series, to, marks[0]) >= head;
  if (head_fits) return static_cast<std::uint32_t>(to - head);
  if (tail_fits) return static_cast<std::uint32_t>(from + tail);
  const std::size_t after = std::min(CommonFrom(series, from, marks.back()), to - from);
  const std::size_t before = std::min(CommonBefore(series, to, marks[0]), to - from);
  return static_cast<std::uint32_t>(after >= before ? from + after : to - before);
}

// From the marks to whole iterations. What comes before and behind every mark alike is the core of an iteration.
// Where cores follow each other directly, that is all of it, and what lies between others is extra: a set-up, an
// output. Otherwise iterations differ; then the loop begins where what comes before the first mark stops being what
// comes before any other, and ends likewise.
CallLoop Extend(const CallSeries& series, const CallLoop& candidate) {
  const std::vector<std::uint32_t>& marks = candidate.borders;
  Reach core{series.ids.size(), series.ids.size()}, any{0, 0};
  for (std::size_t k = 1; k < marks.size(); ++k) {
    const std::size_t most = marks[k] - marks[k - 1];
    const std::size_t before = CommonBefore(series, marks[0], marks[k]),
                      after = CommonFrom(series, marks.back(), marks[k - 1]);
    core = {std::min(core.first, before), std::min(core.second, after)};
    any = {std::max(any.first, std::min(most, before)), std::max(any.second, std::min(most, after))};
  }
  CallLoop loop;
  loop.similarity = candidate.similarity;
  std::size_t next = 0;  // cores that are next to each other
  for (const std::uint32_t calls : NumbersOfCalls(marks)) next += calls <= core.first + core.second;
  loop.follows = 4 * next >= marks.size() - 1;
  if (loop.follows) {
    loop.is_exact = FollowCores(series, marks, core, loop.borders);
  } else {
    loop.borders.push_back(marks[0] - static_cast<std::uint32_t>(any.first));
    for (std::size_t k = 0; k + 1 < marks.size(); ++k)
      loop.borders.push_back(Border(series, marks, k, any.first, any.second));
    loop.borders.push_back(marks.back() + static_cast<std::uint32_t>(any.second));
  }
  // The first and the last iteration may be no more than parts of one.
  const std::vector<std::uint32_t> lengths = NumbersOfCalls(loop.borders);
  if (lengths.size() >= 3) {
    const std::uint32_t median = Median(lengths);
    if (2 * lengths.back() < median) loop.borders.pop_back();
    if (2 * lengths.front() < median) loop.borders.erase(loop.borders.begin());
  }
  loop.coverage = loop.borders.size() > 1 ? Covered(series, loop.borders.front(), loop.borders.back()) : 0;
  return loop;
}

std::vector<double> Lengths(const CallSeries& series, const CallLoop& loop) {
  std::vector<double> lengths;
  for (std::size_t k = 0; k + 1 < loop.borders.size(); ++k) {
    const std::uint32_t end = loop.borders[k + 1];
    const Tick until =
        end < series.ids.size() && k + 2 < loop.borders.size() ? series.enters[end] : series.timeline.leave(end - 1);
    lengths.push_back(static_cast<double>(until - series.enters[loop.borders[k]]));
  }
  return lengths;
}

// Share of the time in iterations beyond one and a half times the median.
double ExtraShare(const CallSeries& series, const CallLoop& loop) {
  const std::vector<double> lengths = Lengths(series, loop);
  const double median = Median(lengths);
  double extra = 0, total = 0;
  for (const double length : lengths) {
    extra += std::max(0.0, length - 1.5 * median);
    total += length;
  }
  return total > 0 ? extra / total : 1;
}

// Among those nearly as good as the best the outermost, unless its iterations consist of those of another one
// and next to nothing else: then that one is the loop, and what it does now and then is an output or the like.
std::optional<CallLoop> Choose(const CallSeries& series, std::vector<CallLoop> loops) {
  // Chosen, and tested like the constants above.
  constexpr double kNearlyAsGood = 0.7, kNextToNothing = 0.03;
  if (loops.empty()) return std::nullopt;
  const double best = std::ranges::max(loops, {}, &CallLoop::score).score;
  std::erase_if(loops, [&](const CallLoop& loop) { return loop.score < kNearlyAsGood * best; });
  std::ranges::stable_sort(loops, {}, [](const CallLoop& loop) { return std::pair(loop.iterations(), -loop.score); });
  const CallLoop* chosen = nullptr;
  for (const CallLoop& loop : loops) {
    const bool is_inner = chosen != nullptr && loop.iterations() >= 2 * chosen->iterations();
    if (chosen == nullptr || (is_inner && ExtraShare(series, loop) < kNextToNothing)) chosen = &loop;
  }
  return *chosen;
}

// Counts the iteration with the median number of calls.
CallCounts TypicalCalls(const Trace& trace, const CallSeries& series, const CallLoop& loop) {
  const std::size_t k = PlaceOfMedian(NumbersOfCalls(loop.borders));
  return CountCalls(trace, series.timeline, loop.borders[k], loop.borders[k + 1]);
}

// The loop that the calls show by themselves, unless another is more like the iteration asked for; else the best by
// score and likeness, which counts twice.
std::optional<CallLoop> ChooseLike(const Trace& trace, const CallSeries& series, const CallCounts* like,
                                   std::vector<CallLoop> loops) {
  constexpr double kAsLike = 0.8;  // chosen, and tested like the constants above
  const CallLoop* chosen = nullptr;
  double most = -1, most_like = 0;
  for (const CallLoop& loop : loops) {
    const double likeness = Likeness(*like, TypicalCalls(trace, series, loop));
    most_like = std::max(most_like, likeness);
    if (likeness * likeness * loop.score <= most) continue;
    most = likeness * likeness * loop.score;
    chosen = &loop;
  }
  const std::optional<CallLoop> best = chosen == nullptr ? std::nullopt : std::optional(*chosen);
  std::erase_if(loops, [](const CallLoop& loop) { return loop.similarity < kLeastSimilarity; });
  const std::optional<CallLoop> own = Choose(series, std::move(loops));
  return own && Likeness(*like, TypicalCalls(trace, series, *own)) >= kAsLike * most_like ? own : best;
}

double Score(const CallSeries& series, const CallLoop& loop) {
  const std::vector<double> lengths = Lengths(series, loop);
  const double median = Median(lengths);
  double shared = 0, total = 0;
  for (const double length : lengths) {
    shared += std::min(length, median);
    total += std::max(length, median);
  }
  // The time that iterations share with the median one, over all.
  const double evenness = total > 0 ? shared / total : 0;
  return loop.coverage * loop.similarity * evenness * (loop.follows ? 2 : 1);
}

}  // namespace

std::vector<std::uint64_t> CallSymbols(const Trace& trace, std::size_t rank) {
  const RankTimeline& timeline = trace.timelines[rank];
  std::vector<std::uint64_t> symbols;
  symbols.reserve(timeline.calls());
  for (std::size_t call = 0; call < timeline.calls(); ++call) {
    std::uint64_t symbol = static_cast<std::uint64_t>(timeline.region(call)) << 34;
    for (std::size_t r = timeline.first_record(call); r < timeline.first_record(call + 1); ++r) {
      const RecordKind kind = timeline.record_kind(r);
      if (kind == RecordKind::kSend || kind == RecordKind::kSendPost || kind == RecordKind::kReceive) {
        symbol |= std::uint64_t{1} << 32 | timeline.record_target(r);
        break;
      }
      if (kind == RecordKind::kCollective) {
        symbol |= std::uint64_t{2} << 32 | timeline.record_target(r);
        break;
      }
    }
    symbols.push_back(symbol);
  }
  return symbols;
}

CallCounts CountCalls(const Trace& trace, const RankTimeline& timeline, std::uint32_t first, std::uint32_t end) {
  CallCounts calls;
  for (std::uint32_t call = first; call < end; ++call) {
    if (call > first && timeline.region(call) == timeline.region(call - 1)) continue;
    ++calls[trace.regions[timeline.region(call)].name];
  }
  return calls;
}

double Likeness(const CallCounts& a, const CallCounts& b) {
  double common = 0, all = 0;
  for (const auto& [name, count] : a) {
    const auto found = b.find(name);
    common += found == b.end() ? 0 : std::min(count, found->second);
    all += found == b.end() ? count : std::max(count, found->second);
  }
  for (const auto& [name, count] : b) all += a.contains(name) ? 0 : count;
  return all > 0 ? common / all : 1;
}

double FunctionsInCommon(const CallCounts& a, const CallCounts& b) {
  CallCounts once_a, once_b;
  for (const auto& [name, count] : a) once_a[name] = 1;
  for (const auto& [name, count] : b) once_b[name] = 1;
  return Likeness(once_a, once_b);
}

std::optional<CallLoop> FindLoop(const Trace& trace, std::size_t rank, const std::vector<std::uint64_t>& symbols,
                                 const CallCounts* like) {
  const RankTimeline& timeline = trace.timelines[rank];
  CallSeries series{timeline};
  series.ids = Numbered(symbols, series.kinds);
  if (series.ids.size() < 2 * kFewestIterations) return std::nullopt;
  std::vector<std::uint64_t> pairs;
  pairs.reserve(symbols.size());
  series.enters.reserve(symbols.size());
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    pairs.push_back(SymbolPair(series.ids[i], i + 1 < symbols.size() ? series.ids[i + 1] : 0));
    series.enters.push_back(timeline.enter(i));
  }
  series.pairs = Numbered(pairs, series.pair_kinds);
  series.run = static_cast<double>(std::max<Tick>(1, timeline.end() - timeline.begin()));
  const double least = like == nullptr ? kLeastSimilarity : kLeastWhenKnown;
  std::vector<CallLoop> loops;
  for (CallLoop& candidate : FindCandidates(series)) {
    candidate.similarity = Similarity(series, candidate.borders);
    if (candidate.similarity < least) continue;
    CallLoop loop = Extend(series, candidate);
    if (loop.iterations() < kFewestIterations) continue;
    if (loop.coverage < kLeastCoverage || loop.borders.back() - loop.borders.front() < kFewestCalls) continue;
    loop.score = Score(series, loop);
    loops.push_back(std::move(loop));
  }
  std::optional<CallLoop> chosen =
      like == nullptr ? Choose(series, std::move(loops)) : ChooseLike(trace, series, like, std::move(loops));
  if (chosen) chosen->calls = TypicalCalls(trace, series, *chosen);
  return chosen;
}

}  // namespace farscale
