/* MLAF_CLONES: a function's vector code is cloned per host instruction set, of which the loader picks one. Sanitizers cannot
 * instrument the code that picks. */
#pragma once

#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define MLAF_CLONES_OF(...) __attribute__((target_clones(__VA_ARGS__)))
#else
#define MLAF_CLONES_OF(...)
#endif
#define MLAF_CLONES MLAF_CLONES_OF("avx512f", "avx2", "default")
