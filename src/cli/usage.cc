#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "gate/history_json.h"
#include "gate/verdicts.h"
#include "pages/render.h"
#include "planning/balance_json.h"
#include "report/compare/pages.h"
#include "results/collected_jobs.h"
#include "results/factor_table_files.h"
#include "results/growth_record.h"
#include "results/results_json.h"
#include "study/input_files.h"

namespace farscale {
namespace {

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

void AddOptionNames(const CLI::App& app, std::vector<std::string>& names) {
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
}

// The first word that is neither an option nor the value of a common one; empty without any.
std::string FirstWord(const CLI::App& app, const std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with('-')) return arguments[i];
    const CLI::Option* option = app.get_option_no_throw(arguments[i]);
    if (option != nullptr && option->get_items_expected_max() > 0) ++i;
  }
  return "";
}

}  // namespace

std::string DescribeWrongUsage(const CLI::App& app, const std::vector<std::string>& arguments,
                               const CLI::ParseError& error) {
  const auto meant = [](const std::string& name, const std::vector<std::string>& names) {
    const std::string question = DidYouMean(name, names);
    return question.empty() ? "" : "; " + question;
  };
  const std::string word = FirstWord(app, arguments);
  std::vector<std::string> commands;
  for (const CLI::App* one : Commands(app)) commands.push_back(one->get_name());
  if (!word.empty() && std::ranges::count(commands, word) == 0) {
    return fmt::format("no command '{}'{}; farscale --help lists them", word, meant(word, commands));
  }
  std::vector<std::string> known;
  AddOptionNames(app, known);
  const CLI::App* command = word.empty() ? nullptr : app.get_subcommand(word);
  if (command != nullptr) {
    AddOptionNames(*command, known);
    for (const CLI::App* nested : Commands(*command)) AddOptionNames(*nested, known);
  }
  const std::string name = command == nullptr ? "farscale" : "farscale " + word;
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string option = argument.substr(0, argument.find('='));
    if (option.size() <= 2 || !option.starts_with("--") || std::ranges::count(known, option) > 0) continue;
    return fmt::format("{} has no option {}{}; {} --help shows how", word.empty() ? name : word, option,
                       meant(option, known), name);
  }
  return fmt::format("{}; {} --help shows how", error.what(), name);
}

std::vector<std::string> WithHelpAsOption(std::vector<std::string> arguments) {
  if (arguments.empty() || arguments.front() != "help") return arguments;
  arguments.erase(arguments.begin());
  arguments.push_back("--help");
  return arguments;
}

// Completion scripts for bash, zsh and fish, from the same declarations as the help texts: commands, options and the
// values that an option lists. Everything else completes file names. The scripts are templates in configs/completion.

namespace {

bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Those that the help shows and that have a name.
std::vector<const CLI::Option*> NamedOptions(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) {
    return !option->get_group().empty() && !(option->get_lnames().empty() && option->get_snames().empty());
  });
}

// "-o", "--output": as a user types them.
std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

// The values that an option admits, which CLI11 keeps in its type name: "TEXT:{whole,each}".
std::string Choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "";
  return Join(Split(type.substr(begin + 1, end - begin - 1), ','), " ");
}

// Inside single quotes of a shell.
std::string Quoted(const std::string& text) { return Join(Split(text, '\''), "'\\''"); }

// In a specification of _arguments brackets and colons mean something.
std::string ZshText(const std::string& text) {
  std::string escaped;
  for (const char c : text) escaped += (c == '[' || c == ']' || c == ':' ? "\\" : "") + std::string(1, c);
  return Quoted(escaped);
}

std::string AllSpellings(const CLI::App& app) {
  std::vector<std::string> all;
  for (const CLI::Option* option : NamedOptions(app)) {
    for (const std::string& spelling : Spellings(*option)) all.push_back(spelling);
  }
  return Join(all, " ");
}

// One entry a spelling.
ReportData ZshOptions(const CLI::App& app) {
  ReportData list = ReportData::array();
  for (const CLI::Option* option : NamedOptions(app)) {
    const std::string choices = Choices(*option);
    const std::string value = !TakesValue(*option) ? ""
                              : choices.empty()    ? ":value:_files"
                                                   : ":value:(" + choices + ")";
    for (const std::string& spelling : Spellings(*option)) {
      list.push_back({{"spelling", spelling}, {"zsh", ZshText(option->get_description())}, {"zshValue", value}});
    }
  }
  return list;
}

// One entry an option.
ReportData FishOptions(const CLI::App& app) {
  ReportData list = ReportData::array();
  for (const CLI::Option* option : NamedOptions(app)) {
    std::string names;
    for (const std::string& name : option->get_snames()) names += " -s " + name;
    for (const std::string& name : option->get_lnames()) names += " -l " + name;
    const std::string choices = Choices(*option);
    const std::string value = !TakesValue(*option) ? "" : choices.empty() ? " -r" : " -x -a '" + choices + "'";
    list.push_back({{"command", app.get_name()},
                    {"fishNames", names},
                    {"fishValue", value},
                    {"fish", Quoted(option->get_description())}});
  }
  return list;
}

ReportData DataOf(const CLI::App& command) {
  ReportData choices = ReportData::array();
  for (const CLI::Option* option : NamedOptions(command)) {
    if (Choices(*option).empty()) continue;
    std::vector<std::string> patterns;
    for (const std::string& spelling : Spellings(*option)) patterns.push_back(command.get_name() + ":" + spelling);
    choices.push_back({{"patterns", Join(patterns, "|")}, {"values", Choices(*option)}});
  }
  return {{"name", command.get_name()},
          {"zsh", ZshText(command.get_description())},
          {"fish", Quoted(command.get_description())},
          {"spellings", AllSpellings(command)},
          {"choices", choices},
          {"options", ZshOptions(command)},
          {"flags", FishOptions(command)}};
}

}  // namespace

std::string CompletionScript(const CLI::App& app, const std::string& shell) {
  std::vector<std::string> names;
  ReportData data = {{"common", AllSpellings(app)},
                     {"commonOptions", ZshOptions(app)},
                     {"commonFlags", FishOptions(app)},
                     {"commands", ReportData::array()}};
  for (const CLI::App* command : app.get_subcommands([](const CLI::App* one) { return !one->get_group().empty(); })) {
    names.push_back(command->get_name());
    data["commands"].push_back(DataOf(*command));
  }
  data["names"] = Join(names, " ");
  data["alternatives"] = Join(names, "|");
  const std::string file = DataFolder() / "configs" / "completion" / (shell + ".mustache");
  return RenderTemplate({ReadFile(file), file}, data, OutputForm::kHtml);
}

void AddCompletionCommand(CommandLine& line) {
  auto [command, options] = AddCommand<std::pair<const CLI::App*, std::string>>(
      line, "completion", "Print the completion script of a shell", [](const auto& chosen, const Common&) {
        fmt::print("{}", CompletionScript(*chosen.first, chosen.second));
        return 0;
      });
  options.first = &line.app;
  command->add_option("shell", options.second, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("For one session of bash: source <(farscale completion bash)");
}

// Prints the schemas of docs/schema, which are generated from the descriptions of the fields [base/fields.h].

namespace {

using Schema = nlohmann::ordered_json (*)();

const std::map<std::string, Schema>& Schemas() {
  static const std::map<std::string, Schema> schemas = {{"backtest", BacktestSchema},
                                                        {"balance", BalanceSchema},
                                                        {"compare", CompareSchema},
                                                        {"factors", FactorTableSchema},
                                                        {"gate", GateSchema},
                                                        {"growth", GrowthSchema},
                                                        {"history", HistorySchema},
                                                        {"inspection", InspectionSchema},
                                                        {"jobs", JobsSchema},
                                                        {"losses", LossesSchema},
                                                        {"measured-run", MeasuredRunSchema},
                                                        {"projection", ProjectionSchema},
                                                        {"results", ResultsSchema},
                                                        {"splits", SplitsSchema},
                                                        {"tracks", TracksSchema}};
  return schemas;
}

}  // namespace

void AddSchemaCommand(CommandLine& line) {
  auto [command, format] = AddCommand<std::string>(line, "schema", "Print the JSON Schema of a file",
                                                   [](const std::string& chosen, const Common&) {
                                                     fmt::print("{}\n", Schemas().at(chosen)().dump(2));
                                                     return 0;
                                                   });
  command->group("");  // for developers
  command->add_option("format", format, "The format")->required()->check(CLI::IsMember(Schemas()));
}

}  // namespace farscale
