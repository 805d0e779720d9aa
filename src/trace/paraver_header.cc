#include "trace/paraver_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <limits>
#include <string_view>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/text.h"

namespace farscale {
namespace {

// Bounds against damaged headers, chosen beyond any machine.
constexpr std::uint64_t kMostTasks = 100'000'000;
constexpr std::uint64_t kMostThreads = 1'000'000;

// Walks over one line of the header and fails with its place.
class LineCursor {
 public:
  LineCursor(std::string_view path, std::uint64_t line, std::string_view text)
      : path_(path), line_(line), rest_(text) {}

  bool AtEnd() const { return rest_.empty(); }
  bool Skip(char c) {
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool StartsWith(char c) const { return !rest_.empty() && rest_.front() == c; }
  void Expect(char c, const char* what) {
    if (!Skip(c)) Fail(fmt::format("has no '{}' {}", c, what));
  }
  std::uint64_t Number(const char* what, std::uint64_t most) {
    std::uint64_t value = 0;
    const auto [end, code] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
    if (code != std::errc() || value > most) Fail(fmt::format("gives no sound {}", what));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    return value;
  }
  // Up to one of the characters, which stays.
  std::string_view Until(std::string_view characters) {
    const std::size_t end = std::min(rest_.find_first_of(characters), rest_.size());
    const std::string_view part = rest_.substr(0, end);
    rest_.remove_prefix(end);
    return part;
  }

  [[noreturn]] void Fail(const std::string& what) const {
    const std::string_view here = rest_.substr(0, 20);
    throw Error(ErrorKind::kInput, fmt::format("{}, line {}", path_, line_),
                fmt::format("the header {}{}", what, here.empty() ? " at its end" : fmt::format(" at '{}'", here)),
                "the trace is damaged or no Paraver trace");
  }

 private:
  std::string_view path_;
  std::uint64_t line_;
  std::string_view rest_;
};

// :2(1:1,1:1),3:1(1:1),1 are two applications with their numbers of communicators. Extrae gives those of all with the
// last one, and no colon before any but the first: :2(1:1,1:1),1(1:1),4.
void ReadApplications(LineCursor& cursor, ParaverInput& header) {
  const std::uint64_t count = cursor.Number("number of applications", kMostTasks);
  std::optional<std::uint64_t> tasks;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!tasks) {
      cursor.Expect(':', fmt::format("before application {} of {}", i + 1, count).c_str());
      tasks = cursor.Number("number of tasks", kMostTasks);
    }
    ParaverApplication& application = header.applications.emplace_back();
    cursor.Expect('(', "before the tasks");
    for (std::uint64_t task = 0; task < *tasks; ++task) {
      if (task > 0) cursor.Expect(',', fmt::format("before task {} of {}", task + 1, *tasks).c_str());
      auto& [node, threads] = application.tasks.emplace_back();
      threads = static_cast<std::int32_t>(cursor.Number("number of threads", kMostThreads));
      cursor.Expect(':', "before the node of a task");
      node = std::max(static_cast<std::int32_t>(cursor.Number("node of a task", kMostTasks)) - 1, 0);
    }
    cursor.Expect(')', "behind the tasks");
    tasks.reset();
    if (!cursor.Skip(',')) continue;
    application.announced_communicators = cursor.Number("number of communicators", kMostTasks);
    if (i + 1 < count && cursor.StartsWith('(')) tasks = std::exchange(application.announced_communicators, 0);
  }
  if (count == 0) cursor.Fail("lists no application");
}

// #Paraver (09/10/2019 at 16:08):21898659139_ns:1(1):1:1(1:1),1
ParaverInput ReadFirstLine(const std::string& path, std::uint64_t number, std::string_view line) {
  LineCursor cursor(path, number, line);
  ParaverInput header;
  header.path = path;
  if (!line.starts_with("#Paraver")) cursor.Fail("does not begin with #Paraver");
  cursor.Until("(");
  cursor.Expect('(', "before the date");
  cursor.Until(")");
  cursor.Expect(')', "behind the date");
  cursor.Expect(':', "behind the date");
  header.duration = static_cast<Tick>(cursor.Number("duration", std::uint64_t{1} << 62));
  if (cursor.Skip('_')) {  // else microseconds
    const std::string_view unit = cursor.Until(":");
    if (unit == "ns") {
      header.ticks_per_second = 1e9;
    } else if (unit == "ms") {
      header.ticks_per_second = 1e3;
    } else if (unit != "us") {
      cursor.Fail(fmt::format("has times in '{}', which is not ns, us or ms,", unit));
    }
  }
  cursor.Expect(':', "behind the duration");
  cursor.Number("number of nodes", kMostTasks);  // 2(48,48), 2, or 0 where it is unknown: the tasks name their nodes
  if (cursor.Skip('(')) {
    cursor.Until(")");
    cursor.Expect(')', "behind the processors of the nodes");
  }
  cursor.Expect(':', "behind the nodes");
  ReadApplications(cursor, header);
  if (!cursor.AtEnd()) cursor.Fail("goes on where it should end");
  return header;
}

// The two groups of an intercommunicator: 2:3 are communicators 2 and 3, 2:1:3:4 the same with their leaders, tasks 1
// and 4. False when the cursor stands before a list of members instead, which begins with their number.
bool ReadGroups(LineCursor& cursor, const ParaverApplication& owner, std::size_t numbers, Communicator& result) {
  if (numbers != 2 && numbers != 4) return false;
  constexpr std::uint64_t kAny = std::numeric_limits<std::uint64_t>::max();
  LineCursor ahead = cursor;
  const std::uint64_t first = ahead.Number("first group", kAny);
  const auto skip_leader = [&] {
    if (numbers == 2) return;
    ahead.Expect(':', "before the leader of a group");
    ahead.Skip('-');
    ahead.Number("leader of a group", kMostTasks);
  };
  skip_leader();
  ahead.Expect(':', "before the second group");
  const bool may_be_list = first == numbers - 1;
  if (may_be_list && ahead.StartsWith('-')) return false;
  const std::uint64_t second = ahead.Number("second group", kAny);
  skip_leader();
  for (const std::uint64_t id : {first, second}) {
    if (owner.communicator_index.contains(id)) continue;
    if (may_be_list) return false;
    cursor.Fail(fmt::format("makes an intercommunicator of communicator {}, which is not defined,", id));
  }
  result.members = owner.communicators[owner.communicator_index.at(first)].second.members;
  result.remote = owner.communicators[owner.communicator_index.at(second)].second.members;
  cursor = ahead;
  return true;
}

// c:1:2:2:1:3 is communicator 2 of application 1, with the 2 tasks 1 and 3. i:1:5:2:3 and i:1:5:2:1:3:4 are the
// intercommunicator 5 of communicators 2 and 3; some tools list the members of intercommunicators as of others.
void ReadCommunicator(std::uint64_t number, std::string_view line, ParaverInput& header) {
  LineCursor cursor(header.path, number, line);
  const bool is_inter = line.front() == 'i';
  cursor.Until(":");
  cursor.Expect(':', "behind c");
  const std::uint64_t application = cursor.Number("application of a communicator", kMostTasks);
  const std::size_t applications = header.applications.size();
  if (application < 1 || application > applications) {
    cursor.Fail(fmt::format("defines a communicator of application {}, but there are {},", application, applications));
  }
  ParaverApplication& owner = header.applications[application - 1];
  cursor.Expect(':', "before the number of a communicator");
  const std::uint64_t id = cursor.Number("number of a communicator", std::numeric_limits<std::uint64_t>::max());
  Communicator communicator{fmt::format("communicator {}", id), {}, {}, false};
  cursor.Expect(':', "before the members of a communicator");
  const auto colons = static_cast<std::size_t>(std::count(line.begin(), line.end(), ':'));
  if (!is_inter || !ReadGroups(cursor, owner, colons - 2, communicator)) {
    const std::uint64_t count = cursor.Number("size of a communicator", kMostTasks);
    for (std::uint64_t i = 0; i < count; ++i) {
      cursor.Expect(':', fmt::format("before member {} of {} of the communicator", i + 1, count).c_str());
      const bool is_unknown = cursor.Skip('-');  // to the tool
      const std::uint64_t task = cursor.Number("member", kMostTasks), tasks = owner.tasks.size();
      // Extrae lists the communicators of all applications as those of each.
      if (is_unknown || (task > tasks && applications > 1)) continue;
      if (task < 1 || task > tasks) {
        cursor.Fail(fmt::format("names task {} as member of a communicator, but there are {} tasks,", task, tasks));
      }
      communicator.members.push_back(static_cast<std::int32_t>(task - 1));
    }
  }
  if (!cursor.AtEnd()) cursor.Fail("lists more members of a communicator than it says");
  const auto [known, is_new] = owner.communicator_index.try_emplace(id, owner.communicators.size());
  if (!is_new) {  // the first one stands
    const Communicator& other = owner.communicators[known->second].second;
    if (other.members == communicator.members && other.remote == communicator.remote) return;
    header.contradictions.push_back(
        fmt::format("{}, line {}: communicator {} is defined before with other members", header.path, number, id));
    return;
  }
  owner.intercommunicators += is_inter ? 1 : 0;
  owner.communicators.emplace_back(id, std::move(communicator));
}

// Numbers that Extrae gives to MPI functions: consecutive ones, from the first number on.
constexpr std::pair<std::uint64_t, std::string_view> kMpiFunctions[] = {
    {1, "Send Recv Isend Irecv Wait Waitall Bcast Barrier Reduce Allreduce Alltoall Alltoallv Gather Gatherv Scatter"},
    {16, "Scatterv Allgather Allgatherv Comm_rank Comm_size Comm_create Comm_dup Comm_split"},
    {25, "Comm_free"},
    {30, "Scan Init Finalize Bsend Ssend Rsend Ibsend Issend Irsend Test"},
    {41, "Sendrecv Sendrecv_replace Cart_create"},
    {59, "Waitany Waitsome Probe Iprobe"},
    {80, "Reduce_scatter"},
    {123, "Start Startall Testall Testany"},
    {128, "Testsome"},
    {154, "Ireduce Iallreduce Ibarrier Ibcast Ialltoall"},
    {168, "Reduce_scatter_block"},
    {170, "Alltoallw"},
    {190, "Mprobe"},
    {192, "Mrecv Imrecv"},
    {214, "Exscan"}};

std::string ReadIfThere(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code) ? ReadFile(path) : "";
}

// A number and what follows it behind white space.
template <typename Number>
bool TakeNumber(std::string_view& text, Number& value) {
  text = Trim(text);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return false;
  text = Trim(text.substr(static_cast<std::size_t>(end - text.data())));
  return true;
}

}  // namespace

ParaverInput ReadParaverHeader(const std::string& path, ParaverText& text) {
  std::string line;
  std::uint64_t number = 1;
  if (!text.NextLine(line)) throw Error(ErrorKind::kInput, path, "is empty");
  if (line == "new format") {
    ++number;
    if (!text.NextLine(line)) throw Error(ErrorKind::kInput, path, "has no header");
  }
  ParaverInput header = ReadFirstLine(path, number, line.substr(0, line.find_last_not_of(" \t") + 1));
  while (true) {
    const std::string next = text.Peek(1);
    if (next != "c" && next != "i" && next != "#" && next != "\n" && next != "\r") break;
    text.NextLine(line);
    ++number;
    if (line.empty()) continue;
    if (line.front() == '#') {
      if (!header.tools.empty()) header.tools += "; ";
      header.tools += ToUtf8(std::string_view(line).substr(1));
    } else {
      ReadCommunicator(number, line, header);
    }
  }
  for (std::size_t i = 0; i < header.applications.size(); ++i) {
    const ParaverApplication& application = header.applications[i];
    const std::size_t defined = application.communicators.size();
    const std::uint64_t announced = application.announced_communicators;  // some tools leave out intercommunicators
    if (announced == defined || announced + application.intercommunicators == defined) continue;
    if (announced == 0) continue;  // some tools do not say
    header.contradictions.push_back(
        fmt::format("{}: the header announces {} communicators of application {}, {} follow", header.path, announced,
                    i + 1, defined));
  }
  return header;
}

std::optional<std::string> ParaverInput::ValueOf(std::uint32_t type, std::uint64_t value) const {
  const auto of_type = values.find(type);
  if (of_type == values.end()) return std::nullopt;
  const auto label = of_type->second.find(value);
  return label == of_type->second.end() ? std::nullopt : std::optional(label->second.first);
}

void ReadParaverNames(ParaverInput& input) {
  // Sections of a .pcf file are a heading in capitals, then lines until the next one.
  bool has_types = false, has_values = false;  // in this section
  std::vector<std::uint32_t> current;          // types whose values follow
  std::uint64_t number = 0;
  for (const std::string& raw : Split(ReadIfThere(ParaverNamesFile(input.path, ".pcf")), '\n')) {
    std::string_view line = Trim(raw);
    std::uint32_t type = 0;
    std::uint64_t value = 0;
    ++number;
    if (line == "EVENT_TYPE") {
      has_types = true;
      has_values = false;
      current.clear();
    } else if (line == "VALUES") {
      has_types = false;
      has_values = !current.empty();
    } else if (line.empty() || line.front() == '-') {
      // Tools differ in where they leave lines empty. No event here can have a negative value.
    } else if (line.front() < '0' || line.front() > '9') {
      has_types = has_values = false;
    } else if (has_types && TakeNumber(line, type) && TakeNumber(line, type)) {  // a colour, then the type
      input.types[type] = ToUtf8(line);
      current.push_back(type);
    } else if (has_values && TakeNumber(line, value)) {
      for (const std::uint32_t each : current) {
        input.values[each].try_emplace(value, "", number).first->second.first = ToUtf8(line);
      }
    }
  }
  // The .row file has LEVEL NODE SIZE 2, then as many names.
  std::vector<std::string>* list = nullptr;
  number = 0;
  for (const std::string& raw : Split(ReadIfThere(ParaverNamesFile(input.path, ".row")), '\n')) {
    const std::string_view line = Trim(raw);
    ++number;
    if (line.starts_with("LEVEL ")) {
      list = nullptr;
      constexpr std::string_view kSize = "LEVEL THREAD SIZE ";
      std::string_view size = line.substr(std::min(kSize.size(), line.size()));
      if (line.starts_with(kSize) && TakeNumber(size, input.row_threads)) input.row_threads_line = number;
      if (line.starts_with("LEVEL NODE ")) list = &input.nodes;
      if (line.starts_with("LEVEL THREAD ")) list = &input.thread_names;
    } else if (list != nullptr && !line.empty()) {
      list->push_back(ToUtf8(line));
    }
  }
}

std::string ParaverNamesFile(const std::string& trace, const char* extension) {
  std::filesystem::path path(trace);
  if (path.extension() == ".gz") path.replace_extension();
  return path.replace_extension(extension).string();
}

std::optional<std::string> ParaverMpiFunction(const ParaverInput& input, std::uint32_t type, std::uint64_t value) {
  for (const auto& [first, functions] : kMpiFunctions) {
    const std::vector<std::string> numbered = Split(functions, ' ');
    if (value >= first && value - first < numbered.size()) return "MPI_" + numbered[value - first];
  }
  return input.ValueOf(type, value);
}

Counter ParaverCounter(const ParaverInput& input, std::uint32_t type) {
  const auto found = input.types.find(type);
  if (found != input.types.end()) {
    const std::string& label = found->second;  // PAPI_TOT_INS [Instr completed]
    const std::size_t space = label.find_first_of(" [");
    std::string description(Trim(std::string_view(label).substr(std::min(space, label.size()))));
    if (description.size() >= 2 && description.front() == '[' && description.back() == ']') {
      description = description.substr(1, description.size() - 2);
    }
    if (space > 0) return {.name = label.substr(0, space), .description = description, .unit = "#"};
  }
  if (type == 42000050) return {.name = "PAPI_TOT_INS", .description = "Instructions completed", .unit = "#"};
  if (type == 42000059) return {.name = "PAPI_TOT_CYC", .description = "Total cycles", .unit = "#"};
  return {.name = fmt::format("counter {}", type), .description = "", .unit = "#"};
}

}  // namespace farscale
