//@ needs("BLOCKS", "STAGE_BYTES", "WAVES")
//@ -- order=columns, between the two parts of an interval, seldom: masked scores, rows whose m moves, here or in another wave.
//@ -- O of a wave's rows lies in all waves: it leaves them their factors behind the tile, and flags; they multiply one interval
//@ -- later, in front of P V of that tile. A flag stands until the next tile comes to that stage.
    float* const flags_at = (float*)(lds + ${g.flags_place});
    float* const factors_at = (float*)(lds + ${g.factors_place});
    constexpr int STAGE_FLOATS = ${g.stage_bytes // 4};
    constexpr float MOVED = 3e38f, STAYED = -3e38f;
    constexpr float SLACK = 8.0f;
    const u32 always = bits_of(minus_inf()); // less than any score
    u32 usual = bits_of(SLACK), limit = usual; // what the border compares with, but where a row does not see all of a tile
    const int allsee = all_see;
    const u32 lasttile = last_tile;
    u32 stale = 0; // bit k: this wave's flag is to be taken back k borders from now
    // O of rows of the slot-th wave behind this one, times the factors that it left with a tile of stage `stage`.
    // This wave, anew: what follows from it, addresses of flags and factors, would take 20 scalar registers through the loop.
    auto wave_again = [&] {
      int x = wave;
      asm volatile("" : "+s"(x));
      return x;
    };
    auto rescale_others = [&](int stage) {
      const int lane = lane_again(), self = wave_again();
//@ for slot = 1, g.waves - 1 do
      {
        const int of = (self + ${slot}) % WAVES;
        if (flags_at[stage * STAGE_FLOATS + of] == MOVED) {
//@   for b = 0, g.blocks - 1 do
          {
            const float factor = factors_at[stage * STAGE_FLOATS + 16 * (of * BLOCKS + ${b}) + (lane & 15)];
            asm volatile("${settle}\n"
//@     for c = 0, 7 do
//@       local file, at = plan.o_at(g, b, slot, c)
//@       for r = at, at + 3 do
//@         if file == "v" then
                "v_mul_f32 v${r}, %0, v${r}\n"
//@         else
                "v_accvgpr_read_b32 v${g.tmp}, a${r}\n"
                "v_mul_f32 v${g.tmp}, %0, v${g.tmp}\n"
                "v_accvgpr_write_b32 a${r}, v${g.tmp}\n"
//@         end
//@       end
//@     end
                "s_nop 1" :: "v"(factor) : "memory", ${in_loop});
          }
//@   end
        }
      }
//@ end
    };
    auto border = [&](int stage) {
      if (__builtin_expect(rise == 0, 1)) return;
      const int lane = lane_again(), self = wave_again();
      rescale_others((stage + ${g.stages - 1}) % ${g.stages});
      // Scores in base 2, from S again: m may be far from them.
//@ for b = 0, g.blocks - 1 do
      asm volatile(
//@   if g.inside then
          "v_cvt_f32_i32 v${g.tmp}, v${g.unit}\n"
//@   end
//@   for i = 0, 3 do
//@     local x, s = g.x + 4 * b + i, g.s + 4 * g.sums * b + i
//@     if g.inside then
          "v_fma_f32 v${x}, %0, v${s}, -v${g.tmp}\n"
          "v_fmac_f32 v${x}, %1, v${s + 4 * g.nj}\n"
//@     else
          "v_mul_f32 v${x}, %0, v${s}\n"
//@     end
//@   end
          :: "v"(${g.cache and ("sv[%d]"):format(b) or "scale"})${g.inside and ', "s"(scale)' or ""} : ${in_loop});
//@ end
      mask();
      float tops[BLOCKS];
      bool rises = false; // `rise` is another wave's flag, too
//@ for b = 0, g.blocks - 1 do
      {
        float over;
        asm volatile("v_max3_f32 %0, v${g.x + 4 * b}, v${g.x + 4 * b + 1}, v${g.x + 4 * b + 2}\n"
                     "v_max_f32 %0, %0, v${g.x + 4 * b + 3}\n"
                     "v_sub_f32 %1, %0, v${g.m + b}" : "=&v"(tops[${b}]), "=v"(over) :: ${in_loop});
        rises |= over > SLACK;
      }
//@ end
      const bool moves = any_lane(rises);
//@ for b = 0, g.blocks - 1 do
      {
        float old, step, factor;
        if (moves) {
          const float top = max_over_groups(tops[${b}], lane);
          asm volatile("v_mov_b32 %0, v${g.m + b}\n"
                       "v_max_f32 v${g.m + b}, %0, %2\n"
                       "v_sub_f32 %1, %0, v${g.m + b}" : "=&v"(old), "=&v"(step) : "v"(top) : ${in_loop});
          factor = exp2_fast(step);
          asm volatile("${settle}\n"
                       "v_mul_f32 v${g.l + b}, %0, v${g.l + b}\n"
                       "v_mul_f32 v${plan.n(g, b)}, %0, v${plan.n(g, b)}\n"
//@   for c = 0, 7 do
//@     local file, at = plan.o_at(g, b, 0, c)
//@     for r = at, at + 3 do
//@       if file == "v" then
                       "v_mul_f32 v${r}, %0, v${r}\n"
//@       else
                       "v_accvgpr_read_b32 v${g.tmp}, a${r}\n"
                       "v_mul_f32 v${g.tmp}, %0, v${g.tmp}\n"
                       "v_accvgpr_write_b32 a${r}, v${g.tmp}\n"
//@       end
//@     end
//@   end
                       "s_nop 1" :: "v"(factor) : "memory", ${in_loop});
          if (lane < 16) factors_at[stage * STAGE_FLOATS + 16 * (self * BLOCKS + ${b}) + lane] = factor;
        }
        asm volatile(
//@   for r = 0, 3 do
            "v_sub_f32 v${g.x + 4 * b + r}, v${g.x + 4 * b + r}, v${g.m + b}\n"
//@   end
            ::: ${in_loop});
      }
//@ end
      if (lane == 0 && (moves || (stale & 1))) flags_at[stage * STAGE_FLOATS + self] = moves ? MOVED : STAYED;
      stale = stale >> 1 | (moves ? ${1 << (g.stages - 1)} : 0);
      usual = (u32)uniform((int)(stale == 0 ? bits_of(SLACK) : always));
    };

    // The first tile finds P of a tile that is not there, its operands, and nobody's m moved.
    {
      const int lane = lane_again();
      for (int k = wave; k < 4; k += WAVES)
        if (lane < ${g.stages}) flags_at[lane * STAGE_FLOATS + k] = STAYED;
      asm volatile(
//@ for i = 0, 2 * g.n_ops - 1 do
          "v_mov_b32 v${g.ops + i}, 0\n"
//@ end
//@ for i = 0, 15 do
          "v_mov_b32 v${g.v_rows + i}, 0\n"
//@ end
//@ for i = 0, 2 * g.blocks - 1 do
          "v_mov_b32 v${g.p + i}, 0\n"
//@ end
//@ for i = 0, g.inside and 1 or -1 do
          "v_mov_b32 v${g.scaled_p + i}, 0\n"
          "v_mov_b32 v${g.v_scales + i}, 0\n"
//@ end
          "v_mov_b32 v${g.ones}, %0\n"
          "v_mov_b32 v${g.ones + 1}, %0\n"
          "ds_write_b${64 * g.blocks} %1, v[${g.p}:${g.p + 2 * g.blocks - 1}] offset:${(g.stages - 1) * g.stage_bytes}\n"
          :: "s"(${g.f16 and "0x3c003c00" or "0x3f803f80"}), "v"(pw) : "memory", ${in_loop});
    }
    wa -= ${g.lead - 1} * STAGE_BYTES;
//@ if rope > 0 then
    wr -= ${g.lead - 1} * STAGE_BYTES;
//@ end
//@ if g.inside then
    wsa -= ${g.lead - 1} * STAGE_BYTES;
    wha -= ${g.lead - 1} * STAGE_BYTES;
//@ end
//@ include("mla_decode/mfma_lds/block.h", { b = code.first })
//@ if not g.whole or g.based then
    aim();
//@ end
    for (;;) {
//@ for stage = 0, g.stages - 1 do
//@   if g.based then
      if (__builtin_expect(tok + 15 > last, 0)) tile_offsets(last - tok, cs, ks, wave, lane_again(), la, lr);
//@   elseif g.whole then
      aim();
//@   end
//@ include("mla_decode/mfma_lds/block.h", { b = code.body[stage][1] })
      border(${stage});
//@ include("mla_decode/mfma_lds/block.h", { b = code.body[stage][2] })
      if (__builtin_expect(at > (int)last_tile, 0)) {
//@ include("mla_decode/mfma_lds/block.h", { b = code.final[stage][1] })
        rescale_others(${stage});
//@ include("mla_decode/mfma_lds/block.h", { b = code.final[stage][2] })
        break;
      }
//@ end
    }
