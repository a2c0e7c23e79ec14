"""Made by tools/limits.lua of gen/ops/*/fields.lua: the fields of problems, as the C structs have them. Do not edit."""
MLA_DECODE = ("heads", "rank", "rope", "q_len", "causal", "dtype", "page_size", "batch", "ctx", "rotate", "cache", "fp8_q")
PAGE_SIZE = (1, 65536)  # from .. to
