#include "trace/paraver_names.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <string_view>

#include "base/files.h"
#include "base/text.h"

namespace farscale {
namespace {

// How Extrae numbers MPI functions: consecutive ones, from the first number on.
struct NumberedNames {
  std::uint64_t first;
  std::string_view names;
};
constexpr NumberedNames kMpiFunctions[] = {
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

// A number and what follows it behind white space.
template <typename Number>
bool TakeNumber(std::string_view& text, Number& value) {
  text = Trim(text);
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (code != std::errc()) return false;
  text = Trim(text.substr(static_cast<std::size_t>(end - text.data())));
  return true;
}

bool TakeWord(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// The sections of a .pcf: a heading in capitals, then lines until the next one.
class PcfReader {
 public:
  explicit PcfReader(ParaverNames& names) : names_(names) {}

  void Line(std::string_view line) {
    line = Trim(line);
    if (line == "EVENT_TYPE") {
      section_ = Section::kTypes;
      current_.clear();
    } else if (line == "VALUES") {
      section_ = current_.empty() ? Section::kNone : Section::kValues;
    } else if (line.empty()) {
      // Tools differ in where they leave lines empty.
    } else if (line.front() == '-') {
      // A negative value, which no event can have here.
    } else if (line.front() < '0' || line.front() > '9') {
      section_ = Section::kNone;
    } else {
      Entry(line);
    }
  }

 private:
  enum class Section { kNone, kTypes, kValues };

  void Entry(std::string_view line) {
    std::uint32_t number = 0;
    std::uint64_t value = 0;
    switch (section_) {
      case Section::kTypes:
        if (!TakeNumber(line, number) || !TakeNumber(line, number)) break;  // a colour, then the type
        names_.types[number].label = ToUtf8(line);
        current_.push_back(number);
        break;
      case Section::kValues:
        if (!TakeNumber(line, value)) break;
        for (const std::uint32_t type : current_) names_.types[type].values[value] = ToUtf8(line);
        break;
      case Section::kNone: break;
    }
  }

  ParaverNames& names_;
  Section section_ = Section::kNone;
  std::vector<std::uint32_t> current_;  // types whose values follow
};

// LEVEL NODE SIZE 2, then as many names.
void ReadRow(const std::string& text, ParaverNames& names) {
  std::vector<std::string>* list = nullptr;
  std::uint64_t number = 0;
  for (const std::string& raw : Split(text, '\n')) {
    const std::string_view line = Trim(raw);
    ++number;
    if (line.starts_with("LEVEL ")) {
      list = nullptr;
      std::string_view size = line;
      if (TakeWord(size, "LEVEL THREAD SIZE ") && TakeNumber(size, names.threads)) names.threads_line = number;
      if (line.starts_with("LEVEL NODE ")) list = &names.nodes;
      if (line.starts_with("LEVEL THREAD ")) list = &names.thread_names;
    } else if (list != nullptr && !line.empty()) {
      list->push_back(ToUtf8(line));
    }
  }
}

// The function that Extrae gives this number.
std::optional<std::string> NumberedFunction(std::uint64_t value) {
  for (const auto& [first, functions] : kMpiFunctions) {
    const std::vector<std::string> numbered = Split(functions, ' ');
    if (value >= first && value - first < numbered.size()) return "MPI_" + numbered[value - first];
  }
  return std::nullopt;
}

std::string TextOf(const std::string& path) {
  std::error_code code;
  return std::filesystem::is_regular_file(path, code) ? ReadFile(path) : "";
}

}  // namespace

std::optional<std::string> ParaverNames::ValueOf(std::uint32_t type, std::uint64_t value) const {
  const auto found = types.find(type);
  if (found == types.end()) return std::nullopt;
  const auto label = found->second.values.find(value);
  return label == found->second.values.end() ? std::nullopt : std::optional(label->second);
}

ParaverNames ReadParaverNames(const std::string& pcf, const std::string& row) {
  ParaverNames names;
  PcfReader reader(names);
  for (const std::string& line : Split(TextOf(pcf), '\n')) reader.Line(line);
  ReadRow(TextOf(row), names);
  return names;
}

std::string ParaverNamesFile(const std::string& trace, const char* extension) {
  std::filesystem::path path(trace);
  if (path.extension() == ".gz") path.replace_extension();
  return path.replace_extension(extension).string();
}

std::optional<std::string> ParaverMpiFunction(const ParaverNames& names, std::uint32_t type, std::uint64_t value) {
  const std::optional<std::string> numbered = NumberedFunction(value);
  return numbered ? numbered : names.ValueOf(type, value);
}

bool ContradictsNumber(const ParaverNames& names, std::uint32_t type, std::uint64_t value) {
  const std::optional<std::string> numbered = NumberedFunction(value), label = names.ValueOf(type, value);
  return numbered && label && ToLower(*label) != ToLower(*numbered);
}

std::optional<std::uint64_t> LineOfValue(const std::string& pcf, std::uint32_t type, std::uint64_t value) {
  ParaverNames names;
  PcfReader reader(names);
  std::uint64_t number = 0;
  for (const std::string& line : Split(TextOf(pcf), '\n')) {
    reader.Line(line);
    ++number;
    if (names.ValueOf(type, value)) return number;
  }
  return std::nullopt;
}

ParaverCounterName ParaverCounter(const ParaverNames& names, std::uint32_t type) {
  const auto found = names.types.find(type);
  if (found != names.types.end()) {
    const std::string& label = found->second.label;  // PAPI_TOT_INS [Instr completed]
    const std::size_t space = label.find_first_of(" [");
    std::string description(Trim(std::string_view(label).substr(std::min(space, label.size()))));
    if (description.size() >= 2 && description.front() == '[' && description.back() == ']') {
      description = description.substr(1, description.size() - 2);
    }
    if (space > 0) return {label.substr(0, space), description};
  }
  if (type == 42000050) return {"PAPI_TOT_INS", "Instructions completed"};
  if (type == 42000059) return {"PAPI_TOT_CYC", "Total cycles"};
  return {fmt::format("counter {}", type), ""};
}

}  // namespace farscale
