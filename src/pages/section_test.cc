// Sections: one template, printed in every form.
#include "pages/section.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pages/render.h"
#include "support/errors.h"

namespace farscale {
namespace {

using testing::HasSubstr;

const ReportData kData = {
    {"name", "a | **b** <c>"}, {"none", ReportData::array()}, {"rows", {{{"cells", {"x", "1"}}}}}};

std::string Page(const std::string& section, OutputForm form) {
  return RenderTemplate({"{{> part.txt}}\n", "page"}, kData, form, {{"part.txt", {section, "part.txt.mustache"}}});
}

std::string Text(const std::string& section) {
  return RenderText({{"part.txt", {section, "part.txt.mustache"}}}, "part.txt", kData);
}

constexpr const char* kTable =
    "@losses region=r\n^ Costs of {{name}}\n| Path | {text} Who | Time ((s)) |\n"
    "{first}| {{name}} | rank 1 | {tone-x} 2 ((1–3)) |\n> A note.\n";

TEST(Section, ATableInEveryForm) {
  EXPECT_EQ(Page(kTable, OutputForm::kHtml),
            "<div class=scroll tabindex=\"0\" role=\"region\" aria-labelledby=\"r\">\n<table class=losses>\n"
            "<caption>Costs of a | **b** &lt;c&gt;</caption><thead><tr><th scope=col>Path"
            "<th scope=col class=text>Who<th scope=col>Time<br><small>s</small><tbody>\n"
            "<tr class=first><th scope=row>a | **b** &lt;c&gt;<td class=text>rank 1"
            "<td class=tone-x>2<br><small>1–3</small>\n</table>\n</div>\n"
            "<p class=\"caption\">A note.</p>\n");
  EXPECT_EQ(Page(kTable, OutputForm::kMarkdown),
            "\n| Costs of a \\| \\*\\*b\\*\\* \\<c\\> | Who | Time (s) |\n|:--|:--|--:|\n"
            "| a \\| \\*\\*b\\*\\* \\<c\\> | rank 1 | 2 (1–3) |\n\nA note.\n\n");
  EXPECT_EQ(Text(kTable), "Costs of a | **b** <c>\nPath           Who     Time (s)\na | **b** <c>  rank 1   2 (1–3)\n");
  EXPECT_THAT(
      Page("| | a, b c |\n{measured}| x | 1 |\n{beyond}| y | 2 ((1)) |\n", OutputForm::kLatex),
      HasSubstr("x & 1 \\\\\n\\hline\n\\textit{y} & {\\scriptsize\\itshape 2} \\\\\n & {\\scriptsize 1} \\\\\n"));
}

// With the notes right behind them, and without their headings.
TEST(Section, TablesWithoutRowsAreLeftOut) {
  const std::string table = "first\n^ caption\n| a | b |\n{{#none}}\n| {{.}} | 1 |\n{{/none}}\n> note\n- last\n";
  EXPECT_EQ(Text(table), "first\n  last\n");
  EXPECT_EQ(Page(table, OutputForm::kHtml), "<p>first</p>\n<ul>\n<li>last\n</li>\n</ul>\n");
}

TEST(Section, ListsFoldsAndFigures) {
  const std::string part =
      "#### Title\n@fixes\n1. **A.**\n   More.\n   ^ shown\n   ! {{name}} | f.svg | alt\n1. B\n\n+ Data\n| a | b |\n"
      "| 1 | 2 |\n+\nend\n";
  EXPECT_EQ(Text(part), "Title\n  1. A.\n     More.\n  2. B\n\nend\n");
  EXPECT_EQ(Page(part, OutputForm::kMarkdown),
            "\n#### Title\n\n1. **A.** More.\n\n![alt](f.svg)\n\nshown\n\n2. B\n\nend\n\n");
  const std::string html = Page(part, OutputForm::kHtml);
  EXPECT_THAT(
      html,
      HasSubstr("<ol class=fixes>\n<li><strong>A.</strong> More.\n<figure>\na | **b** <c>\n"
                "<figcaption>shown</figcaption>\n</figure>\n</li>\n<li>B\n</li>\n</ol>\n<details class=\"data\">\n"
                "<summary>Data</summary>\n"));
}

TEST(Section, TablesBehindEachOtherStayApart) {
  EXPECT_EQ(Text("| a |\n| 1 |\n@losses\n^ Other\n| b |\n| 2 |\n"), "a\n1\nOther\nb\n2\n");
  // A header alone is no row of the table before it.
  EXPECT_EQ(Text("| a |\n| 1 |\n^ Other\n| b |\n"), "a\n1\n");
}

TEST(Section, ValuesInMarksMayHoldBraces) {
  EXPECT_THAT(RenderTemplate({"{{> t.txt}}\n", "p"}, {{"v", "${H}/a} <b> z"}}, OutputForm::kHtml,
                             {{"t.txt", {"| a |\n| {title={{v}}} x |\n", "t"}}}),
              HasSubstr("<th scope=row title=\"${H}/a} &lt;b&gt; z\">x"));
}

// A row of one cell begins a group.
TEST(Section, GroupsOfRows) {
  const std::string html = Page("| a | b |\n| group |\n| 1 | 2 |\n", OutputForm::kHtml);
  EXPECT_THAT(html, HasSubstr("<tbody>\n<tr><th scope=rowgroup colspan=\"2\">group\n<tr><th scope=row>1<td>2\n"));
}

TEST(Section, ATagMayBeComparedWithAText) {
  const Partials templates = {{"t", {"{{#kind=few}}few{{/kind=few}}{{^kind=few}}many{{/kind=few}}\n", "t"}}};
  EXPECT_EQ(RenderSentences(templates, "t", {{"kind", "few"}}), std::vector<std::string>{"few"});
  EXPECT_EQ(RenderSentences(templates, "t", {{"kind", "all"}}), std::vector<std::string>{"many"});
  EXPECT_THAT(test::UsageErrorOf([&] { RenderSentences(templates, "t", ReportData::object()); }),
              HasSubstr("the tag 'kind' has no value"));
}

}  // namespace
}  // namespace farscale
