//@ -- Inside of clear_rows(): 16 bytes at a time, wherever parts of a token lie (place.h).
//@ needs("R", "TOKEN")
  for (int i = valid * (TOKEN / 16) + (int)threadIdx.x % 128; i < 64 * (TOKEN / 16); i += 128) {
    const int token = i / (TOKEN / 16), chunk = i % (TOKEN / 16);
//@ if planar then
    const int other = chunk == R / 16 ? scales_of(token) : rope_of(token) + (chunk - R / 16 - 1) * 16;
    *(uint4*)(tile + (chunk < R / 16 ? place_of(token) + chunk * 16 : other)) = make_uint4(0, 0, 0, 0);
//@ else
    *(uint4*)(tile + (chunk < R / 16 ? place_of(token) + chunk * 16 : scales_of(token))) = make_uint4(0, 0, 0, 0);
//@ end
  }
