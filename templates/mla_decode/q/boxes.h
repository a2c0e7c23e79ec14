// Q by the copy engine: boxes of all rows of a block from one dense tensor; from two (rows.h) in boxes of UNIT rows, those of one
// token, or of whole tokens.
//@ -- q: gen/ops/mla_decode/q.lua. Returns the texts of a copy of box `column` and of asking for it ahead, of `rows` rows from
//@ -- `row` on. maps: the block's array of maps, or a pointer to its first.
//@ if q.parts then
//@   needs("H", "R")
constexpr int UNIT = ${q.unit}, MAP_Q_PE = ${q.pe}, Q_BOXES = R / ${q.cols}; // of the latent's columns, then one of rope columns
MLAF_DEV void next_box(int& head, int& token) {
  head += UNIT % H;
  token += UNIT / H;
  if (UNIT % H != 0 && head == H) head = 0, token++;
}
MLAF_DEV void copy_q_box(u32 to, const mlaf_tensor_map* maps, int column, int head, int token, u32 barrier) {
  const bool pe = column == Q_BOXES;
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
               ::"r"(to), "l"(maps + (pe ? MAP_Q_PE : 0)), "r"(pe ? 0 : ${q.cols} * column), "r"(head), "r"(token), "r"(barrier)
               : "memory");
}
// `rows` rows from `row` on of box `column`, to rows of row_bytes at `to`.
MLAF_DEV void copy_q(u32 to, const mlaf_tensor_map* maps, int column, int row, int rows, int row_bytes, u32 barrier) {
  const bool pe = column == Q_BOXES;
  const mlaf_tensor_map* const map = maps + (pe ? MAP_Q_PE : 0);
  int token = (u32)row / H, head = row - token * H;
#pragma unroll 1
  for (const u32 end = to + rows * row_bytes; to < end; to += UNIT * row_bytes) {
    asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], [%5];"
                 ::"r"(to), "l"(map), "r"(pe ? 0 : ${q.cols} * column), "r"(head), "r"(token), "r"(barrier) : "memory");
    next_box(head, token);
  }
}
MLAF_DEV void fetch_q_box(const mlaf_tensor_map* maps, int column, int row, int rows) { // into L2
  const bool pe = column == Q_BOXES;
  const mlaf_tensor_map* const map = maps + (pe ? MAP_Q_PE : 0);
  int token = (u32)row / H, head = row - token * H;
#pragma unroll 1
  for (int i = 0; i < rows; i += UNIT) {
    asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global [%0, {%1, %2, %3}];"
                 ::"l"(map), "r"(pe ? 0 : ${q.cols} * column), "r"(head), "r"(token) : "memory");
    next_box(head, token);
  }
}
MLAF_DEV void fetch_q_boxes(const mlaf_tensor_map* maps, int row, int rows) { // all columns, by a warp
  const int lane = threadIdx.x % 32;
  if (lane <= Q_BOXES) fetch_q_box(maps, lane, row, rows);
}
//@ end
//@ local function first(maps) return maps:find("%.") and "&" .. maps .. "[MAP_Q]" or maps end
//@ local function at(column) return fmt("%d * %s", q.cols, column:find(" ") and "(" .. column .. ")" or column) end
//@ return {
//@   copy = function(to, maps, column, row, rows, barrier)
//@     if q.parts then return fmt("copy_q(%s, %s, %s, %s, %s, %d, %s)", to, maps, column, row, rows, 2 * q.cols, barrier) end
//@     return fmt("copy_box(%s, %s, %s, %s, %s)", to, first(maps), at(column), row, barrier)
//@   end,
//@   fetch = function(maps, column, row, rows)
//@     if q.parts then return fmt("fetch_q_box(%s, %s, %s, %s)", maps, column, row, rows) end
//@     return fmt("fetch_box(%s, %s, %s)", first(maps), at(column), row)
//@   end,
//@ }
