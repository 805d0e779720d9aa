#include "base/fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/diagnostics.h"
#include "base/json_form.h"
#include "base/text.h"
#include "base/version.h"

namespace farscale {

FieldData::FieldData() = default;
FieldData::FieldData(const FieldData&) = default;
FieldData::FieldData(FieldData&&) noexcept = default;
FieldData& FieldData::operator=(const FieldData&) = default;
FieldData& FieldData::operator=(FieldData&&) noexcept = default;
FieldData::~FieldData() = default;

StructData::StructData() = default;
StructData::StructData(const StructData&) = default;
StructData::StructData(StructData&&) noexcept = default;
StructData& StructData::operator=(const StructData&) = default;
StructData& StructData::operator=(StructData&&) noexcept = default;
StructData::~StructData() = default;

namespace fields_internal {

FieldData FieldOf(const char* key, std::ptrdiff_t offset, std::shared_ptr<const JsonForm> form, const char* text) {
  FieldData data;
  data.key = key;
  data.text = text;
  data.form = std::move(form);
  data.offset = offset;
  return data;
}

FieldsPart::FieldsPart(FieldData field) { fields.push_back(std::move(field)); }
FieldsPart::FieldsPart(std::vector<FieldData> several) : fields(std::move(several)) {}
FieldsPart::FieldsPart(const FieldsPart&) = default;
FieldsPart::~FieldsPart() = default;

void AddFields(const FieldsPart& part, StructData& data) {
  data.fields.insert(data.fields.end(), part.fields.begin(), part.fields.end());
}

std::vector<FieldData> FieldsInside(std::ptrdiff_t offset, std::vector<FieldData> fields, Presence presence) {
  for (FieldData& field : fields) {
    if (field.presence == Presence::kRequired) field.presence = presence;
    field.offset += offset;
    field.when_offset += offset;
  }
  return fields;
}

void SetDefault(const void* standard, FieldData& field) {
  field.presence = Presence::kUnlessDefault;
  field.default_value = field.form->Write(static_cast<const char*>(standard) + field.offset, JsonPlace(""));
}

namespace {

void CheckLimits(const OrderedJson& json, const FieldLimits& limits, const JsonPlace& at) {
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

void AddLimits(const FieldLimits& limits, OrderedJson& schema) {
  if (limits.least_items > 0) schema["minItems"] = limits.least_items;
  if (schema.contains("items")) {
    FieldLimits of_items = limits;
    of_items.least_items = 0;
    return AddLimits(of_items, schema["items"]);
  }
  if (schema.contains("additionalProperties") && schema["additionalProperties"].is_object()) {
    return AddLimits(limits, schema["additionalProperties"]);
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

class Struct : public JsonForm {
 public:
  explicit Struct(StructData data) : data_(std::move(data)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    const JsonPlace here(at, value, data_.type);
    OrderedJson json = OrderedJson::object();
    if (!data_.format.empty()) {
      json["format"] = data_.format;
      json["version"] = data_.version;
      if (data_.has_generator) json["generator"] = Generator();
      if (HasChecksum(at)) json[kChecksumKey] = "";  // keeps its place
    }
    for (const FieldData& field : data_.fields) {
      if (!IsThere(field, value)) continue;
      const void* member = static_cast<const char*>(value) + field.offset;
      if (field.form->IsUnset(member) && !field.is_null_when_unset) continue;
      OrderedJson one = field.form->Write(member, JsonPlace(here, field.key));
      if (field.is_computed && field.form->IsOptional() && one.is_null()) continue;
      if (field.presence == Presence::kUnlessDefault && one == field.default_value) continue;
      json[field.key] = std::move(one);
    }
    if (HasChecksum(at)) json[kChecksumKey] = ChecksumOf(json);
    return json;
  }

  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    if (!json.is_object()) at.Fail(data_.format.empty() ? "is not an object" : "is not a " + data_.noun);
    const JsonPlace here(at, value, data_.type);
    const int version = data_.format.empty() ? 0 : ReadHeader(json, here);
    for (const FieldData& field : data_.fields) {
      const JsonPlace place(here, field.key);
      const auto found = json.find(field.key);
      if (found == json.end()) {
        const bool is_required = field.when
                                     ? field.is_required_when && IsThere(field, value)
                                     : IsRequired(field) && field.presence == Presence::kRequired && !field.is_computed;
        if (is_required) place.Fail("is missing");
        continue;
      }
      field.form->Read(*found, static_cast<char*>(value) + field.offset, place);
      CheckLimits(*found, field.limits, place);
    }
    RefuseUnknownKeys(json, here);
    if (data_.after) data_.after(value, version, here);
  }

  OrderedJson Schema(SchemaDefinitions& definitions) const override {
    return Reference(data_.definition, definitions, [&] { return OwnSchema(definitions); });
  }

  OrderedJson OwnSchema(SchemaDefinitions& definitions) const {
    OrderedJson required = OrderedJson::array(), properties = OrderedJson::object();
    if (!data_.format.empty()) {
      required = {"format", "version"};
      properties["format"] = {{"const", data_.format}};
      OrderedJson& version = properties["version"];
      if (data_.oldest_version == data_.version) {
        version["const"] = data_.version;
      } else {
        for (int i = data_.oldest_version; i <= data_.version; ++i) version["enum"].push_back(i);
      }
      if (!data_.version_text.empty()) version["description"] = data_.version_text;
      if (data_.has_generator) properties["generator"] = {{"type", "string"}};
      if (data_.has_checksum) {
        properties[kChecksumKey] = {{"type", "string"},
                                    {"description",
                                     "Of everything else: reading warns where it does not fit. Absent: "
                                     "not checked"}};
      }
    }
    for (const FieldData& field : data_.fields) {
      OrderedJson schema = field.form->Schema(definitions);
      AddLimits(field.limits, schema);
      if (field.is_null_when_unset) schema = OrNull(std::move(schema));
      if (!field.text.empty()) schema["description"] = field.text;
      properties[field.key] = std::move(schema);
      if (IsRequired(field)) required.push_back(field.key);
    }
    OrderedJson schema = {{"type", "object"}};
    if (!data_.text.empty()) schema["description"] = data_.text;
    if (!required.empty()) schema["required"] = std::move(required);
    schema["properties"] = std::move(properties);
    schema["additionalProperties"] = false;
    if (data_.more_schema.is_object()) schema.update(data_.more_schema);
    return schema;
  }

  const std::string& definition() const { return data_.definition; }

 private:
  // Not of a file that is part of another, which has one.
  bool HasChecksum(const JsonPlace& at) const { return data_.has_checksum && at.Path().empty(); }

  static bool IsThere(const FieldData& field, const void* value) {
    return !field.when || field.when(static_cast<const char*>(value) + field.when_offset);
  }

  static bool IsRequired(const FieldData& field) {
    return (field.presence == Presence::kRequired || field.presence == Presence::kLater) && !field.when &&
           (field.is_null_when_unset || !field.form->IsOptional());
  }

  int ReadHeader(const OrderedJson& json, const JsonPlace& at) const {
    const auto format = json.find("format");
    if (format == json.end() || *format != data_.format) at.Fail(fmt::format("is not a {} of farscale", data_.noun));
    const auto found = json.find("version");
    if (found == json.end()) JsonPlace(at, "version").Fail("is missing");
    if (!found->is_number_integer()) JsonPlace(at, "version").Fail("is not a whole number");
    const auto version = found->get<std::int64_t>();
    if (version >= data_.oldest_version && version <= data_.version) return static_cast<int>(version);
    const std::string known = data_.oldest_version == data_.version
                                  ? std::to_string(data_.version)
                                  : fmt::format("{} to {}", data_.oldest_version, data_.version);
    at.Fail(fmt::format("has version {} of the {}, this program reads {}", version, data_.noun, known));
  }

  void RefuseUnknownKeys(const OrderedJson& json, const JsonPlace& at) const {
    std::vector<std::string> known;
    if (!data_.format.empty()) known = {"format", "version", "generator"};
    if (data_.has_checksum) known.emplace_back(kChecksumKey);
    for (const FieldData& field : data_.fields) known.push_back(field.key);
    for (const auto& [key, value] : json.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      if (std::ranges::find(data_.obsolete, key) != data_.obsolete.end()) continue;
      at.Fail("has the unknown key '" + key + "'", DidYouMean(key, known));
    }
  }

  StructData data_;
};

}  // namespace

std::shared_ptr<const JsonForm> StructForm(StructData data) { return std::make_shared<Struct>(std::move(data)); }

OrderedJson FileSchema(const JsonForm& form, const std::string& title) {
  const auto& file = dynamic_cast<const Struct&>(form);
  SchemaDefinitions definitions{file.definition()};
  OrderedJson schema = {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                        {"$id", file.definition() + ".schema.json"},
                        {"title", title}};
  schema.update(file.OwnSchema(definitions));
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
