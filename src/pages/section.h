// Sections: parts of a page as values. A text template makes one, and every form prints it in its own way, so that a
// table or sentence stands in one template only [docs/templates.md].
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "pages/text_table.h"

namespace farscale {

// Forms of a page, each with its own escapes. kNone: sentences, which a page escapes when it prints them.
enum class OutputForm { kHtml, kMarkdown, kText, kLatex, kNone };

// Around every value of a template, so that its characters are never read as markup; values contain neither.
inline constexpr char kValueBegin = '\x0e', kValueEnd = '\x0f';

// Classes of an HTML element, and attributes: "tone-3", "data-factor=loadBalance".
using Marks = std::vector<std::string>;

struct SectionCell {
  std::string text;
  Marks marks;
};

struct SectionRow {
  std::vector<SectionCell> cells;
  Marks marks;
};

struct SectionPart {
  enum class Kind { kText, kHeading, kItem, kNumbered, kNote, kTable, kFigure, kFold, kFoldEnd };
  Kind kind = Kind::kText;
  std::string text;        // lines of an item; the caption of a table or figure
  std::size_t level = 0;   // the level of a heading; blanks before a text
  bool is_unseen = false;  // the caption is for screen readers only
  Marks marks;
  // In a table the header first; in a figure one with SVG, file and description.
  std::vector<SectionRow> rows;
};

using Section = std::vector<SectionPart>;

// Reads a filled template.
Section ParseSection(std::string_view text);

// A text with **strong**, `code` and ((secondary)) words, with its values escaped.
std::string WriteInline(std::string_view text, OutputForm form);

std::string WriteHtml(const Section& section);
std::string WriteMarkdown(const Section& section);
std::string WriteLatex(const Section& section);

// For a terminal: notes and folded parts are left out. What is wider than `width` is broken, texts at blanks and tables
// as in FormatTable.
std::string WriteText(const Section& section, std::size_t width = kAnyWidth);

}  // namespace farscale
