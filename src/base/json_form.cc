#include "base/json_form.h"

#include <fmt/format.h>

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

namespace {

template <typename Integer>
Integer ReadInteger(const OrderedJson& json, const JsonPlace& at) {
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

}  // namespace

template <typename T>
Form<T> fields_internal::PlainForm() {
  static constexpr bool kIsText = std::is_same_v<T, std::string>, kIsTruth = std::is_same_v<T, bool>;
  static constexpr bool kIsInteger = std::is_integral_v<T> && !kIsTruth;
  static constexpr const char* kType = kIsText ? "string" : kIsTruth ? "boolean" : kIsInteger ? "integer" : "number";
  return MakeForm<T>([](const T& value, const JsonPlace&) { return OrderedJson(value); },
                     [](const OrderedJson& json, T& value, const JsonPlace& at) {
                       if constexpr (kIsInteger) {
                         value = ReadInteger<T>(json, at);
                       } else {
                         if (kIsText && !json.is_string()) at.Fail("is not a text");
                         if (kIsTruth && !json.is_boolean()) at.Fail("is neither true nor false");
                         if (!kIsText && !kIsTruth && !json.is_number()) at.Fail("is not a number");
                         value = json.get<T>();
                       }
                     },
                     [](SchemaDefinitions&) {
                       OrderedJson schema = {{"type", kType}};
                       if (kIsInteger && std::is_unsigned_v<T>) schema["minimum"] = 0;
                       return schema;
                     });
}
template Form<bool> fields_internal::PlainForm<bool>();
template Form<double> fields_internal::PlainForm<double>();
template Form<std::string> fields_internal::PlainForm<std::string>();
template Form<std::int32_t> fields_internal::PlainForm<std::int32_t>();
template Form<std::int64_t> fields_internal::PlainForm<std::int64_t>();
template Form<std::uint64_t> fields_internal::PlainForm<std::uint64_t>();

template <>
Form<std::vector<bool>> FormOf<std::vector<bool>>() {
  return MakeForm<std::vector<bool>>(
      [](const std::vector<bool>& list, const JsonPlace&) { return OrderedJson(list); },
      [](const OrderedJson& json, std::vector<bool>& list, const JsonPlace& at) {
        if (!json.is_array()) at.Fail("is not a list");
        for (std::size_t i = 0; i < json.size(); ++i) {
          bool one = false;
          fields_internal::PlainForm<bool>()->read(json[i], &one, JsonPlace(at, i));
          list.push_back(one);
        }
      },
      [](SchemaDefinitions& definitions) {
        return OrderedJson{{"type", "array"}, {"items", fields_internal::PlainForm<bool>()->schema(definitions)}};
      });
}

Form<std::string> OneOf(std::vector<std::string> texts) {
  return MakeForm<std::string>([](const std::string& text, const JsonPlace&) { return OrderedJson(text); },
                               [texts](const OrderedJson& json, std::string& text, const JsonPlace& at) {
                                 if (!json.is_string()) at.Fail("is not a text");
                                 text = json.get<std::string>();
                                 if (std::ranges::find(texts, text) != texts.end()) return;
                                 at.Fail(fmt::format("is '{}', but must be one of {}", text, Join(texts, ", ")),
                                         DidYouMean(text, texts));
                               },
                               [texts](SchemaDefinitions&) {
                                 return OrderedJson{{"enum", texts}};
                               });
}

std::shared_ptr<const JsonForm> Named(const std::string& definition, const std::string& text,
                                      const std::shared_ptr<const JsonForm>& form) {
  JsonForm named = *form;
  named.schema = [=](SchemaDefinitions& definitions) {
    return fields_internal::Reference(definition, definitions, [&] {
      OrderedJson schema = form->schema(definitions);
      if (!text.empty()) schema["description"] = text;
      return schema;
    });
  };
  return std::make_shared<JsonForm>(std::move(named));
}

namespace fields_internal {

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

OrderedJson OrNull(OrderedJson schema) {
  if (schema.contains("type") && schema["type"].is_string()) {
    schema["type"] = {schema["type"], "null"};
    return schema;
  }
  return {{"anyOf", OrderedJson::array({std::move(schema), {{"type", "null"}}})}};
}

OrderedJson ParseJson(const std::string& text, const std::string& file) {
  try {
    return OrderedJson::parse(text);
  } catch (const OrderedJson::exception& error) {
    throw Error(ErrorKind::kInput, file, std::string("is not valid JSON: ") + error.what());
  }
}

void RequireKnownKey(const std::string& key, const std::vector<std::string>& known, const JsonPlace& at) {
  if (std::ranges::find(known, key) != known.end()) return;
  at.Fail("has the unknown key '" + key + "'", DidYouMean(key, known));
}

namespace {

OrderedJson ElementSchema(const JsonForm& form, SchemaDefinitions& definitions) {
  return form.is_optional ? OrNull(form.schema(definitions)) : form.schema(definitions);
}

}  // namespace

std::shared_ptr<JsonForm> NewForm(std::function<OrderedJson(const void*, const JsonPlace&)> write,
                                  std::function<void(const OrderedJson&, void*, const JsonPlace&)> read,
                                  std::function<OrderedJson(SchemaDefinitions&)> schema) {
  return std::make_shared<JsonForm>(JsonForm{std::move(write), std::move(read), std::move(schema)});
}

std::shared_ptr<JsonForm> ListForm(std::shared_ptr<const JsonForm> element,
                                   const void* (*at)(const void* list, std::size_t i), void* (*append)(void* list)) {
  return NewForm(
      [=](const void* list, const JsonPlace& place) {
        OrderedJson json = OrderedJson::array();
        while (const void* one = at(list, json.size()))
          json.push_back(element->write(one, JsonPlace(place, json.size())));
        return json;
      },
      [=](const OrderedJson& json, void* list, const JsonPlace& place) {
        if (!json.is_array()) place.Fail("is not a list");
        for (std::size_t i = 0; i < json.size(); ++i) element->read(json[i], append(list), JsonPlace(place, i));
      },
      [=](SchemaDefinitions& definitions) {
        return OrderedJson{{"type", "array"}, {"items", ElementSchema(*element, definitions)}};
      });
}

std::shared_ptr<JsonForm> OptionalForm(const std::shared_ptr<const JsonForm>& inner,
                                       const void* (*value)(const void* optional),
                                       void* (*set)(void* optional, bool is_there)) {
  const auto form = NewForm(
      [=](const void* optional, const JsonPlace& at) {
        const void* one = value(optional);
        return one == nullptr ? OrderedJson(nullptr) : inner->write(one, at);
      },
      [=](const OrderedJson& json, void* optional, const JsonPlace& at) {
        if (void* one = set(optional, !json.is_null())) inner->read(json, one, at);
      },
      inner->schema);
  form->is_optional = true;
  return form;
}

OrderedJson PairSchema(const JsonForm& first, const JsonForm& second, SchemaDefinitions& definitions) {
  OrderedJson items = OrderedJson::array();
  for (const JsonForm* one : {&first, &second}) items.push_back(ElementSchema(*one, definitions));
  return {{"type", "array"}, {"prefixItems", std::move(items)}, {"minItems", 2}, {"maxItems", 2}};
}

OrderedJson DictionarySchema(const std::vector<std::string>& keys, OrderedJson element) {
  OrderedJson schema = {{"type", "object"}};
  if (!keys.empty()) schema["propertyNames"] = {{"enum", keys}};
  schema["additionalProperties"] = std::move(element);
  return schema;
}

}  // namespace fields_internal
}  // namespace farscale
