// JSON forms of C++ types: forms of numbers, texts and what is made of them. Descriptions of structs (base/fields.h)
// put them together.
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
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace farscale {

using OrderedJson = nlohmann::ordered_json;

// The position of a value in a file: keys and indices from the root, and the objects around it.
class JsonPlace {
 public:
  explicit JsonPlace(std::string_view file) : key_(file) {}
  JsonPlace(const JsonPlace& parent, std::string_view key) : parent_(&parent), key_(key) {}
  JsonPlace(const JsonPlace& parent, std::size_t index) : parent_(&parent), index_(index) {}
  JsonPlace(const JsonPlace& parent, const void* object, const void* type)
      : parent_(&parent), object_(object), type_(type) {}

  std::string Path() const;  // "runs[2].phases[0].begin"; empty for the root
  const std::string_view& File() const { return parent_ == nullptr ? key_ : parent_->File(); }
  // Throws an input error with the file, the path and the problem: "is missing".
  [[noreturn]] void Fail(const std::string& what, const std::string& advice = "") const;

  // The nearest struct of a type that contains this. While it is being read, it has the fields described before this
  // one. Only for values that are always inside such a struct.
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

// The definitions in the schema of one file.
struct SchemaDefinitions {
  std::string home;  // "factors", of docs/schema/factors.schema.json
  OrderedJson definitions = OrderedJson::object();
};

// The JSON form of the values of one C++ type. `value` points to such a value.
struct JsonForm {
  std::function<OrderedJson(const void* value, const JsonPlace&)> write;
  std::function<void(const OrderedJson&, void* value, const JsonPlace&)> read;
  std::function<OrderedJson(SchemaDefinitions&)> schema;
  bool is_optional = false;  // null: there is no value, and structs leave the field out
};

template <typename T>
using Form = std::shared_ptr<const JsonForm>;

// The form of T: of numbers, texts, truth values, enumerations, described structs, and optionals, pairs and vectors of
// these (base/fields.h). Specialised for other types.
template <typename T>
Form<T> FormOf();
template <>
Form<std::vector<bool>> FormOf<std::vector<bool>>();  // its elements have no address

// A text that is one of these.
Form<std::string> OneOf(std::vector<std::string> texts);

// A form that schemas define once, as "losses/byKind". Its fields take no limits.
std::shared_ptr<const JsonForm> Named(const std::string& definition, const std::string& text,
                                      const std::shared_ptr<const JsonForm>& form);

// An object whose keys are data, in the order of the file.
template <typename T>
using Dictionary = std::vector<std::pair<std::string, T>>;

namespace fields_internal {

// Forms of any type are made by few functions, so that a description takes little code.
std::shared_ptr<JsonForm> NewForm(std::function<OrderedJson(const void*, const JsonPlace&)> write,
                                  std::function<void(const OrderedJson&, void*, const JsonPlace&)> read,
                                  std::function<OrderedJson(SchemaDefinitions&)> schema);
// `at`: element i of a list, null behind the last. `append`: makes one more.
std::shared_ptr<JsonForm> ListForm(std::shared_ptr<const JsonForm> element,
                                   const void* (*at)(const void* list, std::size_t i), void* (*append)(void* list));
// `value`: null where there is none. `set`: makes one, or none.
std::shared_ptr<JsonForm> OptionalForm(const std::shared_ptr<const JsonForm>& inner,
                                       const void* (*value)(const void* optional),
                                       void* (*set)(void* optional, bool is_there));
// The form of a truth value, a text, or a number: double, or an integer of 32 or 64 bits.
template <typename T>
Form<T> PlainForm();
// A reference to a definition, which is added to those of its file; without a name the schema itself.
OrderedJson Reference(const std::string& definition, SchemaDefinitions& definitions,
                      const std::function<OrderedJson()>& schema);
// The schema of null or a value.
OrderedJson OrNull(OrderedJson schema);
OrderedJson ParseJson(const std::string& text, const std::string& file);
void RequireKnownKey(const std::string& key, const std::vector<std::string>& known, const JsonPlace& at);
// Schemas of two values, and of an object with such values.
OrderedJson PairSchema(const JsonForm& first, const JsonForm& second, SchemaDefinitions& definitions);
OrderedJson DictionarySchema(const std::vector<std::string>& keys, OrderedJson element);

// Calls a function with or without the place.
template <typename F, typename... Values>
decltype(auto) Call(const F& function, const JsonPlace& at, Values&&... values) {
  if constexpr (std::is_invocable_v<F, Values..., const JsonPlace&>) {
    return function(std::forward<Values>(values)..., at);
  } else {
    return function(std::forward<Values>(values)...);
  }
}

}  // namespace fields_internal

// A form made of `write(const T&, place)`, `read(json, T&, place)` and `schema(definitions)`.
template <typename T, typename Write, typename Read, typename Schema>
std::shared_ptr<JsonForm> MakeForm(Write write, Read read, Schema schema) {
  return fields_internal::NewForm(
      [write](const void* value, const JsonPlace& at) { return write(*static_cast<const T*>(value), at); },
      [read](const OrderedJson& json, void* value, const JsonPlace& at) { read(json, *static_cast<T*>(value), at); },
      std::move(schema));
}

template <typename T>
Form<std::vector<T>> ListOf(Form<T> element) {
  using List = std::vector<T>;
  return fields_internal::ListForm(
      std::move(element),
      [](const void* list, std::size_t i) -> const void* {
        const List& elements = *static_cast<const List*>(list);
        return i < elements.size() ? &elements[i] : nullptr;
      },
      [](void* list) -> void* { return &static_cast<List*>(list)->emplace_back(); });
}

// A dictionary with these keys only; empty: any.
template <typename T>
Form<Dictionary<T>> Keyed(std::vector<std::string> keys, Form<T> element = FormOf<T>()) {
  return MakeForm<Dictionary<T>>(
      [element](const Dictionary<T>& list, const JsonPlace& at) {
        OrderedJson json = OrderedJson::object();
        for (const auto& [key, one] : list) json[key] = element->write(&one, JsonPlace(at, key));
        return json;
      },
      [element, keys](const OrderedJson& json, Dictionary<T>& list, const JsonPlace& at) {
        if (!json.is_object()) at.Fail("is not an object");
        for (const auto& [key, one] : json.items()) {
          if (!keys.empty()) fields_internal::RequireKnownKey(key, keys, at);
          element->read(one, &list.emplace_back(key, T{}).second, JsonPlace(at, key));
        }
      },
      [element, keys](SchemaDefinitions& definitions) {
        return fields_internal::DictionarySchema(keys, element->schema(definitions));
      });
}

template <typename T>
Form<std::optional<T>> OptionalOf(Form<T> inner) {
  using Optional = std::optional<T>;
  return fields_internal::OptionalForm(
      inner,
      [](const void* optional) -> const void* {
        const Optional& value = *static_cast<const Optional*>(optional);
        return value ? &*value : nullptr;
      },
      [](void* optional, bool is_there) -> void* {
        Optional& value = *static_cast<Optional*>(optional);
        value.reset();
        return is_there ? &value.emplace() : nullptr;
      });
}

template <typename A, typename B>
Form<std::pair<A, B>> PairForm(Form<A> first, Form<B> second) {
  using Pair = std::pair<A, B>;
  return MakeForm<Pair>(
      [first, second](const Pair& pair, const JsonPlace& at) {
        return OrderedJson::array(
            {first->write(&pair.first, JsonPlace(at, 0)), second->write(&pair.second, JsonPlace(at, 1))});
      },
      [first, second](const OrderedJson& json, Pair& pair, const JsonPlace& at) {
        if (!json.is_array() || json.size() != 2) at.Fail("is not a list of two");
        first->read(json[0], &pair.first, JsonPlace(at, 0));
        second->read(json[1], &pair.second, JsonPlace(at, 1));
      },
      [first, second](SchemaDefinitions& definitions) {
        return fields_internal::PairSchema(*first, *second, definitions);
      });
}

// The checksum of JSON shows that a file was damaged or changed; it is no protection against intent. It is a template
// alone, so that the libraries preloaded into programs can use it.

inline constexpr const char* kChecksumKey = "checksum";

namespace checksum_internal {

// FNV-1a of 64 bits: texts of the same length that differ in one byte never have the same hash.
inline void Add(std::string_view bytes, std::uint64_t& hash) {
  for (const char byte : bytes) hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211U;
}

// Numbers count as doubles, since other programs write 1.0 as 1; files have null for those that are not finite.
template <typename Json>
void AddJson(const Json& json, std::uint64_t& hash, std::string_view left_out = {}) {
  const auto text = [](const Json& one) { return one.dump(-1, ' ', false, Json::error_handler_t::replace); };
  if (json.is_object()) {
    std::vector<const typename Json::object_t::value_type*> members;
    for (const auto& member : json.template get_ref<const typename Json::object_t&>()) {
      if (left_out.empty() || member.first != left_out) members.push_back(&member);
    }
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    Add("{", hash);
    for (const auto* member : members) {
      Add(text(Json(member->first)), hash);
      AddJson(member->second, hash);
    }
    Add("}", hash);
  } else if (json.is_array()) {
    Add("[", hash);
    for (const Json& one : json) AddJson(one, hash);
    Add("]", hash);
  } else if (json.is_number() && std::isfinite(json.template get<double>())) {
    const double number = json.template get<double>() + 0.0;  // -0 becomes 0
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    Add("#", hash);
    Add({bytes, sizeof bytes}, hash);
  } else {
    Add(json.is_number() ? "null" : text(json), hash);
  }
}

}  // namespace checksum_internal

// The checksum of an object of nlohmann-json without its member "checksum", as 16 hexadecimal digits. White space, the
// order of keys and the notation of numbers do not matter.
template <typename Json>
std::string ChecksumOf(const Json& json) {
  std::uint64_t hash = 14695981039346656037U;
  checksum_internal::AddJson(json, hash, kChecksumKey);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  return text;
}

}  // namespace farscale
