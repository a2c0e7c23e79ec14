//@ local side = require("projection/side")
//@ if side.of(template) then
//@ needs("THREADS", "TILES")
//@ local layout, style = side.layout(append), side.STYLES[append_style]
//@ contract(layout and style, "no layout %d or rope style %d of what is appended", append, append_style)
//@ contract(rank % 32 == 0 and rank >= 32 and rank <= 512, "rank %d is not a multiple of 32 in 32..512", rank)
//@ contract(rope == 0 or rope == 32 or rope == 64, "rope %d is not 0, 32 or 64", rope)

// Fused append: blocks behind the product's own append the latent rows of tokens, a warp (wave) a token, by mla_append's own
// text. There are as many as find room with the product's, so that a warp may take several tokens, one after the other. They
// wait for the launch before as the product's blocks do, and who comes next waits for them as for those. They have their own
// arguments behind the others.
//@ include("mla_append/lib/machine.h")
namespace append {
//@ include("mla_append/lib/args.h")
constexpr int R = ${rank}, ROPE = ${rope};
constexpr int CHUNKS = R / 8, ROUNDS = (CHUNKS + LANES - 1) / LANES;
//@ include("mla_append/lib/token.h", { layout = layout, style = style, norm = append_norm,
//@   ahead = arch.wave == 32 and arch.has_pdl or 0 })
} // namespace append

template <class ARGS>
struct beside : ARGS {
  append::mlaf_append_kernel_args side;
  i64 side_blocks;
};

// True if this block is one of those, behind `blocks` of the product; it is done then.
template <class ARGS>
MLAF_DEV bool appended(const beside<ARGS>& a, u32 blocks) {
  if (my_block() < blocks) return false;
  const u32 warps = THREADS / LANES, first = (my_block() - blocks) * warps + my_thread() / LANES;
#pragma unroll 1
  for (u32 t = first; t < a.side.tokens; t += (u32)a.side_blocks * warps)
    append::append_token(a.side, t, (int)(my_thread() % LANES));
  return true;
}
//@ end
