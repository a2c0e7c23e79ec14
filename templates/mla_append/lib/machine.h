// Words of kernels that append, behind those of lib/projection/machine.h.
//@ if arch.wave == 32 then
MLAF_DEV word2 words(u32 a, u32 b) { return make_uint2(a, b); }
// Load of data that another launch may be writing: it leaves nothing in L1.
MLAF_DEV i64 load_past_l1(const i64* at) {
  i64 x;
#if __CUDA_ARCH__ >= 700
  asm volatile("ld.relaxed.gpu.global.s64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
#else
  x = *(const volatile i64*)at;
#endif
  return x;
}
// Loads where `there`, with no branch: what was in w stays there else.
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %5, 0;\n@p ld.global.v4.u32 {%0, %1, %2, %3}, [%4];\n}"
               : "+r"(w.x), "+r"(w.y), "+r"(w.z), "+r"(w.w)
               : "l"(at), "r"((u32)there));
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %3, 0;\n@p ld.global.v2.u32 {%0, %1}, [%2];\n}"
               : "+r"(w.x), "+r"(w.y)
               : "l"(at), "r"((u32)there));
}
// Has an address computed before what follows, however late it is used: an instruction that is never executed takes it.
MLAF_DEV void ready(const void* p, u32 never) {
  asm volatile("{\n.reg .pred p;\nsetp.ne.u32 p, %1, 0;\n@p prefetch.global.L2 [%0];\n}" ::"l"(p), "r"(never) : "memory");
}
MLAF_DEV float inverse(float x) { return __frcp_rn(x); }
MLAF_DEV float magnitude(float x) { return fabsf(x); }
MLAF_DEV float larger(float a, float b) { return fmaxf(a, b); }
MLAF_DEV float apart(float x) { return x; }
//@ else
MLAF_DEV word2 words(u32 a, u32 b) { return word2{a, b}; }
MLAF_DEV void load_if(bool there, word4& w, const char* at) {
  if (there) w = load<word4>(at);
}
MLAF_DEV void load_half_if(bool there, word4& w, const char* at) {
  if (there) {
    const word2 half = load<word2>(at);
    w.x = half.x, w.y = half.y;
  }
}
MLAF_DEV void ready(const void*, u32) {}
MLAF_DEV float inverse(float x) { return 1.0f / x; }
MLAF_DEV float magnitude(float x) { return __builtin_fabsf(x); }
MLAF_DEV float larger(float a, float b) { return __builtin_fmaxf(a, b); }
// A value that the compiler does not put into a pair with another one, half of which nobody wrote.
MLAF_DEV float apart(float x) {
  asm("" : "+v"(x));
  return x;
}
//@ end
