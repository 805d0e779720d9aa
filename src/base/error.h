// The exception that every room throws, and that main() turns into one sentence and an exit code.
#pragma once

#include <stdexcept>
#include <string>

namespace farscale {

// The kind fixes the exit code of the program.
enum class ErrorKind {
  kUsage = 2,          // wrong command line or study file
  kInput = 3,          // unreadable or damaged input
  kNotEnoughData = 4,  // readable, but not enough to answer the question
  kOutput = 5,         // cannot write the result
};

class Error : public std::runtime_error {
 public:
  // `where` is a file, "file:line", or "file, rank 3"; may be empty.
  // `what` is a clause without a full stop. `advice` says what to do next; may be empty.
  Error(ErrorKind kind, const std::string& where, const std::string& what, const std::string& advice = "");

  ErrorKind kind() const { return kind_; }
  const std::string& where() const { return where_; }
  int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
  std::string where_;
};

}  // namespace farscale
