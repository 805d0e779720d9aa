#include "collect/page_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>

namespace farscale::collect {
namespace {

constexpr const char* kPrefix = "farscale.";
constexpr const char* kToldEnding = ".told";
constexpr time_t kOldSeconds = 60;

bool Exists(int pid) { return kill(pid, 0) == 0 || errno == EPERM; }

// Reads a file of the right owner, size and kind; anything else is none of ours.
bool ReadPage(const std::string& path, Page& page) {
  // Anybody may put files here: opening a pipe must not wait.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (file < 0) return false;
  struct stat status {};
  bool is_page = fstat(file, &status) == 0 && status.st_uid == geteuid() && S_ISREG(status.st_mode) &&
                 status.st_size == static_cast<off_t>(sizeof(Page));
  std::size_t done = 0;
  while (is_page && done < sizeof page) {
    const ssize_t part = read(file, reinterpret_cast<char*>(&page) + done, sizeof page - done);
    if (part <= 0) is_page = false;
    if (part > 0) done += static_cast<std::size_t>(part);
  }
  close(file);
  return is_page && std::memcmp(page.magic, kPageMagic, sizeof page.magic) == 0 && page.version == kPageVersion &&
         page.regions <= kMostRegions && page.ranks > 0 && page.rank >= 0 && page.rank < page.ranks;
}

template <typename Action>
void ForEachFile(Action action) {
  const std::string folder = PageFolder();
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(opendir(folder.c_str()), closedir);
  if (!entries) return;
  while (const dirent* entry = readdir(entries.get())) {
    if (std::strncmp(entry->d_name, kPrefix, std::strlen(kPrefix)) == 0) action(folder + "/" + entry->d_name);
  }
}

}  // namespace

std::string PageFolder() {
  const char* folder = std::getenv("FARSCALE_PAGES");
  return folder != nullptr && *folder != '\0' ? folder : "/dev/shm";
}

std::string PagePath(const std::string& job, int rank) {
  return PageFolder() + "/" + kPrefix + std::to_string(geteuid()) + "." + job + "." + std::to_string(rank);
}

Page* CreatePage(const std::string& path) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (file < 0) return nullptr;
  // Room is made now: writing to a page that the full memory cannot hold would end the program.
  void* memory = MAP_FAILED;
  if (posix_fallocate(file, 0, sizeof(Page)) == 0) {
    memory = mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  }
  close(file);
  if (memory == MAP_FAILED) {
    unlink(path.c_str());
    return nullptr;
  }
  return static_cast<Page*>(memory);
}

std::vector<FoundPage> FindPages(const std::string& job) {
  std::vector<FoundPage> pages;
  ForEachFile([&](const std::string& path) {
    FoundPage found{path, {}, false};
    if (!ReadPage(path, found.page)) return;
    found.page.job[kNameBytes - 1] = '\0';
    if (!job.empty() && job != found.page.job) return;
    found.is_running = found.page.ending == static_cast<int>(Ending::kRunning) && Exists(found.page.pid);
    pages.push_back(std::move(found));
  });
  return pages;
}

bool TellOnce(const std::string& job) {
  const std::string path = PagePath(job, 0) + kToldEnding;
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file >= 0) close(file);
  return file >= 0 || errno != EEXIST;
}

void RemoveStalePages() {
  ForEachFile([](const std::string& path) {
    struct stat status {};
    if (lstat(path.c_str(), &status) != 0 || status.st_uid != geteuid()) return;
    if (time(nullptr) - status.st_mtime < kOldSeconds) return;
    if (path.ends_with(kToldEnding)) unlink(path.c_str());
    Page page{};
    if (ReadPage(path, page) && !Exists(page.pid)) unlink(path.c_str());
  });
}

}  // namespace farscale::collect
