// Values as bytes, for processes of one machine type: in messages, shared memory and files that do not outlive the run.
// A struct names its members once: auto Fields(T& value) { return std::tie(value.first, value.second); }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>

namespace farscale::collect {

// Appends the value to a text or takes it from one, as `bytes` does with so many bytes at an address. `bytes` returns
// whether there were enough.
template <typename Bytes, typename Value>
bool Transfer(const Bytes& bytes, Value& value) {
  if constexpr (std::is_trivially_copyable_v<Value>) {
    return bytes(&value, sizeof value);
  } else if constexpr (requires { value.resize(1); }) {
    auto size = static_cast<std::uint64_t>(value.size());
    if (!Transfer(bytes, size) || !bytes(nullptr, size)) return false;
    value.resize(size);
    for (auto& element : value) {
      if (!Transfer(bytes, element)) return false;
    }
    return true;
  } else {
    return std::apply([&](auto&... fields) { return (Transfer(bytes, fields) && ...); }, Fields(value));
  }
}

template <typename Value>
std::string Pack(Value value) {
  std::string packed;
  const auto append = [&](const void* from, std::size_t size) {
    if (from != nullptr) packed.append(static_cast<const char*>(from), size);
    return true;
  };
  Transfer(append, value);
  return packed;
}

// Whether the bytes are those of such a value. Without an address it is asked whether so many elements can follow:
// each takes a byte at least.
template <typename Value>
bool Unpack(std::string_view packed, Value& value) {
  const auto take = [&](void* to, std::uint64_t size) {
    if (size > packed.size()) return false;
    if (to != nullptr) packed.remove_prefix(packed.copy(static_cast<char*>(to), size));
    return true;
  };
  return Transfer(take, value) && packed.empty();
}

}  // namespace farscale::collect
