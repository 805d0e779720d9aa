#include "base/sha256.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>

namespace farscale {

struct Sha256::Context {
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> digest{EVP_MD_CTX_new(), EVP_MD_CTX_free};
};

Sha256::Sha256() : context_(std::make_unique<Context>()) {
  EVP_DigestInit_ex(context_->digest.get(), EVP_sha256(), nullptr);
}

// OpenSSL keeps a record of errors for every thread that has used it. It frees the record when the thread ends, which
// the threads of TBB may do after leaks have been counted.
Sha256::~Sha256() {
  context_.reset();
  OPENSSL_thread_stop();
}

void Sha256::Add(std::string_view bytes) { EVP_DigestUpdate(context_->digest.get(), bytes.data(), bytes.size()); }

std::array<unsigned char, 32> Sha256::Digest() {
  std::array<unsigned char, 32> digest{};
  EVP_DigestFinal_ex(context_->digest.get(), digest.data(), nullptr);
  return digest;
}

std::string Sha256::Hex() {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  for (const unsigned char byte : Digest()) {
    hex += kDigits[byte / 16];
    hex += kDigits[byte % 16];
  }
  return hex;
}

std::string Sha256Base64(std::string_view text) {
  Sha256 hash;
  hash.Add(text);
  const std::array<unsigned char, 32> digest = hash.Digest();
  std::array<unsigned char, 45> encoded{};  // 44 characters, and the end that OpenSSL writes
  const int length = EVP_EncodeBlock(encoded.data(), digest.data(), static_cast<int>(digest.size()));
  return {encoded.begin(), encoded.begin() + length};
}

}  // namespace farscale
