-- Geometry, LDS layout and register plan of mla_prefill/mfma_asm: one place for the template and for the space's budget.
--
-- The inner blocks are inline assembly with registers fixed here. The compiler keeps v0 .. v(frame-1) and no accumulation
-- register; all above is ours:
--   v: frame | S of the next round | scores X | P | K ring | V ring | staged copies, V's turned | temporaries | l | n | ones |
--      -m/scale, 16 times: what S starts from
--   a: Q | O
-- As it comes in, Q lands where S, X, P and the ring come to be.
local plan = {}

plan.KEYS = 32      -- of a round
plan.THREADS = 256  -- four waves, one a SIMD
plan.FRAME = 44     -- of the compiler
plan.RING = 6       -- K fragments in flight or in use
plan.GROUPS = 3     -- groups of V^T operands, likewise

-- p: nope, rope, vdim, dtype; v: blocks; isa of the target.
function plan.make(p, v, isa)
  local g = { isa = isa, blocks = v.blocks, f16 = p.dtype == "f16", nope = p.nope, rope = p.rope, qk = p.nope + p.rope,
    v = p.vdim, cvt_bf16 = p.dtype == "bf16" and isa.has_cvt_pk_bf16 == 1 }
  g.rows = 128 * g.blocks
  g.nk = g.qk // 16            -- fragments of K: 16 columns, two products a block
  g.pitch_k = 2 * g.qk + 16
  g.k_bytes, g.v_bytes = plan.KEYS * g.pitch_k, plan.KEYS * 2 * g.v
  g.lds_bytes = 2 * g.k_bytes + 3 * g.v_bytes
  -- Copies of a round: units of 16 bytes a thread of K's own columns and of those with positions; of V four columns of four keys.
  local function units(columns) return plan.KEYS * columns // 8 // plan.THREADS end
  g.units_k, g.units_pe = units(g.nope), units(g.rope)
  g.units = g.units_k + g.units_pe
  local at = plan.FRAME
  local function take(n)
    local base = at
    at = at + n
    return base
  end
  g.frame = plan.FRAME
  g.s, g.x, g.p = take(16 * g.blocks), take(16 * g.blocks), take(8 * g.blocks)
  g.ring, g.groups = take(4 * plan.RING), take(8 * plan.GROUPS)
  g.staged, g.staged_v, g.turned = take(4 * g.units), take(8), take(8)
  g.tmp, g.ones, g.l, g.n = take(2), take(2), take(2), take(4 * g.blocks)
  g.c = take(16 * g.blocks)
  g.vgprs = at
  g.q, g.o = 0, g.nk * 4 * g.blocks
  g.agprs = g.o + g.v // 2 * g.blocks
  return g
end

-- Q as it comes in: LDS turns 32 rows x 64 columns of a wave at a time, in the places of V that are free at first.
plan.TURN = 4096
function plan.landing(g, b, i, j) return g.s + 4 * ((b * 4 + i) * (g.qk // 64) + j) end

local function range(file, at, n) return ("%s[%d:%d]"):format(file, at, at + n - 1) end

function plan.s(g, b) return range("v", g.s + 16 * b, 16) end
function plan.c(g, b) return range("v", g.c + 16 * b, 16) end
function plan.p(g, b, m) return range("v", g.p + 8 * b + 2 * m, 2) end
-- Block c of O of block b.
function plan.o_at(g, b, c) return g.o + 16 * (b * (g.v // 32) + c) end
function plan.o(g, b, c) return range("a", plan.o_at(g, b, c), 16) end
-- 16 bytes of Q that go with fragment f; half h of them.
function plan.q_at(g, b, f) return g.q + 4 * (b * g.nk + f) end
function plan.q(g, b, f, h) return range("a", plan.q_at(g, b, f) + 2 * h, 2) end
function plan.quad(g, f, h)
  local at = g.ring + 4 * (f % plan.RING)
  return h and range("v", at + 2 * h, 2) or range("v", at, 4)
end
-- Half h of group m of V^T: operands of the blocks 2h and 2h + 1 of O.
function plan.v_at(g, m, h) return g.groups + 8 * (m % plan.GROUPS) + 4 * h end
function plan.staged(g, u) return range("v", g.staged + 4 * u, 4) end

return plan
