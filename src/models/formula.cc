#include "models/formula.h"

#include <muParser.h>

#include <algorithm>
#include <limits>

#include "base/error.h"
#include "base/text.h"

namespace farscale {

struct Formula::Parser {
  mu::Parser parser;
  std::vector<double> values;
};

namespace {

std::string WithoutFullStop(std::string message) {
  while (!message.empty() && (message.back() == '.' || message.back() == ' ')) message.pop_back();
  return message;
}

// muParser also assigns and lists; a model does neither.
void RefuseStatements(const std::string& text, mu::Parser& parser, const std::string& where) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '=') continue;
    const bool compares = (i > 0 && std::string_view("=<>!").find(text[i - 1]) != std::string_view::npos) ||
                          (i + 1 < text.size() && text[i + 1] == '=');
    if (!compares) {
      throw Error(ErrorKind::kUsage, where, "'" + text + "' assigns a value", "write the right-hand side only");
    }
  }
  int results = 0;
  parser.Eval(results);
  if (results != 1) throw Error(ErrorKind::kUsage, where, "'" + text + "' is a list of formulas", "write one");
}

}  // namespace

Formula::Formula(const std::string& text, const std::vector<std::string>& variables, const std::string& where)
    : text_(text), variables_(variables), where_(where), parser_(std::make_unique<Parser>()) {
  parser_->values.assign(variables.size(), 1.0);
  try {
    for (std::size_t i = 0; i < variables.size(); ++i) parser_->parser.DefineVar(variables[i], &parser_->values[i]);
    parser_->parser.SetExpr(text);
    RefuseStatements(text, parser_->parser, where);
  } catch (const mu::Parser::exception_type& error) {
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a formula: " + WithoutFullStop(error.GetMsg()),
                "it may use " + Join(variables, ", ") + ", + - * / ^, and functions such as log, exp and sqrt");
  }
}

Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;
Formula::Formula(const Formula& other) : Formula(other.text_, other.variables_, other.where_) {}

double Formula::operator()(std::initializer_list<double> first, const std::vector<double>& rest) const {
  // In place: the parser knows the addresses.
  std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), parser_->values.begin()));
  try {
    return parser_->parser.Eval();
  } catch (const mu::Parser::exception_type&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

bool Formula::Uses(const std::string& variable) const { return parser_->parser.GetUsedVar().count(variable) > 0; }

}  // namespace farscale
