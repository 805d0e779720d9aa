#include "collect/page_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "collect/threads/counters.h"
#include "collect/text.h"

namespace farscale::collect {
namespace {

constexpr time_t kOldSeconds = 60;  // chosen: younger files may be of processes that are just starting

// Names of this user's files: those of others are left alone, whatever they are.
std::string Prefix() { return "farscale." + std::to_string(geteuid()) + "."; }

// Opens a file of the right owner, size and kind; anything else is not a page.
int OpenPage(const std::string& path) {
  std::size_t bytes = 0;
  const int file = OpenOwnFile(path, bytes);
  if (file < 0 || bytes == sizeof(Page)) return file;
  close(file);
  return -1;
}

bool IsPage(const Page& page) {
  return std::memcmp(page.magic, kPageMagic, sizeof page.magic) == 0 && page.version == kPageVersion &&
         page.regions <= kMostRegions && page.ranks > 0 && page.rank >= 0 && page.rank < page.ranks && page.pid > 0;
}

bool ReadPage(const std::string& path, Page& page) {
  const int file = OpenPage(path);
  if (file < 0) return false;
  const bool is_whole = read(file, &page, sizeof page) == static_cast<ssize_t>(sizeof page);
  close(file);
  return is_whole && IsPage(page);
}

// Calls action(path, time of the last change) for every file of this user.
template <typename Action>
void ForEachFile(Action action) {
  const std::string folder = PageFolder(), prefix = Prefix();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  while (const dirent* entry = entries ? readdir(entries.get()) : nullptr) {
    struct stat status;
    if (std::strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
    const std::string path = folder + "/" + entry->d_name;
    if (lstat(path.c_str(), &status) == 0 && status.st_uid == geteuid()) action(path, status.st_mtime);
  }
}

constexpr const char* kVariable = "FARSCALE_LAUNCH";
constexpr const char* kName = "launch-";

int launched = 0;  // the process that was

// The number of the process in ".../farscale.0.launch-4711-18c7.0".
int LaunchedProcess(const std::string& path) {
  const std::size_t name = path.rfind(kName);
  return name == std::string::npos ? 0 : std::atoi(path.c_str() + name + std::strlen(kName));
}

const char* File() {
  const char* file = std::getenv(kVariable);
  return file != nullptr && LaunchedProcess(file) > 0 ? file : nullptr;
}

struct DumpHead {
  char magic[8] = {'f', 's', 'p', 'a', 'g', 'e', 's', '\0'};
  std::uint32_t version = kPageVersion;
  std::uint32_t ranks = 0;
  TraceSize estimate;
  std::uint64_t trace_bytes = 0;  // size of the text that follows
};

constexpr std::uint64_t kMostTraceBytes = 1 << 20;  // chosen: far more than a few sentences

std::string_view BytesOf(const void* value, std::size_t bytes) { return {static_cast<const char*>(value), bytes}; }

bool ReadAll(int file, void* to, std::size_t bytes) {
  for (auto* next = static_cast<char*>(to); bytes > 0;) {
    const ssize_t part = read(file, next, bytes);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    next += part;
    bytes -= static_cast<std::size_t>(part);
  }
  return true;
}

bool ReadDumpFrom(int file, PageDump& dump) {
  DumpHead head;
  if (!ReadAll(file, &head, sizeof head) || std::memcmp(head.magic, DumpHead().magic, sizeof head.magic) != 0)
    return false;
  if (head.version != kPageVersion || head.ranks == 0 || head.trace_bytes > kMostTraceBytes) return false;
  dump.estimate = head.estimate;
  dump.trace.resize(head.trace_bytes);
  if (!ReadAll(file, dump.trace.data(), dump.trace.size())) return false;
  struct stat status;
  if (fstat(file, &status) != 0 || head.ranks > static_cast<std::uint64_t>(status.st_size) / offsetof(Page, region)) {
    return false;
  }
  dump.pages.reserve(head.ranks);
  for (std::uint32_t i = 0; i < head.ranks; ++i) {
    Page& page = dump.pages.emplace_back();
    if (!ReadAll(file, &page, offsetof(Page, region)) || !IsPage(page)) return false;
    if (!ReadAll(file, page.region, page.regions * sizeof(RegionRecord))) return false;
    if ((page.flags & kHasDevices) != 0 && !ReadAll(file, &page.devices, sizeof page.devices)) return false;
    const bool is_of_run = page.rank == static_cast<std::int32_t>(i) && page.bytes == sizeof(Page) &&
                           page.regions > 0 && HasTexts(page) && page.ranks == static_cast<std::int32_t>(head.ranks) &&
                           std::strncmp(page.job, dump.pages.front().job, kNameBytes) == 0;
    if (!is_of_run) return false;
  }
  char behind = 0;
  return read(file, &behind, 1) == 0;
}

}  // namespace

std::uint64_t ProcessStarted(int pid) {
  const std::string text = ReadStart("/proc/" + std::to_string(pid) + "/stat", 1024);
  // Behind the program's name in brackets: " S 4711 ...".
  const std::vector<std::string> fields = Split(text.substr(std::min(text.rfind(')'), text.size())), " ");
  const bool is_alive = fields.size() > 20 && fields[1] != "Z" && fields[1] != "X";
  return is_alive ? std::strtoull(fields[20].c_str(), nullptr, 10) : 0;
}

bool ProcessExists(const Page& page) {
  if (kill(page.pid, 0) != 0 && errno != EPERM) return false;
  if (page.process_started == 0) return true;
  return ProcessStarted(page.pid) == page.process_started;
}

std::string PageFolder() {
  const std::string folder = Variable("FARSCALE_PAGES");
  return folder.empty() ? "/dev/shm" : folder;
}

std::string PagePath(const std::string& job, int rank) {
  return PageFolder() + "/" + Prefix() + job + "." + std::to_string(rank);
}

int OpenOwnFile(const std::string& path, std::size_t& bytes) {
  // A pipe of that name must not block us, so it is opened without waiting.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return -1;
  struct stat status;
  const bool is_own = fstat(file, &status) == 0 && status.st_uid == geteuid() && S_ISREG(status.st_mode);
  bytes = is_own ? static_cast<std::size_t>(status.st_size) : 0;
  if (is_own) return file;
  close(file);
  return -1;
}

void* MapNewFile(const std::string& path, std::size_t bytes) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  // Room is made now: writing to memory that is full would end the program.
  void* memory = MAP_FAILED;
  if (posix_fallocate(file, 0, static_cast<off_t>(bytes)) == 0) {
    memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory != MAP_FAILED) return memory;
  unlink(path.c_str());
  return nullptr;
}

Page* CreatePage(const std::string& path) { return static_cast<Page*>(MapNewFile(path, sizeof(Page))); }

std::vector<Page> FindPages() {
  std::vector<Page> pages;
  ForEachFile([&](const std::string& path, time_t) {
    Page page;
    if (!ReadPage(path, page)) return;
    page.job[kNameBytes - 1] = '\0';
    pages.push_back(page);
  });
  return pages;
}

bool IsLowestHere(const std::string& job, int rank) {
  const std::string prefix = PagePath(job, 0).substr(0, PagePath(job, 0).size() - 1);
  bool is_lowest = true;
  ForEachFile([&](const std::string& path, time_t) {
    if (path.starts_with(prefix) && std::atoi(path.c_str() + prefix.size()) < rank) is_lowest = false;
  });
  return is_lowest;
}

std::vector<const Page*> MapPages(const std::string& job) {
  std::vector<const Page*> pages;
  ForEachFile([&](const std::string& path, time_t) {
    const int file = path.find("." + job + ".") == std::string::npos ? -1 : OpenPage(path);
    if (file < 0) return;
    void* memory = mmap(nullptr, sizeof(Page), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) return;
    const auto* page = static_cast<const Page*>(memory);
    if (IsPage(*page) && std::strncmp(page->job, job.c_str(), kNameBytes) == 0) {
      pages.push_back(page);
    } else {
      munmap(memory, sizeof(Page));
    }
  });
  return pages;
}

bool HasTexts(const Page& page) {
  const auto ends = [](const auto& text) { return std::memchr(text, 0, sizeof text) != nullptr; };
  return ends(page.job) && ends(page.host) && ends(page.program) && ends(page.mpi_library) && ends(page.command) &&
         ends(page.output) && ends(page.error) &&
         std::all_of(page.region, page.region + page.regions, [&](const RegionRecord& one) { return ends(one.name); });
}

bool WriteDumpHead(int file, int ranks, const std::string& trace, const TraceSize& estimate) {
  DumpHead head;
  head.ranks = static_cast<std::uint32_t>(ranks);
  head.estimate = estimate;
  head.trace_bytes = trace.size();
  return WriteAll(file, BytesOf(&head, sizeof head)) && WriteAll(file, trace);
}

bool WriteDumpPage(int file, const Page& page) {
  if (!WriteAll(file, BytesOf(&page, UsedBytes(page)))) return false;
  return (page.flags & kHasDevices) == 0 || WriteAll(file, BytesOf(&page.devices, sizeof page.devices));
}

std::optional<PageDump> ReadDump(const std::string& path) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY);
  if (file < 0) return std::nullopt;
  PageDump dump;
  const bool is_whole = ReadDumpFrom(file, dump);
  close(file);
  return is_whole ? std::optional(std::move(dump)) : std::nullopt;
}

void RemoveStalePages() {
  ForEachFile([](const std::string& path, time_t changed) {
    if (time(nullptr) - changed < kOldSeconds) return;
    const int launching = LaunchedProcess(path);
    if (launching > 0 && kill(launching, 0) != 0 && errno == ESRCH) unlink(path.c_str());
    const std::size_t end = path.rfind(".trace");  // its page may be gone
    if (end != std::string::npos && access(path.substr(0, end).c_str(), F_OK) != 0) unlink(path.c_str());
    Page page{};
    if (ReadPage(path, page) && !ProcessExists(page)) unlink(path.c_str());
  });
}

std::string MarkLaunch() {
  char job[64];
  std::snprintf(job, sizeof job, "%s%d-%llx", kName, static_cast<int>(getpid()),
                static_cast<unsigned long long>(Nanoseconds(CLOCK_REALTIME)));
  const std::string path = PagePath(job, 0);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return "";
  close(file);
  return path;
}

void WatchLaunch() {
  const char* file = File();
  if (file == nullptr || LaunchedProcess(file) != getpid()) return;
  launched = getpid();
  std::atexit([] {
    const char* left = File();
    if (left == nullptr || getpid() != launched || unlink(left) != 0 || IsSet("FARSCALE_QUIET")) return;
    std::fprintf(
        stderr,
        "farscale: nothing was measured: %s ended without a call of MPI_Init, or its MPI is linked statically\n",
        program_invocation_short_name);
  });
}

void ForgetLaunch() {
  const char* file = File();
  if (file != nullptr) unlink(file);
}

RecordedRegion ParseRecordedRegion(const std::string& text) {
  const auto is_number = [](const std::string& digits) {
    constexpr std::size_t kMostDigits = 18;  // fit into 64 bits
    return !digits.empty() && digits.size() <= kMostDigits &&
           std::ranges::all_of(digits, [](unsigned char c) { return std::isdigit(c) != 0; });
  };
  char cut[kNameBytes];
  CopyName(text.c_str(), cut);
  RecordedRegion region;
  region.name = region.window = cut;
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0) return region;
  const std::string range = text.substr(colon + 1);
  const std::size_t dots = range.find("..");
  const std::string first = range.substr(0, dots), last = dots == std::string::npos ? first : range.substr(dots + 2);
  if (!is_number(first) || (!last.empty() && !is_number(last))) return region;
  CopyName(text.substr(0, colon).c_str(), cut);
  region.name = cut;
  region.first = std::strtoull(first.c_str(), nullptr, 10);
  if (!last.empty()) region.last = std::strtoull(last.c_str(), nullptr, 10);
  return region;
}

std::vector<RecordedRegion> RecordedRegions() {
  std::vector<RecordedRegion> regions;
  for (const std::string& line : Split(Variable("FARSCALE_ONLY"), "\n")) regions.push_back(ParseRecordedRegion(line));
  return regions;
}

std::vector<std::string> WindowNames() {
  std::vector<std::string> names;
  for (const RecordedRegion& region : RecordedRegions()) names.push_back(Printable(region.window));
  return names;
}

}  // namespace farscale::collect
