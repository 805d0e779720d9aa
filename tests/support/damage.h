// Damages inputs as disks, copies, filters and mixed up files do: for tests that nothing wrong is believed without a
// word. Files lie in memory, by their paths below the folder of the input.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "base/random.h"

namespace farscale::test {

using InputFiles = std::map<std::string, std::string>;

// Of an archive or a Paraver trace: its main file with those beside it that belong to it.
InputFiles ReadInputFiles(const std::filesystem::path& main_file);
void WriteInputFiles(const InputFiles& files, const std::filesystem::path& folder);

struct Damage {
  std::string kind;  // few, for tables of results
  std::string where;
};

// Each draws a kind of damage, and nothing where that kind does not apply to the input. `other`: another run, from
// which files and lines are taken.
std::optional<Damage> DamageArchive(InputFiles& files, const InputFiles& other, Random& random);
std::optional<Damage> DamageParaver(InputFiles& files, const InputFiles& other, Random& random);
// One digit of a CSV or JSON table.
std::optional<Damage> DamageTable(std::string& text, Random& random);

}  // namespace farscale::test
