-- The fields of a mla_decode problem, for C and Lua alike, in the order of the problem string: the grammar,
-- checks, options, help texts and docs/limits.md come from this table (tools/limits.lua makes C of it when the build is
-- configured). No template may require it: raising a limit must not change the identity of kernels that exist.
-- tests/lua/test_limits.lua renders every kernel at the edges of this table, so that a limit raised without kernels that honour
-- it fails.
--   field   its name in structs, in Lua and as an option; word: in messages; about: in help texts; option: the option's name
--           where that one is taken
--   key     letters before the number in a problem string; least, most, multiple: of that number; default: without it the field
--           must be given
--   words   in place of a key: what is written for 0, 1, ...; "" writes nothing, and such a flag is a number in Lua, not its word
--   moot    where that other field has that value this one says nothing, and is 0: one computation has one name. With a key it
--           is not written then
--   apart   no problem has both this and that other field, each other than 0; why: what a message says behind their values.
--           With `of`, a list of that field's values, those go together, and 0 does not
--   unlisted  why kernels of a family that lists the field neither in `problem` nor in `optional` do not serve others than 0
--   like    true: a choice for 0 serves where there is none for the problem, if its family serves it: kernels differ by where a
--           tensor is read, and in no time
--   added   later than the others: it stands last in struct mlaf_problem, which was shorter before
--   size    tuned for, and distance is in doublings; all others are shape: in the kernel, or hard
--   steps   of a size: plans are made for so many values to a doubling (a power of two), from `first` on (1)
--   also    of a size: and for these values

-- Caches of 16 bits, in one tensor or in two, are one word: a launch says which by its kpe. The others follow by their numbers.
local CACHES = { "", table.unpack(require("formats").words("mla_decode"), 3) }

return {
  example = "h16,r512,p64,q1,bf16,page64,b64,s4096",
  { key = "h", field = "heads", word = "heads", least = 1, most = 256, multiple = 1, about = "query heads on this rank" },
  { key = "r", field = "rank", word = "kv_lora_rank", default = 512, least = 32, most = 512, multiple = 32,
    about = "columns of the latent cache, which are K and V" },
  { key = "p", field = "rope", word = "rope dim", default = 64, least = 0, most = 64, multiple = 32,
    about = "columns with positions, which are K only" },
  { key = "q", field = "q_len", word = "q_len", default = 1, least = 1, most = 16, multiple = 1,
    about = "query tokens of a request: more than 1 with drafts" },
  { field = "causal", word = "causal", words = { "", "causal" }, moot = { field = "q_len", at = 1 },
    about = "query token i of n sees the first kv_len - (n-1-i) tokens" },
  { field = "dtype", word = "dtype", words = { "bf16", "f16" }, about = "type of Q and O, and of a cache of 16 bits" },
  { field = "rotate", word = "rope on read", words = { "", "rope_pairs", "rope_halves" }, moot = { field = "rope", at = 0 },
    added = true, unlisted = "keys are taken as the cache has them",
    about = "keys are rotated as they are read, the cache's are not: columns 2i and 2i+1, or i and i + P/2" },
  { field = "cache", word = "cache", words = CACHES, added = true, option = "kv-cache",
    apart = { field = "rotate",
      why = "keys of an 8-bit cache are rotated already when they are written: leave rope on read out" },
    about = "8-bit cache: all columns fp8 with one scale for all, or the latent with scales inside; else Q's type" },
  { field = "fp8_q", word = "Q", words = { "", "fp8_q" }, added = true,
    apart = { field = "cache", of = { 1, 2 },
      why = "queries of 8 bits have the cache's encoding and one scale, so it must be e4m3fn or e4m3fnuz: leave fp8_q out" },
    about = "Q is fp8, too, in the cache's encoding and with one scale for all" },
  { field = "q_parts", word = "Q in two tensors", words = { "", "q_parts" }, moot = { field = "rope", at = 0 }, added = true,
    apart = { field = "fp8_q", why = "queries of 8 bits are one tensor: leave q_parts out" },
    unlisted = "Q is read as one tensor", like = true,
    about = "Q's first R columns and its rope columns are two tensors, with strides of their own" },
  { key = "page", field = "page_size", word = "page_size", default = 64, least = 1, most = 65536, multiple = 1,
    about = "tokens of a page" },
  { key = "b", field = "batch", word = "batch", default = 1, least = 1, most = 65536, multiple = 1, size = true,
    steps = 8, -- how blocks fill the device goes by the batch, in steps
    also = { 33, 66, 132 }, -- what fills an H200 in four splits, two, and one
    about = "requests of a launch" },
  { key = "s", field = "ctx", word = "ctx", default = 1024, least = 1, most = 16777216, multiple = 1, size = true,
    steps = 4, first = 64, about = "cached tokens of a request, as tuned for" },
}
