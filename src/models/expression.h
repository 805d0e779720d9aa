// Formulas compiled to a few instructions, which models evaluate hundreds of thousands of times for each factor.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

// An arithmetic expression: numbers, variables, + - * / ^, parentheses, sqrt, exp, ln, log, log2, log10, abs, min and
// max, with the precedence that muParser gives them. For use by several threads at once.
class Expression {
 public:
  // Nothing for what it does not know or what is nested too deeply; muParser evaluates that.
  static std::optional<Expression> Compile(std::string_view text, const std::vector<std::string>& variables);

  // The variables in their order, in two parts: `first` has `count` of them, `rest` the others.
  double operator()(const double* first, std::size_t count, const double* rest) const;

  // For many values of the variables at once, to the same bits and faster: `variables` has one array of `size` values a
  // variable, `results` gets `size` values.
  void Evaluate(const double* const* variables, std::size_t size, double* results) const;

  // The expression of the other variables alone, the first `count` of which are known: with the same values to the last
  // bit, and faster, as what depends on the known ones only is calculated now.
  Expression With(const double* known, std::size_t count) const;

 private:
  friend class ExpressionCompiler;

  enum class Kind {
    kNumber,
    kVariable,
    kAdd,
    kSubtract,
    kMultiply,
    kDivide,
    kPower,
    kMinimum,
    kMaximum,
    kNegate,
    kSquare,
    kSquareRoot,
    kExponential,
    kLogarithm,
    kLogarithm2,
    kLogarithm10,
    kAbsolute
  };

  struct Instruction {
    Kind kind = Kind::kNumber;
    std::size_t variable = 0;
    double number = 0;
  };

  static double Apply(Kind kind, double a);
  static double Apply(Kind kind, double a, double b);
  // The same for `size` values, into `a`.
  static void ApplyToAll(Kind kind, double* a, const double* b, std::size_t size);
  static bool IsBinary(Kind kind);
  bool EndsWithNumbers(std::size_t count) const;
  // An instruction whose operands are known is calculated at once.
  void Append(const Instruction& instruction);

  std::vector<Instruction> instructions_;  // in reverse Polish notation
};

}  // namespace farscale
