/* SHA-256 through OpenSSL's libcrypto. The plain functions, not EVP: they allocate nothing and so cannot fail, and a hash that
 * is missing for want of memory would make a sound file look damaged. */
#define OPENSSL_API_COMPAT 0x10100000L /* they are deprecated since 3.0, for what does not concern us: providers */
#include <openssl/sha.h>

#include "base/base.h"

static void finish(SHA256_CTX *ctx, char out[MLAF_HASH_HEX]) {
  static const char digits[] = "0123456789abcdef";
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256_Final(digest, ctx);
  for (int i = 0; i < SHA256_DIGEST_LENGTH; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[MLAF_HASH_HEX - 1] = 0;
}

void mlaf_sha256_hex(const void *data, size_t n, char out[MLAF_HASH_HEX]) {
  SHA256_CTX ctx;
  SHA256_Init(&ctx);
  SHA256_Update(&ctx, data, n);
  finish(&ctx, out);
}

void mlaf_sha256_parts(const void *const *parts, const size_t *lens, size_t n, char out[MLAF_HASH_HEX]) {
  SHA256_CTX ctx;
  SHA256_Init(&ctx);
  for (size_t i = 0; i < n; i++) {
    uint64_t len = lens[i];
    unsigned char prefix[8];
    for (int b = 0; b < 8; b++) prefix[b] = (unsigned char)(len >> (8 * b));
    SHA256_Update(&ctx, prefix, sizeof prefix);
    SHA256_Update(&ctx, parts[i], lens[i]);
  }
  finish(&ctx, out);
}
