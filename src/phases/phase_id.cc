#include "phases/phase_id.h"

#include <algorithm>

namespace farscale {

std::string PhaseId::Text() const { return IsGroup() ? name + std::string(kGroupSeparator) + group : name; }

std::optional<PhaseId> PhaseByText(const std::vector<PhaseId>& known, const std::string& text) {
  if (std::find(known.begin(), known.end(), PhaseId(text)) != known.end()) return PhaseId(text);
  const auto found = std::find_if(known.begin(), known.end(), [&](const PhaseId& id) { return id.Text() == text; });
  return found == known.end() ? std::nullopt : std::optional(*found);
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
