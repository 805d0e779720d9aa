#include "models/scaling_model.h"

#include <fmt/format.h>
#include <muParser.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>

#include "base/config.h"
#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {

struct Formula::Parser {
  mu::Parser parser;
  std::vector<double> values;
  std::mutex mutex;                      // guards both
  std::optional<Expression> expression;  // evaluates instead, where it knows the formula
};

namespace {

// True if two formulas agree wherever they are tried: values of variables that spread with every round.
bool Agree(const Expression& expression, mu::Parser& parser, std::vector<double>& values) {
  constexpr int kRounds = 8;
  constexpr double kRounding = 1e-12;
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = 0.3 + 0.41 * static_cast<double>(i * round + i + 2 * round);
    const double expected = parser.Eval(), found = expression(nullptr, 0, values.data());
    const bool is_same = std::isfinite(expected) ? std::fabs(found - expected) <= kRounding * std::fabs(expected)
                                                 : !std::isfinite(found);
    if (!is_same) return false;
  }
  return true;
}

constexpr double kCheckTolerance = 1e-9;  // relative; chosen: above rounding, below any error of a formula
constexpr double kUsualPrior = 0.05;      // without a statement: less than that of models that have proved themselves

bool IsName(const std::string& text) {
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_')) return false;
  return std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
}

std::vector<ModelParameter> ParseParameters(const ConfigTable& model) {
  std::vector<ModelParameter> parameters;
  const auto section = model.Table("parameters");
  if (!section || section->Keys().empty()) model.Fail("", "the model has no [parameters.NAME]");
  for (const std::string& name : section->Keys()) {
    if (!IsName(name) || name == "x" || name == "P" || name == "y" || name == "a" || name == "b") {
      section->Fail(name, "'" + name + "' cannot be the name of a parameter");
    }
    const ConfigTable table = *section->Table(name);
    ModelParameter& parameter = parameters.emplace_back();
    parameter.name = name;
    parameter.meaning = table.String("meaning").value_or("");
    parameter.lower = table.Number("lower").value_or(0.0);
    if (table.IsString("upper")) {
      if (table.RequiredString("upper") != "limit") table.Fail("upper", "'upper' must be a number or \"limit\"");
    } else {
      parameter.upper = table.RequiredNumber("upper");
      if (!(*parameter.upper > parameter.lower)) table.Fail("upper", "'upper' must lie above 'lower'");
    }
    if (table.IsString("starts")) {
      if (table.RequiredString("starts") != "between counts") {
        table.Fail("starts", "'starts' must be a list of numbers or \"between counts\"");
      }
    } else {
      parameter.starts = table.Numbers("starts").value_or(std::vector<double>());
      if (parameter.starts.empty()) table.Fail("starts", "'starts' must name at least one value to begin from");
    }
    for (const double start : parameter.starts) {
      const bool inside = start >= parameter.lower && (!parameter.upper || start <= *parameter.upper);
      if (!inside) table.Fail("starts", fmt::format("the start {} lies outside the bounds", start));
    }
    const auto mean = table.Number("prior_mean"), deviation = table.Number("prior_deviation");
    if (mean.has_value() != deviation.has_value()) {
      table.Fail(mean ? "prior_mean" : "prior_deviation", "'prior_mean' and 'prior_deviation' go together");
    }
    if (mean && !(*deviation > 0)) table.Fail("prior_deviation", "'prior_deviation' must lie above 0");
    parameter.prior_mean = mean.value_or(0);
    parameter.prior_deviation = deviation;
    table.RefuseUnknownKeys();
  }
  return parameters;
}

std::optional<LinearStart> ParseStart(const ConfigTable& model, const std::vector<ModelParameter>& parameters) {
  const auto table = model.Table("start");
  if (!table) return std::nullopt;
  LinearStart start{Formula(table->RequiredString("transform"), {"y"}, table->Where("transform")),
                    Formula(table->RequiredString("basis"), {"x"}, table->Where("basis")),
                    {}};
  const auto formulas = table->Table("parameters");
  if (!formulas) table->Fail("", "'parameters' is missing: a formula of a and b for every parameter");
  for (const ModelParameter& parameter : parameters) {
    start.parameters.emplace(
        parameter.name, Formula(formulas->RequiredString(parameter.name), {"a", "b"}, formulas->Where(parameter.name)));
  }
  formulas->RefuseUnknownKeys();
  table->RefuseUnknownKeys();
  return start;
}

// Names of a list, each once; empty without one.
std::set<std::string> ParseNames(const ConfigTable& table, const std::string& key) {
  std::set<std::string> names;
  if (!table.Has(key)) return names;
  const std::vector<std::string> listed = *table.Strings(key);
  for (const std::string& name : listed) {
    if (!names.insert(name).second) table.Fail(key, "'" + key + "' names '" + name + "' twice");
  }
  if (names.empty()) table.Fail(key, "'" + key + "' must not be empty", "leave it out for all of them");
  return names;
}

std::set<Factor> ParseFactors(const ConfigTable& table) {
  std::set<Factor> factors;
  const std::set<std::string> names = ParseNames(table, "factors");
  if (names == std::set<std::string>{"all"}) return factors;
  for (const std::string& id : names) {
    if (id == "all") table.Fail("factors", "\"all\" goes with no other factor");
    const auto factor = FactorById(id);
    if (!factor) table.Fail("factors", "unknown factor '" + id + "'", DidYouMean(id, FactorIds()));
    // Projections fit those of global efficiency, but for parts that only explain a factor.
    Factor root = *factor;
    while (const auto parent = ParentOf(root, FactorTree::kHybrid)) root = *parent;
    const bool is_fitted = Describe(*factor).kind != FactorKind::kDetail && root == Factor::kGlobalEfficiency;
    if (!is_fitted) table.Fail("factors", "no model is fitted to '" + id + "'");
    factors.insert(*factor);
  }
  return factors;
}

// `is_for_all`: losses of call paths are no factor, so that a model for some factors alone cannot serve them.
std::set<ModelRole> ParseRoles(const ConfigTable& table, bool is_for_all) {
  static const std::map<std::string, ModelRole> kRoles = {
      {"cores", ModelRole::kCores}, {"losses", ModelRole::kLosses}, {"splits", ModelRole::kSplits}};
  std::set<ModelRole> roles;
  for (const std::string& name : ParseNames(table, "roles")) {
    const auto found = kRoles.find(name);
    if (found == kRoles.end()) table.Fail("roles", "unknown role '" + name + "'", "there are cores, losses, splits");
    roles.insert(found->second);
  }
  if (!is_for_all && roles.contains(ModelRole::kLosses)) {
    table.Fail("roles", "the role 'losses' needs factors = \"all\"", "losses of call paths belong to no factor");
  }
  if (!roles.empty()) return roles;
  roles = {ModelRole::kCores, ModelRole::kSplits};
  if (is_for_all) roles.insert(ModelRole::kLosses);
  return roles;
}

// One number for each dimension.
std::vector<double> ParsePriors(const ConfigTable& table, const std::string& key, const std::vector<double>& usual) {
  const std::vector<double> priors = table.Numbers(key).value_or(usual);
  if (priors.size() != usual.size()) table.Fail(key, "'" + key + "' must have a number for each of 'dimensions'");
  for (const double prior : priors) {
    if (!(prior > 0)) table.Fail(key, "a prior must lie above 0");
  }
  return priors;
}

}  // namespace

Formula::Formula(const std::string& text, const std::vector<std::string>& variables, const std::string& where)
    : text_(text), variables_(variables), where_(where), parser_(std::make_unique<Parser>()) {
  parser_->values.assign(variables.size(), 1.0);
  try {
    for (std::size_t i = 0; i < variables.size(); ++i) parser_->parser.DefineVar(variables[i], &parser_->values[i]);
    parser_->parser.SetExpr(text);
    // muParser also assigns and lists; a model does neither.
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] != '=') continue;
      const bool compares = (i > 0 && std::string_view("=<>!").find(text[i - 1]) != std::string_view::npos) ||
                            (i + 1 < text.size() && text[i + 1] == '=');
      if (!compares) {
        throw Error(ErrorKind::kUsage, where, "'" + text + "' assigns a value", "write the right-hand side only");
      }
    }
    int results = 0;
    parser_->parser.Eval(results);
    if (results != 1) throw Error(ErrorKind::kUsage, where, "'" + text + "' is a list of formulas", "write one");
    std::optional<Expression> expression = Expression::Compile(text, variables);
    if (expression && Agree(*expression, parser_->parser, parser_->values)) parser_->expression = std::move(expression);
  } catch (const mu::Parser::exception_type& error) {
    std::string message = error.GetMsg();
    message.erase(message.find_last_not_of(". ") + 1);
    throw Error(ErrorKind::kUsage, where, "'" + text + "' is not a formula: " + message,
                "it may use " + Join(variables, ", ") + ", + - * / ^, and functions such as log, exp and sqrt");
  }
}

Formula::~Formula() = default;
Formula::Formula(Formula&&) noexcept = default;
Formula::Formula(const Formula& other) : Formula(other.text_, other.variables_, other.where_) {}

double Formula::operator()(const std::vector<double>& first, const std::vector<double>& rest) const {
  if (parser_->expression) return (*parser_->expression)(first.data(), first.size(), rest.data());
  // In place: the parser knows the addresses.
  const std::lock_guard<std::mutex> lock(parser_->mutex);
  std::copy(rest.begin(), rest.end(), std::copy(first.begin(), first.end(), parser_->values.begin()));
  try {
    return parser_->parser.Eval();
  } catch (const mu::Parser::exception_type&) {
    return std::numeric_limits<double>::quiet_NaN();
  }
}

std::optional<Expression> Formula::With(const std::vector<double>& first) const {
  if (!parser_->expression) return std::nullopt;
  return parser_->expression->With(first.data(), first.size());
}

bool Formula::Uses(const std::string& variable) const { return parser_->parser.GetUsedVar().count(variable) > 0; }

PlacedModel::PlacedModel(const ScalingModel& model, double cores, int dimension)
    : formula_(&model.formula),
      place_({ScalingModel::XOf(cores, dimension), cores}),
      expression_(model.formula.With(place_)) {}

void PlacedModel::Evaluate(const std::vector<const double*>& columns, std::size_t size, double* results) const {
  if (expression_) return expression_->Evaluate(columns.data(), size, results);
  std::vector<double> values(columns.size());
  for (std::size_t i = 0; i < size; ++i) {
    for (std::size_t k = 0; k < columns.size(); ++k) values[k] = columns[k][i];
    results[i] = (*formula_)(place_, values);
  }
}

std::vector<int> ParseDimensions(const ConfigTable& table, const std::string& key) {
  std::vector<int> dimensions;
  for (const std::int64_t dimension : table.Integers(key).value_or(std::vector<std::int64_t>())) {
    if (dimension < 1 || dimension > kLargestDimension) {
      table.Fail(key, fmt::format("a dimension must lie between 1 and {}", kLargestDimension));
    }
    dimensions.push_back(static_cast<int>(dimension));
  }
  return dimensions;
}

double ScalingModel::PriorOf(int dimension, bool is_of_times) const {
  const std::vector<double>& of_dimensions = is_of_times ? priors_of_times : priors;
  double sum = 0;
  for (std::size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i] == dimension) return of_dimensions[i];
    sum += of_dimensions[i];
  }
  return sum / static_cast<double>(dimensions.size());
}

bool ScalingModel::Serves(ModelRole role, std::optional<Factor> factor) const {
  return roles.contains(role) && (factors.empty() || (factor && factors.contains(*factor)));
}

double ScalingModel::Evaluate(double cores, int dimension, const std::vector<double>& values) const {
  return formula({XOf(cores, dimension), cores}, values);
}

double ScalingModel::XOf(double cores, int dimension) {
  return dimension == 1 ? cores : std::pow(cores, 1.0 / dimension);
}

ScalingModel ParseModel(const std::string& text, const std::string& file) {
  const ConfigTable table = ConfigTable::Parse(text, file);
  const std::vector<ModelParameter> parameters = ParseParameters(table);
  std::vector<std::string> variables = {"x", "P"};
  for (const ModelParameter& parameter : parameters) variables.push_back(parameter.name);
  const std::vector<int> dimensions =
      table.Has("dimensions") ? ParseDimensions(table, "dimensions") : std::vector<int>{1};
  if (dimensions.empty()) table.Fail("dimensions", "'dimensions' must not be empty");
  const std::vector<double> usual = ParsePriors(table, "prior", std::vector<double>(dimensions.size(), kUsualPrior));
  const std::set<Factor> factors = ParseFactors(table);
  ScalingModel model{table.RequiredString("id"),
                     table.RequiredString("name"),
                     table.String("meaning").value_or(""),
                     table.String("source").value_or(""),
                     dimensions,
                     usual,
                     ParsePriors(table, "prior_of_times", usual),
                     parameters,
                     Formula(table.RequiredString("formula"), variables, table.Where("formula")),
                     ParseStart(table, parameters),
                     table.Integer("order").value_or(std::numeric_limits<std::int64_t>::max()),
                     ParseRoles(table, factors.empty()),
                     factors};
  if (model.order < 1) table.Fail("order", "'order' must be a whole number above 0");
  if (!IsName(model.id)) table.Fail("id", "the id may contain letters, digits and underscores only");
  for (const ModelParameter& parameter : parameters) {
    if (!model.formula.Uses(parameter.name)) {
      table.Fail("formula", "the formula does not use the parameter '" + parameter.name + "'");
    }
  }
  for (const ConfigTable& check : table.Tables("checks")) {
    const auto values = check.Table("parameters");
    if (!values) check.Fail("", "'parameters' is missing");
    std::vector<double> of_check;
    for (const ModelParameter& parameter : parameters) of_check.push_back(values->RequiredNumber(parameter.name));
    values->RefuseUnknownKeys();
    const double x = check.RequiredNumber("x"), expected = check.RequiredNumber("y");
    check.RefuseUnknownKeys();
    const double y = model.Evaluate(x, 1, of_check);
    if (!(std::fabs(y - expected) <= kCheckTolerance * std::max(1.0, std::fabs(expected)))) {
      check.Fail("y", fmt::format("the model gives {} at x = {}, but its check says {}", y, x, expected));
    }
  }
  table.RefuseUnknownKeys();
  return model;
}

void ModelLibrary::Add(ScalingModel model, const std::string& file) {
  const std::string id = model.id;
  if (!models_.try_emplace(id, std::move(model)).second) {
    throw Error(ErrorKind::kUsage, file, "there are two models with the id '" + id + "'");
  }
}

const ScalingModel& ModelLibrary::Get(const std::string& id, const std::string& where) const {
  const auto found = models_.find(id);
  if (found != models_.end()) return found->second;
  std::string advice = DidYouMean(id, Ids());
  if (advice.empty()) advice = "there are " + Join(Ids(), ", ");
  throw Error(ErrorKind::kUsage, where, "no model '" + id + "'", advice);
}

std::vector<const ScalingModel*> ModelLibrary::InOrder() const {
  std::vector<const ScalingModel*> models;
  for (const auto& [id, model] : models_) models.push_back(&model);
  std::ranges::stable_sort(models, {}, [](const ScalingModel* model) { return model->order; });
  return models;
}

std::vector<std::string> ModelLibrary::Ids() const {
  std::vector<std::string> ids;
  for (const auto& [id, model] : models_) ids.push_back(id);
  return ids;
}

}  // namespace farscale
