#include "base/json_form.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/diagnostics.h"
#include "base/text.h"

namespace farscale {

std::string JsonPlace::Path() const {
  if (parent_ == nullptr) return "";
  const std::string before = parent_->Path();
  if (type_ != nullptr) return before;
  if (key_.data() == nullptr) return fmt::format("{}[{}]", before, index_);
  return before.empty() ? std::string(key_) : fmt::format("{}.{}", before, key_);
}

void JsonPlace::Fail(const std::string& what, const std::string& advice) const {
  const std::string path = Path();
  throw Error(ErrorKind::kInput, std::string(File()), path.empty() ? what : path + " " + what, advice);
}

namespace fields_internal {

OrderedJson OrNull(OrderedJson schema) {
  if (schema.contains("type") && schema["type"].is_string()) {
    schema["type"] = {schema["type"], "null"};
    return schema;
  }
  OrderedJson both = OrderedJson::array();
  both.push_back(std::move(schema));
  both.push_back({{"type", "null"}});
  return {{"anyOf", both}};
}

OrderedJson Reference(const std::string& definition, SchemaDefinitions& definitions,
                      const std::function<OrderedJson()>& schema) {
  if (definition.empty()) return schema();
  const std::size_t slash = definition.find('/');
  const std::string home = definition.substr(0, slash);
  if (slash == std::string::npos) return {{"$ref", home + ".schema.json"}};
  const std::string name = definition.substr(slash + 1);
  if (home == definitions.home && !definitions.definitions.contains(name)) {
    definitions.definitions[name] = nullptr;  // keeps its place before what it uses
    OrderedJson own = schema();
    definitions.definitions[name] = std::move(own);
  }
  return {{"$ref", fmt::format("{}.schema.json#/$defs/{}", home, name)}};
}

namespace {

class BoolValue : public JsonForm {
 public:
  OrderedJson Write(const void* value, const JsonPlace&) const override { return *static_cast<const bool*>(value); }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_boolean()) at.Fail("is neither true nor false");
    *static_cast<bool*>(value) = json.get<bool>();
  }
  OrderedJson Schema(SchemaDefinitions&) const override { return {{"type", "boolean"}}; }
};

class NumberValue : public JsonForm {
 public:
  OrderedJson Write(const void* value, const JsonPlace&) const override { return *static_cast<const double*>(value); }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_number()) at.Fail("is not a number");
    *static_cast<double*>(value) = json.get<double>();
  }
  OrderedJson Schema(SchemaDefinitions&) const override { return {{"type", "number"}}; }
};

class TextValue : public JsonForm {
 public:
  OrderedJson Write(const void* value, const JsonPlace&) const override {
    return *static_cast<const std::string*>(value);
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_string()) at.Fail("is not a text");
    *static_cast<std::string*>(value) = json.get<std::string>();
  }
  OrderedJson Schema(SchemaDefinitions&) const override { return {{"type", "string"}}; }
};

template <typename Integer>
class IntegerValue : public JsonForm {
 public:
  OrderedJson Write(const void* value, const JsonPlace&) const override { return *static_cast<const Integer*>(value); }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    *static_cast<Integer*>(value) = ValueOf(json, at);
  }
  OrderedJson Schema(SchemaDefinitions&) const override {
    OrderedJson schema = {{"type", "integer"}};
    if (std::is_unsigned_v<Integer>) schema["minimum"] = 0;
    return schema;
  }

 private:
  static Integer ValueOf(const OrderedJson& json, const JsonPlace& at) {
    using Limits = std::numeric_limits<Integer>;
    if (json.is_number_unsigned()) {
      const auto number = json.get<std::uint64_t>();
      if (number <= static_cast<std::uint64_t>(Limits::max())) return static_cast<Integer>(number);
    } else if (json.is_number_integer()) {
      const auto number = json.get<std::int64_t>();
      if (std::is_signed_v<Integer> && number >= static_cast<std::int64_t>(Limits::min())) {
        return static_cast<Integer>(number);
      }
    } else if (json.is_number_float()) {
      const double number = json.get<double>();
      if (number != std::floor(number)) at.Fail(fmt::format("is {}, which is not a whole number", number));
      // The largest value itself is no double, the power of two above it is.
      if (number >= static_cast<double>(Limits::min()) && number < std::ldexp(1.0, Limits::digits)) {
        return static_cast<Integer>(number);
      }
    } else {
      at.Fail("is not a whole number");
    }
    at.Fail(fmt::format("is {}, which is out of range", json.dump()));
  }
};

class List : public JsonForm {
 public:
  List(std::shared_ptr<const JsonForm> element, ListAccess access) : element_(std::move(element)), access_(access) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    OrderedJson list = OrderedJson::array();
    const std::size_t size = access_.size(value);
    for (std::size_t i = 0; i < size; ++i) list.push_back(element_->Write(access_.at(value, i), JsonPlace(at, i)));
    return list;
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_array()) at.Fail("is not a list");
    std::size_t i = 0;
    for (const OrderedJson& one : json) element_->Read(one, access_.add(value), JsonPlace(at, i++));
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    OrderedJson items = element_->Schema(definitions);
    return {{"type", "array"}, {"items", element_->IsOptional() ? OrNull(std::move(items)) : std::move(items)}};
  }

 private:
  std::shared_ptr<const JsonForm> element_;
  ListAccess access_;
};

class Pair : public JsonForm {
 public:
  Pair(std::shared_ptr<const JsonForm> first, std::shared_ptr<const JsonForm> second, PairAccess access)
      : first_(std::move(first)), second_(std::move(second)), access_(access) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    void* pair = const_cast<void*>(value);  // reads only
    return OrderedJson::array(
        {first_->Write(access_.first(pair), JsonPlace(at, 0)), second_->Write(access_.second(pair), JsonPlace(at, 1))});
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_array() || json.size() != 2) at.Fail("is not a list of two");
    first_->Read(json[0], access_.first(value), JsonPlace(at, 0));
    second_->Read(json[1], access_.second(value), JsonPlace(at, 1));
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    OrderedJson schema = {{"type", "array"}, {"prefixItems", OrderedJson::array()}, {"minItems", 2}, {"maxItems", 2}};
    for (const JsonForm* one : {first_.get(), second_.get()}) {
      OrderedJson part = one->Schema(definitions);
      schema["prefixItems"].push_back(one->IsOptional() ? OrNull(std::move(part)) : std::move(part));
    }
    return schema;
  }

 private:
  std::shared_ptr<const JsonForm> first_, second_;
  PairAccess access_;
};

class Dictionaries : public JsonForm {
 public:
  Dictionaries(std::shared_ptr<const JsonForm> element, DictionaryAccess access, std::vector<std::string> keys)
      : element_(std::move(element)), access_(access), keys_(std::move(keys)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    OrderedJson json = OrderedJson::object();
    const std::size_t size = access_.size(value);
    for (std::size_t i = 0; i < size; ++i) {
      const auto& [key, one] = access_.at(value, i);
      json[*key] = element_->Write(one, JsonPlace(at, *key));
    }
    return json;
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_object()) at.Fail("is not an object");
    for (const auto& [key, one] : json.items()) {
      if (!keys_.empty() && std::ranges::find(keys_, key) == keys_.end()) {
        at.Fail("has the unknown key '" + key + "'", DidYouMean(key, keys_));
      }
      element_->Read(one, access_.add(value, key), JsonPlace(at, key));
    }
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    OrderedJson schema = {{"type", "object"}};
    if (!keys_.empty()) schema["propertyNames"] = {{"enum", keys_}};
    schema["additionalProperties"] = element_->Schema(definitions);
    return schema;
  }

 private:
  std::shared_ptr<const JsonForm> element_;
  DictionaryAccess access_;
  std::vector<std::string> keys_;
};

class OptionalValue : public JsonForm {
 public:
  OptionalValue(std::shared_ptr<const JsonForm> inner, OptionalAccess access)
      : inner_(std::move(inner)), access_(access) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    const void* inner = access_.get(value);
    return inner == nullptr ? OrderedJson(nullptr) : inner_->Write(inner, at);
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (json.is_null()) return access_.reset(value);
    inner_->Read(json, access_.set(value), at);
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override { return inner_->Schema(definitions); }
  bool IsOptional() const override { return true; }
  bool IsUnset(const void* value) const override { return access_.get(value) == nullptr; }

 private:
  std::shared_ptr<const JsonForm> inner_;
  OptionalAccess access_;
};

// Which of the names the JSON is.
std::size_t IndexOf(const OrderedJson& json, const std::vector<std::string>& names, const JsonPlace& at) {
  if (!json.is_string()) at.Fail("is not a text");
  const auto name = json.get<std::string>();
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) {
    at.Fail(fmt::format("is '{}', but must be one of {}", name, Join(names, ", ")), DidYouMean(name, names));
  }
  return static_cast<std::size_t>(found - names.begin());
}

class EnumValue : public JsonForm {
 public:
  EnumValue(std::vector<std::pair<std::int64_t, std::string>> names, EnumAccess access) : access_(access) {
    for (auto& [value, name] : names) {
      values_.push_back(value);
      names_.push_back(std::move(name));
    }
  }

  OrderedJson Write(const void* value, const JsonPlace&) const override {
    return names_[static_cast<std::size_t>(std::ranges::find(values_, access_.get(value)) - values_.begin())];
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    access_.set(value, values_[IndexOf(json, names_, at)]);
  }
  OrderedJson Schema(SchemaDefinitions&) const override { return {{"enum", names_}}; }

 private:
  EnumAccess access_;
  std::vector<std::int64_t> values_;
  std::vector<std::string> names_;
};

class OneOfTexts : public JsonForm {
 public:
  explicit OneOfTexts(std::vector<std::string> texts) : texts_(std::move(texts)) {}

  OrderedJson Write(const void* value, const JsonPlace&) const override {
    return *static_cast<const std::string*>(value);
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    *static_cast<std::string*>(value) = texts_[IndexOf(json, texts_, at)];
  }
  OrderedJson Schema(SchemaDefinitions&) const override { return {{"enum", texts_}}; }

 private:
  std::vector<std::string> texts_;
};

class NamedValue : public JsonForm {
 public:
  NamedValue(std::string definition, std::string text, std::shared_ptr<const JsonForm> form)
      : definition_(std::move(definition)), text_(std::move(text)), form_(std::move(form)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override { return form_->Write(value, at); }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override { form_->Read(json, value, at); }
  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    return Reference(definition_, definitions, [&] {
      OrderedJson schema = form_->Schema(definitions);
      if (!text_.empty()) schema["description"] = text_;
      return schema;
    });
  }
  bool IsOptional() const override { return form_->IsOptional(); }
  bool IsUnset(const void* value) const override { return form_->IsUnset(value); }

 private:
  std::string definition_, text_;
  std::shared_ptr<const JsonForm> form_;
};

class EitherValue : public JsonForm {
 public:
  EitherValue(std::string key, std::shared_ptr<const JsonForm> with, std::shared_ptr<const JsonForm> without,
              std::function<bool(const void*)> has_key)
      : key_(std::move(key)), with_(std::move(with)), without_(std::move(without)), has_key_(std::move(has_key)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    return (has_key_(value) ? with_ : without_)->Write(value, at);
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    (json.is_object() && json.contains(key_) ? with_ : without_)->Read(json, value, at);
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    OrderedJson both = OrderedJson::array();
    both.push_back(without_->Schema(definitions));
    both.push_back(with_->Schema(definitions));
    return {{"anyOf", both}};
  }

 private:
  std::string key_;
  std::shared_ptr<const JsonForm> with_, without_;
  std::function<bool(const void*)> has_key_;
};

}  // namespace

Form<bool> BoolForm() { return std::make_shared<BoolValue>(); }
Form<double> NumberForm() { return std::make_shared<NumberValue>(); }
Form<std::string> TextForm() { return std::make_shared<TextValue>(); }

std::shared_ptr<const JsonForm> IntegerForm(std::size_t bytes, bool is_signed) {
  if (bytes == 4 && is_signed) return std::make_shared<IntegerValue<std::int32_t>>();
  if (bytes == 8 && is_signed) return std::make_shared<IntegerValue<std::int64_t>>();
  return std::make_shared<IntegerValue<std::uint64_t>>();
}

std::shared_ptr<const JsonForm> ListForm(std::shared_ptr<const JsonForm> element, ListAccess access) {
  return std::make_shared<List>(std::move(element), access);
}

std::shared_ptr<const JsonForm> DictionaryForm(std::shared_ptr<const JsonForm> element, DictionaryAccess access,
                                               std::vector<std::string> keys) {
  return std::make_shared<Dictionaries>(std::move(element), access, std::move(keys));
}

std::shared_ptr<const JsonForm> OptionalForm(std::shared_ptr<const JsonForm> inner, OptionalAccess access) {
  return std::make_shared<OptionalValue>(std::move(inner), access);
}

std::shared_ptr<const JsonForm> EnumForm(std::vector<std::pair<std::int64_t, std::string>> names, EnumAccess access) {
  return std::make_shared<EnumValue>(std::move(names), access);
}

std::shared_ptr<const JsonForm> EitherForm(std::string key, std::shared_ptr<const JsonForm> with,
                                           std::shared_ptr<const JsonForm> without,
                                           std::function<bool(const void*)> has_key) {
  return std::make_shared<EitherValue>(std::move(key), std::move(with), std::move(without), std::move(has_key));
}

std::shared_ptr<const JsonForm> PairForm(std::shared_ptr<const JsonForm> first, std::shared_ptr<const JsonForm> second,
                                         PairAccess access) {
  return std::make_shared<Pair>(std::move(first), std::move(second), access);
}

std::shared_ptr<const JsonForm> NamedForm(std::string definition, std::string text,
                                          std::shared_ptr<const JsonForm> form) {
  return std::make_shared<NamedValue>(std::move(definition), std::move(text), std::move(form));
}

OrderedJson ParseJson(const std::string& text, const std::string& file) {
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is not valid JSON: ") + error.what());
  }
}

}  // namespace fields_internal

Form<std::string> OneOf(std::vector<std::string> texts) {
  return std::make_shared<fields_internal::OneOfTexts>(std::move(texts));
}

}  // namespace farscale
