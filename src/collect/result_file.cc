#include "collect/result_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace farscale::collect {
namespace {

constexpr int kMostNumbers = 100000;

bool WriteAll(int file, const std::string& text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t part = write(file, text.data() + done, text.size() - done);
    if (part < 0 && errno == EINTR) continue;
    if (part <= 0) return false;
    done += static_cast<std::size_t>(part);
  }
  return fsync(file) == 0;
}

// Whether the file is an earlier version of this job's results: they name the job near the top.
bool IsOfJob(const std::string& path, const std::string& job) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (file < 0) return false;
  char head[4096];
  const ssize_t bytes = read(file, head, sizeof head);
  close(file);
  if (bytes <= 0) return false;
  const std::string text(head, static_cast<std::size_t>(bytes));
  return text.find("\"job\": \"" + job + "\"") != std::string::npos;
}

std::string Numbered(const std::string& path, int number) {
  if (number == 1) return path;
  const std::size_t slash = path.rfind('/');
  const std::size_t dot = path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > (slash == std::string::npos ? 0 : slash + 1);
  const std::size_t end = has_ending ? dot : path.size();
  return path.substr(0, end) + "-" + std::to_string(number) + path.substr(end);
}

}  // namespace

std::string WriteResult(const std::string& path, const std::string& job, const std::string& text, std::string& why) {
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  const std::string temporary = folder + ".farscale." + job + "." + std::to_string(getpid()) + ".tmp";
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
  if (file < 0) {
    why = path + " cannot be written: " + std::strerror(errno);
    return "";
  }
  const bool is_written = WriteAll(file, text);
  const int error = errno;
  close(file);
  std::string result;
  why = path + " cannot be written: " + std::strerror(error);
  for (int number = 1; is_written && number < kMostNumbers; ++number) {
    const std::string name = Numbered(path, number);
    // A link is made only where nothing is, so that of two jobs one gets the name.
    if (link(temporary.c_str(), name.c_str()) == 0) {
      result = name;
      break;
    }
    if (errno == EEXIST) {
      if (!IsOfJob(name, job)) continue;
      if (rename(temporary.c_str(), name.c_str()) == 0) return name;
    } else if (access(name.c_str(), F_OK) != 0 && rename(temporary.c_str(), name.c_str()) == 0) {
      return name;  // a file system without links
    }
    why = name + " cannot be written: " + std::strerror(errno);
    break;
  }
  unlink(temporary.c_str());
  return result;
}

}  // namespace farscale::collect
