#include "models/scaling_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace farscale {
namespace {

// At x = 3, y = 2.
double ValueOf(const std::string& text) {
  const auto expression = Expression::Compile(text, {"x", "y"});
  const double x = 3, y = 2;
  return expression ? (*expression)(&x, 1, &y) : std::nan("");
}

TEST(Expression, OperatorsAndTheirOrder) {
  EXPECT_DOUBLE_EQ(ValueOf("1 + 2 * x - 4 / y"), 5);
  EXPECT_DOUBLE_EQ(ValueOf("10 - x - y"), 5);
  EXPECT_DOUBLE_EQ(ValueOf("12 / x / y"), 2);
  EXPECT_DOUBLE_EQ(ValueOf("-x^2"), -9);
  EXPECT_DOUBLE_EQ(ValueOf("y^-1"), 0.5);
  EXPECT_DOUBLE_EQ(ValueOf("y^x^2"), 512);
  EXPECT_DOUBLE_EQ(ValueOf("(1 + x)*(y - -1)"), 12);
  EXPECT_DOUBLE_EQ(ValueOf("1.5e1 * .2"), 3);
}

TEST(Expression, Functions) {
  EXPECT_DOUBLE_EQ(ValueOf("sqrt(x + 1)"), 2);
  EXPECT_DOUBLE_EQ(ValueOf("ln(exp(x)) + log(exp(y))"), 5);
  EXPECT_DOUBLE_EQ(ValueOf("log2(8) + log10(100)"), 5);
  EXPECT_DOUBLE_EQ(ValueOf("max(x, y) - min(4, x, y) + abs(y - x)"), 2);
  EXPECT_FALSE(std::isfinite(ValueOf("ln(-x)")));
}

TEST(Expression, WhatItDoesNotKnow) {
  for (const char* text : {"", "x +", "z", "x > y ? 1 : 2", "sin(x)", "(x", "x)", "1e", "x y", "2 x", "min(x"}) {
    EXPECT_FALSE(Expression::Compile(text, {"x", "y"})) << text;
  }
  std::string deep = "x";
  for (int i = 0; i < 40; ++i) deep = "1 / (x + " + deep + ")";
  EXPECT_FALSE(Expression::Compile(deep, {"x"})) << "40 values wait";
  EXPECT_FALSE(Expression::Compile(std::string(100000, '(') + "x", {"x"}));
}

// To the last bit, wherever the known variables stand.
TEST(Expression, WithKnownVariables) {
  for (const char* text :
       {"a / (b + (1 - b) * x)", "a / (1 + b * max(0, ln(x / P) / ln(2)))", "1 / (1 + exp(a) * x ^ b)", "a * x^(-b)",
        "-x^2 + P", "a - b - sqrt(2 * ln(x))", "x * P / 3", "a + b", "min(x, a, P) ^ x^2"}) {
    const auto expression = Expression::Compile(text, {"x", "P", "a", "b"});
    ASSERT_TRUE(expression) << text;
    for (int i = 1; i < 50; ++i) {
      const double known[] = {1.3 * i, 0.7 * i * i}, others[] = {0.31 * i, 1.0 / i};
      const Expression bound = expression->With(known, 2);
      EXPECT_EQ(bound(nullptr, 0, others), (*expression)(known, 2, others)) << text;
      EXPECT_EQ(bound.With(others, 2)(nullptr, 0, nullptr), (*expression)(known, 2, others)) << text;
    }
  }
}

// To the last bit, in strips of any length.
TEST(Expression, OfManyValuesAtOnce) {
  std::vector<double> x, y;
  for (int i = 0; i < 200; ++i) {
    x.push_back(0.37 * i - 3);
    y.push_back(1.0 / (i + 1));
  }
  for (const char* text : {"x", "3", "x + y * 2 - x / y", "-x^2 + sqrt(y) - exp(y) * ln(y)", "abs(x) ^ y",
                           "max(x, y, 1) - min(x, 2)", "log2(y) + log10(abs(x)) / ln(x)"}) {
    const auto expression = Expression::Compile(text, {"x", "y"});
    ASSERT_TRUE(expression) << text;
    for (const std::size_t size : {0, 1, 5, 63, 64, 65, 128, 200}) {
      const double* columns[] = {x.data(), y.data()};
      std::vector<double> results(size + 1, 7);
      expression->Evaluate(columns, size, results.data());
      for (std::size_t i = 0; i < size; ++i) {
        const double values[] = {x[i], y[i]}, expected = (*expression)(nullptr, 0, values);
        EXPECT_TRUE(results[i] == expected || (std::isnan(results[i]) && std::isnan(expected))) << text << " at " << i;
      }
      EXPECT_EQ(results[size], 7) << "behind the last";
    }
  }
}

// muParser takes over, with the same numbers: 1 / (3 + 1 / (3 + ...)) is (sqrt(13) - 3) / 2.
TEST(Formula, WhatOnlyMuParserKnows) {
  EXPECT_DOUBLE_EQ(Formula("x > 2 ? 7 : 8", {"x"}, "f")({3}), 7);
  std::string deep = "x";
  for (int i = 0; i < 40; ++i) deep = "1 / (x + " + deep + ")";
  EXPECT_NEAR(Formula(deep, {"x"}, "f")({3}), (std::sqrt(13) - 3) / 2, 1e-12);
}

}  // namespace
}  // namespace farscale
