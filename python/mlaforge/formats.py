"""Made by tools/limits.lua of gen/formats.lua: the formats of latent caches. Do not edit."""

FORMATS = (  # cache_format.Format
    ("paged", "dtype", "none", 1, 2, (2, 2, 0), (2, 2, 0), {"mla_append": 0, "mla_gather_kv_b": 0, "mla_decode": 0}, ()),
    ("split", "dtype", "none", 2, 2, (2, 0, 0), (2, 2, 0), {"mla_append": 1, "mla_gather_kv_b": 4, "mla_decode": 1}, ()),
    ("fp8_ds_mla", "e4m3fn", "stored", 1, 1, (1, 2, 16), (1, 2, 16), {"mla_append": 2, "mla_gather_kv_b": 1, "mla_decode": 4}, ()),
    ("e4m3fn", "e4m3fn", "launch", 1, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 3, "mla_gather_kv_b": 2, "mla_decode": 2}, ()),
    ("e4m3fnuz", "e4m3fnuz", "launch", 1, 1, (1, 1, 0), (1, 1, 0), {"mla_append": 4, "mla_gather_kv_b": 3, "mla_decode": 3}, ("gfx942",)),
    ("fp8_v4", "e4m3fn", "stored", 1, 1, (0, 0, 584), (0, 0, 584), {"mla_append": 5, "mla_decode": 5}, ()),
)

REFUSED = {  # (operation, format): why
    ("mla_gather_kv_b", "fp8_v4"):
        "mla_gather_kv_b does not take fp8_v4 caches (584 bytes a token of 448 + 64 columns, as those of DeepSeek-V4): it takes paged or fp8_ds_mla or e4m3fn or e4m3fnuz or split; mla_append and mla_decode take fp8_v4",
}
