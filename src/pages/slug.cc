#include "pages/slug.h"

#include <fmt/format.h>

#include "base/text.h"

namespace farscale {

std::string Slug(const std::string& text) {
  std::string slug;
  for (const char c : ToLower(text)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    if (plain) slug += c;
    if (!plain && !slug.empty() && slug.back() != '-') slug += '-';
  }
  while (!slug.empty() && slug.back() == '-') slug.pop_back();
  return slug.empty() ? "phase" : slug.substr(0, 60);
}

std::string UniqueSlug(const std::string& text, std::set<std::string>& taken) {
  const std::string slug = Slug(text);
  std::string unique = slug;
  for (int number = 2; !taken.insert(unique).second; ++number) unique = fmt::format("{}-{}", slug, number);
  return unique;
}

}  // namespace farscale
