// What calls fail with.
#pragma once

#include <gtest/gtest.h>

#include <exception>
#include <string>

#include "base/diagnostics.h"

namespace farscale::test {

// The message of whatever the call throws.
template <typename Call>
std::string MessageOf(Call call) {
  try {
    call();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "no error";
}

// The message of the error that it throws, which must be of this kind.
template <typename Call>
std::string ErrorOf(ErrorKind kind, Call call) {
  return MessageOf([&] {
    try {
      call();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), kind) << error.what();
      throw;
    }
  });
}

template <typename Call>
std::string UsageErrorOf(Call call) {
  return ErrorOf(ErrorKind::kUsage, call);
}

template <typename Call>
std::string OutputErrorOf(Call call) {
  return ErrorOf(ErrorKind::kOutput, call);
}

}  // namespace farscale::test
