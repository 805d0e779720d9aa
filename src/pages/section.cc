#include "pages/section.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/terminal.h"
#include "base/text.h"
#include "plot/chart.h"

namespace farscale {
namespace {

using Kind = SectionPart::Kind;

// Cells are trimmed, so templates indent by blanks that do not break; terminals get ordinary ones.
constexpr std::string_view kHardBlank = "\u00a0";

// At characters outside of values and code.
std::vector<std::string> SplitOutside(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  bool is_value = false, is_code = false;
  for (const char c : text) {
    if (c == kValueBegin || c == kValueEnd) is_value = c == kValueBegin;
    if (c == '`' && !is_value) is_code = !is_code;
    if (c == separator && !is_value && (!is_code || separator == '\n')) {
      parts.emplace_back();
      is_code = false;
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

std::string WithoutMarkers(std::string text) {
  std::erase_if(text, [](char c) { return c == kValueBegin || c == kValueEnd; });
  return text;
}

Marks ReadMarks(std::string_view text) {
  Marks marks;
  for (const std::string& mark : SplitOutside(Trim(text), ' ')) {
    if (!mark.empty()) marks.push_back(WithoutMarkers(mark));
  }
  return marks;
}

// "{tone-3} 0.75": takes the marks off.
Marks TakeMarks(std::string_view& text) {
  if (!text.starts_with('{')) return {};
  const std::string inside = SplitOutside(text.substr(1), '}').front();  // a value may have braces
  if (inside.size() + 1 >= text.size()) return {};
  const Marks marks = ReadMarks(inside);
  text = Trim(text.substr(inside.size() + 2));
  return marks;
}

// "{first}| a | {text} b |"
SectionRow ReadRow(std::string_view line) {
  SectionRow row;
  row.marks = TakeMarks(line);
  const std::vector<std::string> cells = SplitOutside(line.substr(1), '|');
  for (std::size_t i = 0; i < cells.size(); ++i) {
    std::string_view text = Trim(cells[i]);
    if (i + 1 == cells.size() && text.empty()) break;  // behind the last bar
    const Marks marks = TakeMarks(text);
    row.cells.push_back({std::string(text), marks});
  }
  return row;
}

bool IsRow(std::string_view line) {
  TakeMarks(line);
  return line.starts_with('|');
}

// The kind of a line that begins so, without its sign.
Kind TakeSign(std::string_view& line, std::size_t& level) {
  constexpr std::pair<std::string_view, Kind> kSigns[] = {{"- ", Kind::kItem}, {"1. ", Kind::kNumbered},
                                                          {"> ", Kind::kNote}, {"! ", Kind::kFigure},
                                                          {"+ ", Kind::kFold}, {"+", Kind::kFoldEnd}};
  const std::size_t depth = std::min(line.find_first_not_of('#'), line.size());
  if (depth > 0 && line.substr(depth).starts_with(' ')) {
    level = depth;
    line.remove_prefix(depth + 1);
    return Kind::kHeading;
  }
  for (const auto& [sign, kind] : kSigns) {
    if (!line.starts_with(sign) || (kind == Kind::kFoldEnd && line != sign)) continue;
    line.remove_prefix(sign.size());
    return kind;
  }
  return Kind::kText;
}

bool IsItem(const SectionPart& part) { return part.kind == Kind::kItem || part.kind == Kind::kNumbered; }

bool IsBlank(const SectionPart& part) { return part.kind == Kind::kText && part.text.empty(); }

std::string Escaped(const std::string& value, OutputForm form) {
  if (form == OutputForm::kHtml) return EscapeXml(value);
  if (form == OutputForm::kLatex) return EscapeLatex(value);
  if (form != OutputForm::kMarkdown) return value;
  std::string escaped;  // as GitHub reads it: dollars begin formulas, tildes strike out
  for (const char c : value) {
    if (std::string_view("\\`*_|<>[]$~").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c == '\n' ? ' ' : c;
  }
  return escaped;
}

using Span = std::pair<std::string_view, std::string_view>;  // begin and end

constexpr Span kNothing = {"", ""}, kParentheses = {" (", ")"};

// A text that begins with secondary words needs no `small` around them: it is that alone, such as an interval without
// the value.
std::string WriteInline(std::string_view text, OutputForm form, Span small) {
  constexpr char kSigns[] = {kValueBegin, '`', 0};
  const auto choose = [&](Span html, Span latex, Span markdown) {
    return form == OutputForm::kHtml       ? html
           : form == OutputForm::kLatex    ? latex
           : form == OutputForm::kMarkdown ? markdown
                                           : kNothing;
  };
  const Span strong = choose({"<strong>", "</strong>"}, {"\\textbf{", "}"}, {"**", "**"});
  const Span code = choose({"<code>", "</code>"}, {"\\texttt{", "}"}, {"`", "`"});
  const Span at_begin = choose({"<small>", "</small>"}, kNothing, kNothing);
  std::string written;
  bool is_strong = false, is_code = false, is_at_begin = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::size_t sign = std::min(
        {text.find_first_of(kSigns, at), text.find("((", at), text.find("))", at), text.find("**", at), text.size()});
    const std::string words(text.substr(at, sign - at));
    written += form == OutputForm::kHtml || form == OutputForm::kLatex ? Escaped(words, form) : words;
    if ((at = sign) == text.size()) break;
    const std::string_view two = text.substr(at, 2);
    if (text[at] == kValueBegin) {
      const std::size_t end = std::min(text.find(kValueEnd, at), text.size());
      const std::string value(text.substr(at + 1, end - at - 1));
      written += is_code && form == OutputForm::kMarkdown ? value : Escaped(value, form);
      at = end;
    } else if (two == "**") {
      written += is_strong ? strong.second : strong.first;
      is_strong = !is_strong;
      ++at;
    } else if (two == "((") {
      is_at_begin = written.empty();
      while (written.ends_with(' ')) written.pop_back();
      written += is_at_begin ? at_begin.first : small.first;
      ++at;
    } else if (two == "))") {
      written += is_at_begin ? at_begin.second : small.second;
      ++at;
    } else {
      written += is_code ? code.second : code.first;
      is_code = !is_code;
    }
  }
  return written;
}

std::string Html(std::string_view text, std::string_view before_small = " <small>") {
  return WriteInline(text, OutputForm::kHtml, {before_small, "</small>"});
}

// Lines of an item in one.
std::string OnOneLine(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

std::optional<std::string> FindMark(const Marks& marks, std::string_view name) {
  for (const std::string& mark : marks) {
    if (mark.starts_with(name) && mark.substr(name.size()).starts_with('=')) return mark.substr(name.size() + 1);
  }
  return std::nullopt;
}

// Those that are no attributes of HTML have a meaning here.
std::string Attributes(const Marks& marks, const Marks& more = {}) {
  std::string classes, attributes;
  for (const Marks* list : {&more, &marks}) {
    for (const std::string& mark : *list) {
      const std::size_t equals = mark.find('=');
      if (equals == std::string::npos) {
        classes += (classes.empty() ? "" : " ") + mark;
      } else if (!mark.starts_with("swatch=") && !mark.starts_with("region=")) {
        attributes += fmt::format(" {}=\"{}\"", mark.substr(0, equals), EscapeXml(mark.substr(equals + 1)));
      }
    }
  }
  const std::string quote = classes.find(' ') == std::string::npos ? "" : "\"";  // large reports have many
  return (classes.empty() ? "" : " class=" + quote + EscapeXml(classes) + quote) + attributes;
}

// The colour of a row in a chart: by its number there, or as it is.
std::string Swatch(const Marks& marks) {
  const std::optional<std::string> color = FindMark(marks, "swatch");
  if (!color) return "";
  if (!color->starts_with('#')) return fmt::format("<i class=\"swatch s{}\"></i>", EscapeXml(*color));
  return fmt::format(
      "<svg class=\"swatch\" viewBox=\"0 0 1 1\" aria-hidden=\"true\"><rect width=\"1\" height=\"1\" "
      "fill=\"{}\"/></svg>",
      EscapeXml(*color));
}

bool HasMark(const Marks& marks, std::string_view name) { return std::ranges::find(marks, name) != marks.end(); }

// Columns of words stand to the left.
bool IsOfWords(const SectionPart& table, std::size_t column) {
  const std::vector<SectionCell>& header = table.rows.front().cells;
  return column < header.size() && HasMark(header[column].marks, "text");
}

// Parts of tables need no end tags, and large reports have many.
void WriteHtmlRow(const SectionPart& table, std::size_t number, std::string& html) {
  const SectionRow& row = table.rows[number];
  const std::size_t columns = table.rows.front().cells.size();
  const bool is_group = row.cells.size() == 1 && columns > 1;
  html += (is_group && number > 1 ? "<tbody>\n<tr" : "<tr") + Attributes(row.marks) + ">";
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    const SectionCell& cell = row.cells[i];
    if (i == 0) {
      html += is_group ? fmt::format("<th scope=rowgroup colspan=\"{}\"", columns) : "<th scope=row";
      html += Attributes(cell.marks) + ">" + Swatch(cell.marks) + Html(cell.text);
    } else {
      const bool adds_text = IsOfWords(table, i) && !HasMark(cell.marks, "text");
      html +=
          "<td" + Attributes(cell.marks, adds_text ? Marks{"text"} : Marks{}) + ">" + Html(cell.text, "<br><small>");
    }
  }
  html += "\n";
}

void WriteHtmlTable(const SectionPart& table, std::string& html) {
  const std::optional<std::string> region = FindMark(table.marks, "region");
  html += "<div class=scroll";
  if (region) html += fmt::format(" tabindex=\"0\" role=\"region\" aria-labelledby=\"{}\"", EscapeXml(*region));
  html += ">\n<table" + Attributes(table.marks) + ">\n";
  if (!table.text.empty())
    html += fmt::format("<caption{}>{}</caption>", table.is_unseen ? " class=unseen" : "", Html(table.text));
  html += "<thead><tr>";
  for (const SectionCell& cell : table.rows.front().cells) {
    html += "<th scope=col" + Attributes(cell.marks) + ">" + Html(cell.text, "<br><small>");
  }
  html += "<tbody>\n";
  for (std::size_t i = 1; i < table.rows.size(); ++i) WriteHtmlRow(table, i, html);
  html += "</table>\n</div>\n";
}

// SVG, file and description.
std::string FigurePart(const SectionPart& figure, std::size_t i) {
  const std::vector<SectionCell>& cells = figure.rows.front().cells;
  return i < cells.size() ? WithoutMarkers(cells[i].text) : "";
}

// In Markdown and on terminals, tables and figures follow their caption.
std::string PlainCell(const SectionCell& cell, OutputForm form) {
  std::string indent;
  for (const std::string& mark : cell.marks) {
    if (mark.size() == 6 && mark.starts_with("depth")) {
      for (int i = 0; i < 2 * (mark[5] - '0'); ++i) indent += kHardBlank;
    }
  }
  return indent + WriteInline(cell.text, form, kParentheses);
}

void WriteMarkdownTable(const SectionPart& table, std::string& markdown) {
  const bool has_caption = !table.text.empty() && !table.is_unseen;
  const std::size_t columns = table.rows.front().cells.size();
  for (std::size_t i = 0; i < table.rows.size(); ++i) {
    markdown += "|";
    for (std::size_t j = 0; j < columns; ++j) {
      std::string cell =
          j < table.rows[i].cells.size() ? " " + PlainCell(table.rows[i].cells[j], OutputForm::kMarkdown) : "";
      if (has_caption && i + j == 0) cell = " " + WriteInline(table.text, OutputForm::kMarkdown, kParentheses);
      markdown += cell + " |";
    }
    markdown += "\n";
    if (i > 0) continue;
    markdown += "|";
    for (std::size_t j = 0; j < columns; ++j) markdown += j == 0 || IsOfWords(table, j) ? ":--|" : "--:|";
    markdown += "\n";
  }
}

void WriteLatexHeader(const SectionRow& header, std::string& latex) {
  std::vector<std::vector<std::string>> headings;
  std::size_t most = 0;
  for (const SectionCell& cell : header.cells) {
    // In lines, so that columns stay narrow: what stands before a comma, then the words behind it.
    constexpr std::size_t kMostLines = 3, kShort = 13;
    const std::string heading = WithoutMarkers(cell.text);
    const std::size_t comma = heading.find(", ");
    const std::string rest = comma == std::string::npos ? heading : heading.substr(comma + 2);
    std::vector<std::string>& lines = headings.emplace_back();
    if (comma != std::string::npos) lines.push_back(heading.substr(0, comma));
    const bool is_one = comma != std::string::npos && rest.size() < kShort;
    for (const std::string& word : is_one ? std::vector{rest} : Split(rest, ' ')) {
      if (comma == std::string::npos || lines.size() < kMostLines) {
        lines.push_back(word);
      } else {
        lines.back() += " " + word;
      }
    }
    most = std::max(most, headings.back().size());
  }
  for (std::size_t i = 0; i < most; ++i) {
    for (std::size_t j = 0; j < headings.size(); ++j) {
      latex += (j > 0 ? " & " : "") + (i < headings[j].size() ? EscapeLatex(headings[j][i]) : "");
    }
    latex += " \\\\\n";
  }
}

// Secondary words stand in a line below. Rows with another mark than the one before follow a rule.
void WriteLatexTable(const SectionPart& table, std::string& latex) {
  const SectionRow& header = table.rows.front();
  latex += "\\begin{tabular}{l" + std::string(header.cells.size() - 1, 'r') + "}\n\\hline\n";
  WriteLatexHeader(header, latex);
  latex += "\\hline\n";
  Marks before = table.rows.size() > 1 ? table.rows[1].marks : Marks{};
  for (std::size_t i = 1; i < table.rows.size(); ++i) {
    const SectionRow& row = table.rows[i];
    const bool is_measured = HasMark(row.marks, "measured"), is_beyond = HasMark(row.marks, "beyond");
    if (is_measured != HasMark(before, "measured")) latex += "\\hline\n";
    before = row.marks;
    std::string first, second;
    for (std::size_t j = 0; j < row.cells.size(); ++j) {
      const std::string& text = row.cells[j].text;
      const std::size_t small = std::min(text.find("(("), text.size());
      const std::string words =
          WriteInline(Trim(std::string_view(text).substr(0, small)), OutputForm::kLatex, kNothing);
      const std::string_view font = is_beyond && j > 0 ? "{\\scriptsize\\itshape " : is_measured ? "" : "\\textit{";
      first += fmt::format("{}{}{}{}", j > 0 ? " & " : "", words.empty() ? "" : font, words,
                           font.empty() || words.empty() ? "" : "}");
      if (j > 0) second += " & ";
      if (small < text.size()) {
        second +=
            "{\\scriptsize " + WriteInline(std::string_view(text).substr(small), OutputForm::kLatex, {"", ""}) + "}";
      }
    }
    latex += first + " \\\\\n";
    if (second.find('{') != std::string::npos) latex += second + " \\\\\n";
  }
  latex += "\\hline\n\\end{tabular}\n";
}

std::string Plain(const std::string& text) { return WriteInline(text, OutputForm::kText, kParentheses); }

// Lines after the first are indented by two more blanks than the first.
std::string WrapLine(const std::string& line, std::size_t width) {
  if (width == kAnyWidth) return line + "\n";
  const std::string indent(std::min(line.size(), line.find_first_not_of(' ')) + 2, ' ');
  std::string wrapped;
  for (const std::string& part : WrapText(line, width, indent)) wrapped += part + "\n";
  return wrapped;
}

std::string TextTable(const SectionPart& table, std::size_t width) {
  std::vector<std::vector<std::string>> rows;
  std::vector<bool> words;
  for (std::size_t i = 0; i < table.rows.front().cells.size(); ++i) words.push_back(IsOfWords(table, i));
  for (const SectionRow& row : table.rows) {
    rows.emplace_back();
    for (const SectionCell& cell : row.cells) rows.back().push_back(PlainCell(cell, OutputForm::kText));
  }
  const bool has_caption = !table.text.empty() && !table.is_unseen;
  return (has_caption ? WrapLine(Plain(table.text), width) : "") + FormatTable(rows, width, words);
}

// Those without rows, and the notes right behind them.
Section WithoutEmptyTables(Section section) {
  bool is_gone = false;
  std::erase_if(section, [&](const SectionPart& part) {
    is_gone = (part.kind == Kind::kTable && part.rows.size() == 1) || (is_gone && part.kind == Kind::kNote);
    return is_gone;
  });
  return section;
}

}  // namespace

Section ParseSection(std::string_view text) {
  Section section;
  Marks marks;
  std::string caption;
  bool is_unseen = false, begins_table = false;
  for (const std::string& whole : SplitOutside(text, '\n')) {
    std::string_view line = Trim(whole);
    const std::size_t indent = std::min(whole.find_first_not_of(' '), whole.size());
    begins_table = begins_table || line.starts_with('@') || line.starts_with('^');
    if (line.starts_with('@')) {
      marks = ReadMarks(line.substr(1));
      continue;
    }
    if (line.starts_with("^")) {
      is_unseen = line.starts_with("^^");
      caption = Trim(line.substr(is_unseen ? 2 : 1));
      continue;
    }
    if (IsRow(line) && !begins_table && !section.empty() && section.back().kind == Kind::kTable) {
      section.back().rows.push_back(ReadRow(line));
      continue;
    }
    begins_table = false;
    SectionPart part;
    if (IsRow(line)) {
      part.kind = Kind::kTable;
      part.rows.push_back(ReadRow(line));
    } else {
      part.kind = TakeSign(line, part.level);
      part.text = line;
    }
    const bool continues = indent > 0 && part.kind == Kind::kText && !line.empty() && !section.empty();
    if (continues && IsItem(section.back())) {
      section.back().text += "\n" + part.text;
      continue;
    }
    if (part.kind == Kind::kText) part.level = indent;
    if (part.kind == Kind::kFigure) {
      part.rows.push_back(ReadRow("|" + part.text));
      part.level = indent;
    }
    if (part.kind == Kind::kFigure || part.kind == Kind::kTable) {
      part.text = std::exchange(caption, "");
      part.is_unseen = is_unseen;
    }
    if (!IsBlank(part)) part.marks = std::exchange(marks, {});
    section.push_back(std::move(part));
  }
  return WithoutEmptyTables(std::move(section));
}

std::string WriteInline(std::string_view text, OutputForm form) {
  return WriteInline(text, form, form == OutputForm::kHtml ? Span{" <small>", "</small>"} : kParentheses);
}

std::string WriteHtml(const Section& section) {
  std::string html, list;  // the element that is open
  for (const SectionPart& part : section) {
    const std::string element = part.kind == Kind::kItem ? "ul" : part.kind == Kind::kNumbered ? "ol" : "";
    const bool is_inside = IsBlank(part) || (part.kind == Kind::kFigure && part.level > 0);
    if (!list.empty() && !is_inside && (element != list || !part.marks.empty())) {
      html += "</li>\n</" + std::exchange(list, "") + ">\n";
    }
    if (IsBlank(part)) continue;
    const std::string attributes = Attributes(part.marks);
    switch (part.kind) {
      case Kind::kText: html += "<p" + attributes + ">" + Html(part.text) + "</p>\n"; break;
      case Kind::kHeading: html += fmt::format("<h{0}{1}>{2}</h{0}>\n", part.level, attributes, Html(part.text)); break;
      case Kind::kItem:
      case Kind::kNumbered:
        html += list.empty() ? "<" + element + attributes + ">\n" : "</li>\n";
        list = element;
        html += "<li>" + Html(OnOneLine(part.text)) + "\n";
        break;
      case Kind::kNote: html += "<p class=\"caption\">" + Html(part.text) + "</p>\n"; break;
      case Kind::kTable: WriteHtmlTable(part, html); break;
      case Kind::kFigure:
        html += "<figure" + attributes + ">\n" + FigurePart(part, 0) + "\n";
        if (!part.text.empty()) html += "<figcaption>" + Html(part.text) + "</figcaption>\n";
        html += "</figure>\n";
        break;
      case Kind::kFold:
        html += "<details" + (attributes.empty() ? " class=\"data\"" : attributes) + ">\n<summary>" + Html(part.text) +
                "</summary>\n";
        break;
      case Kind::kFoldEnd: html += "</details>\n"; break;
    }
  }
  return list.empty() ? html : html + "</li>\n</" + list + ">\n";
}

std::string WriteMarkdown(const Section& section) {
  std::string markdown;
  int folds = 0, number = 0;
  bool was_item = false;
  for (const SectionPart& part : section) {
    if (part.kind == Kind::kFold) ++folds;
    if (part.kind == Kind::kFoldEnd) --folds;
    if (folds > 0 || part.kind == Kind::kFoldEnd || IsBlank(part)) continue;
    const bool is_figure = part.kind == Kind::kFigure;
    const std::string file = is_figure ? FigurePart(part, 1) : "";
    if (is_figure && file.empty()) continue;
    if (!IsItem(part) || !was_item) markdown += "\n";
    was_item = IsItem(part);
    if (part.kind == Kind::kNumbered) ++number;
    if (part.kind != Kind::kNumbered && !(is_figure && part.level > 0)) number = 0;
    const std::string text = WriteInline(OnOneLine(part.text), OutputForm::kMarkdown);
    switch (part.kind) {
      case Kind::kHeading: markdown += std::string(part.level, '#') + " " + text + "\n"; break;
      case Kind::kItem: markdown += "- " + text + "\n"; break;
      case Kind::kNumbered: markdown += fmt::format("{}. {}\n", number, text); break;
      case Kind::kTable: WriteMarkdownTable(part, markdown); break;
      case Kind::kFigure: {
        markdown += fmt::format("![{}]({})\n", Escaped(FigurePart(part, 2), OutputForm::kMarkdown), file);
        if (!text.empty()) markdown += "\n" + text + "\n";
        break;
      }
      default: markdown += text + "\n";
    }
  }
  return markdown + "\n";
}

std::string WriteLatex(const Section& section) {
  std::string latex;
  for (const SectionPart& part : section) {
    if (part.kind == Kind::kTable) WriteLatexTable(part, latex);
    if (part.kind != Kind::kTable) latex += WriteInline(part.text, OutputForm::kLatex) + "\n";
  }
  return latex;
}

std::string WriteText(const Section& section, std::size_t width) {
  std::string text;
  int folds = 0, number = 0;
  for (const SectionPart& part : section) {
    if (part.kind == Kind::kFold) ++folds;
    if (part.kind == Kind::kFoldEnd) --folds;
    if (part.kind != Kind::kNumbered && !(part.kind == Kind::kFigure && part.level > 0)) number = 0;
    if (folds > 0 || part.kind == Kind::kFoldEnd || part.kind == Kind::kNote || part.kind == Kind::kFigure) continue;
    if (part.kind == Kind::kTable) {
      text += TextTable(part, width);
      continue;
    }
    const std::string before = part.kind == Kind::kNumbered ? fmt::format("  {}. ", ++number)
                               : part.kind == Kind::kItem   ? "  "
                               : part.kind == Kind::kText   ? std::string(part.level, ' ')
                                                            : "";
    bool is_first = true;
    for (const std::string& line : Split(part.text, '\n')) {
      text += WrapLine((is_first ? before : std::string(before.size(), ' ')) + Plain(line), width);
      is_first = false;
    }
  }
  for (std::size_t at = 0; (at = text.find(kHardBlank, at)) != std::string::npos; ++at) {
    text.replace(at, kHardBlank.size(), " ");
  }
  return text.substr(0, text.find_last_not_of('\n') + 1) + "\n";
}

}  // namespace farscale
