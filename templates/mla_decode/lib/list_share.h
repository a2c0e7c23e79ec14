// A launch's index lists, one of each query token, and the share of a list that a block has.
//@ -- pools: mla_decode/lib/index_list.h; fitted: the schedule.
MLAF_DEV int list_topk(const mlaf_decode_args& a) { return (int)((u64)a.kv_last_page_lens & 0xfffff) + 1; }

//@ if pools then
// The launch's second lists, and their lengths (runtime/ops/mla_decode/launch.h: mlaf_extra_word): in the place of partial
// results where rows are whole, else of the output. The word is in total_q's place, which is batch.
struct extra_lists {
  const int *lists, *lengths;
};
MLAF_DEV extra_lists extra_of(const mlaf_decode_args& a) {
  const bool whole = ${fitted and "fit_splits(&a)" or "a.splits"} == 1;
  return {(const int*)(whole ? (const char*)a.part_o : a.o), (const int*)(whole ? a.part_lse : a.lse)};
}

//@ end
struct index_list {
  const int* at;
  int n;    // entries
  int mine; // of this block's share, whole chunks of 64
//@ if pools then
  const int* extra; // entries of the second pool
  int extra_n, before; // how many; the places of the first list, whole chunks
//@ end
};
MLAF_DEV index_list list_of(const mlaf_decode_args& a, int request) {
  const u64 word = (u64)a.kv_last_page_lens;
  const int topk = list_topk(a), share = (int)(word >> 20 & 0xfffff) + 1;
  index_list x = {a.kv_indices + (i64)request * (topk + (int)(word >> 40)), topk, 0};
  if (a.kv_indptr) {
    const int told = load_past_l1(a.kv_indptr + (u32)request / (u32)share);
    x.n = told < 0 ? 0 : smaller(told, topk);
  }
//@ if pools then
  const extra_lists extra = extra_of(a);
  const u32 extra_word = (u32)a.total_q.value;
  const int extra_topk = (int)(extra_word & 0xfffff) + 1;
  x.before = (x.n + 63) / 64 * 64;
  x.extra = extra.lists + (i64)request * (extra_topk + (int)(extra_word >> 20));
  x.extra_n = extra.lists ? extra_topk : 0;
  if (extra.lists && extra.lengths) {
    const int told = load_past_l1(extra.lengths + (u32)request / (u32)share);
    x.extra_n = told < 0 ? 0 : smaller(told, extra_topk);
  }
  const int chunks = x.before / 64 + (x.extra_n + 63) / 64, shares = gridDim.y;
//@ else
  const int chunks = (x.n + 63) / 64, shares = gridDim.y;
//@ end
  x.mine = ((chunks - (int)blockIdx.y + shares - 1) / shares) * 64;
  return x;
}
// Place in the list of entry i of the share.
MLAF_DEV int list_place(int i) { return (i / 64 * (int)gridDim.y + (int)blockIdx.y) * 64 + i % 64; }
