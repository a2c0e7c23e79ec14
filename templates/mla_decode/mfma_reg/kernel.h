// The kernel of register-only decode: a workgroup's pieces, one after the other, go to work_on(). Handed over: fitted, occupancy
// (waves of a SIMD), lds_bytes, threads, and `within`: the first piece is looked up in the loop, where scalar registers suffice
// (with two blocks they do not: 2 to 6 spilled), since what the compiler puts in front of the loop is done before anything is
// waited for.
extern "C" __global__ __attribute__((amdgpu_flat_work_group_size(${threads}, ${threads}),
                                     amdgpu_waves_per_eu(${occupancy}, ${occupancy}))) void
${symbol}(mlaf_decode_args a) {
  __shared__ __attribute__((aligned(16))) char lds[${lds_bytes}];
  const int wave = uniform(thread_id() >> 6);
  piece x;
//@ if fitted then
  asked q;
  walk w = begin_walk(a, thread_id() & 63, q);
  mlaf_decode_args now = a;
  bool ${within and "first = true" or "whole = first_piece(thread_id() & 63, q, w, x)"};
#pragma nounroll
  while (true) {
    int thread = thread_id(), mine = wave;
    asm volatile("" : "+v"(thread), "+s"(mine)); // what follows from them is computed anew: else it occupies registers
    if (${within and "!first || !first_piece(thread & 63, q, w, x)" or "!whole"}) {
      if (w.next < 0 || !next_piece(w, x)) break;
      now = arguments_kept();
    }
    work_on(now, x, lds, thread & 63, mine);
    if (w.next < 0) break;
    ${within and "first" or "whole"} = false;
    forget(q, now);
  }
//@ else
  if (only_piece(a, x)) work_on(a, x, lds, thread_id() & 63, wave);
//@ end
}
