// JSON forms of values: forms of numbers, texts, lists and what is made of them. Descriptions of structs
// (base/fields.h) put them together.
#pragma once

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace farscale {

using OrderedJson = nlohmann::ordered_json;

// Where a value is in a file: keys and indices from the root, and the objects around it.
class JsonPlace {
 public:
  explicit JsonPlace(std::string_view file) : key_(file) {}
  JsonPlace(const JsonPlace& parent, std::string_view key) : parent_(&parent), key_(key) {}
  JsonPlace(const JsonPlace& parent, std::size_t index) : parent_(&parent), index_(index) {}
  JsonPlace(const JsonPlace& parent, const void* object, const void* type)
      : parent_(&parent), object_(object), type_(type) {}

  std::string Path() const;  // "runs[2].phases[0].begin"; empty for the root
  const std::string_view& File() const { return parent_ == nullptr ? key_ : parent_->File(); }
  // Throws an input error: the file, the path and what is wrong there, "is missing".
  [[noreturn]] void Fail(const std::string& what, const std::string& advice = "") const;

  // The nearest struct of a type that contains this. Of one that is being read, the fields described before this one
  // are there. Only for values that are always inside such a struct.
  template <typename T>
  const T& Within() const {
    return *static_cast<const T*>(Find(&kTypeId<T>));
  }

  template <typename T>
  static constexpr char kTypeId = 0;

 private:
  const void* Find(const void* type) const { return type_ == type ? object_ : parent_->Find(type); }

  const JsonPlace* parent_ = nullptr;
  std::string_view key_;
  std::size_t index_ = 0;
  const void* object_ = nullptr;  // set for the struct itself, which adds nothing to the path
  const void* type_ = nullptr;
};

// Definitions that the schema of one file collects.
struct SchemaDefinitions {
  std::string home;  // "factors", of docs/schema/factors.schema.json
  OrderedJson definitions = OrderedJson::object();
};

// The JSON form of the values of one C++ type. `value` points to such a value.
class JsonForm {
 public:
  virtual ~JsonForm() = default;
  virtual OrderedJson Write(const void* value, const JsonPlace& at) const = 0;
  virtual void Read(const OrderedJson& json, void* value, const JsonPlace& at) const = 0;
  virtual OrderedJson Schema(SchemaDefinitions& definitions) const = 0;
  virtual bool IsOptional() const { return false; }
  virtual bool IsUnset(const void*) const { return false; }
};

template <typename T>
using Form = std::shared_ptr<const JsonForm>;

// An object with keys that are values themselves, in the order of the file.
template <typename T>
using Dictionary = std::vector<std::pair<std::string, T>>;

// A text that is one of these.
Form<std::string> OneOf(std::vector<std::string> texts);

namespace fields_internal {

// Functions of a type are plain pointers: of function objects every type would compile its own copies.
Form<bool> BoolForm();
Form<double> NumberForm();
Form<std::string> TextForm();
std::shared_ptr<const JsonForm> IntegerForm(std::size_t bytes, bool is_signed);
// Access to a vector<T>, of whose elements these are.
struct ListAccess {
  std::size_t (*size)(const void*);
  const void* (*at)(const void*, std::size_t);
  void* (*add)(void*);
};
std::shared_ptr<const JsonForm> ListForm(std::shared_ptr<const JsonForm> element, ListAccess access);
struct DictionaryAccess {
  std::size_t (*size)(const void*);
  std::pair<const std::string*, const void*> (*at)(const void*, std::size_t);
  void* (*add)(void*, const std::string&);
};
std::shared_ptr<const JsonForm> DictionaryForm(std::shared_ptr<const JsonForm> element, DictionaryAccess access,
                                               std::vector<std::string> keys);
struct OptionalAccess {
  const void* (*get)(const void*);  // nullptr: unset
  void* (*set)(void*);
  void (*reset)(void*);
};
std::shared_ptr<const JsonForm> OptionalForm(std::shared_ptr<const JsonForm> inner, OptionalAccess access);
// Enumerators as whole numbers, with their names.
struct EnumAccess {
  std::int64_t (*get)(const void*);
  void (*set)(void*, std::int64_t);
};
std::shared_ptr<const JsonForm> EnumForm(std::vector<std::pair<std::int64_t, std::string>> names, EnumAccess access);
std::shared_ptr<const JsonForm> EitherForm(std::string key, std::shared_ptr<const JsonForm> with,
                                           std::shared_ptr<const JsonForm> without,
                                           std::function<bool(const void*)> has_key);
struct PairAccess {
  void* (*first)(void*);
  void* (*second)(void*);
};
std::shared_ptr<const JsonForm> PairForm(std::shared_ptr<const JsonForm> first, std::shared_ptr<const JsonForm> second,
                                         PairAccess access);
std::shared_ptr<const JsonForm> NamedForm(std::string definition, std::string text,
                                          std::shared_ptr<const JsonForm> form);
// A reference to what a file defines, which is added to the definitions of that file; without a name the schema itself.
OrderedJson Reference(const std::string& definition, SchemaDefinitions& definitions,
                      const std::function<OrderedJson()>& schema);
// Besides what the schema of a value says, null.
OrderedJson OrNull(OrderedJson schema);
OrderedJson ParseJson(const std::string& text, const std::string& file);

}  // namespace fields_internal

// A checksum of what JSON says, which shows that a file was damaged or changed; no protection against intent. A
// template alone, so that what is preloaded into programs can use it.

inline constexpr const char* kChecksumKey = "checksum";

namespace checksum_internal {

// FNV-1a of 64 bits: texts of one length that differ in one byte never have the same.
struct Hash {
  std::uint64_t value = 14695981039346656037U;

  void Add(std::string_view bytes) {
    for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
};

template <typename Json>
std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Numbers as doubles, since other programs write 1.0 as 1; those that are not finite stand in files as null.
template <typename Json>
void Add(const Json& json, Hash& hash, std::string_view left_out = {}) {
  if (json.is_object()) {
    std::vector<const typename Json::object_t::value_type*> members;
    for (const auto& member : json.template get_ref<const typename Json::object_t&>()) {
      if (left_out.empty() || member.first != left_out) members.push_back(&member);
    }
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    hash.Add("{");
    for (const auto* member : members) {
      hash.Add(TextOf(Json(member->first)));
      Add(member->second, hash);
    }
    hash.Add("}");
  } else if (json.is_array()) {
    hash.Add("[");
    for (const Json& one : json) Add(one, hash);
    hash.Add("]");
  } else if (json.is_number() && std::isfinite(json.template get<double>())) {
    const double number = json.template get<double>() + 0.0;  // -0 becomes 0
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    hash.Add("#");
    hash.Add({bytes, sizeof bytes});
  } else {
    hash.Add(json.is_number() ? "null" : TextOf(json));
  }
}

}  // namespace checksum_internal

// The checksum of an object of nlohmann-json without its member "checksum", as 16 hexadecimal digits. White space, the
// order of keys and how numbers are written do not matter.
template <typename Json>
std::string ChecksumOf(const Json& json) {
  checksum_internal::Hash hash;
  checksum_internal::Add(json, hash, kChecksumKey);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value));
  return text;
}

}  // namespace farscale
