#include "base/files.h"

#include <fcntl.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>
#include <system_error>

#include "base/diagnostics.h"

namespace farscale {
namespace {

namespace fs = std::filesystem;

// Devices, pipes and the like cannot be replaced by a file.
bool IsSpecial(const fs::path& path) {
  std::error_code code;
  return fs::exists(path, code) && !fs::is_regular_file(path, code) && !fs::is_directory(path, code);
}

void Write(const fs::path& file, const std::string& content, const fs::path& path) {
  std::ofstream stream(file, std::ios::binary | std::ios::trunc);
  stream << content;
  stream.close();
  const int cause = errno;
  if (stream) return;
  std::error_code code;
  if (!IsSpecial(file)) fs::remove(file, code);
  throw Error(ErrorKind::kOutput, path.string(), std::string("cannot be written: ") + std::strerror(cause));
}

// Devices and pipes may never end; chosen: far above any table, study or result.
constexpr std::size_t kMostMebibytes = 256;

std::string ReadStream(std::istream& stream, const std::string& name) {
  std::string content;
  std::vector<char> piece(std::size_t{1} << 20);
  while (stream) {
    stream.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    content.append(piece.data(), static_cast<std::size_t>(stream.gcount()));
    if (content.size() > kMostMebibytes << 20U) {
      throw Error(ErrorKind::kInput, name, "has no end within " + std::to_string(kMostMebibytes) + " MiB",
                  "name a table, study or result, none of which is as large");
    }
  }
  if (!stream.eof()) throw Error(ErrorKind::kInput, name, std::string("cannot be read: ") + std::strerror(errno));
  return content;
}

}  // namespace

std::string ReadInput(const std::string& path) {
  if (path != "-") return ReadFile(path);
  // Read once only, but some files are inspected before they are read.
  static const std::string content = ReadStream(std::cin, "standard input");
  if (content.empty()) throw Error(ErrorKind::kInput, "standard input", "is empty");
  return content;
}

std::string ReadFile(const fs::path& path) {
  std::error_code code;
  if (!fs::exists(path, code)) throw Error(ErrorKind::kInput, path.string(), "no such file");
  if (fs::is_directory(path, code)) throw Error(ErrorKind::kInput, path.string(), "is a folder, not a file");
  std::ifstream stream(path, std::ios::binary);
  return ReadStream(stream, path.string());
}

void CreateFolder(const fs::path& path) {
  std::error_code code;
  fs::create_directories(path, code);
  if (!fs::is_directory(path, code)) {
    throw Error(ErrorKind::kOutput, path.string(), "cannot create this folder",
                "choose another with -o, or check its permissions");
  }
}

void WriteFile(const fs::path& link, const std::string& content) {
  // A link stays: what it points to is written, which need not exist yet.
  constexpr int kMostLinks = 40;  // as the system allows
  fs::path path = link;
  std::error_code code;
  for (int i = 0; i < kMostLinks && fs::is_symlink(path, code); ++i) {
    const fs::path next = fs::read_symlink(path, code);
    if (code) break;
    path = next.is_absolute() ? next : path.parent_path() / next;
  }
  if (IsSpecial(path)) return Write(path, content, link);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  if (!fs::is_directory(folder, code)) CreateFolder(folder);
  const fs::path temporary = folder / ("." + path.filename().string() + "." + std::to_string(getpid()) + ".tmp");
  Write(temporary, content, link);
  fs::rename(temporary, path, code);
  if (code) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw Error(ErrorKind::kOutput, path.string(), "cannot be written: " + code.message());
  }
}

std::vector<fs::path> WriteFiles(const fs::path& folder, const NamedTexts& texts) {
  if (!folder.empty()) CreateFolder(folder);
  std::vector<fs::path> paths;
  for (const auto& [name, text] : texts) {
    WriteFile(folder / name, text);
    paths.push_back(folder / name);
  }
  return paths;
}

FilePieces::FilePieces(const std::string& path) : file_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {}

FilePieces::~FilePieces() {
  if (file_ >= 0) ::close(file_);
}

std::optional<std::uint64_t> FilePieces::Size() const {
  struct stat status {};
  if (file_ < 0 || ::fstat(file_, &status) != 0) return std::nullopt;
  return static_cast<std::uint64_t>(status.st_size);
}

std::optional<std::size_t> FilePieces::Read(std::uint64_t at, char* bytes, std::size_t count) const {
  if (file_ < 0) return std::nullopt;
  std::size_t read = 0;
  while (read < count) {
    const ssize_t more = ::pread(file_, bytes + read, count - read, static_cast<off_t>(at + read));
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return std::nullopt;
    if (more == 0) break;
    read += static_cast<std::size_t>(more);
  }
  return read;
}

Sha256::Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
  EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
}

// OpenSSL keeps a record of errors for every thread that has used it. It frees the record when the thread ends, which
// the threads of TBB may do after leaks have been counted.
Sha256::~Sha256() {
  context_.reset();
  OPENSSL_thread_stop();
}

void Sha256::Add(std::string_view bytes) { EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()); }

std::array<unsigned char, 32> Sha256::Digest() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context_.get(), digest.data(), nullptr);
  return digest;
}

std::string Sha256::Hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : Digest()) {
    hex += kDigits[byte / 16];
    hex += kDigits[byte % 16];
  }
  return hex;
}

std::string Sha256Base64(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  const std::array<unsigned char, 32> digest = hash.Digest();
  std::array<unsigned char, 45> encoded{};  // 44 characters, and the end that OpenSSL writes
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  return {encoded.begin(), encoded.begin() + length};
}

}  // namespace farscale
