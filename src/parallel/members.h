// The members of a struct, one after the other, without a list of them that could be incomplete: as many as it can be
// initialised with.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace farscale {

namespace members_internal {

struct Anything {
  template <typename T>
  operator T() const;  // never defined: only types are asked for
};

template <typename T, std::size_t... i>
constexpr bool TakesMembers(std::index_sequence<i...>) {
  return requires { T{(static_cast<void>(i), Anything{})...}; };
}

template <typename T, std::size_t count>
constexpr std::size_t CountMembers() {
  if constexpr (TakesMembers<T>(std::make_index_sequence<count>{})) {
    return count;
  } else {
    static_assert(count > 0, "the members cannot be counted");
    return CountMembers<T, count - 1>();
  }
}

}  // namespace members_internal

inline constexpr std::size_t kMostMembers = 40;

// Calls visit(member) for every member of a struct without constructors.
template <typename T, typename Visit>
void ForEachMember(T& value, const Visit& visit) {
  constexpr std::size_t kCount = members_internal::CountMembers<T, kMostMembers + 1>();
  static_assert(kCount <= kMostMembers, "add a line for structs of more members");
  // clang-format off
  if constexpr (kCount == 1) { auto& [m1] = value; (visit(m1)); }
  else if constexpr (kCount == 2) { auto& [m1, m2] = value; (visit(m1), visit(m2)); }
  else if constexpr (kCount == 3) { auto& [m1, m2, m3] = value; (visit(m1), visit(m2), visit(m3)); }
  else if constexpr (kCount == 4) { auto& [m1, m2, m3, m4] = value; (visit(m1), visit(m2), visit(m3), visit(m4)); }
  else if constexpr (kCount == 5) { auto& [m1, m2, m3, m4, m5] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5)); }
  else if constexpr (kCount == 6) { auto& [m1, m2, m3, m4, m5, m6] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6)); }
  else if constexpr (kCount == 7) { auto& [m1, m2, m3, m4, m5, m6, m7] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7)); }
  else if constexpr (kCount == 8) { auto& [m1, m2, m3, m4, m5, m6, m7, m8] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8)); }
  else if constexpr (kCount == 9) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9)); }
  else if constexpr (kCount == 10) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10)); }
  else if constexpr (kCount == 11) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11)); }
  else if constexpr (kCount == 12) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12)); }
  else if constexpr (kCount == 13) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13)); }
  else if constexpr (kCount == 14) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14)); }
  else if constexpr (kCount == 15) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15)); }
  else if constexpr (kCount == 16) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16)); }
  else if constexpr (kCount == 17) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17)); }
  else if constexpr (kCount == 18) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18)); }
  else if constexpr (kCount == 19) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19)); }
  else if constexpr (kCount == 20) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20)); }
  else if constexpr (kCount == 21) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21)); }
  else if constexpr (kCount == 22) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22)); }
  else if constexpr (kCount == 23) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23)); }
  else if constexpr (kCount == 24) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24)); }
  else if constexpr (kCount == 25) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25)); }
  else if constexpr (kCount == 26) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26)); }
  else if constexpr (kCount == 27) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27)); }
  else if constexpr (kCount == 28) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28)); }
  else if constexpr (kCount == 29) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29)); }
  else if constexpr (kCount == 30) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30)); }
  else if constexpr (kCount == 31) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31)); }
  else if constexpr (kCount == 32) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32)); }
  else if constexpr (kCount == 33) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33)); }
  else if constexpr (kCount == 34) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34)); }
  else if constexpr (kCount == 35) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35)); }
  else if constexpr (kCount == 36) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35), visit(m36)); }
  else if constexpr (kCount == 37) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35), visit(m36), visit(m37)); }
  else if constexpr (kCount == 38) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35), visit(m36), visit(m37), visit(m38)); }
  else if constexpr (kCount == 39) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35), visit(m36), visit(m37), visit(m38), visit(m39)); }
  else if constexpr (kCount == 40) { auto& [m1, m2, m3, m4, m5, m6, m7, m8, m9, m10, m11, m12, m13, m14, m15, m16, m17, m18, m19, m20, m21, m22, m23, m24, m25, m26, m27, m28, m29, m30, m31, m32, m33, m34, m35, m36, m37, m38, m39, m40] = value; (visit(m1), visit(m2), visit(m3), visit(m4), visit(m5), visit(m6), visit(m7), visit(m8), visit(m9), visit(m10), visit(m11), visit(m12), visit(m13), visit(m14), visit(m15), visit(m16), visit(m17), visit(m18), visit(m19), visit(m20), visit(m21), visit(m22), visit(m23), visit(m24), visit(m25), visit(m26), visit(m27), visit(m28), visit(m29), visit(m30), visit(m31), visit(m32), visit(m33), visit(m34), visit(m35), visit(m36), visit(m37), visit(m38), visit(m39), visit(m40)); }
  // clang-format on
}

}  // namespace farscale
