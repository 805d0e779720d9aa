// The fields of a struct in a JSON file, described once: the description is its writer, its reader and its JSON Schema.
//
//   template <>
//   Fields<DataPoint> FieldsOf() {
//     return {"projection/point", "A measured value", {
//         Field("cores", &DataPoint::cores, "Of the run").Above(0),
//         Field("standardError", &DataPoint::standard_error)}};  // an optional: left out when unknown
//   }
//
// Members may be numbers, texts, truth values, enumerations with NamesOf, structs with FieldsOf, and optionals and
// vectors of these; pairs are lists of two. Everything else has a FormOf of its own, mostly made with Via. Readers
// refuse unknown keys, wrong types, missing fields and numbers out of bounds, and name the path:
// "runs[2].phases[0].begin is missing". Specialisations are declared before they are used. Rules that concern several
// fields are checked in After.
#pragma once

#include <cstddef>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/json_form.h"

namespace farscale {

template <typename T>
struct Fields;

// Specialised for every struct that is described.
template <typename T>
Fields<T> FieldsOf();

// Specialised for every enumeration that stands in files: its values with their names.
template <typename T>
std::vector<std::pair<T, std::string>> NamesOf();

// The JSON form of T. Specialised for types that are neither of the above.
template <typename T>
Form<T> FormOf();

// Bounds of numbers, also of those in lists and dictionaries; lengths of texts and lists.
struct FieldLimits {
  std::optional<double> minimum, above, maximum, below;
  std::size_t least_length = 0;  // of a text
  std::size_t least_items = 0;   // of a list
  OrderedJson schema;            // what only the schema says: the pattern of a text that readers parse anyway
};

enum class Presence {
  kRequired,      // always written, except for optionals without a value; must be there
  kLater,         // always written, and the schema requires it, but files of earlier versions lack it
  kOrMissing,     // always written, need not be there
  kUnlessDefault  // written when it differs from a struct's default
};

// A field of any struct. What follows from its type alone is compiled in fields.cc, not once for every struct.
struct FieldData {
  FieldData();
  FieldData(const FieldData&);
  FieldData(FieldData&&) noexcept;
  FieldData& operator=(const FieldData&);
  FieldData& operator=(FieldData&&) noexcept;
  ~FieldData();

  std::string key;
  std::string text;  // what it means, for the schema
  std::shared_ptr<const JsonForm> form;
  std::ptrdiff_t offset = 0;              // of what the form takes, in the struct, in bytes
  bool is_computed = false;               // from the struct: reading checks it, and forgets it
  std::function<bool(const void*)> when;  // null: always
  std::ptrdiff_t when_offset = 0;         // of what `when` takes
  Presence presence = Presence::kRequired;
  bool is_null_when_unset = false;
  bool is_required_when = false;  // `when` holds
  OrderedJson default_value;      // of kUnlessDefault
  FieldLimits limits;
};

struct StructData {
  StructData();
  StructData(const StructData&);
  StructData(StructData&&) noexcept;
  StructData& operator=(const StructData&);
  StructData& operator=(StructData&&) noexcept;
  ~StructData();

  std::string definition;  // "factors/row" or, of a file, "factors"; empty: nothing refers to it
  std::string text;
  std::vector<FieldData> fields;
  std::vector<std::string> obsolete;  // keys of earlier versions, which are ignored
  // The head of a file: "farscale-factors", the versions that are read, and what it is called: "factor table".
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
OrderedJson FileSchema(const JsonForm& form, const std::string& title);
FieldData FieldOf(const char* key, std::ptrdiff_t offset, std::shared_ptr<const JsonForm> form, const char* text);
// Fields of a struct as those of another that holds it.
std::vector<FieldData> FieldsInside(std::ptrdiff_t offset, std::vector<FieldData> fields, Presence presence);
// `standard`: a struct with its default values.
void SetDefault(const void* standard, FieldData& field);

// One or several fields.
struct FieldsPart {
  explicit FieldsPart(FieldData field);
  explicit FieldsPart(std::vector<FieldData> several);
  FieldsPart(const FieldsPart&);
  ~FieldsPart();
  std::vector<FieldData> fields;
};
void AddFields(const FieldsPart& part, StructData& data);

// Room for an object that is never made: only the addresses of its members are taken.
template <typename T>
union Room {
  Room() {}   // NOLINT(modernize-use-equals-default)
  ~Room() {}  // NOLINT(modernize-use-equals-default)
  char nothing;
  T object;
};

template <typename T, typename M>
std::ptrdiff_t OffsetOf(M T::*member) {
  const Room<T> room;
  return reinterpret_cast<const char*>(std::addressof(room.object.*member)) - &room.nothing;
}

template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsDictionary : std::false_type {};
template <typename T>
struct IsDictionary<Dictionary<T>> : std::true_type {};
template <typename T>
struct IsPair : std::false_type {};
template <typename A, typename B>
struct IsPair<std::pair<A, B>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

// Calls with or without the place.
template <typename F, typename T>
decltype(auto) Call(const F& function, T&& value, const JsonPlace& at) {
  if constexpr (std::is_invocable_v<F, T, const JsonPlace&>) {
    return function(std::forward<T>(value), at);
  } else {
    return function(std::forward<T>(value));
  }
}

template <typename T, typename U, typename To, typename From>
class ViaForm : public JsonForm {
 public:
  ViaForm(To to, From from, Form<U> inner) : to_(std::move(to)), from_(std::move(from)), inner_(std::move(inner)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    const U other = Call(to_, *static_cast<const T*>(value), at);
    return inner_->Write(&other, at);
  }
  void Read(const OrderedJson& json, void* value, const JsonPlace& at) const override {
    U other{};
    inner_->Read(json, &other, at);
    [[maybe_unused]] T& target = *static_cast<T*>(value);
    if constexpr (std::is_invocable_v<From, T&, U> || std::is_invocable_v<From, T&, U, const JsonPlace&>) {
      if constexpr (std::is_invocable_v<From, T&, U>) {
        from_(target, std::move(other));
      } else {
        from_(target, std::move(other), at);
      }
    } else if constexpr (!std::is_same_v<From, std::nullptr_t>) {
      target = Call(from_, std::move(other), at);
    }
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override { return inner_->Schema(definitions); }

 private:
  To to_;
  From from_;
  Form<U> inner_;
};

template <typename T, typename U, typename F>
class ComputedForm : public JsonForm {
 public:
  ComputedForm(F compute, std::shared_ptr<const JsonForm> inner)
      : compute_(std::move(compute)), inner_(std::move(inner)) {}

  OrderedJson Write(const void* value, const JsonPlace& at) const override {
    const U computed = Call(compute_, *static_cast<const T*>(value), at);
    return inner_->Write(&computed, at);
  }
  void Read(const OrderedJson& json, void*, const JsonPlace& at) const override {
    U value{};
    inner_->Read(json, &value, at);
  }
  OrderedJson Schema(SchemaDefinitions& definitions) const override { return inner_->Schema(definitions); }
  bool IsOptional() const override { return inner_->IsOptional(); }

 private:
  F compute_;
  std::shared_ptr<const JsonForm> inner_;
};

}  // namespace fields_internal

template <typename T>
class Field {
 public:
  template <typename M>
  Field(const char* key, M T::*member, const char* text = "") : Field(key, member, FormOf<M>(), text) {}
  template <typename M>
  Field(const char* key, M T::*member, Form<M> form, const char* text = "")
      : data_(fields_internal::FieldOf(key, fields_internal::OffsetOf(member), std::move(form), text)) {}
  // A member of a member.
  template <typename A, typename M>
  Field(const char* key, A T::*outer, M A::*inner, const char* text = "")
      : data_(fields_internal::FieldOf(key, fields_internal::OffsetOf(outer) + fields_internal::OffsetOf(inner),
                                       FormOf<M>(), text)) {}
  explicit Field(FieldData data) : data_(std::move(data)) {}

  Field&& AtLeast(double value) && { return Set(data_.limits.minimum, value); }
  Field&& Above(double value) && { return Set(data_.limits.above, value); }
  Field&& AtMost(double value) && { return Set(data_.limits.maximum, value); }
  Field&& Below(double value) && { return Set(data_.limits.below, value); }
  Field&& NotEmpty() && { return Set(data_.limits.least_length, 1); }
  Field&& LeastItems(std::size_t count) && { return Set(data_.limits.least_items, count); }
  Field&& Schema(const char* json) && { return Set(data_.limits.schema, fields_internal::ParseJson(json, data_.key)); }
  Field&& Later() && { return Set(data_.presence, Presence::kLater); }
  Field&& OrMissing() && { return Set(data_.presence, Presence::kOrMissing); }
  // Null instead of nothing for optionals without a value.
  Field&& OrNull() && { return Set(data_.is_null_when_unset, true); }
  Field&& UnlessDefault() && {
    const T standard{};
    fields_internal::SetDefault(&standard, data_);
    return std::move(*this);
  }
  // Written where the condition, of a T, holds; required there, too, or read where it is there. The condition may ask
  // for fields described before this one.
  template <typename C>
  Field&& RequiredWhen(C condition) && {
    data_.is_required_when = true;
    return std::move(*this).When(std::move(condition));
  }
  template <typename C>
  Field&& When(C condition) && {
    data_.presence = Presence::kOrMissing;
    data_.when = [condition](const void* object) { return condition(*static_cast<const T*>(object)); };
    return std::move(*this);
  }

  const FieldData& data() const { return data_; }

 private:
  template <typename A, typename B>
  Field&& Set(A& target, B value) {
    target = std::move(value);
    return std::move(*this);
  }

  FieldData data_;
};

// A field that follows from others: written, and only checked when read. `compute` takes the struct and, if it likes,
// the place.
template <typename T, typename F>
Field<T> Computed(const char* key, F compute, const char* text = "", std::shared_ptr<const JsonForm> form = nullptr) {
  using U = std::decay_t<decltype(fields_internal::Call(compute, std::declval<const T&>(), std::declval<JsonPlace>()))>;
  if (!form) form = FormOf<U>();
  FieldData data = fields_internal::FieldOf(
      key, 0, std::make_shared<fields_internal::ComputedForm<T, U, F>>(std::move(compute), std::move(form)), text);
  data.is_computed = true;
  return Field<T>(std::move(data));
}

// Fields of a struct inside another, as if they were fields of the outer one. `presence`: of those that are required.
template <typename T, typename A>
std::vector<FieldData> Embed(A T::*member, Presence presence = Presence::kRequired);

// One or several fields.
template <typename T>
struct FieldList : fields_internal::FieldsPart {
  FieldList(const Field<T>& field) : FieldsPart(field.data()) {}                 // NOLINT(google-explicit-constructor)
  FieldList(std::vector<FieldData> several) : FieldsPart(std::move(several)) {}  // NOLINT(google-explicit-constructor)
};

template <typename T>
struct Fields {
  Fields(const char* definition, const char* text, std::initializer_list<FieldList<T>> list) {
    data.definition = definition;
    data.text = text;
    data.type = &JsonPlace::kTypeId<T>;
    for (const FieldList<T>& part : list) fields_internal::AddFields(part, data);
  }
  Fields(const char* definition, std::initializer_list<FieldList<T>> list) : Fields(definition, "", list) {}
  // Fields of a struct that nothing refers to.
  Fields(std::initializer_list<FieldList<T>> list) : Fields("", "", list) {}

  // Makes it a file: its format, the versions that are read (the last is written), and what messages call it.
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
  // Runs after all fields were read; takes a T&, and the version of the file whose root this is, else 0, if it likes,
  // and the place.
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
  // Rules that a schema says besides those of fields, as JSON.
  Fields Schema(const char* json) && {
    data.more_schema = OrderedJson::parse(json);
    return std::move(*this);
  }

  StructData data;
};

template <typename T, typename A>
std::vector<FieldData> Embed(A T::*member, Presence presence) {
  return fields_internal::FieldsInside(fields_internal::OffsetOf(member), FieldsOf<A>().data.fields, presence);
}

// A field that several members of the struct are in: its form reads and writes the whole struct.
template <typename T>
Field<T> Part(const char* key, Form<T> form, const char* text = "") {
  return Field<T>(fields_internal::FieldOf(key, 0, std::move(form), text));
}

// An object that holds some of the fields of the struct.
template <typename T>
Field<T> Group(const char* key, Fields<T> fields, const char* text = "") {
  return Part<T>(key, fields_internal::StructForm(std::move(fields.data)), text);
}

// T in the file as a value of U: `to` converts a T and `from` a U, or `from` changes a T& by a U; both take the place
// if they like. Without `from` values are only written, and reading checks them.
template <typename T, typename U, typename To, typename From = std::nullptr_t>
Form<T> Via(To to, From from = nullptr, Form<U> inner = FormOf<U>()) {
  return std::make_shared<fields_internal::ViaForm<T, U, To, From>>(std::move(to), std::move(from), std::move(inner));
}

// A struct in one of two descriptions: the first where `has_key` holds, which is also how files tell it.
template <typename T>
Form<T> Either(const char* key, Fields<T> with, Fields<T> without, std::function<bool(const T&)> has_key) {
  return fields_internal::EitherForm(key, fields_internal::StructForm(std::move(with.data)),
                                     fields_internal::StructForm(std::move(without.data)),
                                     [has_key](const void* value) { return has_key(*static_cast<const T*>(value)); });
}

// A dictionary with these keys only; empty: any.
template <typename T>
Form<Dictionary<T>> Keyed(std::vector<std::string> keys, Form<T> element = FormOf<T>()) {
  using D = Dictionary<T>;
  return fields_internal::DictionaryForm(std::move(element),
                                         {[](const void* list) { return static_cast<const D*>(list)->size(); },
                                          [](const void* list, std::size_t i) {
                                            const auto& [key, value] = (*static_cast<const D*>(list))[i];
                                            return std::pair<const std::string*, const void*>(&key, &value);
                                          },
                                          [](void* list, const std::string& key) -> void* {
                                            return &static_cast<D*>(list)->emplace_back(key, T{}).second;
                                          }},
                                         std::move(keys));
}

template <typename T>
Form<std::vector<T>> ListOf(Form<T> element) {
  using L = std::vector<T>;
  return fields_internal::ListForm(
      std::move(element),
      {[](const void* list) { return static_cast<const L*>(list)->size(); },
       [](const void* list, std::size_t i) -> const void* { return &(*static_cast<const L*>(list))[i]; },
       [](void* list) -> void* { return &static_cast<L*>(list)->emplace_back(); }});
}

// A described struct or another form, said directly.
template <typename T>
Form<T> FormOfFields(Fields<T> fields) {
  return fields_internal::StructForm(std::move(fields.data));
}

// A form that schemas define once, as "losses/byKind". Its fields take no limits.
template <typename T>
Form<T> Named(const char* definition, const char* text, Form<T> form) {
  return fields_internal::NamedForm(definition, text, std::move(form));
}

template <typename T>
Form<std::optional<T>> OptionalOf(Form<T> inner) {
  using O = std::optional<T>;
  return fields_internal::OptionalForm(std::move(inner),
                                       {[](const void* value) -> const void* {
                                          const O& optional = *static_cast<const O*>(value);
                                          return optional ? &*optional : nullptr;
                                        },
                                        [](void* value) -> void* { return &static_cast<O*>(value)->emplace(); },
                                        [](void* value) { static_cast<O*>(value)->reset(); }});
}

template <typename T>
Form<T> FormOf() {
  namespace internal = fields_internal;
  static const Form<T> form = [] {
    if constexpr (std::is_same_v<T, bool>) {
      return internal::BoolForm();
    } else if constexpr (std::is_floating_point_v<T>) {
      static_assert(std::is_same_v<T, double>);
      return internal::NumberForm();
    } else if constexpr (std::is_same_v<T, std::string>) {
      return internal::TextForm();
    } else if constexpr (std::is_integral_v<T>) {
      static_assert(sizeof(T) == 8 || (sizeof(T) == 4 && std::is_signed_v<T>));
      return internal::IntegerForm(sizeof(T), std::is_signed_v<T>);
    } else if constexpr (std::is_enum_v<T>) {
      std::vector<std::pair<std::int64_t, std::string>> names;
      for (auto& [value, name] : NamesOf<T>()) names.emplace_back(static_cast<std::int64_t>(value), std::move(name));
      return internal::EnumForm(
          std::move(names),
          {[](const void* value) { return static_cast<std::int64_t>(*static_cast<const T*>(value)); },
           [](void* value, std::int64_t number) { *static_cast<T*>(value) = static_cast<T>(number); }});
    } else if constexpr (internal::IsOptional<T>::value) {
      return OptionalOf<typename T::value_type>(FormOf<typename T::value_type>());
    } else if constexpr (internal::IsPair<T>::value) {
      return internal::PairForm(FormOf<typename T::first_type>(), FormOf<typename T::second_type>(),
                                {[](void* pair) -> void* { return &static_cast<T*>(pair)->first; },
                                 [](void* pair) -> void* { return &static_cast<T*>(pair)->second; }});
    } else if constexpr (internal::IsDictionary<T>::value) {
      return Keyed<typename T::value_type::second_type>({});
    } else if constexpr (internal::IsVector<T>::value) {
      if constexpr (std::is_same_v<T, std::vector<bool>>) {
        struct Bool {
          bool value = false;
        };
        return Via<T, std::vector<Bool>>(
            [](const T& list) {
              std::vector<Bool> copy;
              for (const bool one : list) copy.push_back({one});
              return copy;
            },
            [](const std::vector<Bool>& copy) {
              T list;
              for (const Bool& one : copy) list.push_back(one.value);
              return list;
            },
            ListOf<Bool>(internal::BoolForm()));
      } else {
        return ListOf<typename T::value_type>(FormOf<typename T::value_type>());
      }
    } else {
      return internal::StructForm(FieldsOf<T>().data);
    }
  }();
  return form;
}

// The whole file: its JSON, its value, and its schema.
template <typename T>
OrderedJson JsonOf(const T& value) {
  return FormOf<T>()->Write(&value, JsonPlace(""));
}

template <typename T>
T FromJson(const OrderedJson& json, const std::string& file) {
  T value{};
  FormOf<T>()->Read(json, &value, JsonPlace(file));
  return value;
}

// True if a file is as it was written, or has no checksum.
bool FitsChecksum(const OrderedJson& json);

// Throws an input error, too, where the text is no JSON.
template <typename T>
T FromText(const std::string& text, const std::string& file) {
  return FromJson<T>(fields_internal::ParseJson(text, file), file);
}

template <typename T>
OrderedJson SchemaOf(const std::string& title) {
  return fields_internal::FileSchema(*FormOf<T>(), title);
}

}  // namespace farscale
