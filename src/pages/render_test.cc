// Lines of templates: those of tags alone leave nothing behind, and lines of labelled texts come apart.
#include "pages/render.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/errors.h"

namespace farscale {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

std::string Filled(const std::string& text, const ReportData& data) {
  return RenderTemplate({text, "t"}, data, OutputForm::kNone);
}

TEST(Render, SectionsThatPrintNothingLeaveNoLine) {
  const std::string text = "first\n{{#list}}\n- {{.}}\n{{/list}}\n{{^list}}\nnone\n{{/list}}\n\nlast\n";
  EXPECT_EQ(Filled(text, {{"list", ReportData::array()}}), "first\nnone\n\nlast\n");
  EXPECT_EQ(Filled(text, {{"list", {"a", "b"}}}), "first\n- a\n- b\n\nlast\n");
  EXPECT_EQ(Filled("{{#yes}}\n\n{{/yes}}\nend", {{"yes", true}}), "\nend");
}

// A line break in a name begins no line of its own, nor does a character that marks tags inside.
TEST(Render, NamesStayOnTheirLine) {
  const Partials templates = {{"t", {"caption: of {{name}}\nnote: {{name}} ends\n", "t"}},
                              {"table", {"|a|{{name}}|\n|b|c|\n", "table"}}};
  for (const char control : {'\n', '\r', '\t', '\x01', '\x02', '\x03', '\x04', '\x05', '\x06', '\x1f', '\x7f'}) {
    const std::string name = std::string("x") + control + "caption: y";
    EXPECT_THAT(RenderLabelledTexts(templates, "t", {{"name", name}}),
                ElementsAre(Pair("caption", "of x caption: y"), Pair("note", "x caption: y ends")));
    EXPECT_EQ(RenderText(templates, "table", {{"name", name}}),
              RenderText(templates, "table", {{"name", "x caption: y"}}));
  }
  const std::string braces = "{{name}}{{/x}}\x02name\x03";
  EXPECT_EQ(Filled("{{name}}", {{"name", braces}}), "{{name}}{{/x}} name ");
}

TEST(Render, DepthIsBounded) {
  const auto nested = [](int depth) {
    std::string text;
    for (int i = 0; i < depth; ++i) text += "{{#a}}\n";
    for (int i = 0; i < depth; ++i) text += "{{/a}}\n";
    return text;
  };
  EXPECT_EQ(Filled(nested(100), {{"a", true}}), "");
  EXPECT_THAT(test::UsageErrorOf([&] {
                Filled(nested(100'000), {{"a", true}});
              }),
              HasSubstr("t:101: the section 'a' lies in more than 100 others; nest fewer sections"));
}

TEST(Render, LinesOfLabelsAndTexts) {
  const Partials templates = {{"t", {"caption: {{name}}: all of it\nempty: {{nothing}}\n\n", "t"}},
                              {"wrong", {"no label\n", "wrong"}}};
  const ReportData data = {{"name", "step"}, {"nothing", ""}};
  EXPECT_THAT(RenderLabelledTexts(templates, "t", data), ElementsAre(Pair("caption", "step: all of it")));
  EXPECT_THAT(test::UsageErrorOf([&] { RenderLabelledTexts(templates, "wrong", data); }), HasSubstr("no label"));
}

TEST(Render, MarksListsThatHoldAnything) {
  ReportData data = {{"causes", {"a"}}, {"maps", ReportData::array()}};
  AddWhetherFilled(data, {"causes", "maps"});
  EXPECT_EQ(data["hasCauses"], true);
  EXPECT_EQ(data["hasMaps"], false);
}

}  // namespace
}  // namespace farscale
