"""Made by tools/limits.lua of gen/formats.lua: the formats of latent caches. Do not edit."""

FORMATS = (  # cache_format.Format
    ("paged", "dtype", "none", None, 2, (2, 2, 0), (2, 2, 0), {"mla_append": 0, "mla_gather_kv_b": 0, "mla_decode": 0}, (), False),
    ("split", "dtype", "none", ("rope columns", "dtype", (0, 2, 0)), 2, (2, 0, 0), (2, 2, 0), {"mla_append": 1, "mla_gather_kv_b": 4, "mla_decode": 1}, (), False),
    ("fp8_ds_mla", "e4m3fn", "stored", None, 1, (1, 2, 16), (1, 2, 16), {"mla_append": 2, "mla_gather_kv_b": 1, "mla_decode": 4}, (), False),
    ("e4m3fn", "e4m3fn", "launch", None, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 3, "mla_gather_kv_b": 2, "mla_decode": 2}, (), False),
    ("e4m3fnuz", "e4m3fnuz", "launch", None, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 4, "mla_gather_kv_b": 3, "mla_decode": 3}, ("gfx942",), False),
    ("fp8_v4", "e4m3fn", "stored", None, 1, (0, 0, 584), (0, 0, 584), {"mla_append": 5, "mla_gather_kv_b": 5, "mla_decode": 5}, (), True),
    ("fp8_planar", "e4m3fn", "stored", None, 1, (1, 2, 16), (1, 2, 16), {"mla_append": 8, "mla_gather_kv_b": 8, "mla_decode": 8}, (), True),
    ("kpe16", "e4m3fn", "launch", ("rope columns", "dtype", (0, 2, 0)), 1, (1, 0, 0), (1, 2, 0), {"mla_append": 6, "mla_gather_kv_b": 6, "mla_decode": 6}, (), False),
    ("fp8_scales", "e4m3fn", "stored", ("scales", "fp32", (0, 0, 16)), 1, (1, 0, 0), (1, 0, 16), {"mla_append": 7, "mla_gather_kv_b": 7, "mla_decode": 7}, (), False),
    ("fp8_planar_fnuz", "e4m3fnuz", "stored", None, 1, (1, 2, 16), (1, 2, 16), {"mla_append": 9, "mla_gather_kv_b": 9, "mla_decode": 9}, (), True),
)

REFUSED = {  # (operation, format): why

}
