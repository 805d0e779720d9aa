#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "base/files.h"
#include "collect/threads/counters.h"
#include "collect/page_file.h"
#include "collect/text.h"
#include "collect/trace/trace_room.h"
#include "measure/measured_run.h"

namespace farscale {
namespace {

using collect::Page;
using collect::Termination;

// Interval of checks where the kernel cannot report when a process ends (before Linux 5.3). Chosen: short for a user.
constexpr int kCheckMilliseconds = 100;
// Ranks that are ended within this time after the first abnormal termination are so because of it. Chosen: launchers
// give ranks a few seconds to end.
constexpr std::uint64_t kAftermath = 10'000'000'000U;

// Chosen: daemons and shells between a launcher and its ranks are fewer.
constexpr int kMostAncestors = 16;

// The name of a process and the number of its parent.
std::pair<std::string, int> Describe(int pid) {
  const std::string text =
      collect::ReadStart("/proc/" + std::to_string(pid) + "/stat", 512);  // "4711 (mpirun) S 123 ..."
  const std::size_t begin = text.find('('), end = text.rfind(')');
  if (begin == std::string::npos || end == std::string::npos || text.size() < end + 4) return {};
  return {text.substr(begin + 1, end - begin - 1), std::atoi(text.c_str() + end + 4)};
}

// The standard error of the mpirun that has started a process, or -1: of another node's mpirun, for one. Launchers stop
// forwarding output as soon as they end the job because of one process, which is when there is something to report.
int LauncherOutput(int pid) {
  constexpr const char* kLaunchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun"};
  for (int i = 0; i < kMostAncestors && pid > 1; ++i) {
    const std::pair<std::string, int> named = Describe(pid);
    const auto is_it = [&](const char* known) { return named.first.starts_with(known); };
    if (std::ranges::none_of(kLaunchers, is_it)) {
      pid = named.second;
      continue;
    }
#if defined(SYS_pidfd_open) && defined(SYS_pidfd_getfd)
    const int process = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
    if (process >= 0) {
      const int taken = static_cast<int>(syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0));
      close(process);
      if (taken >= 0) return taken;
    }
#endif
    // A file would be opened with an offset of its own, and mpirun would write over what we wrote.
    const std::string path = "/proc/" + std::to_string(pid) + "/fd/2";
    struct stat status;
    if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return -1;
    return open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
  }
  return -1;
}

// One rank of this node.
struct Watched {
  const Page* page = nullptr;
  int process = -1;  // descriptor that can be read once the process has ended
  // Not so of another space of process numbers, as containers have them: then only its page can say when it ends.
  bool is_visible = false;
  bool is_gone = false;
  Page state{};        // at its end
  Page before{};       // at the first abnormal termination
  collect::Room room;  // that of its trace; nothing in it without one
};

std::vector<Watched> WatchRanks(const std::string& job) {
  std::vector<Watched> ranks;
  for (const Page* page : collect::MapPages(job)) {
    Watched& rank = ranks.emplace_back();
    rank.page = page;
#ifdef SYS_pidfd_open
    rank.process = static_cast<int>(syscall(SYS_pidfd_open, page->pid, 0));
#endif
    rank.is_visible = collect::ProcessExists(*page);
    if ((page->flags & collect::kIsTraced) != 0) rank.room = collect::MapRoom(collect::RoomPath(job, page->rank));
  }
  return ranks;
}

// The rank's end by its page; without an end there, it ended now.
Page StateAt(const Page& page, collect::Tick tick, std::uint64_t clock) {
  Page state = page;
  if (state.termination == Termination::kRunning) state.termination = Termination::kLost;
  const bool is_tsc = (page.flags & collect::kClockIsTsc) != 0;
  if (state.end_tick == 0) EndAsOf(state, is_tsc ? tick : clock, clock);
  return state;
}

// Until all of them have ended.
void Wait(std::vector<Watched>& ranks) {
  bool has_abnormal = false;
  const auto note_ends = [&](auto has_ended) {
    const collect::Tick tick = collect::Now();
    const std::uint64_t clock = collect::Nanoseconds(CLOCK_MONOTONIC);
    for (Watched& rank : ranks) {
      if (rank.is_gone || !has_ended(rank)) continue;
      rank.is_gone = true;
      rank.state = StateAt(*rank.page, tick, clock);
      if (rank.process >= 0) close(rank.process);
      if (rank.state.termination == Termination::kFinalized || has_abnormal) continue;
      has_abnormal = true;
      for (Watched& other : ranks) {
        if (!other.is_gone) other.before = StateAt(*other.page, tick, clock);
      }
    }
  };
  const auto is_awaited = [](const Watched& rank) { return !rank.is_gone && rank.is_visible; };
  while (std::ranges::any_of(ranks, is_awaited)) {
    std::vector<pollfd> waits;
    bool has_to_check = false;
    for (const Watched& rank : ranks) {
      if (!is_awaited(rank)) continue;
      if (rank.process >= 0) waits.push_back({rank.process, POLLIN, 0});
      has_to_check |= rank.process < 0;
    }
    poll(waits.data(), waits.size(), has_to_check ? kCheckMilliseconds : -1);
    note_ends([](const Watched& rank) {
      pollfd wait = {rank.process, POLLIN, 0};
      return rank.is_visible && (rank.process >= 0 ? poll(&wait, 1, 0) > 0 : !ProcessExists(*rank.page));
    });
  }
  note_ends([](const Watched&) { return true; });
}

// The pages to report on; none when that has been done, or is not this node's to do.
std::vector<Page> PagesLeft(const std::vector<Watched>& ranks) {
  std::vector<Page> pages;
  bool all_finalized = true;
  for (const Watched& rank : ranks) {
    if (rank.page->rank == 0 && (rank.state.flags & collect::kReported) != 0) return {};
    const Termination termination = rank.state.termination;
    all_finalized = all_finalized && termination == Termination::kFinalized;
    pages.push_back(rank.state);
    // A rank that was still at work when the first one ended, and was then ended by the launcher, waited in between for
    // the dead: that is not of the program.
    const bool is_asked_to =
        termination == Termination::kLost || (termination == Termination::kSignal && rank.state.signal == SIGTERM);
    const bool is_aftermath = is_asked_to && rank.before.end_tick != 0 &&
                              rank.state.end_clock > rank.before.end_clock &&
                              rank.state.end_clock - rank.before.end_clock < kAftermath;
    if (!is_aftermath) continue;
    pages.back() = rank.before;
    pages.back().termination = termination;
    pages.back().signal = rank.state.signal;
  }
  const bool has_first = std::any_of(pages.begin(), pages.end(), [](const Page& page) { return page.rank == 0; });
  if (all_finalized && !has_first) pages.clear();
  return pages;
}

// Signals are blocked in what the library starts.
void UnblockSignals() {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// Out of the job's session and of everything that a launcher waits for, but standard error.
void DetachFromJob() {
  if (setsid() < 0) return;
  UnblockSignals();
  for (const int ignored : {SIGHUP, SIGINT, SIGTERM, SIGPIPE, SIGXFSZ}) signal(ignored, SIG_IGN);
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  if (chdir("/") != 0) return;  // folders are not held either
  dup2(nothing, STDIN_FILENO);
  dup2(nothing, STDOUT_FILENO);
  const long most = sysconf(_SC_OPEN_MAX);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 3U, ~0U, 0U) == 0) return;
#endif
  for (int file = 3; file < std::min(most, 65536L); ++file) close(file);
}

// Chosen: guards of other nodes see the end of the run at about the same time.
constexpr int kSecondsForOthers = 10;

// The trace of a run that did not come to MPI_Finalize is put together where rank 0 was, of what the guards of all
// nodes save.
std::string FinishTrace(const std::vector<Watched>& ranks, const MeasuredRun& run) {
  const std::string& folder = run.output;
  const std::string archive = folder + "/" + collect::kArchiveName;
  std::error_code code;
  if (!std::filesystem::is_directory(archive, code) || std::filesystem::exists(archive + ".otf2", code)) return "";
  for (const Watched& rank : ranks) {
    if (rank.room.head != nullptr) SaveRank(folder, rank.state, rank.room, 0);
  }
  if (!run.missing.empty() && run.missing.front() == 0) return "";
  const std::uint64_t begin = collect::Nanoseconds(CLOCK_MONOTONIC);
  while (!collect::HasAllRanks(folder) &&
         collect::Nanoseconds(CLOCK_MONOTONIC) - begin < kSecondsForOthers * 1'000'000'000ULL) {
    poll(nullptr, 0, kCheckMilliseconds);
  }
  const std::string end = FindingsOn(run).front().sentence;
  const collect::RecoveredTrace trace = collect::RecoverTrace(folder, end.substr(0, end.find("; ")), Generator());
  if (trace.is_nothing_saved) collect::RemoveUnfinished(folder);
  if (trace.anchor.empty()) return "warning: there is no trace: " + trace.sentence + "\n";
  return "warning: " + trace.sentence + "\nwrote " + trace.anchor + "\n";
}

// The output of a launcher may be a pipe that is full and does not wait.
bool Print(int to, std::string_view text) {
  while (!text.empty()) {
    pollfd room = {to, POLLOUT, 0};
    const ssize_t part = write(to, text.data(), text.size());
    if (part > 0) {
      text.remove_prefix(static_cast<std::size_t>(part));
    } else if (part == 0 || (errno != EINTR && (errno != EAGAIN || poll(&room, 1, kSecondsForOthers * 1000) <= 0))) {
      return false;
    }
  }
  return true;
}

// Writes the file of results, and the summary with `before` in front of the file's name; under FARSCALE_QUIET it prints
// failures alone. False if it fails. A file beyond a site's limit (FARSCALE_MOST_BYTES) is left out, which is no
// failure.
bool Publish(const MeasuredRun& run, const std::string& output, const std::string& before, int to) {
  const std::string json = MeasuredRunJson(run), most = collect::Variable("FARSCALE_MOST_BYTES");
  const bool is_too_large = !most.empty() && json.size() > std::strtoull(most.c_str(), nullptr, 10);
  std::string why = output + " is not written: the site gives results of a user no more room";
  const std::string path = is_too_large ? "" : WriteResult(output, run.job, json, why);
  const bool is_done = is_too_large || !path.empty();
  const std::string last = path.empty() ? "farscale: " + why : "wrote " + path;
  const bool is_quiet = collect::IsSet("FARSCALE_QUIET");
  if (is_quiet && is_done) return true;
  const std::string text = is_quiet ? last + "\n" : MeasuredRunSummary(run, before + last);
  // In one piece, for others write there, too.
  if (!Print(to, text) && to != STDERR_FILENO) Print(STDERR_FILENO, text);
  return is_done;
}

}  // namespace

bool ReportDump(const std::string& path) {
  std::optional<collect::PageDump> dump = collect::ReadDump(path);
  UnblockSignals();
  for (const int ignored : {SIGPIPE, SIGXFSZ}) signal(ignored, SIG_IGN);
  if (!dump) throw Error(ErrorKind::kInput, path, "does not hold the pages of a run");
  MeasuredRun run = Summarize(std::move(dump->pages));
  const bool is_traced = !dump->trace.empty();
  if (is_traced) run.windows = collect::WindowNames();
  const std::string size = dump->estimate.events > 0 ? TraceSizeText(dump->estimate, run) : "";
  return Publish(run, run.output + (is_traced ? "/farscale.json" : ""), dump->trace + (is_traced ? "\n" : "") + size,
                 STDERR_FILENO);
}

void GuardJob(const std::string& job) {
  DetachFromJob();
  collect::ChooseClock();
  std::vector<Watched> ranks = WatchRanks(job);
  // The one that was started waits until here, so that no rank ends unseen.
  if (fork() != 0) _exit(0);
  // Where the summary goes, as long as whoever may have to print it still lives.
  const int to = ranks.empty() ? -1 : LauncherOutput(ranks.front().page->pid);
  Wait(ranks);
  std::error_code code;
  if (const std::vector<Page> pages = PagesLeft(ranks); !pages.empty()) {
    MeasuredRun run = Summarize(pages);
    std::string output = run.output, trace;
    if (run.Has(collect::kIsTraced) && std::filesystem::is_directory(output, code)) {
      trace = FinishTrace(ranks, run);
      run.windows = collect::WindowNames();
      output += "/farscale.json";
    }
    // The node of rank 0 writes to the name that was asked for.
    if (!run.missing.empty() && run.missing.front() == 0) output += "." + run.nodes.front().first;
    Publish(run, output, trace, to >= 0 ? to : STDERR_FILENO);
  }
  for (const Watched& rank : ranks) {
    unlink(collect::PagePath(job, rank.page->rank).c_str());
    unlink(collect::RoomPath(job, rank.page->rank).c_str());
  }
  std::filesystem::remove_all(collect::EstimateFolder(job), code);
}

}  // namespace farscale
