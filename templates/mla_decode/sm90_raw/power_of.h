// Returns the power of two that a byte of ue8m0 is: 0 is 2^-127, 255 is NaN.
MLAF_DEV float power_of(u32 code) { return float_of(code == 0 ? 1u << 22 : code == 255 ? 0x7fc00000u : code << 23); }
