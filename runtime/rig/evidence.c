/* Evidence: what a kernel's hot loop is made of, by mnemonic. Executed counts come from the emulator (below, last); where
 * none runs the kernel, it is static:
 * Basic blocks, dominators (Cooper, Harvey, Kennedy), natural loops; the hot loop is the one with the most MFMAs among those
 * that hold no other loop with MFMAs. Counted is one round along the path that executes the most MFMAs in the fewest
 * instructions, so that what a round seldom does (rescaling, a last partial page) does not blur the picture. */
#include "device/profile.h"
#include "rig/evidence.h"

typedef struct line {
  unsigned offset, size;
  const char *text;
} line;

/* Which counter a mnemonic goes to: the longest prefix that fits, so the special ones stand before "v_" and "s_". */
static const struct {
  const char *prefix;
  size_t counter;
} classes[] = {
    {"v_mfma_", offsetof(rig_evidence, mfma)},      {"v_smfmac_", offsetof(rig_evidence, mfma)},
    {"v_", offsetof(rig_evidence, valu)},           {"ds_", offsetof(rig_evidence, ds)},
    {"global_", offsetof(rig_evidence, vmem)},      {"buffer_", offsetof(rig_evidence, vmem)},
    {"flat_", offsetof(rig_evidence, vmem)},        {"scratch_", offsetof(rig_evidence, vmem)},
    {"s_load_", offsetof(rig_evidence, smem)},      {"s_buffer_load_", offsetof(rig_evidence, smem)},
    {"s_waitcnt", offsetof(rig_evidence, waitcnt)}, {"s_nop", offsetof(rig_evidence, nop)},
    {"s_barrier", offsetof(rig_evidence, barrier)}, {"s_cbranch_", offsetof(rig_evidence, branch)},
    {"s_branch", offsetof(rig_evidence, branch)},   {"s_", offsetof(rig_evidence, salu)},
};

static bool starts(const char *text, const char *with) { return strncmp(text, with, strlen(with)) == 0; }

static size_t class_of(const char *text) {
  size_t best = SIZE_MAX, length = 0;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (starts(text, classes[i].prefix) && strlen(classes[i].prefix) > length) {
      best = classes[i].counter;
      length = strlen(classes[i].prefix);
    }
  return best;
}

/* Bytes a wave of 64 lanes takes with one load. */
static unsigned load_bytes(const char *text) {
  static const struct {
    const char *word;
    unsigned bytes;
  } widths[] = {{"_load_dwordx4", 16},  {"_load_dwordx3", 12}, {"_load_dwordx2", 8}, {"_load_dword", 4},
                {"_load_lds_dword", 4}, {"_load_ushort", 2},   {"_load_sshort", 2},  {"_load_short", 2},
                {"_load_ubyte", 1},     {"_load_sbyte", 1}};
  if (!starts(text, "global_") && !starts(text, "buffer_") && !starts(text, "flat_")) return 0;
  char mnemonic[64]; /* the lines behind this one are not cut off */
  snprintf(mnemonic, sizeof mnemonic, "%.*s", (int)strcspn(text, " \n"), text);
  for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
    if (strstr(mnemonic, widths[i].word)) return 64 * widths[i].bytes;
  return 0;
}

static line *split(const char *text, size_t *n) {
  size_t cap = 1;
  for (const char *p = text; *p; p++) cap += *p == '\n';
  line *list = calloc(cap, sizeof *list);
  *n = 0;
  for (const char *p = text; list && *p;) {
    char *end;
    line *l = &list[*n];
    l->offset = (unsigned)strtoul(p, &end, 16);
    l->size = (unsigned)strtoul(end, &end, 16);
    while (*end == ' ') end++;
    l->text = end;
    (*n)++;
    p = strchr(end, '\n');
    if (!p) break;
    p++;
  }
  return list;
}

/* Target of a branch: a 16-bit word offset, unsigned in the text, from the next instruction. -1: no branch. */
static long long target_of(const line *l) {
  if (!starts(l->text, "s_cbranch_") && !starts(l->text, "s_branch ")) return -1;
  const char *space = l->text + strcspn(l->text, " \n");
  return *space == ' ' ? (long long)l->offset + 4 + 4 * (long long)(int16_t)strtoul(space + 1, NULL, 10) : -1;
}

static size_t index_at(const line *list, size_t n, long long offset) {
  size_t low = 0, high = n; /* offsets ascend */
  while (low < high) {
    size_t mid = (low + high) / 2;
    if (list[mid].offset < offset) low = mid + 1;
    else high = mid;
  }
  return low < n && list[low].offset == offset ? low : n;
}

/* --- blocks --- */
typedef struct block {
  size_t first, last;        /* instructions, inclusive */
  int next[2];               /* successors, -1: none */
  int order, idom;           /* reverse post-order number (-1: unreachable) and immediate dominator (a block) */
  unsigned mfma, size;       /* size: instructions */
  bool in_loop;              /* of the loop under examination */
  int state, via;            /* of the path search: 0 new, 1 open, 2 done; the successor taken */
  long best_mfma, best_size; /* from here to the header; best_mfma -1: the header is not reached */
} block;

typedef struct graph {
  line *lines;
  size_t n_lines;
  block *blocks;
  int n;
  int *block_of; /* by instruction */
  int *rpo;      /* blocks in reverse post-order */
  int reachable;
} graph;

static bool ends_block(const char *text) {
  return starts(text, "s_cbranch_") || starts(text, "s_branch ") || starts(text, "s_endpgm") || starts(text, "s_setpc");
}

/* A block starts at a branch target or behind a branch, and ends in front of the next start. */
static void find_blocks(graph *g) {
  bool leader = true;
  for (size_t i = 0; i < g->n_lines; i++) g->block_of[i] = 0;
  for (size_t i = 0; i < g->n_lines; i++) {
    long long target = target_of(&g->lines[i]);
    size_t at = target < 0 ? g->n_lines : index_at(g->lines, g->n_lines, target);
    if (at < g->n_lines) g->block_of[at] = 1; /* for now: marks a leader */
  }
  for (size_t i = 0; i < g->n_lines; i++) {
    if (leader || g->block_of[i]) g->blocks[g->n++] = (block){.first = i, .next = {-1, -1}, .order = -1, .idom = -1};
    block *b = &g->blocks[g->n - 1];
    b->last = i;
    b->size++;
    b->mfma += starts(g->lines[i].text, "v_mfma_") || starts(g->lines[i].text, "v_smfmac_");
    leader = ends_block(g->lines[i].text);
  }
  for (int k = 0; k < g->n; k++)
    for (size_t i = g->blocks[k].first; i <= g->blocks[k].last; i++) g->block_of[i] = k;
}

/* Successors: where the branch goes, and what follows unless the branch is unconditional or the program ends. */
static void link_blocks(graph *g) {
  for (int k = 0; k < g->n; k++) {
    block *b = &g->blocks[k];
    const line *l = &g->lines[b->last];
    long long target = target_of(l);
    size_t at = target < 0 ? g->n_lines : index_at(g->lines, g->n_lines, target);
    if (at < g->n_lines) b->next[0] = g->block_of[at];
    bool falls = !starts(l->text, "s_branch ") && !starts(l->text, "s_endpgm") && !starts(l->text, "s_setpc");
    if (falls && k + 1 < g->n) b->next[1] = k + 1;
  }
}

/* Depth first from block 0 without recursion: kernels have hundreds of blocks. */
static bool number_blocks(graph *g) {
  int *stack = calloc((size_t)g->n + 1, sizeof *stack), *at = calloc((size_t)g->n + 1, sizeof *at);
  int depth = 0, finished = g->n;
  bool ok = stack && at;
  if (ok) {
    stack[depth++] = 0;
    g->blocks[0].state = 1;
  }
  while (ok && depth) {
    int k = stack[depth - 1], next = at[k] < 2 ? g->blocks[k].next[at[k]] : -1;
    if (at[k]++ >= 2) {
      g->rpo[--finished] = k;
      depth--;
    } else if (next >= 0 && !g->blocks[next].state) {
      g->blocks[next].state = 1;
      stack[depth++] = next;
    }
  }
  g->reachable = g->n - finished;
  memmove(g->rpo, g->rpo + finished, (size_t)g->reachable * sizeof *g->rpo);
  for (int i = 0; ok && i < g->reachable; i++) g->blocks[g->rpo[i]].order = i;
  free(stack);
  free(at);
  return ok;
}

/* Nearest common dominator: climb from whichever block is later in the order. */
static int meet(const graph *g, int a, int b) {
  while (a != b) {
    while (g->blocks[a].order > g->blocks[b].order) a = g->blocks[a].idom;
    while (g->blocks[b].order > g->blocks[a].order) b = g->blocks[b].idom;
  }
  return a;
}

static void find_dominators(graph *g) {
  g->blocks[0].idom = 0;
  for (bool changed = true; changed;) {
    changed = false;
    for (int i = 0; i < g->reachable; i++) {
      int from = g->rpo[i];
      for (int e = 0; e < 2 && g->blocks[from].idom >= 0; e++) {
        int to = g->blocks[from].next[e];
        if (to <= 0) continue; /* the entry dominates itself */
        int idom = g->blocks[to].idom < 0 ? from : meet(g, g->blocks[to].idom, from);
        changed = changed || idom != g->blocks[to].idom;
        g->blocks[to].idom = idom;
      }
    }
  }
}

static bool dominates(const graph *g, int a, int b) {
  while (g->blocks[b].order > g->blocks[a].order) b = g->blocks[b].idom;
  return a == b;
}

/* --- loops --- */
static bool is_back_edge(const graph *g, int from, int to) {
  return to >= 0 && g->blocks[from].order >= 0 && g->blocks[to].order <= g->blocks[from].order &&
         dominates(g, to, from);
}

static bool is_header(const graph *g, int k) {
  for (int from = 0; from < g->n; from++)
    if (is_back_edge(g, from, g->blocks[from].next[0]) && g->blocks[from].next[0] == k) return true;
    else if (is_back_edge(g, from, g->blocks[from].next[1]) && g->blocks[from].next[1] == k) return true;
  return false;
}

/* Mark the natural loop of a header: what reaches one of its back edges without passing it. Returns its MFMAs. */
static unsigned mark_loop(graph *g, int header) {
  for (int k = 0; k < g->n; k++) g->blocks[k].in_loop = k == header;
  for (int k = 0; k < g->n; k++)
    for (int e = 0; e < 2; e++)
      if (g->blocks[k].next[e] == header && is_back_edge(g, k, header)) g->blocks[k].in_loop = true;
  for (bool changed = true; changed;) {
    changed = false;
    for (int k = 0; k < g->n; k++) {
      block *b = &g->blocks[k];
      if (b->in_loop || b->order < 0 || !dominates(g, header, k)) continue;
      for (int e = 0; e < 2; e++)
        if (b->next[e] >= 0 && b->next[e] != header && g->blocks[b->next[e]].in_loop) b->in_loop = changed = true;
    }
  }
  unsigned mfma = 0;
  for (int k = 0; k < g->n; k++) mfma += g->blocks[k].in_loop ? g->blocks[k].mfma : 0;
  return mfma;
}

/* The header of the hot loop, its blocks marked; -1: the kernel has no loop. */
static int find_hot_loop(graph *g, unsigned *loops) {
  int *headers = calloc((size_t)g->n, sizeof *headers), n = 0, hot = -1;
  unsigned *mfma = calloc((size_t)g->n, sizeof *mfma), most = 0;
  for (int k = 0; headers && mfma && k < g->n; k++)
    if (is_header(g, k)) headers[n++] = k;
  for (int i = 0; i < n; i++) mfma[i] = mark_loop(g, headers[i]);
  for (int i = 0; i < n; i++) {
    bool outer = false;
    mark_loop(g, headers[i]);
    for (int k = 0; k < n && !outer; k++) outer = k != i && mfma[k] && g->blocks[headers[k]].in_loop;
    if (outer || (hot >= 0 && mfma[i] <= most)) continue;
    hot = headers[i];
    most = mfma[i];
  }
  if (hot >= 0) mark_loop(g, hot);
  *loops = (unsigned)n;
  free(headers);
  free(mfma);
  return hot;
}

/* Most MFMAs, then fewest instructions, from block k round to the header. Depth is bounded by the loop's blocks. */
static void best_path(graph *g, int k, int header) {
  block *b = &g->blocks[k];
  b->state = 1;
  b->best_mfma = -1;
  for (int e = 0; e < 2; e++) {
    int to = b->next[e];
    if (to < 0 || !g->blocks[to].in_loop) continue;
    if (to != header && !g->blocks[to].state) best_path(g, to, header);
    if (to != header && (g->blocks[to].state == 1 || g->blocks[to].best_mfma < 0))
      continue; /* an inner loop's back edge */
    long mfma = b->mfma + (to == header ? 0 : g->blocks[to].best_mfma);
    long size = b->size + (to == header ? 0 : g->blocks[to].best_size);
    if (mfma < b->best_mfma || (mfma == b->best_mfma && size >= b->best_size)) continue;
    b->best_mfma = mfma;
    b->best_size = size;
    b->via = to;
  }
  b->state = 2;
}

static void count_block(const graph *g, const block *b, rig_evidence *out) {
  for (size_t i = b->first; i <= b->last; i++) {
    const char *text = g->lines[i].text;
    size_t at = class_of(text);
    if (at != SIZE_MAX) ++*(unsigned *)((char *)out + at);
    out->instructions++;
    out->load_bytes += load_bytes(text);
  }
}

/* The whole loop's size beside the round's tells how much of it is seldom executed. */
static void count_hot_loop(graph *g, rig_evidence *out) {
  int header = find_hot_loop(g, &out->loops);
  if (header < 0) return;
  for (int k = 0; k < g->n; k++) {
    g->blocks[k].state = 0;
    out->loop_instructions += g->blocks[k].in_loop ? g->blocks[k].size : 0;
  }
  best_path(g, header, header);
  out->start = g->lines[g->blocks[header].first].offset;
  for (int k = header; g->blocks[k].best_mfma >= 0;) {
    count_block(g, &g->blocks[k], out);
    k = g->blocks[k].via;
    if (k == header) break;
  }
}

bool mlaf_evidence(const char *text, rig_evidence *out) {
  graph g = {.n = 0};
  g.lines = split(text, &g.n_lines);
  rig_evidence found = {0};
  size_t room = g.n_lines + 1;
  g.blocks = calloc(room, sizeof *g.blocks);
  g.block_of = calloc(room, sizeof *g.block_of);
  g.rpo = calloc(room, sizeof *g.rpo);
  bool ok = g.lines && g.blocks && g.block_of && g.rpo;
  if (ok && g.n_lines) {
    find_blocks(&g);
    link_blocks(&g);
    ok = number_blocks(&g);
    if (ok) find_dominators(&g);
    if (ok) count_hot_loop(&g, &found);
  }
  free(g.lines);
  free(g.blocks);
  free(g.block_of);
  free(g.rpo);
  if (found.mfma) found.other_per_mfma = (double)(found.instructions - found.mfma) / found.mfma;
  if (ok) *out = found;
  return ok;
}

void mlaf_evidence_executed(const mlaf_profile *p, rig_evidence *out) {
  uint64_t sums[sizeof(rig_evidence) / sizeof(unsigned)] = {0}, all = 0, bytes = 0;
  const size_t mfma = offsetof(rig_evidence, mfma) / sizeof(unsigned);
  rig_evidence found = {.executed = true};
  bool begun = false;
  for (size_t i = 0; i < p->n_insts; i++) {
    const mlaf_profile_inst *x = &p->inst[i];
    if (!x->hot) continue;
    size_t at = class_of(x->text);
    if (!begun) found.start = x->pc;
    begun = true;
    if (at != SIZE_MAX) sums[at / sizeof(unsigned)] += x->executed;
    all += x->executed;
    bytes += x->executed * load_bytes(x->text);
    found.loop_instructions++;
  }
  if (!p->base) return;
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    *(unsigned *)((char *)&found + classes[i].counter) =
        (unsigned)((sums[classes[i].counter / sizeof(unsigned)] + p->base / 2) / p->base);
  found.instructions = (unsigned)((all + p->base / 2) / p->base);
  found.load_bytes = (unsigned)((bytes + p->base / 2) / p->base);
  if (sums[mfma]) found.other_per_mfma = (double)(all - sums[mfma]) / (double)sums[mfma];
  *out = found;
}
