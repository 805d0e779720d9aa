// Configuration files (TOML): typed access with file and line in every error, and no key passes unread.
// The only place that knows the TOML library; studies, models and presets are read through it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace farscale {

// A table of a configuration file, optionally with a second table behind it that answers for keys it lacks (a
// preset). Reading a key marks it as known; RefuseUnknownKeys() then rejects what is left.
class ConfigTable {
 public:
  // Throws a usage error with file and line when `text` is not TOML.
  static ConfigTable Parse(const std::string& text, const std::string& file);

  // The same table with `preset` answering for missing keys, also inside nested tables.
  ConfigTable WithFallback(const ConfigTable& preset) const;

  bool Has(const std::string& key) const;
  std::vector<std::string> Keys() const;  // in alphabetical order, own keys and the fallback's

  // Each returns nothing when the key is absent and throws a usage error when it has another type.
  std::optional<std::string> String(const std::string& key) const;
  std::optional<double> Number(const std::string& key) const;
  std::optional<std::int64_t> Integer(const std::string& key) const;
  std::optional<bool> Bool(const std::string& key) const;
  std::optional<std::vector<std::string>> Strings(const std::string& key) const;  // a single string counts as one
  std::optional<std::vector<double>> Numbers(const std::string& key) const;
  std::optional<std::vector<std::int64_t>> Integers(const std::string& key) const;
  // Lists of integers; a single one counts as one. None where the key is absent.
  std::vector<std::vector<std::int64_t>> IntegerLists(const std::string& key) const;
  std::optional<ConfigTable> Table(const std::string& key) const;
  std::vector<ConfigTable> Tables(const std::string& key) const;  // an array of tables; empty when absent
  bool IsTable(const std::string& key) const;
  bool IsBool(const std::string& key) const;
  bool IsString(const std::string& key) const;

  std::string RequiredString(const std::string& key) const { return Required(String(key), key); }
  double RequiredNumber(const std::string& key) const { return Required(Number(key), key); }

  // "study.toml:12", of the key, or of the table itself when the key is absent or empty.
  std::string Where(const std::string& key = "") const;
  // A usage error about a key of this table.
  [[noreturn]] void Fail(const std::string& key, const std::string& what, const std::string& advice = "") const;
  // Throws a usage error naming the first key nobody asked for, with the nearest known one.
  void RefuseUnknownKeys() const;

 private:
  struct Node;
  explicit ConfigTable(std::shared_ptr<const Node> node) : node_(std::move(node)) {}
  template <typename Value>
  Value Required(const std::optional<Value>& value, const std::string& key) const {
    if (!value) Fail("", "'" + key + "' is missing");
    return *value;
  }
  // These look into the fallback where a key is absent.
  template <typename Value>
  std::optional<Value> Scalar(const std::string& key, const char* expected) const;
  template <typename Value>
  std::optional<std::vector<Value>> List(const std::string& key, const char* expected) const;

  std::shared_ptr<const Node> node_;
};

}  // namespace farscale
