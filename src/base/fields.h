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
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
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

// How the values of one C++ type stand in JSON. `value` points to such a value.
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

template <typename T>
struct Fields;

// Specialised for every struct that is described.
template <typename T>
Fields<T> FieldsOf();

// Specialised for every enumeration that stands in files: its values with their names.
template <typename T>
std::vector<std::pair<T, std::string>> NamesOf();

// How T stands in JSON. Specialised for types that are neither of the above.
template <typename T>
Form<T> FormOf();

// An object with keys that are values themselves, in the order of the file.
template <typename T>
using Dictionary = std::vector<std::pair<std::string, T>>;

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

// A field of any struct.
struct FieldData {
  std::string key;
  std::string text;  // what it means, for the schema
  std::shared_ptr<const JsonForm> form;
  std::function<void*(void*)> access;                                        // null: computed
  std::function<OrderedJson(const void*, const JsonPlace&)> compute;         // when it is; discarded JSON: left out
  std::function<void(const OrderedJson&, const JsonPlace&)> check_computed;  // reading checks it, and forgets it
  std::function<bool(const void*)> when;                                     // null: always
  Presence presence = Presence::kRequired;
  bool is_null_when_unset = false;
  bool is_required_when = false;  // `when` holds
  OrderedJson default_value;      // of kUnlessDefault
  FieldLimits limits;
};

struct StructData {
  std::string definition;  // "factors/row" or, of a file, "factors"; empty: nothing refers to it
  std::string text;
  std::vector<FieldData> fields;
  std::vector<std::string> obsolete;  // keys of earlier versions, which are ignored
  // Of a file: "farscale-factors", the versions that are read, and what it is called: "factor table".
  std::string format, noun, version_text;
  int version = 0, oldest_version = 0;
  bool has_generator = true;
  OrderedJson more_schema;
  std::function<void(void*, int version, const JsonPlace&)> after;
  const void* type = nullptr;
};

namespace fields_internal {

Form<bool> BoolForm();
Form<double> NumberForm();
Form<std::string> TextForm();
std::shared_ptr<const JsonForm> IntegerForm(std::size_t bytes, bool is_signed);
std::shared_ptr<const JsonForm> StructForm(StructData data);
// Of a vector<T>, of whose elements these are.
struct ListAccess {
  std::function<std::size_t(const void*)> size;
  std::function<const void*(const void*, std::size_t)> at;
  std::function<void*(void*)> add;
};
std::shared_ptr<const JsonForm> ListForm(std::shared_ptr<const JsonForm> element, ListAccess access);
struct DictionaryAccess {
  std::function<std::size_t(const void*)> size;
  std::function<std::pair<const std::string*, const void*>(const void*, std::size_t)> at;
  std::function<void*(void*, const std::string&)> add;
};
std::shared_ptr<const JsonForm> DictionaryForm(std::shared_ptr<const JsonForm> element, DictionaryAccess access,
                                               std::vector<std::string> keys);
struct OptionalAccess {
  std::function<const void*(const void*)> get;  // nullptr: unset
  std::function<void*(void*)> set;
  std::function<void(void*)> reset;
};
std::shared_ptr<const JsonForm> OptionalForm(std::shared_ptr<const JsonForm> inner, OptionalAccess access);
std::shared_ptr<const JsonForm> EnumForm(std::vector<std::string> names, std::function<std::size_t(const void*)> index,
                                         std::function<void(void*, std::size_t)> set);
std::shared_ptr<const JsonForm> EitherForm(std::string key, std::shared_ptr<const JsonForm> with,
                                           std::shared_ptr<const JsonForm> without,
                                           std::function<bool(const void*)> has_key);
struct PairAccess {
  std::function<void*(void*)> first, second;
};
std::shared_ptr<const JsonForm> PairForm(std::shared_ptr<const JsonForm> first, std::shared_ptr<const JsonForm> second,
                                         PairAccess access);
std::shared_ptr<const JsonForm> NamedForm(std::string definition, std::string text,
                                          std::shared_ptr<const JsonForm> form);
OrderedJson FileSchema(const JsonForm& form, const std::string& title);
OrderedJson ParseJson(const std::string& text, const std::string& file);

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

}  // namespace fields_internal

template <typename T>
class Field {
 public:
  template <typename M>
  Field(const char* key, M T::*member, const char* text = "") : Field(key, member, FormOf<M>(), text) {}
  template <typename M>
  Field(const char* key, M T::*member, Form<M> form, const char* text = "") {
    data_.key = key;
    data_.text = text;
    data_.form = std::move(form);
    data_.access = [member](void* object) -> void* { return &(static_cast<T*>(object)->*member); };
  }
  // A member of a member.
  template <typename A, typename M>
  Field(const char* key, A T::*outer, M A::*inner, const char* text = "") {
    data_.key = key;
    data_.text = text;
    data_.form = FormOf<M>();
    data_.access = [outer, inner](void* object) -> void* { return &(static_cast<T*>(object)->*outer.*inner); };
  }
  explicit Field(FieldData data) : data_(std::move(data)) {}

  Field AtLeast(double value) && {
    return With([&] { data_.limits.minimum = value; });
  }
  Field Above(double value) && {
    return With([&] { data_.limits.above = value; });
  }
  Field AtMost(double value) && {
    return With([&] { data_.limits.maximum = value; });
  }
  Field Below(double value) && {
    return With([&] { data_.limits.below = value; });
  }
  Field NotEmpty() && {
    return With([&] { data_.limits.least_length = 1; });
  }
  Field LeastItems(std::size_t count) && {
    return With([&] { data_.limits.least_items = count; });
  }
  Field Schema(const char* json) && {
    return With([&] { data_.limits.schema = OrderedJson::parse(json); });
  }
  Field Later() && {
    return With([&] { data_.presence = Presence::kLater; });
  }
  Field OrMissing() && {
    return With([&] { data_.presence = Presence::kOrMissing; });
  }
  // Null instead of nothing for optionals without a value.
  Field OrNull() && {
    return With([&] { data_.is_null_when_unset = true; });
  }
  Field UnlessDefault() && {
    return With([&] {
      data_.presence = Presence::kUnlessDefault;
      T standard{};
      data_.default_value = data_.form->Write(data_.access(&standard), JsonPlace(""));
    });
  }
  // Written where the condition holds; required there, too, or read where it is there. The condition may ask for fields
  // described before this one.
  Field RequiredWhen(std::function<bool(const T&)> condition) && {
    data_.is_required_when = true;
    return std::move(*this).When(std::move(condition));
  }
  Field When(std::function<bool(const T&)> condition) && {
    return With([&] {
      data_.presence = Presence::kOrMissing;
      data_.when = [condition](const void* object) { return condition(*static_cast<const T*>(object)); };
    });
  }

  const FieldData& data() const { return data_; }

 private:
  template <typename F>
  Field With(const F& change) {
    change();
    return std::move(*this);
  }

  FieldData data_;
};

// A field that follows from others: written, and only checked when read. `compute` takes the struct and, if it likes,
// the place.
template <typename T, typename F>
Field<T> Computed(const char* key, F compute, const char* text = "", std::shared_ptr<const JsonForm> form = nullptr) {
  using U = std::decay_t<decltype(fields_internal::Call(compute, std::declval<const T&>(), std::declval<JsonPlace>()))>;
  FieldData data;
  data.key = key;
  data.text = text;
  data.form = form ? std::move(form) : FormOf<U>();
  data.compute = [compute, form = data.form](const void* object, const JsonPlace& at) {
    const U value = fields_internal::Call(compute, *static_cast<const T*>(object), at);
    return form->IsUnset(&value) ? OrderedJson(OrderedJson::value_t::discarded) : form->Write(&value, at);
  };
  data.check_computed = [form = data.form](const OrderedJson& json, const JsonPlace& at) {
    U value{};
    form->Read(json, &value, at);
  };
  return Field<T>(std::move(data));
}

// Fields of a struct inside another, as if they were fields of the outer one. `presence`: of those that are required.
template <typename T, typename A>
std::vector<Field<T>> Embed(A T::*member, Presence presence = Presence::kRequired);

// One or several fields.
template <typename T>
struct FieldList {
  FieldList(Field<T> field) : fields{std::move(field)} {}                   // NOLINT(google-explicit-constructor)
  FieldList(std::vector<Field<T>> several) : fields(std::move(several)) {}  // NOLINT(google-explicit-constructor)
  std::vector<Field<T>> fields;
};

template <typename T>
struct Fields {
  Fields(const char* definition, const char* text, std::initializer_list<FieldList<T>> list) {
    data.definition = definition;
    data.text = text;
    data.type = &JsonPlace::kTypeId<T>;
    for (const FieldList<T>& part : list) {
      for (const Field<T>& field : part.fields) data.fields.push_back(field.data());
    }
  }
  Fields(const char* definition, std::initializer_list<FieldList<T>> list) : Fields(definition, "", list) {}
  // Of a struct that nothing refers to.
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
  Fields WithoutGenerator() && {
    data.has_generator = false;
    return std::move(*this);
  }
  // Runs after all fields were read; `version` is that of the file whose root this is, else 0.
  Fields After(std::function<void(T&, int version, const JsonPlace&)> check) && {
    data.after = [check](void* value, int version, const JsonPlace& at) {
      check(*static_cast<T*>(value), version, at);
    };
    return std::move(*this);
  }
  Fields After(std::function<void(T&, const JsonPlace&)> check) && {
    return std::move(*this).After([check](T& value, int, const JsonPlace& at) { check(value, at); });
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
std::vector<Field<T>> Embed(A T::*member, Presence presence) {
  std::vector<Field<T>> fields;
  for (FieldData data : FieldsOf<A>().data.fields) {
    if (data.presence == Presence::kRequired) data.presence = presence;
    if (data.access) {
      data.access = [member, inner = data.access](void* object) { return inner(&(static_cast<T*>(object)->*member)); };
    }
    if (data.compute) {
      data.compute = [member, inner = data.compute](const void* object, const JsonPlace& at) {
        return inner(&(static_cast<const T*>(object)->*member), at);
      };
    }
    if (data.when) {
      data.when = [member, inner = data.when](const void* object) {
        return inner(&(static_cast<const T*>(object)->*member));
      };
    }
    fields.push_back(Field<T>(std::move(data)));
  }
  return fields;
}

// A field that several members of the struct are in: its form reads and writes the whole struct.
template <typename T>
Field<T> Part(const char* key, Form<T> form, const char* text = "") {
  FieldData data;
  data.key = key;
  data.text = text;
  data.form = std::move(form);
  data.access = [](void* object) { return object; };
  return Field<T>(std::move(data));
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

// A text that is one of these.
Form<std::string> OneOf(std::vector<std::string> texts);

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
      const auto names = std::make_shared<std::vector<std::pair<T, std::string>>>(NamesOf<T>());
      std::vector<std::string> ids;
      for (const auto& [value, id] : *names) ids.push_back(id);
      const auto index = [names](const void* value) {
        std::size_t i = 0;
        while ((*names)[i].first != *static_cast<const T*>(value)) ++i;
        return i;
      };
      return internal::EnumForm(std::move(ids), index,
                                [names](void* value, std::size_t i) { *static_cast<T*>(value) = (*names)[i].first; });
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
