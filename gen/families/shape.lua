-- What families share: fields of the problem, and CDNA3's counts of registers and matrix instructions.
local shape = {}

-- Fields of the problem in every decode kernel's source.
shape.DECODE_FIELDS = { "causal", "dtype", "heads", "page_size", "q_len", "rank", "rope" }

function shape.ceil_div(a, b) return -(-a // b) end

-- 16x16x16 MFMA of one 16-row block and 16 tokens: QK over rank + rope columns, PV over rank.
function shape.mfma_per_tile(p, psplit) return (p.rank + p.rope) // 16 + psplit * shape.ceil_div(p.rank, 128) * 8 end
-- bf16 Q of a block in registers per lane (16 x cols over 64 lanes, two per register); fp32 O in groups of 128 columns.
function shape.q_regs(p) return (p.rank + p.rope) // 8 end
function shape.o_regs(p) return shape.ceil_div(p.rank, 128) * 32 end

return shape
