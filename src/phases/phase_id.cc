#include "phases/phase_id.h"

#include <algorithm>

#include "base/error.h"

namespace farscale {

namespace {

constexpr char kQuote = '"';

std::string WithGroup(const std::string& name, const PhaseId& id) {
  return id.IsGroup() ? name + std::string(kGroupSeparator) + id.group : name;
}

}  // namespace

std::string PhaseId::Text() const {
  const bool misleads = name.find(kGroupSeparator) != std::string::npos || name.starts_with(kQuote);
  return WithGroup(misleads ? kQuote + name + kQuote : name, *this);
}

std::optional<PhaseId> PhaseByText(const std::vector<PhaseId>& known, const std::string& text) {
  if (std::find(known.begin(), known.end(), PhaseId(text)) != known.end()) return PhaseId(text);
  const auto found = std::find_if(known.begin(), known.end(), [&](const PhaseId& id) {
    return id.Text() == text || WithGroup(id.name, id) == text;
  });
  return found == known.end() ? std::nullopt : std::optional(*found);
}

void CheckGroupName(const std::string& where, const std::string& group) {
  if (group.find(kGroupSeparator) == std::string::npos) return;
  throw Error(ErrorKind::kInput, where,
              "the name of a group of ranks, '" + group + "', contains '" + std::string(kGroupSeparator) +
                  "', which stands between a phase and a group of its ranks",
              "give the group another name");
}

std::vector<std::string> TextsOf(const std::vector<PhaseId>& phases) {
  std::vector<std::string> texts;
  for (const PhaseId& id : phases) texts.push_back(id.Text());
  return texts;
}

std::optional<PhaseId> GroupInOldText(const std::string& text) {
  const std::size_t separator = text.rfind(kGroupSeparator);
  if (separator == std::string::npos || separator + kGroupSeparator.size() == text.size()) return std::nullopt;
  return PhaseId(text.substr(0, separator), text.substr(separator + kGroupSeparator.size()));
}

}  // namespace farscale
