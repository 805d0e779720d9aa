#include "plot/latex.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

TEST(EscapeLatex, PrintsWhatTheTextSays) {
  EXPECT_EQ(EscapeLatex("solve"), "solve");
  EXPECT_EQ(EscapeLatex("a_b"), "a\\_b");
  EXPECT_EQ(EscapeLatex("5 %"), "5 \\%");
  EXPECT_EQ(EscapeLatex("#{$&}"), "\\#\\{\\$\\&\\}");
  EXPECT_EQ(EscapeLatex("1, …"), "1, \\dots{}");
  EXPECT_EQ(EscapeLatex("two\nlines"), "two lines");
}

}  // namespace
}  // namespace farscale
