/* SHA-256 through OpenSSL's libcrypto. */
#include <openssl/evp.h>
#include <stdio.h>

#include "base/base.h"

static void to_hex(const unsigned char digest[32], char out[MLAF_HASH_HEX]) {
  static const char digits[] = "0123456789abcdef";
  for (int i = 0; i < 32; i++) {
    out[2 * i] = digits[digest[i] >> 4];
    out[2 * i + 1] = digits[digest[i] & 15];
  }
  out[64] = 0;
}

void mlaf_sha256_hex(const void *data, size_t n, char out[MLAF_HASH_HEX]) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {0};
  out[0] = 0; /* a failing libcrypto gives "", which equals no hash */
  if (EVP_Digest(data, n, digest, NULL, EVP_sha256(), NULL)) to_hex(digest, out);
}

void mlaf_sha256_parts(const void *const *parts, const size_t *lens, size_t n, char out[MLAF_HASH_HEX]) {
  unsigned char digest[EVP_MAX_MD_SIZE] = {0};
  out[0] = 0;
  EVP_MD_CTX *ctx = EVP_MD_CTX_new();
  bool ok = ctx && EVP_DigestInit_ex(ctx, EVP_sha256(), NULL);
  for (size_t i = 0; ok && i < n; i++) {
    uint64_t len = lens[i];
    unsigned char prefix[8];
    for (int b = 0; b < 8; b++) prefix[b] = (unsigned char)(len >> (8 * b));
    ok = EVP_DigestUpdate(ctx, prefix, sizeof prefix) && EVP_DigestUpdate(ctx, parts[i], lens[i]);
  }
  if (ok && EVP_DigestFinal_ex(ctx, digest, NULL)) to_hex(digest, out);
  EVP_MD_CTX_free(ctx);
}
