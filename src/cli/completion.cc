// Completion scripts for bash, zsh and fish, from the same declarations as the help texts: commands, options and the
// values that an option lists. Everything else completes file names. The scripts are templates in configs/completion.
#include <fmt/format.h>

#include "base/files.h"
#include "base/text.h"
#include "cli/command.h"
#include "pages/render.h"
#include "study/resources.h"

namespace farscale {
namespace {

struct CompletionOptions {
  const CLI::App* app = nullptr;  // the whole command line
  std::string shell;
};

bool IsPositional(const CLI::Option& option) { return option.get_lnames().empty() && option.get_snames().empty(); }
bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// Those that the help shows and that have a name.
std::vector<const CLI::Option*> NamedOptions(const CLI::App& app) {
  return app.get_options(
      [](const CLI::Option* option) { return !option->get_group().empty() && !IsPositional(*option); });
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

int PrintCompletion(const CompletionOptions& options, const Common&) {
  fmt::print("{}", CompletionScript(*options.app, options.shell));
  return 0;
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
  return RenderTemplate({ReadFile(file), file}, data, Escape::kHtml);
}

void AddCompletionCommand(CommandLine& line) {
  auto [command, options] =
      AddCommand<CompletionOptions>(line, "completion", "Print the completion script of a shell", PrintCompletion);
  options.app = &line.app;
  command->add_option("shell", options.shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->footer("For one session of bash: source <(farscale completion bash)");
}

}  // namespace farscale
