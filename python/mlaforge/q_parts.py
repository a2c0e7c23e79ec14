"""Made by tools/limits.lua of tuning/q-parts.tsv, measured times. Do not edit."""

JOINED = {  # heads for which a launch that joins Q's two tensors is faster than kernels that read both, by target
    "sm_90a": (3, 5, 6, 7, 10, 12, 14, 20, 28, 36, 40, 44, 52, 56, 60, 72),
}
