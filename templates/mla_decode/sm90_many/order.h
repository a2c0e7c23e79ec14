// The order of those steps over the blocks of a piece: the picture in the template.
// Blocks of one piece, as A. q_done() is called when Q is no longer needed in shared memory.
//@ needs("FIRST_ISSUED", "P_READY", "ROPE", "SCORES_ISSUED")
//@ local args = (rotates and "const mlaf_decode_args& a, " or "") .. "math& c, int blocks, const u32 (&q_last)[4][4], "
//@   .. "rows_state& r, float (&o)[2][O_COLS / 2], DONE q_done"
//@ local function rotate(text) if rotates then emit(text) end end -- while the other warpgroup multiplies
template <typename DONE>
MLAF_DEV void blocks_as_a(${args}) {
  const int mine = (blocks + 1) / 2, others = blocks / 2;
  float s[32], m[2];
  u32 p[4][4];
  // The part that S gives first. B's last P is in flight meanwhile.
  auto reference = [&](int i, buffer_use t) {
    settle(s);
    if (ROPE > 0) give_back(c, t.buffer, 4);
    if (i == mine - 1) q_done();
    c.forget();
    find_reference(c, 2 * i, s, r, m);
    publish_reference(c, t.buffer, m);
  };
  // The step from the reference to the own product. Loading it anew holds the exponentials until the other's product is issued.
  auto own = [&](int i, buffer_use t, int other) {
    if (other >= 0) load_reference(c, t.buffer, m);
    make_p(c, t.buffer, 0, s, m, p[0]);
    if (other >= 0) {
      wgmma_wait<1>();
      give_back(c, other, 0);
    }
    make_p(c, t.buffer, 1, s, m, p[1]);
    make_p(c, t.buffer, 2, s, m, p[2]);
    make_p(c, t.buffer, 3, s, m, p[3]);
    c.forget();
    publish_p(t.buffer);
    if (other >= 0) {
      wgmma_wait<0>();
      give_back(c, other, 1);
    }
    bring_to(m[0], m[1], r, o);
    clear_tail<0>(c, t.buffer, 2 * i);
    multiply_v<0>(c, t.buffer, p, o, [] {});
    finish_v<0, 0>(c, t.buffer, [&] { add_sums(c, t.buffer, r, s); });
    settle(o[0]);
    settle(o[1]);
  };
  if (mine == 0) {
    q_done();
    return;
  }
  const buffer_use t0 = use_of<0>(c, 0);
//@ rotate("  rotate_block<0>(a, c, t0, 0);")
  multiply_first<0>(c, t0, q_last, s);
  multiply_rest<0>(c, t0, q_last, s);
  if (others > 0) named_arrive(FIRST_ISSUED, 256);
  wgmma_wait<0>();
  reference(0, t0);
  own(0, t0, -1);
#pragma unroll 1
  for (int i = 1; i < mine; i++) {
    const buffer_use t = use_of<0>(c, i);
    const int other = use_of<1>(c, i - 1).buffer;
    c.forget();
//@ rotate("    rotate_block<0>(a, c, t, 2 * i);")
    named_sync(SCORES_ISSUED, 256);
    multiply_first<0>(c, t, q_last, s);
    multiply_rest<0>(c, t, q_last, s);
    wgmma_wait<0>();
    bring_to_block(c, other, r, o);
    reference(i, t);
    named_sync(P_READY + other, 256);
    multiply_v<0>(c, other, o);
    own(i, t, other);
  }
  if (others == mine) {
    const int other = use_of<1>(c, others - 1).buffer;
    named_sync(SCORES_ISSUED, 256);
    bring_to_block(c, other, r, o);
    named_sync(P_READY + other, 256);
    clear_tail<0>(c, other, 2 * others - 1);
    multiply_v<0>(c, other, o);
    finish_v<0, 0>(c, other);
    settle(o[0]);
    settle(o[1]);
  }
}

template <typename DONE>
MLAF_DEV void blocks_as_b(${args}) {
  const int mine = blocks / 2, others = (blocks + 1) / 2;
  float s[32], m[2];
  u32 p[4][4];
  auto own = [&](int i, buffer_use t) {
    settle(s);
    if (ROPE > 0) give_back(c, t.buffer, 4);
    if (i == mine - 1) q_done();
    c.forget();
    find_reference(c, 2 * i + 1, s, r, m);
    publish_reference(c, t.buffer, m);
    if (c.scale > 0.0f) { // always; keeps the exponentials behind the reference's way out
#pragma unroll
      for (int k = 0; k < 4; k++) make_p(c, t.buffer, k, s, m, p[k]);
    }
    c.forget();
    bring_to(m[0], m[1], r, o);
    clear_tail<1>(c, t.buffer, 2 * i + 1);
    multiply_v<1>(c, t.buffer, p, o, [&] { publish_p(t.buffer); }); // half of the own product is ahead of A's
    finish_v<1, 0>(c, t.buffer, [&] { add_sums(c, t.buffer, r, s); });
    settle(o[0]);
    settle(o[1]);
  };
  if (mine == 0) q_done();
#pragma unroll 1
  for (int i = 0; i < mine; i++) {
    const buffer_use t = use_of<1>(c, i);
    const int other = use_of<0>(c, i).buffer;
    c.forget();
//@ rotate("    rotate_block<1>(a, c, t, 2 * i + 1);")
    if (i == 0) {
      named_sync(FIRST_ISSUED, 256);
      multiply_first<1>(c, t, q_last, s);
      multiply_rest<1>(c, t, q_last, s);
      named_arrive(SCORES_ISSUED, 256);
      wgmma_wait<0>();
      bring_to_block(c, other, r, o);
      named_sync(P_READY + other, 256);
      multiply_v<1>(c, other, o);
      finish_v<1, 0>(c, other);
      settle(o[0]);
      settle(o[1]);
    } else {
      bring_to_block(c, other, r, o);
      named_sync(P_READY + other, 256);
      multiply_v<1>(c, other, o);
      multiply_first<1>(c, t, q_last, s); // keeps the tensor cores busy while slices are given back
      finish_v<1, 1>(c, other);
      multiply_rest<1>(c, t, q_last, s);
      named_arrive(SCORES_ISSUED, 256);
      wgmma_wait<0>();
    }
    own(i, t);
  }
  if (others > mine) {
    const int other = use_of<0>(c, mine).buffer;
    bring_to_block(c, other, r, o);
    named_sync(P_READY + other, 256);
    clear_tail<1>(c, other, 2 * mine);
    multiply_v<1>(c, other, o);
    finish_v<1, 0>(c, other);
    settle(o[0]);
    settle(o[1]);
  }
}
