#include "cli/usage.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"

namespace farscale {
namespace {

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
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

// The first long option that neither the command nor the program has.
std::string UnknownOption(const std::vector<std::string>& arguments, const std::vector<std::string>& known) {
  for (const std::string& argument : arguments) {
    if (argument == "--") break;
    const std::string name = argument.substr(0, argument.find('='));
    if (name.size() > 2 && name.starts_with("--") && std::ranges::count(known, name) == 0) return name;
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
  const std::vector<std::string> commands = CommandNames(app);
  if (!word.empty() && std::ranges::count(commands, word) == 0) {
    return fmt::format("no command '{}'{}; farscale --help lists them", word, meant(word, commands));
  }
  std::vector<std::string> known;
  AddOptionNames(app, known);
  const CLI::App* command = word.empty() ? nullptr : app.get_subcommand(word);
  if (command != nullptr) AddOptionNames(*command, known);
  for (const CLI::App* nested : command == nullptr ? std::vector<const CLI::App*>()
                                                   : command->get_subcommands([](const CLI::App*) { return true; })) {
    AddOptionNames(*nested, known);
  }
  const std::string name = command == nullptr ? "farscale" : "farscale " + word;
  if (const std::string option = UnknownOption(arguments, known); !option.empty()) {
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

}  // namespace farscale
