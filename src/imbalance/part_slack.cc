#include "imbalance/part_slack.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace farscale {
namespace {

// What happens to a message or an operation in a call.
struct CallStep {
  OperationClass type = OperationClass::kSend;
  bool is_leave = false;  // it is completed
  std::uint32_t number = 0;
};

// Goes back over the activities of a rank.
class SlackCursor {
 public:
  SlackCursor(const RankRecords& records, const std::vector<WaitState>& waits, Tick at_end)
      : slack(at_end),
        records_(records),
        waits_(waits),
        activity_(own().size() - 1),
        call_(own().calls),
        wait_(waits.size()) {
    for (const OperationClass type : {OperationClass::kSend, OperationClass::kReceive, OperationClass::kCollective})
      posts_[type] = records_.timeline.posts(type);
    Uncount(RecordOf(call_), records_.timeline.records());
  }

  Tick slack;  // at the moment

  // Opens the activity before; false before the first. In a call, `steps` is what happens in it, completions first.
  bool Next() {
    if (activity_ == 0) return false;
    --activity_;
    is_call_ = call_ > 0 && own().activity_of(call_ - 1) == activity_;
    has_wait_ = false;
    steps.clear();
    step = 0;
    if (is_call_) CollectSteps(--call_);
    return true;
  }

  std::vector<CallStep> steps;
  std::size_t step = 0;  // the next of them
  bool is_open = false;  // the activity before has not been left

  const RankActivities& own() const { return records_.activities; }
  PathId path() const { return own().path(activity_); }
  Tick execution() const { return own().ticks(activity_) - waiting(); }
  Tick waiting() const { return has_wait_ ? waits_[wait_ - 1].length : 0; }
  bool waits_for_receiver() const { return has_wait_ && waits_[wait_ - 1].kind == WaitKind::kLateReceiver; }
  Tick enter() const { return own().enter(call_); }
  Tick leave() const { return own().leave(call_); }
  // From when on the call goes on by itself.
  Tick released() const { return enter() + waiting(); }

 private:
  std::size_t RecordOf(std::size_t call) const { return records_.timeline.first_record(own().first_call + call); }

  void Uncount(std::size_t first, std::size_t end) {
    for (std::size_t record = first; record < end; ++record) {
      const OperationPart part = PartOf(records_.timeline.record_kind(record));
      posts_[part.type] -= part.posts;
    }
  }

  void CollectSteps(std::size_t call) {
    while (wait_ > 0 && waits_[wait_ - 1].call > call) --wait_;
    has_wait_ = wait_ > 0 && waits_[wait_ - 1].call == call;
    const std::size_t first = RecordOf(call), end = RecordOf(call + 1);
    Uncount(first, end);
    for (const bool is_leave : {true, false}) {
      Posts posts = posts_;
      for (std::size_t record = first; record < end; ++record) {
        const RecordPart part = NextPart(records_.timeline, records_.matching, record, posts);
        const bool happens = is_leave ? part.completes : part.posts;
        if (happens && part.IsMatched()) steps.push_back({part.type, is_leave, part.number});
      }
    }
  }

  const RankRecords records_;
  const std::vector<WaitState>& waits_;
  std::size_t activity_, call_, wait_;
  Posts posts_;  // before the call
  bool is_call_ = false, has_wait_ = false;
};

// What others are told of messages, which are numbered as in the block of both.
struct MessageNeed {
  std::uint32_t number = 0;
  Tick latest = 0;
};
struct MessageNews {
  std::vector<MessageNeed> received, late_sends;
};

// Of operations, which are numbered among those of all.
struct NeedOfProcesses {
  std::uint32_t processes = 0;
  Tick latest = kNeverNeeded;
};
struct OperationNews {
  std::map<std::uint32_t, NeedOfProcesses> needed;
  std::vector<OperationNeed> mixed;
  std::uint64_t left = 0;  // ranks that have not come to their begin

  void Merge(const OperationNews& other) {
    for (const auto& [operation, need] : other.needed) {
      NeedOfProcesses& of = needed[operation];
      of.processes += need.processes;
      of.latest = std::min(of.latest, need.latest);
    }
    mixed.insert(mixed.end(), other.mixed.begin(), other.mixed.end());
    left += other.left;
  }
};

struct OperationAnswers {
  std::vector<std::pair<std::uint32_t, Tick>> complete;
  std::vector<OperationNeed> mixed;
  bool goes_on = false;
};

class PartSlackSearch {
 public:
  PartSlackSearch(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives)
      : phase_(phase), needs_(phase, states, collectives), cursors_(phase.ranks()) {
    const Activities& activities = phase.activities;
    little_ = static_cast<Tick>(kNearlyCritical * static_cast<double>(activities.end - activities.begin));
    result_.slack.of_rank.resize(phase.ranks());
    result_.slack.of_path.resize(activities.paths.size());
    result_.slack.nearly_critical.resize(activities.paths.size());
    for (std::uint32_t rank = 0; rank < phase.ranks(); ++rank) {
      const RankActivities& own = activities.ranks[rank];
      if (!own.present) continue;
      cursors_[rank].emplace(RecordsOf(phase.trace(), phase.matching.matching, activities, rank),
                             states.ranks[rank].waits, activities.end - own.end());
      ready_.push_back(rank);
    }
    left_ = ready_.size();
    for (const MessageBlock& block : phase.matching.blocks) partners_.push_back(block.member);
    message_news_.resize(partners_.size());
  }

  PartSlack Run() {
    bool goes_on = true;
    while (goes_on) {
      ++result_.rounds;
      while (!ready_.empty()) {
        const std::uint32_t rank = ready_.back();
        ready_.pop_back();
        Advance(rank);
      }
      SwapMessages();
      goes_on = AgreeOnOperations();
    }
    return std::move(result_);
  }

 private:
  // What a rank may wait to be told.
  enum class Awaited : std::uint8_t { kReceived, kLateSend, kOperation, kMixed };
  static std::uint64_t KeyOf(Awaited what, std::uint32_t number) {
    return std::uint64_t{number} * 4 + static_cast<std::uint64_t>(what);
  }
  std::uint64_t KeyOf(std::uint32_t rank, Tick enter, const CallStep& step) const {
    switch (step.type) {
      case OperationClass::kSend: return KeyOf(Awaited::kReceived, step.number);
      case OperationClass::kReceive: return KeyOf(Awaited::kLateSend, step.number);
      case OperationClass::kCollective: break;
    }
    const bool is_mixed = needs_.IsMixed(step.number);
    return KeyOf(is_mixed ? Awaited::kMixed : Awaited::kOperation, needs_.WaitedFor(step.number, enter, rank));
  }

  void Advance(std::uint32_t rank) {
    SlackCursor& cursor = *cursors_[rank];
    while (true) {
      if (!cursor.is_open) {
        if (!cursor.Next()) break;
        cursor.is_open = true;
        for (; cursor.step < cursor.steps.size() && cursor.steps[cursor.step].is_leave; ++cursor.step)
          TakeLeave(rank, cursor, cursor.steps[cursor.step]);
        Visit(rank, cursor);
        cursor.slack += cursor.waiting();
      }
      for (; cursor.step < cursor.steps.size(); ++cursor.step) {
        const CallStep& step = cursor.steps[cursor.step];
        const std::optional<Tick> latest = NeededFor(rank, cursor.enter(), step);
        if (!latest) {
          waiting_.emplace(KeyOf(rank, cursor.enter(), step), rank);
          return;
        }
        cursor.slack = std::min(cursor.slack, std::max<Tick>(0, *latest - cursor.enter()));
      }
      cursor.is_open = false;
    }
    --left_;
  }

  std::optional<Tick> NeededFor(std::uint32_t rank, Tick enter, const CallStep& step) const {
    switch (step.type) {
      case OperationClass::kSend: return needs_.OfSend(step.number);
      case OperationClass::kReceive: return needs_.OfReceive(step.number, enter, rank);
      case OperationClass::kCollective: break;
    }
    return needs_.OfOperation(step.number, enter, rank);
  }

  void TakeLeave(std::uint32_t rank, const SlackCursor& cursor, const CallStep& step) {
    const Tick latest = cursor.released() + cursor.slack;
    switch (step.type) {
      case OperationClass::kSend:
        if (cursor.waits_for_receiver()) TakeLateSend(step.number, latest);
        break;
      case OperationClass::kReceive: TakeReceived(step.number, latest); break;
      case OperationClass::kCollective:
        if (needs_.IsNeeded(step.number, rank)) TakeNeed(step.number, {cursor.leave(), rank}, latest);
        break;
    }
  }

  // The place among partners of the process that has the other end; nothing for messages among ranks here.
  std::optional<std::size_t> PartnerOf(std::uint32_t message) const {
    const std::vector<MessageBlock>& blocks = phase_.matching.blocks;
    const auto behind = std::ranges::upper_bound(blocks, message, {}, &MessageBlock::first_sent);
    if (behind == blocks.begin() || message >= (behind - 1)->end_received) return std::nullopt;
    return static_cast<std::size_t>(behind - 1 - blocks.begin());
  }

  void TakeReceived(std::uint32_t message, Tick latest) {
    const auto partner = PartnerOf(message);
    if (partner) {
      message_news_[*partner].received.push_back({message - phase_.matching.blocks[*partner].first_received, latest});
      return;
    }
    needs_.SetReceived(message, latest);
    Wake(Awaited::kReceived, message);
  }

  void TakeLateSend(std::uint32_t message, Tick latest) {
    const auto partner = PartnerOf(message);
    if (partner) {
      message_news_[*partner].late_sends.push_back({message - phase_.matching.blocks[*partner].first_sent, latest});
      return;
    }
    needs_.SetLateSend(message, latest);
    Wake(Awaited::kLateSend, message);
  }

  void TakeNeed(std::uint32_t operation, const LeaveMoment& moment, Tick latest) {
    SetNeed(operation, moment, latest);
    if (operation >= phase_.matching.shared_operations) return;
    const std::uint32_t of_all = phase_.matching.OfAll(operation);
    if (needs_.IsMixed(operation)) {
      operation_news_.mixed.push_back({of_all, moment, latest, true});
    } else if (const std::optional<Tick> here = needs_.NeededHere(operation)) {
      operation_news_.needed[of_all] = {1, *here};
    }
  }

  void SetNeed(std::uint32_t operation, const LeaveMoment& moment, Tick latest) {
    const NumberRange known = needs_.SetNeed(operation, moment, latest);
    const Awaited what = needs_.IsMixed(operation) ? Awaited::kMixed : Awaited::kOperation;
    for (std::uint32_t i = known.first; i < known.end; ++i) Wake(what, i);
  }

  void Wake(Awaited what, std::uint32_t number) {
    const auto [first, end] = waiting_.equal_range(KeyOf(what, number));
    for (auto one = first; one != end; ++one) ready_.push_back(one->second);
    waiting_.erase(first, end);
  }

  void Visit(std::uint32_t rank, const SlackCursor& cursor) {
    const Tick execution = cursor.execution();
    if (execution <= 0) return;
    Slack& result = result_.slack;
    const auto lower = [&](std::optional<Tick>& least) {
      least = std::min(least.value_or(cursor.slack), cursor.slack);
    };
    lower(result.of_path[cursor.path()]);
    lower(result.of_rank[rank]);
    if (cursor.slack <= little_) result.nearly_critical[cursor.path()] += static_cast<double>(execution);
  }

  void SwapMessages() {
    std::vector<std::string> texts;
    for (MessageNews& news : message_news_) {
      texts.push_back(news.received.empty() && news.late_sends.empty() ? "" : ToBytes(news));
      news = {};
    }
    texts = phase_.exchange.Swap(partners_, std::move(texts));
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (texts[i].empty()) continue;
      MessageNews news;
      FromBytes(texts[i], news);
      const MessageBlock& block = phase_.matching.blocks[i];
      for (const MessageNeed& need : news.received) {
        needs_.SetReceived(block.first_sent + need.number, need.latest);
        Wake(Awaited::kReceived, block.first_sent + need.number);
      }
      for (const MessageNeed& need : news.late_sends) {
        needs_.SetLateSend(block.first_received + need.number, need.latest);
        Wake(Awaited::kLateSend, block.first_received + need.number);
      }
    }
  }

  // False where no process has anything left.
  bool AgreeOnOperations() {
    operation_news_.left = left_;
    const auto answers = phase_.exchange.Agree<OperationAnswers>(
        std::exchange(operation_news_, {}), [](OperationNews& into, const OperationNews& other) { into.Merge(other); },
        [&](OperationNews& all) { return Answer(all); });
    for (const auto& [of_all, latest] : answers.complete) {
      const std::uint32_t operation = phase_.matching.Here(of_all);
      if (operation == kNoCollective) continue;
      needs_.SetOfAll(operation, latest);
      Wake(Awaited::kOperation, operation);
    }
    for (const OperationNeed& need : answers.mixed) {
      const std::uint32_t operation = phase_.matching.Here(need.operation);
      if (operation == kNoCollective || phase_.IsOwn(need.moment.rank)) continue;
      SetNeed(operation, need.moment, need.needed);
    }
    return answers.goes_on;
  }

  // At the first member: of operations, once all processes whose ranks need them have told.
  OperationAnswers Answer(OperationNews& all) {
    OperationAnswers answers{{}, std::move(all.mixed), all.left > 0};
    for (const auto& [operation, need] : all.needed) {
      NeedOfProcesses& of = incomplete_[operation];
      of.processes += need.processes;
      of.latest = std::min(of.latest, need.latest);
      if (of.processes < *FindInRuns(needs_.processes(), operation)) continue;
      answers.complete.emplace_back(operation, of.latest);
      incomplete_.erase(operation);
    }
    return answers;
  }

  const PhasePart& phase_;
  SlackNeeds needs_;
  std::vector<std::optional<SlackCursor>> cursors_;
  Tick little_ = 0;
  std::vector<std::uint32_t> ready_;  // ranks that may be able to go on
  std::unordered_multimap<std::uint64_t, std::uint32_t> waiting_;
  std::uint64_t left_ = 0;  // ranks
  std::vector<std::size_t> partners_;
  std::vector<MessageNews> message_news_;  // by partner
  OperationNews operation_news_;
  std::map<std::uint32_t, NeedOfProcesses> incomplete_;
  PartSlack result_;
};

}  // namespace

PartSlack FindPartSlack(const PhasePart& phase, const WaitStates& states, const CollectiveWaits& collectives) {
  return PartSlackSearch(phase, states, collectives).Run();
}

void MergeSlack(Slack& into, const Slack& other) {
  const auto lower = [](std::vector<std::optional<Tick>>& least, const std::vector<std::optional<Tick>>& more) {
    for (std::size_t i = 0; i < more.size(); ++i) {
      if (more[i]) least[i] = std::min(least[i].value_or(*more[i]), *more[i]);
    }
  };
  lower(into.of_rank, other.of_rank);
  lower(into.of_path, other.of_path);
  for (std::size_t path = 0; path < other.nearly_critical.size(); ++path)
    into.nearly_critical[path] += other.nearly_critical[path];
}

}  // namespace farscale
