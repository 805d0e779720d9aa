// Values as bytes, for another process of the same program: not for files, since the bytes depend on program and
// machine.
//
// A value is anything that cereal knows (numbers, texts, containers, optional and shared values) or a struct without
// constructors, whose members Boost.PFR finds, so that none can be forgotten. Classes with private members have a
// function `serialize` of cereal.
#pragma once

#include <boost/pfr.hpp>
#include <cereal/archives/binary.hpp>
#include <cereal/types/array.hpp>
#include <cereal/types/map.hpp>
#include <cereal/types/memory.hpp>
#include <cereal/types/optional.hpp>
#include <cereal/types/set.hpp>
#include <cereal/types/string.hpp>
#include <cereal/types/utility.hpp>
#include <cereal/types/vector.hpp>
#include <concepts>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

#include "base/diagnostics.h"

namespace cereal {

template <typename T>
concept PlainStruct = std::is_aggregate_v<T> && !requires {
  std::tuple_size<T>::value;
};

template <typename Archive, PlainStruct T>
void CEREAL_SERIALIZE_FUNCTION_NAME(Archive& archive, T& value) {
  boost::pfr::for_each_field(value, [&archive](auto& member) { archive(member); });
}

template <typename Archive, std::derived_from<farscale::Error> E>
void CEREAL_SAVE_FUNCTION_NAME(Archive& archive, const std::optional<E>& error) {
  archive(error.has_value());
  if (error) archive(error->kind(), error->where(), std::string(error->what()));
}

// Errors are made again with their text.
template <typename Archive, std::derived_from<farscale::Error> E>
void CEREAL_LOAD_FUNCTION_NAME(Archive& archive, std::optional<E>& error) {
  bool has_value = false;
  archive(has_value);
  error.reset();
  if (!has_value) return;
  farscale::ErrorKind kind{};
  std::string where, what;
  archive(kind, where, what);
  const bool begins_with_where = !where.empty() && what.starts_with(where + ": ");
  error = begins_with_where ? E(kind, where, what.substr(where.size() + 2)) : E(kind, "", what);
}

}  // namespace cereal

namespace farscale {

template <typename... Values>
std::string ToBytes(const Values&... values) {
  std::ostringstream stream;
  cereal::BinaryOutputArchive archive(stream);
  archive(values...);
  return std::move(stream).str();
}

template <typename... Values>
void FromBytes(std::string_view text, Values&... values) {
  std::istringstream stream{std::string(text)};
  cereal::BinaryInputArchive archive(stream);
  archive(values...);
}

}  // namespace farscale
