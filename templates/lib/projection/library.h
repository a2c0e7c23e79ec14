// A request to a vendor's library, y[t, h, :] = W[h] x[t, h, :]: no code; runtime/device/matmul.c reads it. `tokens`
// are those that its ways are proposed for (a launch of more goes in several passes), `way` which of the proposals, from 0.
//@ contract(tokens >= 1, "%d tokens", tokens)
//@ declares{ threads = arch.wave, rows_per_wg = 16, lds_bytes = 0 }
mlaforge library product 1
library ${arch.sm and "cublaslt" or "hipblaslt"}
symbol ${symbol}
heads ${heads}
inner ${inner}
outer ${outer}
layout ${layout}
dtype ${dtype}
residual ${residual}
tokens ${tokens}
way ${way}
