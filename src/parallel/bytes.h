// Values as bytes, for another process of the same program: not for files, since the bytes depend on program and
// machine.
//
// A value is a number, an enumeration, a text, a container, an optional or shared value, or a struct without
// constructors of up to 40 members, each of them a value. Others, and classes with private members, have a function
//
//   template <typename Bytes> void TransferBytes(Bytes& bytes, Type& value);
//
// beside them, which passes each of their parts to bytes.Transfer: the same function writes and reads.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/diagnostics.h"
#include "parallel/members.h"

namespace farscale {

namespace bytes_internal {

template <typename T>
concept Plain = std::is_arithmetic_v<T> || std::is_enum_v<T>;

template <typename Bytes, typename T>
concept HasFunction = requires(Bytes& bytes, T& value) {
  TransferBytes(bytes, value);
};

template <typename Bytes, typename T>
void TransferAny(Bytes& bytes, T& value) {
  if constexpr (Plain<T>) {
    bytes.TransferPlain(&value, 1);
  } else if constexpr (HasFunction<Bytes, T>) {
    TransferBytes(bytes, value);
  } else {
    static_assert(std::is_aggregate_v<T>, "the type needs a function TransferBytes");
    ForEachMember(value, [&bytes](auto& member) { bytes.Transfer(member); });
  }
}

}  // namespace bytes_internal

template <typename Bytes>
void TransferBytes(Bytes& bytes, std::string& text) {
  bytes.TransferPlains(text);
}

template <typename Bytes, typename T, std::size_t count>
void TransferBytes(Bytes& bytes, std::array<T, count>& values) {
  for (T& value : values) bytes.Transfer(value);
}

template <typename Bytes, typename T>
void TransferBytes(Bytes& bytes, std::vector<T>& values) {
  if constexpr (std::is_same_v<T, bool>) {
    std::vector<char> plain(values.begin(), values.end());
    bytes.Transfer(plain);
    values.assign(plain.begin(), plain.end());
  } else if constexpr (bytes_internal::Plain<T>) {
    bytes.TransferPlains(values);
  } else {
    std::uint64_t size = values.size();
    bytes.Transfer(size);
    values.resize(size);
    for (T& value : values) bytes.Transfer(value);
  }
}

template <typename Bytes, typename A, typename B>
void TransferBytes(Bytes& bytes, std::pair<A, B>& values) {
  bytes.Transfer(const_cast<std::remove_const_t<A>&>(values.first));
  bytes.Transfer(values.second);
}

template <typename Bytes, typename T>
void TransferBytes(Bytes& bytes, std::optional<T>& value) {
  bool has_value = value.has_value();
  bytes.Transfer(has_value);
  if (!has_value) value.reset();
  if (has_value && !value) value.emplace();
  if (has_value) bytes.Transfer(*value);
}

// Errors are made again with their text.
template <typename Bytes, std::derived_from<Error> E>
void TransferBytes(Bytes& bytes, std::optional<E>& error) {
  bool has_value = error.has_value();
  bytes.Transfer(has_value);
  if (!has_value) return;
  ErrorKind kind = error ? error->kind() : ErrorKind::kInput;
  std::string where = error ? error->where() : "", what = error ? error->what() : "";
  bytes.Transfer(kind);
  bytes.Transfer(where);
  bytes.Transfer(what);
  if (error) return;
  const bool begins_with_where = !where.empty() && what.starts_with(where + ": ");
  error = begins_with_where ? E(kind, where, what.substr(where.size() + 2)) : E(kind, "", what);
}

template <typename Bytes, typename T>
void TransferBytes(Bytes& bytes, std::shared_ptr<const T>& value) {
  bool has_value = value != nullptr;
  bytes.Transfer(has_value);
  if (!has_value) return;
  auto copy = value != nullptr ? std::make_shared<T>(*value) : std::make_shared<T>();
  bytes.Transfer(*copy);
  value = std::move(copy);
}

// Sets and maps, as the list of what is in them.
template <typename Bytes, typename Container, typename Element>
void TransferElements(Bytes& bytes, Container& container) {
  std::vector<Element> elements(container.begin(), container.end());
  bytes.Transfer(elements);
  container = Container(elements.begin(), elements.end());
}

template <typename Bytes, typename T>
void TransferBytes(Bytes& bytes, std::set<T>& values) {
  TransferElements<Bytes, std::set<T>, T>(bytes, values);
}

template <typename Bytes, typename K, typename V>
void TransferBytes(Bytes& bytes, std::map<K, V>& values) {
  TransferElements<Bytes, std::map<K, V>, std::pair<K, V>>(bytes, values);
}

class ByteWriter {
 public:
  template <typename T>
  void Transfer(T& value) {
    bytes_internal::TransferAny(*this, value);
  }
  template <typename T>
  void TransferPlain(const T* values, std::size_t count) {
    text_.append(reinterpret_cast<const char*>(values), count * sizeof(T));
  }
  template <typename Container>
  void TransferPlains(Container& values) {
    const std::uint64_t size = values.size();
    TransferPlain(&size, 1);
    TransferPlain(values.data(), values.size());
  }
  std::string Take() { return std::move(text_); }

 private:
  std::string text_;
};

// Bytes that ByteWriter has written.
class ByteReader {
 public:
  explicit ByteReader(std::string_view text) : text_(text) {}

  template <typename T>
  void Transfer(T& value) {
    bytes_internal::TransferAny(*this, value);
  }
  template <typename T>
  void TransferPlain(T* values, std::size_t count) {
    if (count > 0) std::memcpy(values, text_.data(), count * sizeof(T));
    text_.remove_prefix(count * sizeof(T));
  }
  template <typename Container>
  void TransferPlains(Container& values) {
    std::uint64_t size = 0;
    TransferPlain(&size, 1);
    values.resize(size);
    TransferPlain(values.data(), size);
  }
  bool empty() const { return text_.empty(); }

 private:
  std::string_view text_;
};

template <typename... Values>
std::string ToBytes(Values&... values) {
  ByteWriter writer;
  (writer.Transfer(values), ...);
  return writer.Take();
}

template <typename... Values>
void FromBytes(std::string_view text, Values&... values) {
  ByteReader reader(text);
  (reader.Transfer(values), ...);
}

}  // namespace farscale
