#include "pages/render.h"

#include <fmt/format.h>

#include <algorithm>
#include <kainjow/mustache.hpp>

#include "base/diagnostics.h"
#include "base/files.h"
#include "base/terminal.h"
#include "base/text.h"

namespace farscale {
namespace {

constexpr std::pair<const char*, ReportFormat> kFormatNames[] = {{"html", ReportFormat::kHtml},
                                                                 {"markdown", ReportFormat::kMarkdown},
                                                                 {"json", ReportFormat::kJson},
                                                                 {"csv", ReportFormat::kCsv}};

// Text that becomes the content of an element, which its end tag would end.
void RequireInside(const Template& content, const std::string& element) {
  const std::size_t at = ToLower(content.text).find("</" + element);
  if (at == std::string::npos) return;
  throw Error(ErrorKind::kUsage, PlaceIn(content, at),
              "contains </" + element + ", which would end it within the report", "write <\\/" + element);
}

namespace mustache = kainjow::mustache;

// True where a terminal colour begins: "\033[32m".
bool IsColour(const std::string& text, std::size_t at) {
  if (text.compare(at, 2, "\033[") != 0) return false;
  const std::size_t end = text.find_first_not_of("0123456789;", at + 2);
  return end != std::string::npos && text[end] == 'm';
}

// Control characters mark tags here, and a name out of a trace may have any. Values may have several lines, as figures
// in pages do. In texts whose lines say what they are, a line break in a name would begin another line.
std::string WithoutControls(std::string text, bool has_lines) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const bool is_layout = has_lines && (c == '\n' || c == '\t');
    if ((c == 0x7f || c < 0x20) && !is_layout && !IsColour(text, i)) text[i] = ' ';
  }
  return text;
}

// Mustache copies what it is given, with all that lies within; so every value is made in its place.
void Put(const ReportData& data, bool has_lines, mustache::data& place) {
  if (data.is_boolean()) {
    place = mustache::data(data.get<bool>());
  } else if (data.is_string()) {
    place = mustache::data(WithoutControls(data.get_ref<const std::string&>(), has_lines));
  } else if (data.is_array()) {
    place = mustache::data(mustache::list(data.size(), mustache::data(false)));
    std::size_t at = 0;
    for (const ReportData& element : data)
      Put(element, has_lines, const_cast<mustache::data&>(place.list_value()[at++]));
  } else {
    place = mustache::data(mustache::data::type::object);
    for (const auto& [key, value] : data.items()) {
      place.set(key, mustache::data(false));
      Put(value, has_lines, const_cast<mustache::data&>(*place.get(key)));
    }
  }
}

// Mustache prints nothing for a tag without a value; here that is an error, since a report must not lose numbers.
// {{#shape=static}} asks whether a text is this one.
class StrictContext : public mustache::context<std::string> {
 public:
  StrictContext(const mustache::data* data, const std::vector<TagPlace>& places) : context(data), places_(places) {}

  // `numbered`: the name of a tag and its number among the places.
  const mustache::data* get(const std::string& numbered) const override {
    const std::size_t at = numbered.find(ExpandedTemplate::kNumber);
    const std::string tag = numbered.substr(0, at);
    const std::size_t equals = tag.find('=');
    const std::string name = tag.substr(0, equals);
    const TagPlace& place = places_[std::stoul(numbered.substr(at + 1))];
    const mustache::data* value = context::get(name);
    if (value == nullptr) {
      throw Error(ErrorKind::kUsage, place.Where(), "the tag '" + name + "' has no value",
                  "docs/templates.md lists the tags");
    }
    if (equals != std::string::npos) {
      return value->is_string() && value->string_value() == tag.substr(equals + 1) ? &yes_ : &nothing_;
    }
    const bool is_section = place.kind == '#' || place.kind == '^';
    if (is_section && value->is_string() && value->string_value().empty()) return &nothing_;
    const bool is_printed = place.kind == 'v' || place.kind == '&';
    if (is_printed && !value->is_string()) {
      throw Error(ErrorKind::kUsage, place.Where(), "the tag '" + name + "' is no text that could be printed",
                  fmt::format("it begins a section: {{{{#{}}}}}", name));
    }
    return value;
  }

 private:
  const std::vector<TagPlace>& places_;
  const mustache::data nothing_{false}, yes_{true};
};

// Sections that print nothing leave their blank lines behind.
std::string WithoutDoubleBlankLines(const std::string& text) {
  std::string result;
  int newlines = 0;
  for (const char c : text) {
    newlines = c == '\n' ? newlines + 1 : 0;
    if (newlines <= 2) result += c;
  }
  return result;
}

// The template filled, with values between markers unless the form is kNone.
std::string FillIn(const Template& source, const ReportData& data, OutputForm form, const Partials& partials,
                   bool has_lines = false) {
  const ExpandedTemplate expanded = Expand(source, partials);
  mustache::mustache engine(fmt::format("{{{{={} {}=}}}}", ExpandedTemplate::kOpen, ExpandedTemplate::kClose) +
                            expanded.text);
  if (!engine.is_valid()) {
    throw Error(ErrorKind::kUsage, source.file, "is not a well-formed template: " + engine.error_message());
  }
  engine.set_custom_escape(
      [&](const std::string& text) { return form == OutputForm::kNone ? text : kValueBegin + text + kValueEnd; });
  mustache::data values;
  Put(data, has_lines, values);
  StrictContext context(&values, expanded.places);
  std::string text = engine.render(context);
  std::ranges::replace(text, ExpandedTemplate::kNewline, '\n');
  return text;
}

}  // namespace

std::string RenderTemplate(const Template& source, const ReportData& data, OutputForm form, const Partials& partials) {
  const std::string text = FillIn(source, data, form, partials, true);
  if (form == OutputForm::kNone) return text;
  constexpr char kMarkers[] = {kValueBegin, ExpandedTemplate::kSectionBegin, 0};
  std::string page;  // with values escaped and sections written
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t begin = std::min(text.find_first_of(kMarkers, at), text.size());
    page += text.substr(at, begin - at);
    if (begin == text.size()) break;
    const bool is_value = text[begin] == kValueBegin;
    const std::size_t end =
        std::min(text.find(is_value ? kValueEnd : ExpandedTemplate::kSectionEnd, begin), text.size() - 1);
    const std::string_view inside = std::string_view(text).substr(begin, end - begin + 1);
    if (is_value) {
      page += WriteInline(inside, form);
    } else {
      const Section section = ParseSection(inside.substr(1, inside.size() - 2));
      page += form == OutputForm::kHtml    ? WriteHtml(section)
              : form == OutputForm::kLatex ? WriteLatex(section)
                                           : WriteMarkdown(section);
    }
    at = end;
  }
  return form == OutputForm::kMarkdown ? WithoutDoubleBlankLines(page) : page;
}

std::vector<std::string> RenderSentences(const Partials& templates, const std::string& name, const ReportData& data) {
  std::vector<std::string> sentences;
  for (const std::string& line : Split(FillIn(templates.at(name), data, OutputForm::kNone, templates), '\n')) {
    if (const std::string_view sentence = Trim(line); !sentence.empty()) sentences.emplace_back(sentence);
  }
  return sentences;
}

LabelledTexts RenderLabelledTexts(const Partials& templates, const std::string& name, const ReportData& data) {
  LabelledTexts texts;
  for (const std::string& line : RenderSentences(templates, name, data)) {
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) {
      throw Error(ErrorKind::kUsage, templates.at(name).file, "has a line without a name and a colon: " + line);
    }
    const std::string_view text = Trim(std::string_view(line).substr(colon + 1));
    if (!text.empty()) texts.emplace_back(line.substr(0, colon), text);
  }
  return texts;
}

void AddWhetherFilled(ReportData& data, const std::vector<std::string>& lists) {
  for (const std::string& list : lists) {
    std::string name = "has" + list;
    name[3] = static_cast<char>(name[3] - 'a' + 'A');
    data[name] = !data.at(list).empty();
  }
}

std::string RenderText(const Partials& templates, const std::string& name, const ReportData& data, std::size_t width) {
  const std::string text = FillIn(templates.at(name), data, OutputForm::kText, templates);
  return WithoutDoubleBlankLines(WriteText(ParseSection(text), width));
}

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

std::optional<ReportFormat> ReportFormatByName(std::string_view name) {
  for (const auto& [known, format] : kFormatNames) {
    if (name == known) return format;
  }
  return std::nullopt;
}

std::vector<std::string> ReportFormatNames() {
  std::vector<std::string> names;
  for (const auto& [name, format] : kFormatNames) names.emplace_back(name);
  return names;
}

ReportData AddFigure(ReportModel& model, const std::string& name, const std::string& svg, const std::string& file,
                     const std::string& alt) {
  model.figures[name] = file;
  return {{"svg", svg}, {"file", "figures/" + name}, {"alt", alt}};
}

std::string RenderHtml(const ReportModel& model, const ReportTemplates& templates) {
  RequireInside(templates.style, "style");
  RequireInside(templates.script, "script");
  ReportData data = model.data;
  data["style"] = templates.style.text;
  data["styleHash"] = Sha256Base64(templates.style.text);
  data["script"] = templates.script.text;
  data["scriptHash"] = Sha256Base64(templates.script.text);
  return RenderTemplate(templates.html, data, OutputForm::kHtml, templates.partials);
}

std::string RenderMarkdown(const ReportModel& model, const ReportTemplates& templates) {
  return RenderTemplate(templates.markdown, model.data, OutputForm::kMarkdown, templates.partials);
}

}  // namespace farscale
