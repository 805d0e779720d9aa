// What commands write that show one thing as a page: by the name of their output.
#pragma once

#include <string>

namespace farscale {

enum class PageForm { kText, kJson, kHtml, kMarkdown, kFolder };

// Nothing: text on the terminal. "-": JSON there. A name without ending is that of a folder, which gets all. Throws a
// usage error for other endings.
PageForm PageFormOf(const std::string& output);

}  // namespace farscale
