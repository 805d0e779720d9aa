#include "base/files.h"

#include <gtest/gtest.h>

namespace farscale {
namespace {

// The example of FIPS 180-2, appendix B.1.
TEST(Sha256, KnownDigest) {
  Sha256 hash;
  hash.Add("a");
  hash.Add("bc");
  EXPECT_EQ(hash.Hex(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

// printf abc | openssl dgst -sha256 -binary | base64
TEST(Sha256, Base64) { EXPECT_EQ(Sha256Base64("abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0="); }

}  // namespace
}  // namespace farscale
