//@ needs("BLOCKS", "NARROW_LEAST", "NARROW_MIDDLE", "NARROW_REACH", "R", "ROWS", "WAVES")
//@ -- order=columns: this wave's 128 columns of all rows. Who made a row's P says what its sum was. Partial results are of 16
//@ -- bits (mla_decode/lib/narrow_wave.h), so waves tell each other the largest value that they have of each row.
//@ local moves, place = plan.results(g)
  u32* const tops = (u32*)(weights + ROWS); // of each wave, by row
  asm volatile(
//@ for _, move in ipairs(moves) do
      "v_accvgpr_read_b32 v${move.to}, a${move.from}\n"
//@ end
      "s_nop 0" ::: ${in_epilogue});
  // The place of this workgroup's first row: all else that says so ends here, since there are few scalar registers.
  u64 base = uniform((u64)(final ? to.o + w.row * (2 * R) : (char*)to.part_o + (part + w.row) * (4 * R)));
  int existing = uniform(w.rows);
  u64 units = base + 2 * R;
  float middle = NARROW_MIDDLE + 0x1p-16f; // and half a step
  asm volatile("" : "+s"(base), "+s"(units), "+s"(existing), "+s"(middle)); // constants in vectors would live through all pieces
  if (!final) {
//@ for slot = 0, g.waves - 1 do
//@   for b = 0, g.blocks - 1 do
    {
      // Bits of numbers in order: of those above 0, then of those below, the largest magnitude last. NaN lies behind infinity.
      u32 above = 0, below = 0, x, y;
      asm volatile(
//@     for c = 0, 7 do
//@       for r = 0, 3, 2 do
//@         local file, at = place(b, slot, c)
//@         if file == "v" then
          "v_max3_i32 %0, v${at + r}, v${at + r + 1}, %0\n"
          "v_max3_u32 %1, v${at + r}, v${at + r + 1}, %1\n"
//@         else
          "v_accvgpr_read_b32 %2, a${at + r}\n"
          "v_accvgpr_read_b32 %3, a${at + r + 1}\n"
          "v_max3_i32 %0, %2, %3, %0\n"
          "v_max3_u32 %1, %2, %3, %1\n"
//@         end
//@       end
//@     end
          : "+v"(above), "+v"(below), "=&v"(x), "=&v"(y) : : ${in_epilogue});
      below &= 0x7fffffff;
      u32 most = above > below ? above : below;
#pragma unroll
      for (int d = 16; d < 64; d *= 2) {
        const u32 other = bits_of(lane_xor(float_of(most), lane, d));
        most = other > most ? other : most;
      }
      if (lane < 16) tops[wave * ROWS + ((wave + ${slot}) % WAVES * BLOCKS + ${b}) * 16 + lane] = most;
    }
//@   end
//@ end
  }
  __syncthreads();
//@ for _, narrow in ipairs({ true, false }) do
//@   if narrow then
  if (!final) {
//@   else
  } else {
//@   end
//@   for slot = 0, g.waves - 1 do
//@     for b = 0, g.blocks - 1 do
    {
      int self = wave;
      asm volatile("" : "+s"(self)); // not all slots' rows and addresses at once: there are too few scalar registers
      const int rows = ((self + ${slot}) % WAVES * BLOCKS + ${b}) * 16, first = rows + (lane >> 3);
      float factor = weights[rows + (lane & 15)];
//@       if narrow then
      u32 top = bits_of(NARROW_LEAST);
#pragma unroll
      for (int i = 0; i < WAVES; i++) {
        const u32 other = tops[i * ROWS + rows + (lane & 15)];
        top = other > top ? other : top;
      }
//@         if slot == 0 then
      if (lane < 16 && rows + lane < existing)
        *(MLAF_GLOBAL float*)(units + (u32)((rows + lane) * (4 * R))) = float_of(top) * factor * (1 / NARROW_REACH);
//@         end
      factor = NARROW_REACH / float_of(top);
//@       end
//@       local row_bytes = narrow and "4 * R" or "2 * R"
      MLAF_GLOBAL char* const upper_at = (MLAF_GLOBAL char*)(base + (u32)(first * (${row_bytes}) + 16 * (lane & 7) + 256 * self));
      MLAF_GLOBAL char* const lower_at = upper_at + 8 * (${row_bytes});
//@       for r = 0, 3 do
      {
        float x[8];
        asm volatile(
//@         for c = 0, 7 do
//@           local file, at = place(b, slot, c)
//@           local from = file == "v" and ("v%d"):format(at + r) or ("%%%d"):format(c)
//@           if file == "a" then
            "v_accvgpr_read_b32 %${c}, a${at + r}\n"
//@           end
            "${narrow and "v_fma_f32" or "v_mul_f32"} %${c}, ${from}, %8${narrow and ", %9" or ""}\n"
//@         end
            : "=&v"(x[0]), "=&v"(x[1]), "=&v"(x[2]), "=&v"(x[3]), "=&v"(x[4]), "=&v"(x[5]), "=&v"(x[6]), "=&v"(x[7])
            : "v"(factor)${narrow and ', "s"(middle)' or ""} : ${in_epilogue});
//@         local pair = narrow and "narrow_pair" or "pack2"
        *(u32x4*)(put + ${2048 * (r // 2)} + 16 * ((${4 * (r % 2)} + (group ^ ${r // 2 * 2})) ^ key)) =
            u32x4{${pair}(x[0], x[1]), ${pair}(x[2], x[3]), ${pair}(x[4], x[5]), ${pair}(x[6], x[7])};
      }
//@       end
      asm volatile("" ::: "memory"); // other lanes' values are read: the compiler must not see through
      u32x4 upper[2], lower[2];
#pragma unroll
      for (int half = 0; half < 2; half++) {
        upper[half] = *(const u32x4*)(get + 2048 * half);
        lower[half] = *(const u32x4*)(get + 2048 * half + 1024);
      }
      asm volatile("" ::: "memory");
      if (first < existing)
#pragma unroll
        for (int half = 0; half < 2; half++) *(MLAF_GLOBAL u32x4*)(upper_at + 128 * half) = upper[half];
      if (first + 8 < existing)
#pragma unroll
        for (int half = 0; half < 2; half++) *(MLAF_GLOBAL u32x4*)(lower_at + 128 * half) = lower[half];
    }
//@     end
//@   end
//@ end
  }
