// Formulas written in model files, evaluated by muParser.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

namespace farscale {

// A formula over named variables. Not for use by several threads at once; copying is cheap enough to give each its own.
class Formula {
 public:
  // Throws a usage error at `where` when the text is no formula or uses other variables.
  Formula(const std::string& text, const std::vector<std::string>& variables, const std::string& where);
  ~Formula();
  Formula(const Formula& other);
  Formula& operator=(const Formula&) = delete;
  Formula(Formula&&) noexcept;

  // `values` in the order of the variables. Not finite where the formula is not defined.
  double operator()(const std::vector<double>& values) const { return (*this)({}, values); }
  // The same for values in two parts, so that nobody need join them.
  double operator()(std::initializer_list<double> first, const std::vector<double>& rest) const;

  const std::string& text() const { return text_; }
  // Whether the formula mentions the variable.
  bool Uses(const std::string& variable) const;

 private:
  struct Parser;

  std::string text_;
  std::vector<std::string> variables_;
  std::string where_;
  std::unique_ptr<Parser> parser_;
};

}  // namespace farscale
