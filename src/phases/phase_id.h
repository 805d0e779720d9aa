// What a phase is known by in tables and results: its name and, where only some of the ranks are meant, their group.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

// Between the two in texts for people. No name of a group contains it; that of a phase may.
inline constexpr std::string_view kGroupSeparator = " / ";

// The two parts are compared, never their text: a phase may be called "a / b", and a group of the phase "a" may be "b".
struct PhaseId {
  std::string name;   // any text; empty where a table names no phases
  std::string group;  // of its ranks; empty: all of them

  PhaseId() = default;
  // A name alone is that of a whole phase, whatever it looks like.
  PhaseId(std::string whole) : name(std::move(whole)) {}  // NOLINT(google-explicit-constructor)
  PhaseId(const char* whole) : name(whole) {}             // NOLINT(google-explicit-constructor)
  PhaseId(std::string phase, std::string ranks) : name(std::move(phase)), group(std::move(ranks)) {}

  bool IsGroup() const { return !group.empty(); }
  bool IsUnnamed() const { return name.empty() && group.empty(); }
  // For people only: "iteration", "iteration / pme". A name that would read like a group stands in quotation marks,
  // so that no two read the same: "\"a / b\"" is a phase.
  std::string Text() const;

  friend bool operator==(const PhaseId&, const PhaseId&) = default;
  friend auto operator<=>(const PhaseId&, const PhaseId&) = default;
};

// The one that a text means: the phase of this name, else the phase or group that reads so, with quotation marks or
// without; nothing when there is none.
std::optional<PhaseId> PhaseByText(const std::vector<PhaseId>& known, const std::string& text);

std::vector<std::string> TextsOf(const std::vector<PhaseId>& phases);

// Throws an input error at `where` for a name of a group that would be taken for a phase and its group.
void CheckGroupName(const std::string& where, const std::string& group);

// "iteration / pme" as files before version 2 have it: a group of ranks where the text has the form of one. Whether it
// is one, only the ranks can tell.
std::optional<PhaseId> GroupInOldText(const std::string& text);

}  // namespace farscale
