#include "trace/paraver_names.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <unordered_map>

#include "base/files.h"
#include "base/text.h"

namespace farscale {
namespace {

// How Extrae numbers MPI functions.
const std::unordered_map<std::uint64_t, const char*>& MpiFunctions() {
  static const std::unordered_map<std::uint64_t, const char*> functions = {
      {1, "MPI_Send"},
      {2, "MPI_Recv"},
      {3, "MPI_Isend"},
      {4, "MPI_Irecv"},
      {5, "MPI_Wait"},
      {6, "MPI_Waitall"},
      {7, "MPI_Bcast"},
      {8, "MPI_Barrier"},
      {9, "MPI_Reduce"},
      {10, "MPI_Allreduce"},
      {11, "MPI_Alltoall"},
      {12, "MPI_Alltoallv"},
      {13, "MPI_Gather"},
      {14, "MPI_Gatherv"},
      {15, "MPI_Scatter"},
      {16, "MPI_Scatterv"},
      {17, "MPI_Allgather"},
      {18, "MPI_Allgatherv"},
      {19, "MPI_Comm_rank"},
      {20, "MPI_Comm_size"},
      {21, "MPI_Comm_create"},
      {22, "MPI_Comm_dup"},
      {23, "MPI_Comm_split"},
      {25, "MPI_Comm_free"},
      {30, "MPI_Scan"},
      {31, "MPI_Init"},
      {32, "MPI_Finalize"},
      {33, "MPI_Bsend"},
      {34, "MPI_Ssend"},
      {35, "MPI_Rsend"},
      {36, "MPI_Ibsend"},
      {37, "MPI_Issend"},
      {38, "MPI_Irsend"},
      {39, "MPI_Test"},
      {41, "MPI_Sendrecv"},
      {42, "MPI_Sendrecv_replace"},
      {43, "MPI_Cart_create"},
      {59, "MPI_Waitany"},
      {60, "MPI_Waitsome"},
      {61, "MPI_Probe"},
      {62, "MPI_Iprobe"},
      {80, "MPI_Reduce_scatter"},
      {123, "MPI_Start"},
      {124, "MPI_Startall"},
      {125, "MPI_Testall"},
      {126, "MPI_Testany"},
      {128, "MPI_Testsome"},
      {154, "MPI_Ireduce"},
      {155, "MPI_Iallreduce"},
      {156, "MPI_Ibarrier"},
      {157, "MPI_Ibcast"},
      {158, "MPI_Ialltoall"},
      {168, "MPI_Reduce_scatter_block"},
      {170, "MPI_Alltoallw"},
      {190, "MPI_Mprobe"},
      {192, "MPI_Mrecv"},
      {193, "MPI_Imrecv"},
      {214, "MPI_Exscan"},
  };
  return functions;
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
  for (const std::string& raw : Split(text, '\n')) {
    const std::string_view line = Trim(raw);
    if (line.starts_with("LEVEL ")) {
      list = nullptr;
      if (line.starts_with("LEVEL NODE ")) list = &names.nodes;
    } else if (list != nullptr && !line.empty()) {
      list->push_back(ToUtf8(line));
    }
  }
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
  const auto label = names.ValueOf(type, value);
  if (label && ToLower(*label).starts_with("mpi_")) return label;
  const auto found = MpiFunctions().find(value);
  if (found != MpiFunctions().end()) return found->second;
  return label;
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
