#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "base/files.h"

namespace farscale {

FieldData::FieldData() = default;
FieldData::FieldData(const FieldData&) = default;
FieldData::FieldData(FieldData&&) noexcept = default;
FieldData& FieldData::operator=(const FieldData&) = default;
FieldData& FieldData::operator=(FieldData&&) noexcept = default;
FieldData::~FieldData() = default;

namespace fields_internal {

std::vector<FieldData> OneField(std::string key, std::shared_ptr<const JsonForm> form, const char* text,
                                std::function<const void*(const void*)> member) {
  std::vector<FieldData> all(1);
  all[0].key = std::move(key);
  all[0].form = std::move(form);
  all[0].text = text;
  if (!member) member = [](const void* object) { return object; };
  all[0].member = std::move(member);
  return all;
}

std::vector<FieldData> FieldOfMember(std::string_view function, std::shared_ptr<const JsonForm> (*form)(),
                                     const char* text, const void* (*member)(const void*)) {
  return OneField(KeyOfMember(function), form(), text, member);
}

std::vector<FieldData> FieldsInside(const std::function<const void*(const void*)>& member,
                                    std::vector<FieldData> fields, Presence presence) {
  for (FieldData& field : fields) {
    if (field.presence == Presence::kRequired) field.presence = presence;
    field.member = [member, inner = field.member](const void* object) { return inner(member(object)); };
    if (field.when) field.when = [member, when = field.when](const void* object) { return when(member(object)); };
  }
  return fields;
}

std::string KeyOfMember(std::string_view function) {
  function.remove_prefix(function.find("member = ") + 9);
  function = function.substr(0, function.find_first_of(";,]"));
  function.remove_prefix(function.rfind(':') + 1);
  std::string key;
  bool starts_word = false;
  for (const char c : function) {
    if (c != '_') key += starts_word ? static_cast<char>(std::toupper(c)) : c;
    starts_word = c == '_';
  }
  return key;
}

namespace {

void CheckLimits(const OrderedJson& json, const FieldData& limits, const JsonPlace& at) {
  if (json.is_number()) {
    const double number = json.get<double>();
    const auto require = [&](bool holds, const char* relation, double bound) {
      if (!holds) at.Fail(fmt::format("is {:g}, but must be {} {:g}", number, relation, bound));
    };
    if (limits.minimum) require(number >= *limits.minimum, "at least", *limits.minimum);
    if (limits.above) require(number > *limits.above, "more than", *limits.above);
    if (limits.maximum) require(number <= *limits.maximum, "at most", *limits.maximum);
    if (limits.below) require(number < *limits.below, "less than", *limits.below);
  } else if (json.is_string()) {
    if (json.get_ref<const std::string&>().size() < limits.least_length) at.Fail("is empty");
  } else if (json.is_array()) {
    if (json.size() < limits.least_items) at.Fail("is empty");
    std::size_t i = 0;
    for (const OrderedJson& one : json) CheckLimits(one, limits, JsonPlace(at, i++));
  } else if (json.is_object()) {
    for (const auto& [key, one] : json.items()) CheckLimits(one, limits, JsonPlace(at, key));
  }
}

// Whole numbers without a fraction, as people write schemas.
OrderedJson BoundInSchema(double bound) {
  if (bound == std::floor(bound)) return static_cast<std::int64_t>(bound);
  return bound;
}

void AddLimits(const FieldData& limits, OrderedJson& schema, bool is_in_list = false) {
  if (limits.least_items > 0 && !is_in_list) schema["minItems"] = limits.least_items;
  if (schema.contains("items")) return AddLimits(limits, schema["items"], true);
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object()) {
    return AddLimits(limits, schema["additionalProperties"], is_in_list);
  }
  if (limits.minimum) schema["minimum"] = BoundInSchema(*limits.minimum);
  if (limits.above) {
    schema.erase("minimum");
    schema["exclusiveMinimum"] = BoundInSchema(*limits.above);
  }
  if (limits.maximum) schema["maximum"] = BoundInSchema(*limits.maximum);
  if (limits.below) schema["exclusiveMaximum"] = BoundInSchema(*limits.below);
  if (limits.least_length > 0) schema["minLength"] = limits.least_length;
  if (limits.schema.is_object()) schema.update(limits.schema);
}

// Not of a file that is part of another, which has one.
bool HasChecksum(const StructData& data, const JsonPlace& at) { return data.has_checksum && at.Path().empty(); }

bool IsRequired(const FieldData& field) {
  return (field.presence == Presence::kRequired || field.presence == Presence::kLater) && !field.when &&
         (field.is_null_when_unset || !field.form->is_optional);
}

OrderedJson Write(const StructData& data, const void* value, const JsonPlace& at) {
  const JsonPlace here(at, value, data.type);
  OrderedJson json = OrderedJson::object();
  if (!data.format.empty()) {
    json["format"] = data.format;
    json["version"] = data.version;
    if (data.has_generator) json["generator"] = Generator();
    if (HasChecksum(data, at)) json[kChecksumKey] = "";  // keeps its place
  }
  for (const FieldData& field : data.fields) {
    if (field.when && !field.when(value)) continue;
    OrderedJson one = field.form->write(field.member(value), JsonPlace(here, field.key));
    const bool may_be_null = field.is_null_when_unset && !field.is_computed;
    if (field.form->is_optional && one.is_null() && !may_be_null) continue;
    if (field.presence == Presence::kUnlessDefault && one == field.default_value) continue;
    json[field.key] = std::move(one);
  }
  if (HasChecksum(data, at)) json[kChecksumKey] = ChecksumOf(json);
  return json;
}

int ReadHeader(const StructData& data, const OrderedJson& json, const JsonPlace& at) {
  const auto format = json.find("format");
  if (format == json.end() || *format != data.format) at.Fail(fmt::format("is not a {} of farscale", data.noun));
  const auto found = json.find("version");
  if (found == json.end()) JsonPlace(at, "version").Fail("is missing");
  if (!found->is_number_integer()) JsonPlace(at, "version").Fail("is not a whole number");
  const auto version = found->get<std::int64_t>();
  if (version >= data.oldest_version && version <= data.version) return static_cast<int>(version);
  const std::string known = data.oldest_version == data.version
                                ? std::to_string(data.version)
                                : fmt::format("{} to {}", data.oldest_version, data.version);
  at.Fail(fmt::format("has version {} of the {}, this program reads {}", version, data.noun, known));
}

void Read(const StructData& data, const OrderedJson& json, void* value, const JsonPlace& at) {
  if (!json.is_object()) at.Fail(data.format.empty() ? "is not an object" : "is not a " + data.noun);
  const JsonPlace here(at, value, data.type);
  const int version = data.format.empty() ? 0 : ReadHeader(data, json, here);
  for (const FieldData& field : data.fields) {
    const JsonPlace place(here, field.key);
    const auto found = json.find(field.key);
    if (found == json.end()) {
      const bool is_required = field.when
                                   ? field.is_required_when && field.when(value)
                                   : IsRequired(field) && field.presence == Presence::kRequired && !field.is_computed;
      if (is_required) place.Fail("is missing");
      continue;
    }
    field.form->read(*found, const_cast<void*>(field.member(value)), place);
    CheckLimits(*found, field, place);
  }
  std::vector<std::string> known;
  if (!data.format.empty()) known = {"format", "version", "generator"};
  if (data.has_checksum) known.emplace_back(kChecksumKey);
  for (const FieldData& field : data.fields) known.push_back(field.key);
  for (const auto& [key, one] : json.items()) {
    if (std::ranges::find(data.obsolete, key) == data.obsolete.end()) RequireKnownKey(key, known, here);
  }
  if (data.after) data.after(value, version, here);
}

OrderedJson Schema(const StructData& data, SchemaDefinitions& definitions) {
  OrderedJson required = OrderedJson::array(), properties = OrderedJson::object();
  if (!data.format.empty()) {
    required = {"format", "version"};
    properties["format"] = {{"const", data.format}};
    OrderedJson& version = properties["version"];
    if (data.oldest_version == data.version) {
      version["const"] = data.version;
    } else {
      for (int i = data.oldest_version; i <= data.version; ++i) version["enum"].push_back(i);
    }
    if (!data.version_text.empty()) version["description"] = data.version_text;
    if (data.has_generator) properties["generator"] = {{"type", "string"}};
    if (data.has_checksum) {
      constexpr const char* kText = "Of everything else: reading warns where it does not fit. Absent: not checked";
      properties[kChecksumKey] = {{"type", "string"}, {"description", kText}};
    }
  }
  for (const FieldData& field : data.fields) {
    OrderedJson schema = field.form->schema(definitions);
    AddLimits(field, schema);
    if (field.is_null_when_unset) schema = OrNull(std::move(schema));
    if (!field.text.empty()) schema["description"] = field.text;
    properties[field.key] = std::move(schema);
    if (IsRequired(field)) required.push_back(field.key);
  }
  OrderedJson schema = {{"type", "object"}};
  if (!data.text.empty()) schema["description"] = data.text;
  if (!required.empty()) schema["required"] = std::move(required);
  schema["properties"] = std::move(properties);
  schema["additionalProperties"] = false;
  if (data.more_schema.is_object()) schema.update(data.more_schema);
  return schema;
}

}  // namespace

std::shared_ptr<const JsonForm> StructForm(StructData data) {
  const auto shared = std::make_shared<const StructData>(std::move(data));
  return std::make_shared<JsonForm>(
      JsonForm{[shared](const void* value, const JsonPlace& at) { return Write(*shared, value, at); },
               [shared](const OrderedJson& json, void* value, const JsonPlace& at) { Read(*shared, json, value, at); },
               [shared](SchemaDefinitions& definitions) {
                 return Reference(shared->definition, definitions, [&] { return Schema(*shared, definitions); });
               }});
}

OrderedJson FileSchema(const StructData& data, const std::string& title) {
  SchemaDefinitions definitions{data.definition};
  OrderedJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                        {"$id", data.definition + ".schema.json"},
                        {"title", title}};
  schema.update(Schema(data, definitions));
  if (!definitions.definitions.empty()) schema["$defs"] = definitions.definitions;
  return schema;
}

}  // namespace fields_internal

bool FitsChecksum(const OrderedJson& json) {
  if (!json.is_object()) return true;
  const auto found = json.find(kChecksumKey);
  return found == json.end() || *found == ChecksumOf(json);
}

}  // namespace farscale
