#include "cli/launch.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <gelf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/diagnostics.h"
#include "base/text.h"
#include "collect/page.h"
#include "collect/page_file.h"
#include "collect/text.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;
using collect::Variable;

// Calls visit(elf) for an ELF file; does nothing for anything else, such as a script.
template <typename Visit>
void ReadElf(const fs::path& path, const Visit& visit) {
  elf_version(EV_CURRENT);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return;
  Elf* elf = elf_begin(file, ELF_C_READ_MMAP, nullptr);
  if (elf != nullptr && elf_kind(elf) == ELF_K_ELF) visit(elf);
  elf_end(elf);
  close(file);
}

// As the program is loaded, which is true of programs without sections, too; none where they cannot be read.
std::vector<GElf_Phdr> ReadSegments(Elf* elf) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return {};
  std::vector<GElf_Phdr> segments(count);
  for (std::size_t i = 0; i < count; ++i) {
    if (gelf_getphdr(elf, static_cast<int>(i), &segments[i]) == nullptr) return {};
  }
  return segments;
}

// Index of the first word from `begin` on that is neither an option nor the value of one.
std::size_t FirstWord(const std::vector<std::string>& arguments, std::size_t begin) {
  constexpr std::string_view kWithValue[] = {"-j",        "--jobs",    "-o",       "--output", "--mpi",
                                             "--threads", "--guard",   "--report", "--only",   "--record-only",
                                             "--flush",   "--recover", "--memory"};
  std::size_t i = begin;
  while (i < arguments.size() && arguments[i].starts_with('-')) {
    if (arguments[i] == "--") return i + 1;
    i += std::ranges::find(kWithValue, arguments[i]) != std::end(kWithValue) ? 2 : 1;
  }
  return std::min(i, arguments.size());
}

bool IsLaunch(const std::vector<std::string>& arguments, std::size_t command) {
  return command < arguments.size() && (arguments[command] == "measure" || arguments[command] == "trace");
}

// The rank as the launcher says it, and that on its node; -1: not said.
std::pair<int, int> FindRank() {
  constexpr const char* kNames[][2] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK"},
                                       {"PMI_RANK", "MPI_LOCALRANKID"},
                                       {"SLURM_PROCID", "SLURM_LOCALID"},
                                       {"FLUX_TASK_RANK", "FLUX_TASK_LOCAL_ID"},
                                       {"PALS_RANKID", "PALS_LOCAL_RANKID"}};
  for (const auto& [world, local] : kNames) {
    const char* rank = std::getenv(world);
    const char* rank_here = std::getenv(local);
    if (rank != nullptr && rank_here != nullptr) return {std::atoi(rank), std::atoi(rank_here)};
  }
  // Launchers of PMIx need not say more than the rank.
  const char* rank = std::getenv("PMIX_RANK");
  return rank != nullptr ? std::pair(std::atoi(rank), std::atoi(rank) == 0 ? 0 : -1) : std::pair(-1, -1);
}

fs::path FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  for (const std::string& folder : Split(Variable("PATH"), ':')) {
    const fs::path path = fs::path(folder.empty() ? "." : folder) / name;
    if (access(path.c_str(), X_OK) == 0 && !fs::is_directory(path)) return path;
  }
  return name;
}

std::string NameOfMpi(const std::string& id) { return id == "openmpi" ? "Open MPI" : id == "mpich" ? "MPICH" : id; }

// `farscale measure mpirun -n 4 ./program` would measure the launcher: the command that was meant, with farscale before
// the first word that is a program. Empty for what is no launcher.
std::string MeantCommand(const std::vector<std::string>& words, const std::string& command) {
  constexpr std::string_view kLaunchers[] = {"mpirun", "mpiexec", "orterun", "prterun", "prun",
                                             "srun",   "aprun",   "jsrun",   "ibrun",   "ccc_mprun"};
  const std::string name = fs::path(words.front()).filename().string();
  const auto is_it = [&](std::string_view known) {
    return name == known || name.starts_with(std::string(known) + ".");
  };
  if (std::ranges::none_of(kLaunchers, is_it)) return "";
  std::string meant;
  bool is_placed = false;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (i > 0 && !is_placed && !word.starts_with('-') && access(FindProgram(word).c_str(), X_OK) == 0) {
      meant += command + " ";
      is_placed = true;
    }
    meant += word + (i + 1 < words.size() ? " " : "");
  }
  return is_placed ? meant : words.front() + " OPTIONS " + command + " PROGRAM";
}

// The MPI of the program decides; where it does not say, as scripts do not, the launcher's.
std::string ChooseMpi(const std::string& program) {
  const auto linked = MpiOfLibraries(NeededLibraries(FindProgram(program)));
  const auto launcher = MpiOfLauncher();
  if (linked && launcher && *linked != *launcher) {
    throw Error(ErrorKind::kUsage, program,
                fmt::format("is linked with {}, but was started by the launcher of {}", NameOfMpi(*linked),
                            NameOfMpi(*launcher)),
                "start it with the mpirun of its MPI, or give --mpi");
  }
  if (linked) return *linked;
  if (launcher) return *launcher;
  // As a module says it. A library of another MPI starts the program again with that of its own.
  if (const std::string module = Variable("FARSCALE_MPI"); !module.empty()) return module;
  throw Error(ErrorKind::kUsage, program, "neither the program nor its environment shows which MPI it uses",
              "start it with mpirun, give --mpi openmpi or --mpi mpich, or set FARSCALE_MPI");
}

std::string LibraryOf(const std::string& mpi) { return "libfarscale-processes-" + mpi + ".so"; }

void SetVariable(const std::string& name, const std::string& value) { setenv(name.c_str(), value.c_str(), 1); }

// A number may have to be added to a name, and file systems take 255 bytes.
constexpr std::size_t kLongestName = 240;

[[noreturn]] void Refuse(const fs::path& path, const std::string& what, const std::string& advice = "") {
  throw Error(ErrorKind::kOutput, path.empty() ? "-o" : path.string(), what, advice);
}

fs::path Absolute(const fs::path& path) {
  std::error_code code;
  const fs::path absolute = path.is_absolute() ? path : fs::current_path(code) / path;
  if (code) Refuse(path, "the current folder is gone: " + code.message());
  if (absolute.string().size() >= sizeof collect::Page::output) {
    Refuse(path, fmt::format("is longer than {} characters", sizeof collect::Page::output - 1));
  }
  if (path.filename().string().size() > kLongestName) {
    Refuse(path, fmt::format("has a name of more than {} characters", kLongestName));
  }
  return absolute;
}

void CheckFolder(const fs::path& path, const fs::path& folder) {
  std::error_code code;
  if (!fs::exists(folder, code)) Refuse(path, fmt::format("the folder {} does not exist", folder.string()), "make it");
  if (!fs::is_directory(folder, code)) Refuse(path, folder.string() + " is no folder");
  if (access(folder.c_str(), W_OK | X_OK) != 0) {
    Refuse(path, fmt::format("the folder {} may not be written to", folder.string()));
  }
}

}  // namespace

std::string CommandOf(const std::vector<std::string>& arguments) {
  const std::size_t command = FirstWord(arguments, 0);
  return command < arguments.size() ? arguments[command] : "";
}

std::vector<std::string> TakeProgram(std::vector<std::string>& arguments) {
  const std::size_t command = FirstWord(arguments, 0);
  if (!IsLaunch(arguments, command)) return {};
  const auto begin = arguments.begin() + static_cast<std::ptrdiff_t>(FirstWord(arguments, command + 1));
  std::vector<std::string> program(begin, arguments.end());
  arguments.erase(begin, arguments.end());
  if (arguments.back() == "--") arguments.pop_back();
  return program;
}

std::optional<fs::path> LibraryFor(const std::string& mpi) {
  return mpi.empty() ? std::nullopt : FindLibrary(fmt::format("libfarscale-{}.so", mpi));
}

fs::path OwnProgram() {
  std::error_code code;
  const fs::path path = fs::read_symlink("/proc/self/exe", code);
  if (code) throw Error(ErrorKind::kInput, "/proc/self/exe", "cannot be read: " + code.message());
  return path;
}

std::vector<std::string> NeededLibraries(const fs::path& path) {
  std::vector<std::string> libraries;
  ReadElf(path, [&](Elf* elf) {
    const std::vector<GElf_Phdr> segments = ReadSegments(elf);
    const auto dynamic = std::ranges::find(segments, PT_DYNAMIC, &GElf_Phdr::p_type);
    if (dynamic == segments.end()) return;
    Elf_Data* entries = elf_getdata_rawchunk(elf, static_cast<off_t>(dynamic->p_offset), dynamic->p_filesz, ELF_T_DYN);
    std::vector<GElf_Xword> names;  // in the table of strings
    GElf_Addr strings = 0;          // its address in the loaded program
    GElf_Dyn entry;
    for (int i = 0; gelf_getdyn(entries, i, &entry) != nullptr && entry.d_tag != DT_NULL; ++i) {
      if (entry.d_tag == DT_NEEDED) names.push_back(entry.d_un.d_val);
      if (entry.d_tag == DT_STRTAB) strings = entry.d_un.d_ptr;
    }
    const auto loaded = std::ranges::find_if(segments, [&](const GElf_Phdr& segment) {
      return segment.p_type == PT_LOAD && strings - segment.p_vaddr < segment.p_filesz;
    });
    std::size_t size = 0;
    const char* bytes = elf_rawfile(elf, &size);
    for (const GElf_Xword name : names) {
      const std::size_t at = loaded == segments.end() ? size : loaded->p_offset + (strings - loaded->p_vaddr) + name;
      if (at < size) libraries.emplace_back(bytes + at, strnlen(bytes + at, size - at));
    }
  });
  return libraries;
}

std::optional<std::string> MpiOfLibraries(const std::vector<std::string>& libraries) {
  for (const std::string& library : libraries) {
    if (library.starts_with("libmpich") || library == "libmpi.so.12" || library == "libmpifort.so.12") return "mpich";
    const bool is_open = library.starts_with("libmpi.so.") || library.starts_with("libmpi_mpifh") ||
                         library.starts_with("libmpi_usempi") || library.starts_with("libmpi_cxx");
    if (is_open) return "openmpi";
  }
  return std::nullopt;
}

std::optional<std::string> MpiOfLauncher() {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) return "openmpi";
  // SLURM's own launcher says PMI_RANK to programs of any MPI.
  const bool is_slurm = std::getenv("SLURM_PROCID") != nullptr && std::getenv("MPI_LOCALRANKID") == nullptr;
  if (!is_slurm && (std::getenv("PMI_RANK") != nullptr || std::getenv("PMI_FD") != nullptr)) return "mpich";
  return std::nullopt;
}

bool IsBesideFirstRank() {
  const auto [world, local] = FindRank();
  return world <= 0 || world == local;
}

std::optional<fs::path> FindLibrary(const std::string& name) {
  const fs::path own = OwnProgram().parent_path();
  for (const fs::path& folder : {own / "../lib/farscale", own / ".." / FARSCALE_LIBRARY_FOLDER}) {
    std::error_code code;
    if (fs::exists(folder / name, code)) return fs::canonical(folder / name);
  }
  return std::nullopt;
}

bool IsRepetition(const std::vector<std::string>& arguments) {
  return IsLaunch(arguments, FirstWord(arguments, 0)) && FindRank().first > 0 && IsBesideFirstRank();
}

std::map<std::string, std::string> DeviceVariables(const fs::path& library) {
  constexpr std::pair<const char*, const char*> kBackends[] = {{"CUDA_INJECTION64_PATH", "cupti"},
                                                               {"ROCP_TOOL_LIBRARIES", "rocprofiler"}};
  std::map<std::string, std::string> variables;
  for (const auto& [variable, name] : kBackends) {
    const fs::path backend = library.parent_path() / (std::string("libfarscale-devices-") + name + ".so");
    std::error_code code;
    if (std::getenv(variable) == nullptr && fs::exists(backend, code)) variables[variable] = backend.string();
  }
  return variables;
}

void BecomeProgram(std::vector<std::string> command, const std::string& mpi,
                   const std::map<std::string, std::string>& variables) {
  const std::string program = command.front();
  const std::string meant = MeantCommand(command, "farscale " + variables.at("FARSCALE_MODE"));
  if (!meant.empty()) {
    throw Error(ErrorKind::kUsage, program, "starts programs, and farscale measures the program", "write " + meant);
  }
  const std::string chosen = mpi.empty() ? ChooseMpi(program) : mpi;
  const std::optional<fs::path> library = LibraryFor(chosen);
  if (!library) {
    throw Error(ErrorKind::kUsage, "libfarscale-" + chosen + ".so",
                fmt::format("there is no preload library for {}", NameOfMpi(chosen)),
                "build farscale where the MPI's development files are installed");
  }
  // Warns of programs that cannot be measured: now, or at their end where only their run shows it.
  if (FindRank().first <= 0) {
    bool is_static = false;  // without an interpreter, which would load shared libraries
    ReadElf(FindProgram(program), [&](Elf* elf) {
      const std::vector<GElf_Phdr> segments = ReadSegments(elf);
      is_static = !segments.empty() && std::ranges::find(segments, PT_INTERP, &GElf_Phdr::p_type) == segments.end();
    });
    if (is_static) {
      fmt::print(stderr, "farscale: {} is linked statically: no library can be loaded into it, so it is not measured\n",
                 program);
    }
    const std::string mark = is_static ? "" : collect::MarkLaunch();
    if (!mark.empty()) SetVariable("FARSCALE_LAUNCH", mark);
  }
  const std::string others = Variable("LD_PRELOAD");
  SetVariable("LD_PRELOAD", library->string() + (others.empty() ? "" : ":" + others));
  SetVariable("FARSCALE_PROGRAM", OwnProgram().string());
  for (const auto& [name, value] : DeviceVariables(*library)) SetVariable(name, value);
  for (const auto& [name, value] : variables) SetVariable(name, value);
  // Where the site measures all programs, this is what the user wants of his own.
  for (const char* of_site : {"FARSCALE_PRIVATE", "FARSCALE_MOST_BYTES"}) unsetenv(of_site);
  std::vector<char*> arguments = collect::Pointers(command);
  execvp(arguments[0], arguments.data());
  throw Error(ErrorKind::kUsage, program, std::string("cannot be run: ") + std::strerror(errno));
}

void CheckResultFile(const std::string& path) {
  if (path.empty()) Refuse(path, "no file is named", "write -o run8.json");
  const fs::path absolute = Absolute(path);
  std::error_code code;
  if (!absolute.has_filename() || fs::is_directory(absolute, code)) {
    Refuse(path, "is a folder; the results need a file", "write -o FOLDER/run8.json");
  }
  if (fs::exists(absolute, code) && !fs::is_regular_file(absolute, code)) {
    Refuse(path, "is no ordinary file", "name a regular file; results are written beside it and renamed");
  }
  CheckFolder(path, absolute.parent_path());
}

void CheckTraceFolder(const std::string& path) {
  if (path.empty()) Refuse(path, "no folder is named", "write -o traces/8");
  const fs::path absolute = Absolute(path);
  std::error_code code;
  if (fs::exists(absolute, code) && !fs::is_directory(absolute, code)) {
    Refuse(path, "is a file; the trace needs a folder", "name another one");
  }
  if (fs::exists(absolute / "traces.otf2", code)) {
    Refuse(path, "contains a trace already", "choose another folder, or remove it");
  }
  // Folders above it are made.
  fs::path folder = absolute;
  while (!fs::exists(folder, code) && folder.has_relative_path()) folder = folder.parent_path();
  CheckFolder(path, folder);
}

LaunchedProcess FindLaunchedProcess(const std::string& command) {
  LaunchedProcess process;
  const std::string chosen = Variable("FARSCALE_MPI");
  const auto number = [](const char* name) { return std::atoi(Variable(name).c_str()); };
  // The MPI whose launcher has started several processes. Of SLURM, whose srun starts programs of any MPI, PMIx is what
  // Open MPI is built for, and PMI what MPICH is.
  const bool is_by_slurm = !Variable("PMIX_RANK").empty() && number("SLURM_NTASKS") > 1;
  process.mpi = number("OMPI_COMM_WORLD_SIZE") > 1 ? "openmpi"
                : number("PMI_SIZE") > 1           ? "mpich"
                : is_by_slurm                      ? "openmpi"
                                                   : "";
  if (!process.mpi.empty() && !chosen.empty()) process.mpi = chosen;
  constexpr std::string_view kForPrograms[] = {"measure", "trace", "watch", "site", "jobs"};
  const bool is_for_programs = std::ranges::find(kForPrograms, command) != std::end(kForPrograms);
  if (is_for_programs || process.mpi.empty() || !FindLibrary(LibraryOf(process.mpi))) return {};
  process.is_first = FindRank().first <= 0;
  // "4(x2),3" of SLURM begins with a number, too.
  for (const char* name : {"SLURM_TASKS_PER_NODE", "MPI_LOCALNRANKS", "OMPI_COMM_WORLD_LOCAL_SIZE"}) {
    if (number(name) > 0) process.on_node = static_cast<std::uint64_t>(number(name));
  }
  return process;
}

bool SharesWork(const std::string& command) {
  constexpr std::string_view kCommands[] = {"run",     "inspect",   "phases", "factors", "imbalance",
                                            "balance", "calibrate", "whatif", "cut",     "grow"};
  return std::ranges::find(kCommands, command) != std::end(kCommands);
}

std::unique_ptr<Job> JoinJob(const LaunchedProcess& process) {
  if (process.mpi.empty()) return nullptr;
  const std::string library = FindLibrary(LibraryOf(process.mpi))->string();
  // Open MPI loads parts of its own that look for its symbols.
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL);
  void* join = handle != nullptr ? dlsym(handle, kJoinJob) : nullptr;
  if (join == nullptr) {
    throw Error(ErrorKind::kInput, library, std::string("cannot be loaded: ") + dlerror(),
                "set FARSCALE_MPI=none to do without it");
  }
  std::unique_ptr<Processes> processes(reinterpret_cast<JoinJobFunction>(join)());
  return processes != nullptr ? std::make_unique<Job>(std::move(processes)) : nullptr;
}

}  // namespace farscale
