// Files at the edges of the program: read whole, written whole or not at all.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace farscale {

// Throws an input error naming the file when it cannot be read.
std::string ReadFile(const std::filesystem::path& path);
// The same of standard input for "-", as often as it is asked for.
std::string ReadInput(const std::string& path);

// Writes beside the target and renames, so that a failed run leaves no half file. Throws an output error.
void WriteFile(const std::filesystem::path& path, const std::string& content);

// Creates the folder and its parents; throws an output error when that fails or something else has the name.
void CreateFolder(const std::filesystem::path& path);

// Texts by the names of their files within a folder.
using NamedTexts = std::vector<std::pair<std::filesystem::path, std::string>>;
// Makes the folder where it is missing (an empty path is the current one), and writes each text whole or not at all.
// Returns the paths.
std::vector<std::filesystem::path> WriteFiles(const std::filesystem::path& folder, const NamedTexts& texts);

}  // namespace farscale
