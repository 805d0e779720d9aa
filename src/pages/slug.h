// Names for anchors and files.
#pragma once

#include <set>
#include <string>

namespace farscale {

// Letters, digits and dashes.
std::string Slug(const std::string& text);

// One that is not taken yet; takes it.
std::string UniqueSlug(const std::string& text, std::set<std::string>& taken);

}  // namespace farscale
