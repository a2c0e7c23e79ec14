//@ -- Q of a piece of sm90_raw and sm90_raw_mid as it is in memory. q: gen/ops/mla_decode/q.lua; staged: where its rows are
//@ -- copied, or false: they are read where they are. Returns
//@ --   rows, by_one, by_warp   staged: rows that are copied; what the first lane does where it hands the piece over; the warp
//@ --   from, row_at, of        text of the first row's address; of row n's, behind begin(); parameters of take_q() for them
//@ --   take(row)               the call's beginning
//@ local function by_one()
//@   needs("FULL_Q_AT", "Q_ROW", "RAW_Q_AT")
//@   if not q.parts then
    if (bytes > 0) copy_bytes(smem + RAW_Q_AT, a.q + w.row * Q_ROW, bytes, smem + FULL_Q_AT);
//@   end
//@ end
//@ local function by_warp()
//@   if q.parts then
//@     needs("N", "Q_BOXES", "ROPE")
  static_assert(RAW_Q_AT % 128 == 0, "a box begins there");
  const int lane = threadIdx.x & 31; // boxes of 256 columns, side by side, then rope columns
  if (bytes > 0 && lane <= Q_BOXES)
    copy_q(smem + RAW_Q_AT + lane * (512 * N), ((const mlaf_decode_params*)&a)->maps, lane, (int)w.row, N,
           lane == Q_BOXES ? 2 * ROPE : 512, smem + FULL_Q_AT);
  __syncwarp();
//@   end
//@ end
//@ local loads = q.parts and not staged
//@ local function begin()
//@   if loads then
//@     needs("R")
  const char* const latent = q_latent_row(a, row + n);
  const char* const rope = q_rope_row(a, row + n) - 2 * R;
//@   end
//@ end
//@ local from = staged or "q"
//@ local row_at = from .. " + n * Q_ROW"
//@ if loads then row_at = "(k < R / 16 ? latent : rope)"
//@ elseif q.parts then
//@   row_at = from .. " + (k < R / 16 ? k / 16 * (512 * N - 512) + n * 512 : R * 2 * (N - 1) + n * 2 * ROPE)"
//@ end
//@ return { rows = q.parts and "N" or "w.rows", by_one = by_one, by_warp = by_warp, begin = begin, from = from, row_at = row_at,
//@   of = staged and "" or q.parts and "const mlaf_decode_args& a, i64 row, " or "const char* q, ",
//@   take = function(row) return fmt(q.parts and "take_q(base, a, %s, " or "take_q(base, a.q + %s * Q_ROW, ", row) end }
