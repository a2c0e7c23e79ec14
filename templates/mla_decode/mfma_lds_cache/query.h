    // A row times the power of two that brings its largest number to [2^14, 2^15): as f16 it loses what is below 2^-39 of that.
//@ if narrow then
    {
      u32 qm[2] = {0, 0};
//@ include("mla_decode/mfma_lds/block.h", { b = code.q_most[b] })
      float qf[2];
#pragma unroll
      for (int i = 0; i < 2; i++) {
        float most = __builtin_fmaxf(float_of(qm[i] & 0xffff0000u), float_of(qm[i] << 16));
        for (int d = 1; d < 8; d *= 2) most = __builtin_fmaxf(most, lane_xor(most, lane, d)); // the lanes of its row
        const int exponent = (int)(bits_of(most) >> 23);
        qf[i] = float_of((u32)(268 - (exponent < 15 ? 15 : exponent)) << 23);
      }
      // Row t of the block came to the lanes from 8 (t % 8) on.
      const int from = 32 * (lane & 7);
      const float low = float_of(__builtin_amdgcn_ds_bpermute(from, (int)bits_of(qf[0])));
      const float high = float_of(__builtin_amdgcn_ds_bpermute(from, (int)bits_of(qf[1])));
      sv[${b}] = unit / (lane & 8 ? high : low);
//@ include("mla_decode/mfma_lds/block.h", { b = code.q_narrow[b] })
    }
//@ else
    sv[${b}] = unit;
//@ end
