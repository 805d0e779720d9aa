// farscale watch: what the running programs of this user on this node have measured so far.
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <thread>

#include "base/terminal.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/watch_view.h"
#include "collect/measured_run.h"
#include "collect/measured_run_output.h"
#include "collect/page_file.h"
#include "pages/text_table.h"

namespace farscale {
namespace {

struct WatchOptions {
  double interval = 2;
  bool once = false;
  bool json = false;
  bool csv = false;
};

constexpr const char* kNothing =
    "No program of yours is measured on this node. mpirun -n 8 farscale measure ./program starts one.\n";
constexpr std::size_t kFewestColumns = 4;

std::vector<collect::MeasuredRun> RunningRuns() {
  std::map<std::string, std::vector<collect::Page>> jobs;
  for (const collect::FoundPage& found : collect::FindPages("")) {
    if (found.is_running && found.page.begin_tick != 0) jobs[found.page.job].push_back(found.page);
  }
  std::vector<collect::MeasuredRun> runs;
  for (const auto& [job, pages] : jobs) runs.push_back(collect::Summarize(pages));
  return runs;
}

std::string JsonOf(const std::vector<collect::MeasuredRun>& runs) {
  std::string list;
  for (const collect::MeasuredRun& run : runs) {
    list += (list.empty() ? "" : ",\n") + collect::ToJsonText(run, Generator());
  }
  return fmt::format("[{}]\n", list);
}

void Print(const WatchOptions& options) {
  std::vector<collect::MeasuredRun> runs = RunningRuns();
  if (options.json) return fmt::print("{}", JsonOf(runs));
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
    struct sigaction action {};
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

  // What was pressed within these seconds; another size of the terminal ends them, too.
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

std::size_t TerminalLines() {
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 0 ? size.ws_row : 24;
}

void WatchByKeys(const WatchOptions& options) {
  const KeyTerminal terminal;
  WatchView view;
  while (!view.is_over && is_told_to_end == 0) {
    std::vector<collect::MeasuredRun> runs = RunningRuns();
    Order(runs, view);
    const auto cells = CellsOf(runs);
    const std::size_t lines = TerminalLines(), columns = TerminalColumns(STDOUT_FILENO);
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

}  // namespace

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
