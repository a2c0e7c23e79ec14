// The end of a pass in streams of weights, a part of the kernel's body: sums `s` of a warp's lanes (g, t) go to shared memory, a
// token's outputs side by side. Those of all warps are finished there and written. As a function it made other machine code.
//@ needs("TOKENS", "MT", "NT", "PITCH", "sums_of_warp", "write_pass")
    float* const mine = sums + warp * TOKENS * PITCH;
#pragma unroll
    for (int n = 0; n < NT; n++)
#pragma unroll
      for (int e = 0; e < 2; e++) {
        float* const to = mine + (8 * n + 2 * t + e) * PITCH;
#pragma unroll
        for (int m = 0; m < MT; m++) {
//@ if layout == "outputs" then
          to[16 * m + g] = s.of[m][n][e];
          to[16 * m + g + 8] = s.of[m][n][2 + e];
//@ else
          *(float2*)(to + 8 * g + 2 * m) = make_float2(s.of[m][n][e], s.of[m][n][2 + e]);
//@ end
        }
      }
//@ if norm == 1 then
#pragma unroll
    for (int n = 0; n < NT; n++) {
      const float sum = sum_over_lanes<1, 4>(s.squares[n]);
      if (t == 0) sums[SQUARES_AT + warp * TOKENS + 8 * n + g] = sum;
    }
//@ end
    __syncthreads();
    write_pass(a, p, t0, sums, rank${norm == 1 and ", kept_scale(gain_scale_at).up()" or ""});
//@ if split > 1 then
    sync_cluster(); // nobody reads this block's sums any more
//@ else
    __syncthreads();
//@ end
