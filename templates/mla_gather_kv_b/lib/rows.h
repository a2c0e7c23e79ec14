// The row of the cache that a token of the chunk has, and its columns as 16-bit numbers.
//
// `layout` is a format of gen/formats.lua. One scale for all comes in behind the product, so that operands are exact. Scales that
// tokens hold are multiplied here, and rounded: exactly where they are powers of two.
//
// If `rotate` is set, the columns with positions are turned by the row of a table that is their token's position: pairs (x_2i,
// x_2i+1), or halves (x_i, x_i+P/2); x cos - y sin, y cos + x sin. A position outside the table makes them NaN.
//@ needs("H", "N", "OUT")

//@ local f = require("parts").of("mla_gather_kv_b", layout)
//@ local plain, scales = f.bits == 16, f.scales
//@ local powers, aside = f.powers, f.paged
//@ local tile = scales and scales.group // 8 -- chunks that share one
//@ if aside then
constexpr int SLOT_AT = 44; // from this bit on a row's place in its page stands beside its address
MLAF_DEV i64 address_of(i64 row) { return row & ((i64)1 << SLOT_AT) - 1; }

//@ end
//@ local apart = f.one_scale and f.rope.place == "tensor"
//@ local row_bytes, num_pages = apart and "(u32)a.cache_row" or "a.cache_row", apart and "(a.cache_row >> 32)" or "a.num_pages"
// The begin of a token's row. NO_TOKEN: there is no such token, nothing is written; NO_ROW: its page is none, all is NaN.
constexpr i64 NO_TOKEN = -2, NO_ROW = -1;
MLAF_DEV i64 find_row(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  if (t >= a.tokens || a.batch <= 0 || t < load<int>(a.cu_seqlens)) return NO_TOKEN;
  int low = 0, high = a.batch - 1; // the last request that begins at t or before
  while (low < high) {
    const int middle = (low + high + 1) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) low = middle;
    else high = middle - 1;
  }
  if (t >= load<int>(a.cu_seqlens + low + 1)) return NO_TOKEN;
  const i64 position = t - load<int>(a.cu_seqlens + low) + (a.seq_starts ? load<int>(a.seq_starts + low) : 0);
  const u32 in = (u32)position / a.page_tokens; // of a negative position more than any table has
  i64 first = low * a.table_stride, width = a.table_width;
  if (a.table_indptr) {
    first = load<int>(a.table_indptr + low);
    width = load<int>(a.table_indptr + low + 1) - first;
  }
  if (first < 0 || in >= width) return NO_ROW;
  const i64 page = load<int>(a.table + first + in);
  if ((u64)page >= (u64)${num_pages}) return NO_ROW;
//@ if aside then
  const i64 slot = (u32)position - in * a.page_tokens;
  return page * a.cache_page + slot * a.cache_row | slot << SLOT_AT;
//@ else
  return page * a.cache_page + (i64)((u32)position - in * a.page_tokens) * ${row_bytes};
//@ end
}

//@ if not plain then
//@ local fnuz = f.fnuz
// One byte of e4m3: the bits of a f16 that is 2^-${fnuz and 7 or 8} of it, whose subnormals are f16's.
MLAF_DEV float decode1(u32 code) {
  const unsigned short half = (unsigned short)((code & 0x7fu) << 7 | (code & 0x80u) << 8);
  const float x = half_value(half) * ${fnuz and "128.0f" or "256.0f"};
  return ${fnuz and "code == 0x80u" or "(code & 0x7fu) == 0x7fu"} ? not_a_number() : x;
}
MLAF_DEV u32 decode2(u32 codes, float scale) {
  return pack2(decode1(codes & 0xffu) * scale, decode1(codes >> 8 & 0xffu) * scale);
}
MLAF_DEV word4 decode8(word2 x, float scale) {
  return words(decode2(x.x, scale), decode2(x.x >> 16, scale), decode2(x.y, scale), decode2(x.y >> 16, scale));
}
//@ end

// A NaN that rounding to 16 bits leaves one: number.h wants its low bits zero.
MLAF_DEV float tidy(float x) { return x == x ? x : not_a_number(); }
MLAF_DEV word4 nan8() {
  const u32 two = pack2(not_a_number(), not_a_number());
  return words(two, two, two, two);
}

//@ if aside and not powers then
// The begin of a part of so many bytes a token in a page, for the row's token; `before`: bytes a token of the parts before it.
MLAF_DEV i64 part_of(const mlaf_gather_kv_b_kernel_args& a, i64 row, int before, int bytes) {
  const i64 slot = row >> SLOT_AT;
  return address_of(row) - slot * a.cache_row + (i64)a.page_tokens * before + slot * bytes;
}
//@ elseif powers then
// The power of two of columns 8c .. 8c+7 of a row.
MLAF_DEV float power_of(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  const i64 slot = row >> SLOT_AT, scales = address_of(row) + (a.page_tokens - slot) * a.cache_row + 8 * slot;
  const u32 code = load<unsigned char>(a.cache + scales + c / 8);
  return code == 255 ? not_a_number() : float_of(code == 0 ? 1u << 22 : code << 23);
}
//@ end
// Columns 8c .. 8c+7 of a row's latent.
MLAF_DEV word4 latent8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c) {
  if (row < 0) return row == NO_TOKEN ? words(0, 0, 0, 0) : nan8();
//@ if plain then
  return load<word4>(a.cache + row + 16 * c);
//@ elseif f.one_scale then
  return decode8(load<word2>(a.cache + row + 8 * c), 1.0f);
//@ elseif powers then
  return decode8(load<word2>(a.cache + address_of(row) + 8 * c), power_of(a, row, c));
//@ elseif scales.place == "page" then
  const float scale = load<float>(a.cache + part_of(a, row, ${scales.text}, ${scales.bytes}) + 4 * (c / ${tile}));
  return decode8(load<word2>(a.cache + address_of(row) + 8 * c), tidy(scale));
//@ elseif scales.place == "row" then
  return decode8(load<word2>(a.cache + row + 8 * c), tidy(load<float>(a.cache + row + ${scales.text} + 4 * (c / ${tile}))));
//@ else
  const float scale = load<float>((const float*)(a.kpe + row / a.cache_row * a.kpe_row) + c / ${tile});
  return decode8(load<word2>(a.cache + row + 8 * c), tidy(scale));
//@ end
}

// Factor that the products are still to be multiplied by.
MLAF_DEV float scale_behind(const mlaf_gather_kv_b_kernel_args& a) {
//@ if f.one_scale then
  return tidy(a.scale_at ? load<float>(a.scale_at) : a.scale);
//@ else
  return 1.0f;
//@ end
}

//@ if rope > 0 then
MLAF_DEV word4 rope8(const mlaf_gather_kv_b_kernel_args& a, i64 row, int c, float scale) {
  if (row < 0) return nan8();
//@ if f.rope.place == "tensor" then
//@ local kpe = apart and "(const char*)a.num_pages" or "a.kpe" -- row n of the one is row n of the other
  return load<word4>(${kpe} + row / ${row_bytes} * a.kpe_row + 16 * c);
//@ elseif f.rope.place == "page" then
  return load<word4>(a.cache + part_of(a, row, ${f.rope.text}, ${2 * rope}) + 16 * c);
//@ elseif f.rope.size == 2 then
  return load<word4>(a.cache + ${aside and "address_of(row)" or "row"} + ${f.rope.text} + 16 * c);
//@ else
  return decode8(load<word2>(a.cache + row + ${f.rope.text} + 8 * c), scale);
//@ end
}

//@ if rotate > 0 then
//@ local angles = rotate == 1 and 4 or 8
// The token must be there. A search shared with find_row would make other machine code of kernels that rotate nothing.
MLAF_DEV i64 position_of(const mlaf_gather_kv_b_kernel_args& a, i64 t) {
  int r = 0;
  for (int above = a.batch; above - r > 1;) { // request r begins at t or before, `above` behind it
    const int middle = (r + above) >> 1;
    if (load<int>(a.cu_seqlens + middle) <= t) r = middle;
    else above = middle;
  }
  return t - load<int>(a.cu_seqlens + r) + (a.seq_starts ? load<int>(a.seq_starts + r) : 0);
}

// Columns 8c .. 8c+7 of a token's, turned: of pairs both are in them, of halves the other is P/2 columns on.
MLAF_DEV word4 turned8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, float scale) {
  constexpr int ANGLES = ${angles}, CHUNKS = ${rope} / 8; // of 16 bytes
  const i64 position = position_of(a, t);
  if (row < 0 || (u64)position >= (u64)a.rope_rows) return nan8();
  const int first = ANGLES * ${rotate == 1 and "c" or "(c % (CHUNKS / 2))"};
  const char* const at = a.rope_table + (position * ${rope} + first) * 4;
  float v[8], cosine[ANGLES], sine[ANGLES];
  unpack(v, rope8(a, row, c, scale));
#pragma unroll
  for (int i = 0; i < ANGLES; i += 4) {
    const word4 x = load<word4>(at + 4 * i), y = load<word4>(at + ${2 * rope} + 4 * i);
    cosine[i] = float_of(x.x), cosine[i + 1] = float_of(x.y), cosine[i + 2] = float_of(x.z), cosine[i + 3] = float_of(x.w);
    sine[i] = float_of(y.x), sine[i + 1] = float_of(y.y), sine[i + 2] = float_of(y.z), sine[i + 3] = float_of(y.w);
  }
//@ if rotate == 1 then
#pragma unroll
  for (int i = 0; i < 4; i++) {
    const float across = v[2 * i + 1] * sine[i], back = v[2 * i] * sine[i];
    v[2 * i] = multiply_add(v[2 * i], cosine[i], -across);
    v[2 * i + 1] = multiply_add(v[2 * i + 1], cosine[i], back);
  }
//@ else
  float other[8];
  unpack(other, rope8(a, row, c < CHUNKS / 2 ? c + CHUNKS / 2 : c - CHUNKS / 2, scale));
  const float sign = c < CHUNKS / 2 ? -1.0f : 1.0f;
#pragma unroll
  for (int i = 0; i < 8; i++) v[i] = multiply_add(v[i], cosine[i], sign * (other[i] * sine[i]));
//@ end
  return pack(v);
}
//@ end

// The columns with positions of a token: once where all heads share them, else for this share's heads.
MLAF_DEV void store_rope8(const mlaf_gather_kv_b_kernel_args& a, i64 t, i64 row, int c, u32 share, float scale) {
  const word4 x = ${rotate > 0 and "turned8(a, t, row, c, scale)" or "rope8(a, row, c, scale)"};
  char* const to = a.k_pe + t * a.k_pe_token + 16 * c;
  for (u32 h = share; h < (a.k_pe_head ? H : 1u); h += a.shares) store(to + h * a.k_pe_head, x);
}
//@ end

// The place of columns f .. f+7 of a token's outputs, f a multiple of 8: token 0's place, and what a token is further on.
struct target {
  char* at;
  i64 token;
};
MLAF_DEV target target_of(const mlaf_gather_kv_b_kernel_args& a, int f) {
  const int head = f / OUT, i = f % OUT;
  if (i < N) return {a.k + head * a.k_head + 2 * i, a.k_token};
  return {a.v + head * a.v_head + 2 * (i - N), a.v_token};
}

// Row f of W, all heads' rows one behind the other.
MLAF_DEV const char* row_of_w(const mlaf_gather_kv_b_kernel_args& a, int f) {
  return a.w + f / OUT * a.w_head + f % OUT * a.w_row;
}
