// Completion scripts for bash, zsh and fish, from the same declarations as the help texts: commands, options and the
// values that an option lists. Everything else completes file names.
#include <fmt/format.h>

#include <memory>

#include "base/text.h"
#include "cli/command.h"

namespace farscale {
namespace {

std::vector<const CLI::App*> Commands(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App* command) { return !command->get_group().empty(); });
}

std::vector<const CLI::Option*> Options(const CLI::App& app) {
  return app.get_options([](const CLI::Option* option) { return !option->get_group().empty(); });
}

bool IsPositional(const CLI::Option& option) { return option.get_lnames().empty() && option.get_snames().empty(); }
bool TakesValue(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// "-o", "--output": as a user types them.
std::vector<std::string> Spellings(const CLI::Option& option) {
  std::vector<std::string> spellings;
  for (const std::string& name : option.get_snames()) spellings.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) spellings.push_back("--" + name);
  return spellings;
}

// The values that an option admits, which CLI11 keeps in its type name: "TEXT:{whole,each}".
std::vector<std::string> Choices(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  const std::size_t begin = type.find('{'), end = type.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return {};
  return Split(type.substr(begin + 1, end - begin - 1), ',');
}

std::string Replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string BashValues(const CLI::App& command, const std::string& name) {
  std::string lines;
  for (const CLI::Option* option : Options(command)) {
    const std::vector<std::string> choices = Choices(*option);
    if (choices.empty() || IsPositional(*option)) continue;
    std::vector<std::string> patterns;
    for (const std::string& spelling : Spellings(*option)) patterns.push_back(name + ":" + spelling);
    lines += fmt::format("    {}) words=\"{}\" ;;\n", Join(patterns, "|"), Join(choices, " "));
  }
  return lines;
}

std::string SpellingsOf(const CLI::App& command) {
  std::vector<std::string> all;
  for (const CLI::Option* option : Options(command)) {
    for (const std::string& spelling : Spellings(*option)) all.push_back(spelling);
  }
  return Join(all, " ");
}

std::vector<std::string> NamesOf(const std::vector<const CLI::App*>& commands) {
  std::vector<std::string> names;
  for (const CLI::App* command : commands) names.push_back(command->get_name());
  return names;
}

std::string BashCompletion(const CLI::App& app) {
  const auto commands = Commands(app);
  const std::string names = Join(NamesOf(commands), "|");
  std::string values, options;
  for (const CLI::App* command : commands) {
    values += BashValues(*command, command->get_name());
    options += fmt::format("      {}) words=\"{} {}\" ;;\n", command->get_name(), SpellingsOf(*command), SpellingsOf(app));
  }
  return "# bash completion of farscale\n"
         "_farscale() {\n"
         "  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} command= words= word\n"
         "  for word in \"${COMP_WORDS[@]:1:COMP_CWORD-1}\"; do\n"
         "    case $word in " + names + ") command=$word; break ;; esac\n"
         "  done\n"
         "  case $command:$previous in\n" + values + "  esac\n"
         "  if [[ -z $words && $current == -* ]]; then\n"
         "    case $command in\n" + options + fmt::format("      *) words=\"{}\" ;;\n", SpellingsOf(app)) +
         "    esac\n"
         "  elif [[ -z $words && -z $command ]]; then\n"
         "    words=\"" + Replaced(names, "|", " ") + "\"\n"
         "  fi\n"
         "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
         "}\n"
         "complete -o bashdefault -o default -F _farscale farscale\n";
}

// Inside single quotes of a shell.
std::string Quoted(const std::string& text) { return Replaced(text, "'", "'\\''"); }

// In a specification of _arguments brackets and colons mean something.
std::string ZshText(const std::string& text) {
  return Quoted(Replaced(Replaced(Replaced(text, "[", "\\["), "]", "\\]"), ":", "\\:"));
}

std::string ZshOptions(const CLI::App& app) {
  std::string lines;
  for (const CLI::Option* option : Options(app)) {
    if (IsPositional(*option)) continue;
    const std::vector<std::string> choices = Choices(*option);
    const std::string value = !TakesValue(*option) ? ""
                              : choices.empty()    ? ":value:_files"
                                                   : ":value:(" + Join(choices, " ") + ")";
    for (const std::string& spelling : Spellings(*option)) {
      lines += fmt::format("        '*{}[{}]{}' \\\n", spelling, ZshText(option->get_description()), value);
    }
  }
  return lines;
}

std::string ZshCompletion(const CLI::App& app) {
  std::string described, cases;
  for (const CLI::App* command : Commands(app)) {
    described += fmt::format("    '{}:{}'\n", command->get_name(), ZshText(command->get_description()));
    cases += fmt::format("    {})\n      _arguments \\\n{}{}        '*:file:_files'\n      ;;\n", command->get_name(),
                         ZshOptions(*command), ZshOptions(app));
  }
  return "#compdef farscale\n"
         "_farscale() {\n"
         "  local -a commands\n"
         "  commands=(\n" + described + "  )\n"
         "  if (( CURRENT == 2 )); then\n"
         "    _describe command commands\n"
         "    return\n"
         "  fi\n"
         "  local command=$words[2]\n"
         "  shift words\n"
         "  (( CURRENT-- ))\n"
         "  case $command in\n" + cases + "  esac\n"
         "}\n"
         "_farscale \"$@\"\n";
}

std::string FishOptions(const CLI::App& app, const std::string& condition) {
  std::string lines;
  for (const CLI::Option* option : Options(app)) {
    if (IsPositional(*option)) continue;
    std::string names;
    for (const std::string& name : option->get_snames()) names += " -s " + name;
    for (const std::string& name : option->get_lnames()) names += " -l " + name;
    const std::vector<std::string> choices = Choices(*option);
    const std::string value = !TakesValue(*option) ? ""
                              : choices.empty()    ? " -r"
                                                   : " -x -a '" + Join(choices, " ") + "'";
    lines += fmt::format("complete -c farscale{}{}{} -d '{}'\n", condition, names, value, Quoted(option->get_description()));
  }
  return lines;
}

std::string FishCompletion(const CLI::App& app) {
  std::string text = "# fish completion of farscale\n" + FishOptions(app, "");
  for (const CLI::App* command : Commands(app)) {
    text += fmt::format("complete -c farscale -n __fish_use_subcommand -a {} -d '{}'\n", command->get_name(),
                        Quoted(command->get_description()));
  }
  for (const CLI::App* command : Commands(app)) {
    text += FishOptions(*command, fmt::format(" -n '__fish_seen_subcommand_from {}'", command->get_name()));
  }
  return text;
}

std::string Completion(const CLI::App& app, const std::string& shell) {
  return shell == "bash" ? BashCompletion(app) : shell == "zsh" ? ZshCompletion(app) : FishCompletion(app);
}

}  // namespace

void AddCompletionCommand(CLI::App& app, const Common&, CommandResult& action) {
  auto shell = std::make_shared<std::string>();
  CLI::App* completion = app.add_subcommand("completion", "Print the completion script of a shell");
  completion->add_option("shell", *shell, "The shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  completion->footer("For one session of bash: source <(farscale completion bash)");
  completion->callback([shell, &app, &action] {
    action = [shell, &app] {
      fmt::print("{}", Completion(app, *shell));
      return 0;
    };
  });
}

}  // namespace farscale
