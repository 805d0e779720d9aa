// Wrong command lines in one sentence, with what was probably meant.
#pragma once

#include <CLI/CLI.hpp>

#include <string>
#include <vector>

namespace farscale {

// `arguments`: as typed; `error`: what the library says of them.
std::string DescribeWrongUsage(const CLI::App& app, const std::vector<std::string>& arguments,
                               const CLI::ParseError& error);

// "help run" is "run --help", and "help" alone is "--help".
std::vector<std::string> WithHelpAsOption(std::vector<std::string> arguments);

}  // namespace farscale
