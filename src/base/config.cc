#include "base/config.h"

#define TOML_HEADER_ONLY 0
#include <toml++/toml.h>

#include <algorithm>
#include <set>

#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {

struct ConfigTable::Node {
  std::shared_ptr<const toml::table> document;  // keeps the nodes alive
  const toml::table* table = nullptr;
  std::string file;
  std::optional<ConfigTable> fallback;
  mutable std::set<std::string> known;  // keys that were asked for

  const toml::node* Find(const std::string& key) const {
    known.insert(key);
    return table->get(key);
  }
  template <bool (toml::node::*is)() const noexcept>
  bool Is(const std::string& key) const {
    const toml::node* found = Find(key);
    return found != nullptr ? (found->*is)() : fallback && fallback->node_->template Is<is>(key);
  }
  // A table inside of it, without a fallback.
  std::shared_ptr<Node> Inside(const toml::node& inner) const {
    return std::make_shared<Node>(Node{document, inner.as_table(), file, std::nullopt, {}});
  }
};

namespace {

const char* TypeName(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table: return "a table";
    case toml::node_type::array: return "a list";
    case toml::node_type::string: return "a text";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a number";
    case toml::node_type::boolean: return "true or false";
    default: return "a date or time";
  }
}

template <typename Value>
std::optional<Value> ValueOf(const toml::node& node) {
  if constexpr (std::is_same_v<Value, double>) {
    if (const auto whole = node.value_exact<std::int64_t>()) return static_cast<double>(*whole);
  }
  return node.value_exact<Value>();
}

}  // namespace

ConfigTable ConfigTable::Parse(const std::string& text, const std::string& file) {
  auto node = std::make_shared<Node>();
  try {
    node->document = std::make_shared<const toml::table>(toml::parse(text, file));
  } catch (const toml::parse_error& error) {
    throw Error(ErrorKind::kUsage, file + ":" + std::to_string(error.source().begin.line),
                "is not valid TOML: " + std::string(error.description()));
  }
  node->table = node->document.get();
  node->file = file;
  return ConfigTable(node);
}

ConfigTable ConfigTable::WithFallback(const ConfigTable& preset) const {
  auto node = std::make_shared<Node>(*node_);
  node->fallback = preset;
  return ConfigTable(node);
}

bool ConfigTable::Has(const std::string& key) const {
  return node_->Find(key) != nullptr || (node_->fallback && node_->fallback->Has(key));
}

std::vector<std::string> ConfigTable::Keys() const {
  std::set<std::string> keys;
  for (const auto& [key, value] : *node_->table) keys.insert(std::string(key.str()));
  if (node_->fallback) {
    for (const std::string& key : node_->fallback->Keys()) keys.insert(key);
  }
  return {keys.begin(), keys.end()};
}

template <typename Value>
std::optional<Value> ConfigTable::Scalar(const std::string& key, const char* expected) const {
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return node_->fallback ? node_->fallback->Scalar<Value>(key, expected) : std::nullopt;
  const std::optional<Value> value = ValueOf<Value>(*node);
  if (!value) Fail(key, "'" + key + "' must be " + expected + ", not " + TypeName(*node));
  return value;
}

std::optional<std::string> ConfigTable::String(const std::string& key) const {
  return Scalar<std::string>(key, "a text in quotes");
}

std::optional<double> ConfigTable::Number(const std::string& key) const { return Scalar<double>(key, "a number"); }

std::optional<std::int64_t> ConfigTable::Integer(const std::string& key) const {
  return Scalar<std::int64_t>(key, "an integer");
}

std::optional<bool> ConfigTable::Bool(const std::string& key) const { return Scalar<bool>(key, "true or false"); }

template <typename Value>
std::optional<std::vector<Value>> ConfigTable::List(const std::string& key, const char* expected) const {
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return node_->fallback ? node_->fallback->List<Value>(key, expected) : std::nullopt;
  if (const std::optional<Value> single = ValueOf<Value>(*node)) return std::vector<Value>{*single};
  const toml::array* array = node->as_array();
  if (array == nullptr) Fail(key, "'" + key + "' must be a list of " + expected + ", not " + TypeName(*node));
  std::vector<Value> values;
  for (const toml::node& element : *array) {
    const std::optional<Value> value = ValueOf<Value>(element);
    if (!value) Fail(key, "'" + key + "' must be a list of " + expected + ", but contains " + TypeName(element));
    values.push_back(*value);
  }
  return values;
}

std::optional<std::vector<std::string>> ConfigTable::Strings(const std::string& key) const {
  return List<std::string>(key, "texts");
}

std::optional<std::vector<double>> ConfigTable::Numbers(const std::string& key) const {
  return List<double>(key, "numbers");
}

std::optional<std::vector<std::int64_t>> ConfigTable::Integers(const std::string& key) const {
  return List<std::int64_t>(key, "integers");
}

std::vector<std::vector<std::int64_t>> ConfigTable::IntegerLists(const std::string& key) const {
  const toml::node* node = node_->Find(key);
  if (node == nullptr && node_->fallback) return node_->fallback->IntegerLists(key);
  if (node == nullptr) return {};
  const toml::array* lists = node->as_array();
  if (lists == nullptr || lists->empty() || !lists->front().is_array()) return {*Integers(key)};
  std::vector<std::vector<std::int64_t>> all;
  for (const toml::node& list : *lists) {
    std::vector<std::int64_t>& values = all.emplace_back();
    const toml::array* array = list.as_array();
    if (array == nullptr) Fail(key, "'" + key + "' must be a list of lists, but contains " + TypeName(list));
    for (const toml::node& element : *array) {
      const std::optional<std::int64_t> value = ValueOf<std::int64_t>(element);
      if (!value) Fail(key, "'" + key + "' must contain lists of integers, not of " + TypeName(element));
      values.push_back(*value);
    }
  }
  return all;
}

bool ConfigTable::IsBool(const std::string& key) const { return node_->Is<&toml::node::is_boolean>(key); }
bool ConfigTable::IsTable(const std::string& key) const { return node_->Is<&toml::node::is_table>(key); }
bool ConfigTable::IsString(const std::string& key) const { return node_->Is<&toml::node::is_string>(key); }

std::optional<ConfigTable> ConfigTable::Table(const std::string& key) const {
  const toml::node* node = node_->Find(key);
  std::optional<ConfigTable> behind = node_->fallback ? node_->fallback->Table(key) : std::nullopt;
  if (node == nullptr) return behind;
  if (!node->is_table()) Fail(key, "'" + key + "' must be a table, not " + TypeName(*node));
  const auto child = node_->Inside(*node);
  child->fallback = behind;
  return ConfigTable(child);
}

std::vector<ConfigTable> ConfigTable::Tables(const std::string& key) const {
  const toml::node* node = node_->Find(key);
  if (node == nullptr) return node_->fallback ? node_->fallback->Tables(key) : std::vector<ConfigTable>();
  const toml::array* array = node->as_array();
  if (array == nullptr || !std::all_of(array->begin(), array->end(), [](const auto& e) { return e.is_table(); })) {
    Fail(key, "'" + key + "' must be a list of tables, written [[" + key + "]]");
  }
  std::vector<ConfigTable> tables;
  for (const toml::node& element : *array) tables.push_back(ConfigTable(node_->Inside(element)));
  return tables;
}

std::string ConfigTable::Where(const std::string& key) const {
  const toml::node* node = key.empty() ? nullptr : node_->table->get(key);
  if (node == nullptr && !key.empty() && node_->fallback && node_->fallback->Has(key)) {
    return node_->fallback->Where(key);
  }
  const toml::source_region& source = node != nullptr ? node->source() : node_->table->source();
  if (source.begin.line == 0) return node_->file;
  return node_->file + ":" + std::to_string(source.begin.line);
}

void ConfigTable::Fail(const std::string& key, const std::string& what, const std::string& advice) const {
  throw Error(ErrorKind::kUsage, Where(key), what, advice);
}

void ConfigTable::RefuseUnknownKeys() const {
  for (const auto& [key, value] : *node_->table) {
    const std::string name(key.str());
    if (node_->known.count(name) > 0) continue;
    const std::vector<std::string> known(node_->known.begin(), node_->known.end());
    std::string advice = DidYouMean(name, known);
    if (advice.empty()) advice = "known here: " + Join(known, ", ");
    Fail(name, "unknown key '" + name + "'", advice);
  }
  if (node_->fallback) {
    for (const std::string& key : node_->known) node_->fallback->node_->known.insert(key);
    node_->fallback->RefuseUnknownKeys();
  }
}

}  // namespace farscale
