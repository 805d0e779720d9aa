// The fields of a struct in a JSON file, described once: the description is its writer, its reader and its JSON Schema.
//
//   Fields<DataPoint> FieldsOf(Described<DataPoint>) {
//     return {"projection/point", "A measured value", {
//         Property<&DataPoint::cores>("Of the run").Above(0),
//         Properties<&DataPoint::value, &DataPoint::standard_error>(),  // "value" and "standardError"
//         Field("loss", &DataPoint::lost_share)}};
//   }
//
// Optionals without a value are left out. Enumerations need NamesOf, structs FieldsOf, and other types a FormOf of
// their own, mostly made with Via and declared before it is used. Readers refuse unknown keys, wrong types,
// missing fields and numbers out of bounds, and name the path: "runs[2].phases[0].begin is missing". Rules that concern
// several fields are checked in After.
#pragma once

#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_form.h"

namespace farscale {

template <typename T>
struct Fields;

// Chooses the description of a type among the overloads of FieldsOf and NamesOf.
template <typename T>
struct Described {};

// Overloaded for every struct that is described: Fields<T> FieldsOf(Described<T>).
template <typename T>
Fields<T> FieldsOf() {
  return FieldsOf(Described<T>());
}

// Overloaded for every enumeration in files: its values with their names.
template <typename T>
std::vector<std::pair<T, std::string>> NamesOf() {
  return NamesOf(Described<T>());
}

enum class Presence {
  kRequired,      // always written, except for optionals without a value; must be there
  kLater,         // always written, and the schema requires it, but files of earlier versions lack it
  kOrMissing,     // always written, need not be there
  kUnlessDefault  // written when it differs from a struct's default
};

// A field of any struct.
struct FieldData {
  FieldData();
  FieldData(const FieldData&);
  FieldData(FieldData&&) noexcept;
  FieldData& operator=(const FieldData&);
  FieldData& operator=(FieldData&&) noexcept;
  ~FieldData();

  std::string key;
  std::string text;  // description in the schema
  std::shared_ptr<const JsonForm> form;
  std::function<const void*(const void*)> member;  // the form's value
  bool is_computed = false;                        // from the struct: reading checks it, and forgets it
  std::function<bool(const void*)> when;           // takes the struct; null: always
  Presence presence = Presence::kRequired;
  bool is_null_when_unset = false;
  bool is_required_when = false;                         // `when` holds
  OrderedJson default_value;                             // for kUnlessDefault
  std::optional<double> minimum, above, maximum, below;  // bounds of numbers, also in lists and dictionaries
  std::size_t least_length = 0;                          // for texts
  std::size_t least_items = 0;                           // for lists
  OrderedJson schema;  // rules only for the schema: the pattern of a text that readers parse anyway
};

struct StructData {
  std::string definition;  // "factors/row" or, of a file, "factors"; empty: nothing refers to it
  std::string text;
  std::vector<FieldData> fields;
  std::vector<std::string> obsolete;  // keys of earlier versions, which are ignored
  // The head of a file: "farscale-factors", the versions that are read, and its name in messages: "factor table".
  std::string format, noun, version_text;
  int version = 0, oldest_version = 0;
  bool has_generator = true;
  bool has_checksum = false;
  OrderedJson more_schema;
  std::function<void(void*, int version, const JsonPlace&)> after;
  const void* type = nullptr;
};

namespace fields_internal {

std::shared_ptr<const JsonForm> StructForm(StructData data);
// `member`: the value of the form in the struct; without one the struct itself.
std::vector<FieldData> OneField(std::string key, std::shared_ptr<const JsonForm> form, const char* text,
                                std::function<const void*(const void*)> member = nullptr);
// `function`: a name that KeyOfMember reads.
std::vector<FieldData> FieldOfMember(std::string_view function, std::shared_ptr<const JsonForm> (*form)(),
                                     const char* text, const void* (*member)(const void*));
OrderedJson FileSchema(const StructData& data, const std::string& title);
// Fields of a struct as those of another that holds it.
std::vector<FieldData> FieldsInside(const std::function<const void*(const void*)>& member,
                                    std::vector<FieldData> fields, Presence presence);

// "… member = &DataPoint::standard_error]", as GCC and Clang name a template, -> "standardError"
std::string KeyOfMember(std::string_view function);

template <auto member>
struct MemberType;
template <typename T, typename M, M T::*member>
struct MemberType<member> {
  using Struct = T;
  using Value = M;
  static const void* Get(const void* object) { return &(static_cast<const T*>(object)->*member); }
  static std::string_view Function() { return __PRETTY_FUNCTION__; }
};

template <typename T, template <typename...> typename Template>
inline constexpr bool kIsA = false;
template <typename... Types, template <typename...> typename Template>
inline constexpr bool kIsA<Template<Types...>, Template> = true;
template <typename T>
inline constexpr bool kIsDictionary = false;
template <typename T>
inline constexpr bool kIsDictionary<Dictionary<T>> = true;

}  // namespace fields_internal

// One or several fields of a struct.
template <typename T>
class Field {
 public:
  template <typename M>
  Field(const char* key, M T::*member, const char* text = "") : Field(key, member, FormOf<M>(), text) {}
  template <typename M>
  Field(const char* key, M T::*member, Form<M> form, const char* text = "")
      : all_(fields_internal::OneField(key, std::move(form), text, [member](const void* object) -> const void* {
          return &(static_cast<const T*>(object)->*member);
        })) {}
  // A field made of several members: its form reads and writes the whole struct.
  Field(const char* key, Form<T> form, const char* text = "")
      : all_(fields_internal::OneField(key, std::move(form), text)) {}
  explicit Field(std::vector<FieldData> all) : all_(std::move(all)) {}

  Field&& AtLeast(double value) && { return Set(&FieldData::minimum, value); }
  Field&& Above(double value) && { return Set(&FieldData::above, value); }
  Field&& AtMost(double value) && { return Set(&FieldData::maximum, value); }
  Field&& Below(double value) && { return Set(&FieldData::below, value); }
  Field&& NotEmpty() && { return Set(&FieldData::least_length, std::size_t{1}); }
  Field&& LeastItems(std::size_t count) && { return Set(&FieldData::least_items, count); }
  Field&& Schema(const char* json) && { return Set(&FieldData::schema, fields_internal::ParseJson(json, "schema")); }
  Field&& Later() && { return Set(&FieldData::presence, Presence::kLater); }
  Field&& OrMissing() && { return Set(&FieldData::presence, Presence::kOrMissing); }
  // Null instead of nothing for optionals without a value.
  Field&& OrNull() && { return Set(&FieldData::is_null_when_unset, true); }
  Field&& Computed() && { return Set(&FieldData::is_computed, true); }
  Field&& UnlessDefault() && {
    const T standard{};
    for (FieldData& data : all_) data.default_value = data.form->write(data.member(&standard), JsonPlace(""));
    return Set(&FieldData::presence, Presence::kUnlessDefault);
  }
  // Written where the condition, of a T, holds; required there, too, or read where it is there. The condition may ask
  // for fields described before this one.
  template <typename C>
  Field&& RequiredWhen(C condition) && {
    Set(&FieldData::is_required_when, true);
    return std::move(*this).When(std::move(condition));
  }
  template <typename C>
  Field&& When(C condition) && {
    Set(&FieldData::presence, Presence::kOrMissing);
    return Set(&FieldData::when, [condition](const void* object) { return condition(*static_cast<const T*>(object)); });
  }

  const std::vector<FieldData>& all() const { return all_; }

 private:
  template <typename A, typename B>
  Field&& Set(A FieldData::*property, const B& value) {
    for (FieldData& data : all_) data.*property = value;
    return std::move(*this);
  }
  std::vector<FieldData> all_;
};

// A member under its own name: "standardError" for standard_error.
template <auto member, typename Type = fields_internal::MemberType<member>>
Field<typename Type::Struct> Property(Form<typename Type::Value> form, const char* text = "") {
  return Field<typename Type::Struct>(
      fields_internal::OneField(fields_internal::KeyOfMember(Type::Function()), std::move(form), text, &Type::Get));
}
template <auto member, typename Type = fields_internal::MemberType<member>>
Field<typename Type::Struct> Property(const char* text = "") {
  return Field<typename Type::Struct>(
      fields_internal::FieldOfMember(Type::Function(), &FormOf<typename Type::Value>, text, &Type::Get));
}

template <typename T>
struct Fields {
  Fields(const char* definition, const char* text, std::initializer_list<Field<T>> list) {
    data.definition = definition;
    data.text = text;
    data.type = &JsonPlace::kTypeId<T>;
    for (const Field<T>& part : list) data.fields.insert(data.fields.end(), part.all().begin(), part.all().end());
  }
  Fields(const char* definition, std::initializer_list<Field<T>> list) : Fields(definition, "", list) {}
  // Fields of a struct that nothing refers to.
  Fields(std::initializer_list<Field<T>> list) : Fields("", "", list) {}

  // Makes it a file: its format, the versions that are read (the last is written), and its name in messages.
  Fields File(const char* format, int oldest, int version, const char* noun, const char* version_text = "") && {
    data.format = format;
    data.oldest_version = oldest;
    data.version = version;
    data.noun = noun;
    data.version_text = version_text;
    return std::move(*this);
  }
  // The checksum of a file that is read back: by FitsChecksum readers know whether it was damaged or changed.
  Fields WithChecksum() && {
    data.has_checksum = true;
    return std::move(*this);
  }
  Fields WithoutGenerator() && {
    data.has_generator = false;
    return std::move(*this);
  }
  // Runs after all fields were read; takes a T&, the version of the file whose root this is, else 0, and the place. The
  // version may be left out.
  template <typename C>
  Fields After(C check) && {
    data.after = [check](void* value, [[maybe_unused]] int version, const JsonPlace& at) {
      if constexpr (std::is_invocable_v<C, T&, int, const JsonPlace&>) {
        check(*static_cast<T*>(value), version, at);
      } else {
        check(*static_cast<T*>(value), at);
      }
    };
    return std::move(*this);
  }
  Fields Obsolete(std::vector<std::string> keys) && {
    data.obsolete = std::move(keys);
    return std::move(*this);
  }
  // Rules of the schema besides those of fields, as JSON.
  Fields Schema(const char* json) && {
    data.more_schema = fields_internal::ParseJson(json, "schema");
    return std::move(*this);
  }

  StructData data;
};

// Several members under their own names.
template <auto first, auto... more>
auto Properties() {
  using T = typename fields_internal::MemberType<first>::Struct;
  return Field<T>(Fields<T>{Property<first>(), Property<more>()...}.data.fields);
}

// Fields of a struct inside another, as if they were fields of the outer one. `presence`: of those that are required.
template <typename T, typename A>
Field<T> Embed(A T::*member, const Fields<A>& fields = FieldsOf<A>(), Presence presence = Presence::kRequired) {
  return Field<T>(
      fields_internal::FieldsInside([member](const void* object) { return &(static_cast<const T*>(object)->*member); },
                                    fields.data.fields, presence));
}

// A described struct as a form.
template <typename T>
Form<T> FormOfFields(Fields<T> fields) {
  return fields_internal::StructForm(std::move(fields.data));
}

// An object with some of the fields of the struct.
template <typename T>
Field<T> Group(const char* key, Fields<T> fields, const char* text = "") {
  return Field<T>(key, FormOfFields(std::move(fields)), text);
}

// T in the file as a value of U: `to` converts a T and `from` a U, or `from` changes a T& by a U; both take the place
// if they like. Without `from` values are only written, and reading checks them.
template <typename T, typename U, typename To, typename From = std::nullptr_t>
std::shared_ptr<JsonForm> Via(To to, From from = nullptr, Form<U> inner = FormOf<U>()) {
  using fields_internal::Call;
  return MakeForm<T>(
      [to, inner](const T& value, const JsonPlace& at) {
        const U other = Call(to, at, value);
        return inner->write(&other, at);
      },
      [from, inner](const OrderedJson& json, [[maybe_unused]] T& value, const JsonPlace& at) {
        U other{};
        inner->read(json, &other, at);
        if constexpr (std::is_invocable_v<From, T&, U> || std::is_invocable_v<From, T&, U, const JsonPlace&>) {
          Call(from, at, value, std::move(other));
        } else if constexpr (!std::is_same_v<From, std::nullptr_t>) {
          value = Call(from, at, std::move(other));
        }
      },
      inner->schema);
}

// A field that follows from others: written, and only checked when read. `compute` takes the struct and, if it likes,
// the place.
template <typename T, typename F>
Field<T> Computed(const char* key, F compute, const char* text = "", std::shared_ptr<const JsonForm> form = nullptr) {
  using U = std::decay_t<decltype(fields_internal::Call(compute, std::declval<JsonPlace>(), std::declval<const T&>()))>;
  if (!form) form = FormOf<U>();
  const auto computed = Via<T, U>(std::move(compute), nullptr, form);
  computed->is_optional = form->is_optional;
  return Field<T>(key, computed, text).Computed();
}

// A struct in one of two descriptions: the first where `has_key` holds, which is where files have the key.
template <typename T>
Form<T> Either(const char* key, Fields<T> first, Fields<T> second, std::function<bool(const T&)> has_key) {
  const Form<T> with = FormOfFields(std::move(first)), without = FormOfFields(std::move(second));
  return MakeForm<T>(
      [=](const T& value, const JsonPlace& at) { return (has_key(value) ? with : without)->write(&value, at); },
      [=](const OrderedJson& json, T& value, const JsonPlace& at) {
        (json.is_object() && json.contains(key) ? with : without)->read(json, &value, at);
      },
      [=](SchemaDefinitions& definitions) {
        OrderedJson both = OrderedJson::array({without->schema(definitions)});
        both.push_back(with->schema(definitions));
        return OrderedJson{{"anyOf", both}};
      });
}

template <typename T>
Form<T> FormOf() {
  using fields_internal::kIsA;
  static const Form<T> form = [] {
    if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return fields_internal::PlainForm<T>();
    } else if constexpr (std::is_enum_v<T>) {
      const auto named = NamesOf<T>();
      std::vector<std::string> names;
      for (const auto& [value, name] : named) names.push_back(name);
      return Via<T, std::string>(
          [named](T value) {
            return std::find_if(named.begin(), named.end(), [&](auto& one) { return one.first == value; })->second;
          },
          [named](const std::string& name) {
            return std::find_if(named.begin(), named.end(), [&](auto& one) { return one.second == name; })->first;
          },
          OneOf(names));
    } else if constexpr (kIsA<T, std::optional>) {
      return OptionalOf<typename T::value_type>(FormOf<typename T::value_type>());
    } else if constexpr (kIsA<T, std::pair>) {
      return PairForm<typename T::first_type, typename T::second_type>(FormOf<typename T::first_type>(),
                                                                       FormOf<typename T::second_type>());
    } else if constexpr (fields_internal::kIsDictionary<T>) {
      return Keyed<typename T::value_type::second_type>({});
    } else if constexpr (kIsA<T, std::vector>) {
      return ListOf<typename T::value_type>(FormOf<typename T::value_type>());
    } else {
      return FormOfFields(FieldsOf<T>());
    }
  }();
  return form;
}

// The whole file: its JSON, its value, and its schema.
template <typename T>
OrderedJson JsonOf(const T& value) {
  return FormOf<T>()->write(&value, JsonPlace(""));
}

// As a file of these fields.
template <typename T>
OrderedJson JsonOf(const T& value, Fields<T> file) {
  return FormOfFields(std::move(file))->write(&value, JsonPlace(""));
}

template <typename T>
T FromJson(const OrderedJson& json, const std::string& file) {
  T value{};
  FormOf<T>()->read(json, &value, JsonPlace(file));
  return value;
}

// True if a file is as it was written, or has no checksum.
bool FitsChecksum(const OrderedJson& json);

template <typename T>
OrderedJson SchemaOf(const Fields<T>& file, const std::string& title) {
  return fields_internal::FileSchema(file.data, title);
}
template <typename T>
OrderedJson SchemaOf(const std::string& title) {
  return SchemaOf(FieldsOf<T>(), title);
}

}  // namespace farscale
