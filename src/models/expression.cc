#include "models/scaling_model.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <span>
#include <system_error>

namespace farscale {
namespace {

constexpr std::size_t kDeepest = 16;   // values that wait for their operator; chosen: no model needs half of it
constexpr std::size_t kNesting = 100;  // chosen: keeps the compiler from recursing for ever

}  // namespace

// Recursive descent; a rule returns false for what it does not know.
class ExpressionCompiler {
 public:
  using Kind = Expression::Kind;

  ExpressionCompiler(std::string_view text, const std::vector<std::string>& variables)
      : text_(text), variables_(variables) {}

  std::optional<Expression> Run() {
    if (!Sum() || !Peek().empty() || deepest_ > kDeepest) return std::nullopt;
    return std::move(result_);
  }

 private:
  std::string_view Peek() {
    while (!text_.empty() && std::isspace(static_cast<unsigned char>(text_.front())) != 0) text_.remove_prefix(1);
    return text_.substr(0, 1);
  }

  bool Take(std::string_view symbol) {
    if (Peek() != symbol) return false;
    text_.remove_prefix(1);
    return true;
  }

  bool Sum() { return Chain(&ExpressionCompiler::Product, "+", Kind::kAdd, "-", Kind::kSubtract); }
  bool Product() { return Chain(&ExpressionCompiler::Signed, "*", Kind::kMultiply, "/", Kind::kDivide); }

  // Operands between two operators of equal rank, from the left.
  bool Chain(bool (ExpressionCompiler::*operand)(), std::string_view one, Kind of_one, std::string_view other,
             Kind of_other) {
    if (!(this->*operand)()) return false;
    while (true) {
      const bool is_one = Take(one);
      if (!is_one && !Take(other)) return true;
      if (!(this->*operand)()) return false;
      Emit({is_one ? of_one : of_other, 0, 0}, -1);
    }
  }

  // A sign counts less than a power: -x^2 is -(x^2).
  bool Signed() {
    if (++nesting_ > kNesting) return false;
    const bool is_negative = Take("-");
    if (!(is_negative ? Signed() : Power())) return false;
    if (is_negative) Emit({Kind::kNegate, 0, 0}, 0);
    --nesting_;
    return true;
  }

  // From the right: 2^3^2 is 2^9. An exponent may have a sign.
  bool Power() {
    if (!Atom()) return false;
    if (!Take("^")) return true;
    if (!Signed()) return false;
    if (result_.EndsWithNumbers(1) && result_.instructions_.back().number == 2) {
      result_.instructions_.pop_back();
      --depth_;
      Emit({Kind::kSquare, 0, 0}, 0);
    } else {
      Emit({Kind::kPower, 0, 0}, -1);
    }
    return true;
  }

  bool Atom() {
    if (Take("(")) return Sum() && Take(")");
    const std::string_view next = Peek();
    if (next.empty()) return false;
    if (std::isdigit(static_cast<unsigned char>(next.front())) != 0 || next == ".") {
      double number = 0;
      const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), number);
      if (error != std::errc()) return false;
      text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
      Emit({Kind::kNumber, 0, number}, 1);
      return true;
    }
    const auto end =
        std::find_if(text_.begin(), text_.end(), [](unsigned char c) { return std::isalnum(c) == 0 && c != '_'; });
    const std::string name(text_.begin(), end);
    text_.remove_prefix(name.size());
    if (Take("(")) return Call(name);
    const auto found = std::find(variables_.begin(), variables_.end(), name);
    if (name.empty() || found == variables_.end()) return false;
    Emit({Kind::kVariable, static_cast<std::size_t>(found - variables_.begin()), 0}, 1);
    return true;
  }

  bool Call(const std::string& name) {
    static const std::map<std::string, Kind> kUnary = {
        {"sqrt", Kind::kSquareRoot}, {"exp", Kind::kExponential},   {"ln", Kind::kLogarithm}, {"log", Kind::kLogarithm},
        {"log2", Kind::kLogarithm2}, {"log10", Kind::kLogarithm10}, {"abs", Kind::kAbsolute}};
    static const std::map<std::string, Kind> kBinary = {{"min", Kind::kMinimum}, {"max", Kind::kMaximum}};
    if (!Sum()) return false;
    if (const auto found = kUnary.find(name); found != kUnary.end()) {
      Emit({found->second, 0, 0}, 0);
      return Take(")");
    }
    const auto found = kBinary.find(name);
    if (found == kBinary.end()) return false;
    while (Take(",")) {
      if (!Sum()) return false;
      Emit({found->second, 0, 0}, -1);
    }
    return Take(")");
  }

  // `grown`: by how many values there are more after the instruction.
  void Emit(const Expression::Instruction& instruction, int grown) {
    result_.Append(instruction);
    depth_ += static_cast<std::size_t>(grown);
    deepest_ = std::max(deepest_, depth_);
  }

  std::string_view text_;
  std::span<const std::string> variables_;
  Expression result_;
  std::size_t depth_ = 0, deepest_ = 0;
  std::size_t nesting_ = 0;
};

std::optional<Expression> Expression::Compile(std::string_view text, const std::vector<std::string>& variables) {
  return ExpressionCompiler(text, variables).Run();
}

// Calls visit(operation) with a function of two numbers; those of one leave the second alone.
auto Expression::WithOperation(Kind kind, const auto& visit) {
  switch (kind) {
    case Kind::kAdd: return visit([](double a, double b) { return a + b; });
    case Kind::kSubtract: return visit([](double a, double b) { return a - b; });
    case Kind::kMultiply: return visit([](double a, double b) { return a * b; });
    case Kind::kDivide: return visit([](double a, double b) { return a / b; });
    case Kind::kPower: return visit([](double a, double b) { return std::pow(a, b); });
    case Kind::kMinimum: return visit([](double a, double b) { return std::min(a, b); });
    case Kind::kMaximum: return visit([](double a, double b) { return std::max(a, b); });
    case Kind::kNegate: return visit([](double a, double) { return -a; });
    case Kind::kSquare: return visit([](double a, double) { return a * a; });
    case Kind::kSquareRoot: return visit([](double a, double) { return std::sqrt(a); });
    case Kind::kExponential: return visit([](double a, double) { return std::exp(a); });
    case Kind::kLogarithm: return visit([](double a, double) { return std::log(a); });
    case Kind::kLogarithm2: return visit([](double a, double) { return std::log2(a); });
    case Kind::kLogarithm10: return visit([](double a, double) { return std::log10(a); });
    case Kind::kAbsolute: return visit([](double a, double) { return std::fabs(a); });
    default: return visit([](double, double) { return std::numeric_limits<double>::quiet_NaN(); });
  }
}

double Expression::Apply(Kind kind, double a, double b) {
  return WithOperation(kind, [&](auto operation) { return operation(a, b); });
}

bool Expression::IsBinary(Kind kind) { return kind >= Kind::kAdd && kind <= Kind::kMaximum; }

bool Expression::EndsWithNumbers(std::size_t count) const {
  return instructions_.size() >= count &&
         std::all_of(instructions_.end() - static_cast<std::ptrdiff_t>(count), instructions_.end(),
                     [](const Instruction& instruction) { return instruction.kind == Kind::kNumber; });
}

void Expression::Append(const Instruction& instruction) {
  const bool is_operand = instruction.kind == Kind::kNumber || instruction.kind == Kind::kVariable;
  const std::size_t operands = IsBinary(instruction.kind) ? 2 : 1;
  if (is_operand || !EndsWithNumbers(operands)) {
    instructions_.push_back(instruction);
    return;
  }
  const double last = instructions_.back().number;
  if (operands == 2) instructions_.pop_back();
  double& number = instructions_.back().number;
  number = Apply(instruction.kind, number, last);
}

Expression Expression::With(const double* known, std::size_t count) const {
  Expression result;
  result.instructions_.reserve(instructions_.size());
  for (const Instruction& instruction : instructions_) {
    if (instruction.kind != Kind::kVariable) {
      result.Append(instruction);
    } else if (instruction.variable < count) {
      result.Append({Kind::kNumber, 0, known[instruction.variable]});
    } else {
      result.Append({Kind::kVariable, instruction.variable - count, 0});
    }
  }
  return result;
}

double Expression::operator()(const double* first, std::size_t count, const double* rest) const {
  double values[kDeepest];
  double* top = values;  // behind the last
  for (const Instruction& instruction : instructions_) {
    if (instruction.kind == Kind::kNumber) {
      *top++ = instruction.number;
    } else if (instruction.kind == Kind::kVariable) {
      *top++ = instruction.variable < count ? first[instruction.variable] : rest[instruction.variable - count];
    } else {
      const double second = IsBinary(instruction.kind) ? *--top : 0;
      top[-1] = Apply(instruction.kind, top[-1], second);
    }
  }
  return values[0];
}

void Expression::Evaluate(const double* const* variables, std::size_t size, double* results) const {
  constexpr std::size_t kStrip = 64;  // chosen: the values of all instructions stay in the cache
  double values[kDeepest][kStrip];
  for (std::size_t first = 0; first < size; first += kStrip) {
    const std::size_t count = std::min(kStrip, size - first);
    std::size_t depth = 0;
    for (const Instruction& instruction : instructions_) {
      if (instruction.kind == Kind::kNumber) {
        std::fill_n(values[depth++], count, instruction.number);
      } else if (instruction.kind == Kind::kVariable) {
        std::copy_n(variables[instruction.variable] + first, count, values[depth++]);
      } else {
        if (IsBinary(instruction.kind)) --depth;
        double *a = values[depth - 1], *b = IsBinary(instruction.kind) ? values[depth] : a;
        WithOperation(instruction.kind, [&](auto operation) {
          for (std::size_t i = 0; i < count; ++i) a[i] = operation(a[i], b[i]);
        });
      }
    }
    std::copy_n(values[0], count, results + first);
  }
}

}  // namespace farscale
