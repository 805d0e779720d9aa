#include "pages/template_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr std::size_t kDeepest = 100;  // sections in each other; chosen: beyond any page

std::size_t LineIn(std::string_view text, std::size_t at) {
  return 1 + static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n'));
}

using Delimiters = std::pair<std::string, std::string>;  // around the tags that follow

// Reads the tag behind this one, whose kind may also be '>' partial, '!' comment, or '=' delimiters; false at the end.
bool ReadNext(const Template& source, TagPlace& tag, Delimiters& delimiters) {
  const auto& [open, close_of_all] = delimiters;
  tag.begin = source.text.find(open, tag.end);
  if (tag.begin == std::string::npos) return false;
  const auto refuse = [&](const std::string& what, const std::string& advice) {
    throw Error(ErrorKind::kUsage, PlaceIn(source, tag.begin), what, advice);
  };
  std::size_t content = tag.begin + open.size();
  const bool is_triple = open == "{{" && source.text.compare(content, 1, "{") == 0;
  const std::string close = is_triple ? "}}}" : close_of_all;
  if (is_triple) ++content;
  const std::size_t end = source.text.find(close, content);
  if (end == std::string::npos) refuse("the tag does not end", "close it by " + close);
  tag.end = end + close.size();
  tag.kind = is_triple ? '&' : 'v';
  std::string_view name = Trim(std::string_view(source.text).substr(content, end - content));
  if (!is_triple && !name.empty() && std::string_view("#^/&>!=").find(name[0]) != std::string_view::npos) {
    tag.kind = name[0];
    name = Trim(name.substr(1));
  }
  tag.name = std::string(name);
  if (tag.kind == '=') {  // {{=<% %>=}}
    const std::string_view both = Trim(name.substr(0, name.size() - 1));
    const std::size_t blank = both.find(' ');
    if (!name.ends_with('=') || blank == std::string_view::npos)
      refuse("delimiters are not set in this way", "write {{=<% %>=}}");
    delimiters = {std::string(both.substr(0, blank)), std::string(Trim(both.substr(blank)))};
  }
  if (tag.name.empty() && tag.kind != '!') refuse("the tag has no name", "docs/templates.md lists the tags");
  return true;
}

class Expansion {
 public:
  explicit Expansion(const Partials& partials) : partials_(partials) {}

  ExpandedTemplate Run(const Template& source) {
    is_text_ = source.file.ends_with(".txt.mustache");
    Add(source);
    std::ranges::replace(result_.text, '\n', ExpandedTemplate::kNewline);
    return std::move(result_);
  }

 private:
  void Add(const Template& source) {
    open_files_.push_back(source.file);
    const std::size_t outer_sections = sections_.size();
    TagPlace tag;
    tag.file = source.file;
    Delimiters delimiters = {"{{", "}}"};
    std::size_t at = 0;
    while (ReadNext(source, tag, delimiters)) {
      const std::string_view text = source.text;
      const std::size_t line = tag.begin == 0 ? 0 : text.rfind('\n', tag.begin - 1) + 1;  // npos + 1 is 0
      const std::size_t next = std::min(text.find('\n', tag.end), text.size());
      const bool is_alone = tag.kind != 'v' && tag.kind != '&' && Trim(text.substr(line, tag.begin - line)).empty() &&
                            Trim(text.substr(tag.end, next - tag.end)).empty();  // such lines leave nothing behind
      result_.text += text.substr(at, std::max(at, is_alone ? line : tag.begin) - at);
      at = is_alone ? std::min(next + 1, text.size()) : tag.end;
      if (tag.kind == '!' || tag.kind == '=') continue;
      tag.line = LineIn(source.text, tag.begin);
      if (tag.kind == '>') {
        AddPartial(tag);
      } else {
        AddTag(tag, outer_sections);
      }
    }
    result_.text += source.text.substr(at);
    if (sections_.size() > outer_sections) {
      const TagPlace& open = result_.places[sections_.back()];
      throw Error(ErrorKind::kUsage, open.Where(), fmt::format("the section '{}' is not closed", open.name),
                  fmt::format("close it by {{{{/{}}}}} in the same file", open.name));
    }
    open_files_.pop_back();
  }

  void AddTag(const TagPlace& place, std::size_t outer_sections) {
    std::size_t number = result_.places.size();
    if (place.kind == '/') {
      const bool is_open = sections_.size() > outer_sections;
      if (!is_open || result_.places[sections_.back()].name != place.name) {
        throw Error(ErrorKind::kUsage, place.Where(),
                    fmt::format("closes the section '{}', which is not the one open here", place.name),
                    is_open ? fmt::format("open is '{}' of {}", result_.places[sections_.back()].name,
                                          result_.places[sections_.back()].Where())
                            : "none is open in this file");
      }
      number = sections_.back();  // a section begins and ends by the same name
      sections_.pop_back();
    } else {
      result_.places.push_back(place);
      const bool is_section = place.kind == '#' || place.kind == '^';
      if (is_section && sections_.size() == kDeepest) {  // the template engine is recursive
        throw Error(ErrorKind::kUsage, place.Where(),
                    fmt::format("the section '{}' lies in more than {} others", place.name, kDeepest),
                    "nest fewer sections and partials");
      }
      if (is_section) sections_.push_back(number);
    }
    result_.text += ExpandedTemplate::kOpen;
    if (place.kind != 'v') result_.text += place.kind;
    result_.text += place.name + ExpandedTemplate::kNumber + std::to_string(number) + ExpandedTemplate::kClose;
  }

  void AddPartial(const TagPlace& place) {
    const auto found = partials_.find(place.name);
    if (found == partials_.end()) {
      std::vector<std::string> names;
      for (const auto& [name, partial] : partials_) names.push_back(name);
      const std::string advice = DidYouMean(place.name, names);
      throw Error(
          ErrorKind::kUsage, place.Where(), fmt::format("there is no partial '{}'", place.name),
          advice.empty() ? fmt::format("{}.mustache in the folder of templates would be it", place.name) : advice);
    }
    if (std::find(open_files_.begin(), open_files_.end(), found->second.file) != open_files_.end()) {
      throw Error(ErrorKind::kUsage, place.Where(), fmt::format("the partial '{}' contains itself", place.name),
                  "repeat by a section of a list instead");
    }
    const bool is_section = !is_text_ && place.name.ends_with(".txt");
    if (!is_section) return Add(found->second);
    is_text_ = true;
    result_.text += ExpandedTemplate::kSectionBegin;
    Add(found->second);
    result_.text += ExpandedTemplate::kSectionEnd;
    is_text_ = false;
  }

  const Partials& partials_;
  ExpandedTemplate result_;
  std::vector<std::size_t> sections_;    // open ones, by place
  std::vector<std::string> open_files_;  // the file and those that it is part of
  bool is_text_ = false;                 // within a section
};

}  // namespace

std::string PlaceIn(const Template& source, std::size_t at) {
  return fmt::format("{}:{}", source.file, LineIn(source.text, at));
}

std::string TagPlace::Where() const { return fmt::format("{}:{}", file, line); }

ExpandedTemplate Expand(const Template& source, const Partials& partials) { return Expansion(partials).Run(source); }

}  // namespace farscale
