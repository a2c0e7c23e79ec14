"""Made by tools/limits.lua of gen/formats.lua: the formats of latent caches. Do not edit."""

FORMATS = (  # cache_format.Format
    ("paged", "dtype", "none", None, 2, (2, 2, 0), (2, 2, 0), {"mla_append": 0, "mla_gather_kv_b": 0, "mla_decode": 0}, ()),
    ("split", "dtype", "none", ("rope columns", "dtype", (0, 2, 0)), 2, (2, 0, 0), (2, 2, 0), {"mla_append": 1, "mla_gather_kv_b": 4, "mla_decode": 1}, ()),
    ("fp8_ds_mla", "e4m3fn", "stored", None, 1, (1, 2, 16), (1, 2, 16), {"mla_append": 2, "mla_gather_kv_b": 1, "mla_decode": 4}, ()),
    ("e4m3fn", "e4m3fn", "launch", None, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 3, "mla_gather_kv_b": 2, "mla_decode": 2}, ()),
    ("e4m3fnuz", "e4m3fnuz", "launch", None, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 4, "mla_gather_kv_b": 3, "mla_decode": 3}, ("gfx942",)),
    ("fp8_v4", "e4m3fn", "stored", None, 1, (0, 0, 584), (0, 0, 584), {"mla_append": 5, "mla_gather_kv_b": 5, "mla_decode": 5}, ()),
    ("fp8_planar", "e4m3fn", "stored", None, 1, (1, 2, 16), (1, 2, 16), {}, ()),
    ("kpe16", "e4m3fn", "launch", ("rope columns", "dtype", (0, 2, 0)), 1, (1, 0, 0), (1, 2, 0), {"mla_append": 6, "mla_gather_kv_b": 6, "mla_decode": 6}, ()),
    ("fp8_scales", "e4m3fn", "stored", ("scales", "fp32", (0, 0, 16)), 1, (1, 0, 0), (1, 0, 16), {"mla_append": 7, "mla_gather_kv_b": 7, "mla_decode": 7}, ()),
)

REFUSED = {  # (operation, format): why
    ("mla_append", "fp8_planar"):
        "mla_append does not take fp8_planar caches (656 bytes a token of 512 + 64 columns, as those of AITER's kernels for DeepSeek-V3.2): it takes paged or split or fp8_ds_mla or e4m3fn or e4m3fnuz or fp8_v4 or kpe16 or fp8_scales, and no operation takes fp8_planar yet: a token's codes, scales and rope columns are three rows of a page, and kernels load a token as one or two",
    ("mla_gather_kv_b", "fp8_planar"):
        "mla_gather_kv_b does not take fp8_planar caches (656 bytes a token of 512 + 64 columns, as those of AITER's kernels for DeepSeek-V3.2): it takes paged or fp8_ds_mla or e4m3fn or e4m3fnuz or split or fp8_v4 or kpe16 or fp8_scales, and no operation takes fp8_planar yet: a token's codes, scales and rope columns are three rows of a page, and kernels load a token as one or two",
    ("mla_decode", "fp8_planar"):
        "mla_decode does not take fp8_planar caches (656 bytes a token of 512 + 64 columns, as those of AITER's kernels for DeepSeek-V3.2): it takes paged or split or e4m3fn or e4m3fnuz or fp8_ds_mla or fp8_v4 or kpe16 or fp8_scales, and no operation takes fp8_planar yet: a token's codes, scales and rope columns are three rows of a page, and kernels load a token as one or two",
}
