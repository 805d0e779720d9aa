// Scaling models as data: one TOML file a model in fits/, adding one needs no compiler [docs/model-files.md].
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "factors/factor.h"
#include "models/weights.h"

namespace farscale {

class ConfigTable;

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

  static auto WithOperation(Kind kind, const auto& visit);
  static double Apply(Kind kind, double a, double b);
  static bool IsBinary(Kind kind);
  bool EndsWithNumbers(std::size_t count) const;
  // An instruction whose operands are known is calculated at once.
  void Append(const Instruction& instruction);

  std::vector<Instruction> instructions_;  // in reverse Polish notation
};

// A formula of a model file over named variables, read by muParser. Formulas of plain arithmetic are compiled as well
// (Expression), all others evaluated by muParser. For use by several threads at once.
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
  double operator()(const std::vector<double>& first, const std::vector<double>& rest) const;
  // The compiled formula with its first variables known; nothing where only muParser knows the formula.
  std::optional<Expression> With(const std::vector<double>& first) const;

  const std::string& text() const { return text_; }
  // True if the formula mentions the variable.
  bool Uses(const std::string& variable) const;

 private:
  struct Parser;

  std::string text_;
  std::vector<std::string> variables_;
  std::string where_;
  std::unique_ptr<Parser> parser_;
};

inline constexpr int kLargestDimension = 6;  // chosen: above that of any decomposition of physical space

// A list of dimensions; empty without one. Throws a usage error for one that is not between 1 and kLargestDimension.
std::vector<int> ParseDimensions(const ConfigTable& table, const std::string& key);

// The fits that a model takes part in where a study does not choose its models.
enum class ModelRole {
  kCores,   // factors over the core count
  kSplits,  // factors over the counts of processes and of threads
  kLosses,  // losses of call paths over the core count
};

struct ModelParameter {
  std::string name;
  std::string meaning;
  double lower = 0;
  std::optional<double> upper;  // nothing: the limit of the factor, 1 for efficiencies and none for others
  std::vector<double> starts;   // where the solver begins; empty: between the neighbours of what x is measured at
  // The prior, from other codes: a normal distribution; nothing: none.
  double prior_mean = 0;
  std::optional<double> prior_deviation = std::nullopt;
};

// A transformed factor that is a straight line a + b·g(x) gives a start that needs no search.
struct LinearStart {
  Formula transform;                          // function of y
  Formula basis;                              // g, of x
  std::map<std::string, Formula> parameters;  // functions of a and b
};

struct ScalingModel;

// Where each column begins.
inline std::vector<const double*> ColumnsOf(const std::vector<std::vector<double>>& columns) {
  std::vector<const double*> begins;
  for (const std::vector<double>& column : columns) begins.push_back(column.data());
  return begins;
}

// A model at one number of cores, where many values of its parameters are tried. The model must outlive it.
class PlacedModel {
 public:
  PlacedModel(const ScalingModel& model, double cores, int dimension);

  double operator()(const std::vector<double>& values) const {
    return expression_ ? (*expression_)(nullptr, 0, values.data()) : (*formula_)(place_, values);
  }
  // For many values of the parameters at once: `columns` has the values of a parameter each, `size` of them.
  void Evaluate(const std::vector<const double*>& columns, std::size_t size, double* results) const;

 private:
  const Formula* formula_;
  std::vector<double> place_;  // x and P
  std::optional<Expression> expression_;
};

struct ScalingModel {
  std::string id;
  std::string name;
  std::string meaning;
  std::string source;
  std::vector<int> dimensions;  // which decomposition dimensions are tried
  // The prior weight of the model among the others, one number a dimension; and the same for efficiencies by run times
  // alone, of one problem on ever more cores: a serial part costs in the end.
  std::vector<double> priors, priors_of_times;
  std::vector<ModelParameter> parameters;
  Formula formula;  // its variables are x, P, then the parameters
  std::optional<LinearStart> start;
  std::int64_t order;             // among candidates; models of equal order follow by id
  std::set<ModelRole> roles;      // never empty
  std::set<Factor> factors = {};  // that it is a candidate for; empty: all

  // True if the model is a candidate in the role; `factor`: nothing for losses of call paths.
  bool Serves(ModelRole role, std::optional<Factor> factor) const;

  // The prior in a dimension; of one that is not among the dimensions, the mean of theirs.
  double PriorOf(int dimension, bool is_of_times = false) const;

  // y at a number of cores, with x = P^(1/dimension) [docs/formulas.md, models].
  double Evaluate(double cores, int dimension, const std::vector<double>& values) const;
  static double XOf(double cores, int dimension);
};

// Reads one model and runs its self-checks. Throws a usage error with file and line.
ScalingModel ParseModel(const std::string& text, const std::string& file);

// Models by id, and what none of them knows.
class ModelLibrary {
 public:
  explicit ModelLibrary(const IntervalConstants& intervals) : intervals_(intervals) {}

  // Throws a usage error, in `file`, when the id is taken.
  void Add(ScalingModel model, const std::string& file = "");
  // Throws a usage error naming the nearest when there is no such model.
  const ScalingModel& Get(const std::string& id, const std::string& where) const;
  std::vector<std::string> Ids() const;
  // All models in the order of candidates.
  std::vector<const ScalingModel*> InOrder() const;
  const IntervalConstants& intervals() const { return intervals_; }

 private:
  IntervalConstants intervals_;
  std::map<std::string, ScalingModel> models_;
};

}  // namespace farscale
