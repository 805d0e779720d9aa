// What a fuzz target provides. Built twice: with libFuzzer by the preset `fuzz`, and with driver.cc for the checks,
// where a fixed number of mutations of the seeds is tried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace farscale::fuzz {

// Well-formed inputs to mutate.
std::vector<std::string> Seeds();

// Feeds one input to the code under test. Errors of the kinds users may cause are fine; anything else is a finding.
void Try(const std::string& input);

}  // namespace farscale::fuzz
