//@ -- W and x of a pass by a warp each, where loaders lend registers to those who multiply.
MLAF_DEV void load_pass(const mlaf_projection_params& p, u32 shared, const place& at, int begin, int end, i64 t0, int warp,
                        int thread, ring& r) {
  if (thread == 32 * W_WARP)
    for (int step = t0 ? begin : begin + STAGES; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_w(p, shared, at, step, r);
    }
  if (thread == 32 * X_WARP)
    for (int step = begin; step < end; step++, r.next()) {
      wait_empty(shared, r);
      load_x(p, shared, at, step, t0, r);
    }
  __syncwarp();
  if (warp == W_WARP) wait_for_previous_launch();
}
