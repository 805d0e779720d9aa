// The text of a template before it is filled: partials put in their places, sections checked, and for every tag the
// file and line that it comes from.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace farscale {

// A mustache template, as read from a file; its lines end by \n alone.
struct Template {
  std::string text;
  std::string file;  // for error messages
};

// The file and line that a character of it stands in: "style.css:12".
std::string PlaceIn(const Template& source, std::size_t at);

// Templates by the name that {{> name}} asks for.
using Partials = std::map<std::string, Template>;

// Where a tag stands.
struct TagPlace {
  std::string file;
  std::size_t line = 1;
  char kind = 'v';                 // 'v' and '&': a value, escaped or not; '#', '^', '/': sections
  std::string name;                // as written
  std::size_t begin = 0, end = 0;  // in the text of the file

  std::string Where() const;  // "report.html.mustache:12"
};

// A template without partials. Its tags stand between the delimiters kOpen and kClose, so that the text around them may
// contain anything else, and behind the name of each stands its number among `places`.
struct ExpandedTemplate {
  static constexpr const char* kOpen = "\x02";
  static constexpr const char* kClose = "\x03";
  static constexpr char kNumber = '\x04';
  // In the place of line breaks: lines of tags alone are gone, and the engine, which leaves some of them as blank
  // lines, must not remove others.
  static constexpr char kNewline = '\x06';
  // Around a partial NAME.txt in a page, which is a section [pages/section.h].
  static constexpr char kSectionBegin = '\x10', kSectionEnd = '\x11';

  std::string text;
  std::vector<TagPlace> places;
};

// Throws a usage error with file and line for tags that do not end, sections that are not closed or not in turn,
// partials that do not exist and those that contain themselves.
ExpandedTemplate Expand(const Template& source, const Partials& partials);

}  // namespace farscale
