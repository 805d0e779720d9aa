// A checksum of what JSON says, which shows that a file was damaged or changed; no protection against intent. A
// template alone, so that what is preloaded into programs can use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace farscale {

inline constexpr const char* kChecksumKey = "checksum";

namespace checksum_internal {

// FNV-1a of 64 bits: texts of one length that differ in one byte never have the same.
struct Hash {
  std::uint64_t value = 14695981039346656037U;

  void Add(std::string_view bytes) {
    for (const char byte : bytes) value = (value ^ static_cast<unsigned char>(byte)) * 1099511628211U;
  }
};

template <typename Json>
std::string TextOf(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Numbers as doubles, since other programs write 1.0 as 1; those that are not finite stand in files as null.
template <typename Json>
void Add(const Json& json, Hash& hash, std::string_view left_out = {}) {
  if (json.is_object()) {
    std::vector<const typename Json::object_t::value_type*> members;
    for (const auto& member : json.template get_ref<const typename Json::object_t&>()) {
      if (left_out.empty() || member.first != left_out) members.push_back(&member);
    }
    std::sort(members.begin(), members.end(), [](const auto* a, const auto* b) { return a->first < b->first; });
    hash.Add("{");
    for (const auto* member : members) {
      hash.Add(TextOf(Json(member->first)));
      Add(member->second, hash);
    }
    hash.Add("}");
  } else if (json.is_array()) {
    hash.Add("[");
    for (const Json& one : json) Add(one, hash);
    hash.Add("]");
  } else if (json.is_number() && std::isfinite(json.template get<double>())) {
    const double number = json.template get<double>() + 0.0;  // -0 becomes 0
    char bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    hash.Add("#");
    hash.Add({bytes, sizeof bytes});
  } else {
    hash.Add(json.is_number() ? "null" : TextOf(json));
  }
}

}  // namespace checksum_internal

// The checksum of an object of nlohmann-json without its member "checksum", as 16 hexadecimal digits. White space, the
// order of keys and how numbers are written do not matter.
template <typename Json>
std::string ChecksumOf(const Json& json) {
  checksum_internal::Hash hash;
  checksum_internal::Add(json, hash, kChecksumKey);
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash.value));
  return text;
}

}  // namespace farscale
