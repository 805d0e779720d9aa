// farscale watch: what the running programs of this user on this node have measured so far.
#include "cli/watch.h"

#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <span>
#include <thread>
#include <utility>

#include "base/text.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "collect/page_file.h"
#include "collect/text.h"
#include "pages/text_table.h"
#include "results/csv_text.h"

namespace farscale {
namespace {

struct WatchOptions {
  double interval = 2;
  bool once = false, json = false, csv = false;
};

constexpr const char* kNothing =
    "No program of yours is measured on this node. mpirun -n 8 farscale measure ./program starts one.\n";
constexpr std::size_t kFewestColumns = 4;

std::vector<MeasuredRun> RunningRuns() {
  std::map<std::string, std::vector<collect::Page>> jobs;
  for (const collect::Page& page : collect::FindPages()) {
    const bool is_running = page.termination == collect::Termination::kRunning && ProcessExists(page);
    if (is_running && page.begin_tick != 0) jobs[page.job].push_back(page);
  }
  std::vector<MeasuredRun> runs;
  for (const auto& [job, pages] : jobs) runs.push_back(Summarize(pages));
  return runs;
}

void Print(const WatchOptions& options) {
  std::vector<MeasuredRun> runs = RunningRuns();
  if (options.json) {
    std::string list;
    for (const MeasuredRun& run : runs) list += (list.empty() ? "" : ",\n") + MeasuredRunJson(run);
    return fmt::print("[{}]\n", list);
  }
  if (options.csv) return fmt::print("{}", CsvOf(runs));
  if (runs.empty()) return fmt::print("{}", kNothing);
  Order(runs, {});
  fmt::print("{}", FormatTableWithin(CellsOf(runs), TerminalColumns(STDOUT_FILENO), kFewestColumns));
}

volatile sig_atomic_t is_told_to_end = 0;

// The terminal while keys are taken one by one. A signal that ends the program is noted, so that the terminal gets back
// what it had.
class KeyTerminal {
 public:
  KeyTerminal() {
    tcgetattr(STDIN_FILENO, &before_);
    termios ours = before_;
    ours.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
    ours.c_cc[VMIN] = 0;
    ours.c_cc[VTIME] = 0;
    tcsetattr(STDIN_FILENO, TCSANOW, &ours);
    struct sigaction action;
    std::memset(&action, 0, sizeof action);
    action.sa_handler = [](int number) { is_told_to_end = number == SIGWINCH ? is_told_to_end : 1; };
    for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGWINCH}) sigaction(number, &action, nullptr);
    fmt::print("\033[?25l");  // no cursor
  }
  ~KeyTerminal() {
    fmt::print("\033[?25h\n");
    tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  KeyTerminal(const KeyTerminal&) = delete;
  KeyTerminal& operator=(const KeyTerminal&) = delete;

  // Keys pressed within these seconds; a change of the terminal's size ends the wait, too.
  static std::string Keys(double seconds) {
    pollfd input = {STDIN_FILENO, POLLIN, 0};
    if (poll(&input, 1, static_cast<int>(seconds * 1e3)) <= 0) return "";
    char keys[64];
    const ssize_t size = read(STDIN_FILENO, keys, sizeof keys);
    if (size <= 0) is_told_to_end = 1;
    return {keys, static_cast<std::size_t>(std::max<ssize_t>(size, 0))};
  }

 private:
  termios before_{};
};

void WatchByKeys(const WatchOptions& options) {
  const KeyTerminal terminal;
  WatchView view;
  while (!view.is_over && is_told_to_end == 0) {
    std::vector<MeasuredRun> runs = RunningRuns();
    Order(runs, view);
    const auto cells = CellsOf(runs);
    winsize size{};
    const bool is_known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0;
    const std::size_t lines = is_known ? size.ws_row : 24, columns = TerminalColumns(STDOUT_FILENO);
    const std::size_t body = cells.size() - 1, room = lines > 2 ? lines - 2 : 1;
    Press("", body, room, view);
    const std::string table = FormatTableWithin(cells, columns, kFewestColumns);
    fmt::print("\033[H\033[2J{}",
               runs.empty() ? Join(WrapText(kNothing, columns), "\n") : Cut(table, lines, columns, view));
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kOutput, "standard output", "cannot be written");
    Press(KeyTerminal::Keys(options.interval), body, room, view);
  }
}

int Watch(const WatchOptions& options, const Common&) {
  const bool is_text = !options.json && !options.csv;
  if (is_text && !options.once && isatty(STDOUT_FILENO) != 0 && isatty(STDIN_FILENO) != 0) {
    WatchByKeys(options);
    return 0;
  }
  while (true) {
    if (is_text && !options.once && isatty(STDOUT_FILENO) != 0) fmt::print("\033[H\033[2J");
    Print(options);
    if (options.once) return 0;
    if (std::fflush(stdout) != 0) throw Error(ErrorKind::kOutput, "standard output", "cannot be written");
    std::this_thread::sleep_for(std::chrono::duration<double>(options.interval));
  }
}

// Sequences that terminals send for keys.
constexpr std::string_view kUp[] = {"\033[A", "\033OA", "k"}, kDown[] = {"\033[B", "\033OB", "j"},
                           kPageUp[] = {"\033[5~"}, kPageDown[] = {"\033[6~", " "},
                           kHome[] = {"\033[H", "\033[1~", "\033OH", "g"},
                           kEnd[] = {"\033[F", "\033[4~", "\033OF", "G"};

std::size_t LastFirst(std::size_t lines, std::size_t room) { return lines > room ? lines - room : 0; }

// Takes the first key of what was sent and does what it says.
void PressFirst(std::string_view& keys, std::size_t lines, std::size_t room, WatchView& view) {
  const auto take = [&](std::span<const std::string_view> known) {
    const auto key = std::ranges::find_if(known, [&](std::string_view one) { return keys.starts_with(one); });
    if (key != known.end()) keys.remove_prefix(key->size());
    return key != known.end();
  };
  const std::size_t last = LastFirst(lines, room);
  const auto go = [&](std::size_t to) { view.first = std::min(to, last); };
  const auto before = [&](std::size_t by) { return view.first - std::min(by, view.first); };
  if (take(kUp)) return go(before(1));
  if (take(kDown)) return go(view.first + 1);
  if (take(kPageUp)) return go(before(room));
  if (take(kPageDown)) return go(view.first + room);
  if (take(kHome)) return go(0);
  if (take(kEnd)) return go(last);
  const char key = keys.front();
  keys.remove_prefix(1);
  if (std::string_view("nrepbcm").find(key) != std::string_view::npos) {
    view.is_reversed = view.order == key && !view.is_reversed;
    view.order = key;
    view.first = 0;
  }
  view.is_over = view.is_over || key == 'q' || key == '\004';
}

// Large values come first.
double Badness(const MeasuredRegion& region, char order) {
  // Without a factor behind all others.
  const auto loss = [&](Factor factor) { return -region.factors[factor].value_or(2); };
  switch (order) {
    case 'r': return static_cast<double>(region.ranks.size());
    case 'e': return region.totals.elapsed;
    case 'p': return loss(Factor::kParallelEfficiency);
    case 'b': return loss(Factor::kLoadBalance);
    case 'c': return loss(Factor::kCommunicationEfficiency);
    case 'm': return region.calls_a_millisecond;
    default: return 0;
  }
}

// In the order of columns; the last one behind the calls.
constexpr Factor kShownFactors[] = {Factor::kParallelEfficiency, Factor::kLoadBalance, Factor::kCommunicationEfficiency,
                                    Factor::kOmpParallelEfficiency};

}  // namespace

void Press(std::string_view keys, std::size_t lines, std::size_t room, WatchView& view) {
  while (!keys.empty()) PressFirst(keys, lines, room, view);
  view.first = std::min(view.first, LastFirst(lines, room));
}

void Order(std::vector<MeasuredRun>& runs, const WatchView& view) {
  const auto sort = [&](auto begin, auto end, auto region_of, auto name_of) {
    std::stable_sort(begin, end, [&](const auto& a, const auto& b) {
      const auto& first = view.is_reversed ? b : a;
      const auto& second = view.is_reversed ? a : b;
      if (view.order == 'n') return name_of(first) < name_of(second);
      return Badness(region_of(first), view.order) > Badness(region_of(second), view.order);
    });
  };
  for (MeasuredRun& run : runs) {
    // Regions are in the order of the program unless something else is asked for.
    if (view.order == 'n') continue;
    sort(
        run.regions.begin() + 1, run.regions.end(), [](const MeasuredRegion& region) { return region; },
        [](const MeasuredRegion& region) { return region.name; });
  }
  sort(
      runs.begin(), runs.end(), [](const MeasuredRun& run) { return run.regions.front(); },
      [](const MeasuredRun& run) { return run.program; });
}

std::vector<std::vector<std::string>> CellsOf(const std::vector<MeasuredRun>& runs) {
  std::vector<std::vector<std::string>> cells = {
      {"program", "ranks here", "elapsed", "parallel", "balance", "communic.", "calls/ms", "OpenMP"}};
  for (const MeasuredRun& run : runs) {
    for (const MeasuredRegion& region : run.regions) {
      std::vector<std::string> row = {&region == &run.regions.front() ? run.program : "  " + region.name,
                                      fmt::format("{} of {}", region.ranks.size(), run.ranks),
                                      collect::FormatSeconds(region.totals.elapsed),
                                      "",
                                      "",
                                      "",
                                      fmt::format("{:.3g}", region.calls_a_millisecond),
                                      ""};
      for (std::size_t i = 0; i < std::size(kShownFactors); ++i) {
        const std::optional<double>& value = region.factors[kShownFactors[i]];
        if (value) row[i < 3 ? 3 + i : 7] = fmt::format("{:.1f} %", *value * 100);
      }
      if (!run.regions.front().ranks.empty()) cells.push_back(std::move(row));
    }
  }
  // Only hybrid programs have these.
  const auto is_empty = [](const std::vector<std::string>& row) { return row.back().empty(); };
  if (std::all_of(cells.begin() + 1, cells.end(), is_empty)) {
    for (std::vector<std::string>& row : cells) row.pop_back();
  }
  return cells;
}

std::string CsvOf(const std::vector<MeasuredRun>& runs) {
  std::string text =
      "job,program,region,ranks_here,ranks,elapsed,parallelEfficiency,loadBalance,communicationEfficiency,"
      "calls_per_millisecond\n";
  for (const MeasuredRun& run : runs) {
    for (const MeasuredRegion& region : run.regions) {
      text += fmt::format("{},{},{},{},{},{},", CsvField(run.job), CsvField(run.program), CsvField(region.name),
                          region.ranks.size(), run.ranks, FormatExact(region.totals.elapsed));
      const auto exact = [&](Factor factor) {
        return region.factors[factor] ? FormatExact(*region.factors[factor]) : std::string();
      };
      text += fmt::format("{},{},{}", exact(Factor::kParallelEfficiency), exact(Factor::kLoadBalance),
                          exact(Factor::kCommunicationEfficiency));
      text += fmt::format(",{}\n", FormatExact(region.calls_a_millisecond));
    }
  }
  return text;
}

std::string Cut(const std::string& table, std::size_t lines, std::size_t columns, const WatchView& view) {
  const std::vector<std::string> all = Split(table, '\n');
  const std::size_t body = all.size() > 1 ? all.size() - 2 : 0;  // the last line is empty
  const std::size_t room = lines > 2 ? lines - 2 : 1;
  std::string text = all.front() + "\n";
  for (std::size_t i = view.first; i < std::min(body, view.first + room); ++i) text += all[i + 1] + "\n";
  const std::string keys = "sort: n r e p b c m   scroll: arrows, page keys   q: end";
  return text + Shorten(fmt::format("{}–{} of {}   {}", std::min(view.first + 1, body),
                                    std::min(body, view.first + room), body, keys),
                        columns);
}

void AddWatchCommand(CommandLine& line) {
  auto [command, options] = AddCommand<WatchOptions>(
      line, "watch", "Show the factors of your programs that run on this node under farscale, live", Watch);
  command->footer(
      "Factors are those of the ranks on this node. Keys sort (n program, r ranks, e elapsed, p parallel, b balance,\n"
      "c communication, m calls; again: the other way round), arrows and page keys scroll, q ends.");
  command->add_option("--interval", options.interval, "Seconds between updates")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--once", options.once, "Show once and exit");
  auto* json = command->add_flag("--json", options.json, "Print a list of measured runs as JSON");
  command->add_flag("--csv", options.csv, "Print a row for every region as CSV")->excludes(json);
}

}  // namespace farscale
