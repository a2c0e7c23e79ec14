//@ -- Contracts of every decode kernel: its problem's values.
//@ contract(heads >= 1, "heads is %d", heads) -- how many there may be: gen/limits.lua
//@ contract(q_len >= 1, "q_len is %d", q_len)
//@ contract(causal == 0 or causal == 1, "causal is 0 or 1")
//@ contract(page_size >= 1 and page_size <= 65536, "page_size %d is not in 1..65536", page_size)
//@ contract(dtype == "bf16" or dtype == "f16", "dtype %s is not bf16 or f16", dtype)
