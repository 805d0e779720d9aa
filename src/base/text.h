// Small text tools: suggestions for misspelt names, splitting, joining.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// The candidate with the smallest edit distance to `name`, or empty when none is close enough to be what was meant.
std::string Nearest(std::string_view name, const std::vector<std::string>& candidates);

// "; did you mean 'cycle'?", or "" when nothing is near.
std::string DidYouMean(std::string_view name, const std::vector<std::string>& candidates);

std::vector<std::string> Split(std::string_view text, char separator);
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
std::string_view Trim(std::string_view text);
std::string ToLower(std::string_view text);

// Reads a whole text as a number; false when any of it is something else.
bool ParseNumber(std::string_view text, double& value);
bool ParseInteger(std::string_view text, long long& value);

// True when the bytes are well-formed UTF-8; names out of traces need not be.
bool IsUtf8(std::string_view text);
// The text itself when it is UTF-8, else with every offending byte replaced by '?'.
std::string ToUtf8(std::string_view text);

// Text for XML and HTML, outside and inside of attributes. Control characters that XML does not have become blanks.
std::string EscapeXml(const std::string& text);

}  // namespace farscale
