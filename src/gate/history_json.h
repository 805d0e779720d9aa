// A history: earlier results, each with its commit and date, a file each in one folder
// [docs/schema/history.schema.json].
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "factors/factor_table.h"

namespace farscale {

inline constexpr int kHistoryVersion = 1;
inline constexpr const char* kHistoryFormat = "farscale-history";

struct HistoryEntry {
  std::string file;      // it was read from
  std::string commit;    // any name of a state of the code
  std::string date;      // "2026-11-20T12:00:00Z"
  std::string accepted;  // why the level changes on purpose from here on; empty: it does not
  FactorTable table;
};

using History = std::vector<HistoryEntry>;  // the oldest first

// "2026-11-20", "2026-11-20T12:00:00Z", "…+01:00", with colons or dashes between hours, minutes and seconds, as
// "2026-11-20T11:00:00Z"; nothing for what is no date. Without a zone it is universal time.
std::optional<std::string> DateFrom(const std::string& text);
std::string DateFromSeconds(std::int64_t since_1970);

std::string WriteHistoryJson(const HistoryEntry& entry);
// Throws an input error naming `file` for anything else.
HistoryEntry ReadHistoryJson(const std::string& text, const std::string& file);

// "2026-11-20T12-00-00Z-abc1234.json": sorts by date, and no system refuses it.
std::string FileNameOf(const HistoryEntry& entry);

// All entries of a folder, in the order of their dates. Results that are no entries must have a name as above. Several
// of one commit are repeats of each other. Throws an input error for a file that is neither.
History ReadHistory(const std::filesystem::path& folder);

}  // namespace farscale
