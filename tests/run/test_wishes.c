/* Launch words of kernels in their code objects (K_launch), and what the runtime makes of them: tensor maps behind the
 * arguments, clusters, overlap, launches that cut their batch. Over a fake device that records. */
#include <elf.h>

#include "cmocka_all.h"
#include "run/fake_device.h"
#include "point.h"

/* The least ELF with the constants of two kernels. */
typedef struct image {
  Elf64_Ehdr head;
  Elf64_Shdr sections[4];
  Elf64_Sym symbols[3];
  mlaf_kernel_launch wants[2];
  char names[64];
} image;

static void make_image(image *c) {
  static const char names[] = "\0.strtab\0.symtab\0.data\0decode_launch\0combine_launch";
  memset(c, 0, sizeof *c);
  memcpy(c->names, names, sizeof names);
  c->head = (Elf64_Ehdr){.e_type = ET_EXEC, .e_machine = 190, .e_version = 1, .e_ehsize = sizeof c->head,
                         .e_shoff = offsetof(image, sections), .e_shentsize = sizeof(Elf64_Shdr), .e_shnum = 4, .e_shstrndx = 1};
  memcpy(c->head.e_ident, ELFMAG, SELFMAG);
  c->head.e_ident[EI_CLASS] = ELFCLASS64;
  c->head.e_ident[EI_DATA] = ELFDATA2LSB;
  c->head.e_ident[EI_VERSION] = 1;
  for (unsigned i = 0; i < 2; i++) {
    c->wants[i] = (mlaf_kernel_launch){.magic = MLAF_LAUNCH_MAGIC, .size = sizeof *c->wants};
    c->symbols[1 + i] = (Elf64_Sym){.st_name = i ? 37 : 23, .st_info = STT_OBJECT, .st_shndx = 2,
                                    .st_value = i * sizeof *c->wants, .st_size = sizeof *c->wants};
  }
  c->sections[1] = (Elf64_Shdr){.sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = offsetof(image, names),
                                .sh_size = sizeof c->names};
  c->sections[2] = (Elf64_Shdr){.sh_name = 17, .sh_type = SHT_PROGBITS, .sh_offset = offsetof(image, wants),
                                .sh_size = sizeof c->wants};
  c->sections[3] = (Elf64_Shdr){.sh_name = 9, .sh_type = SHT_SYMTAB, .sh_link = 1, .sh_offset = offsetof(image, symbols),
                                .sh_size = sizeof c->symbols, .sh_entsize = sizeof(Elf64_Sym)};
}

/* A map of the fake is the tensor itself. */
static mlaf_status keep_tensor(mlaf_device *d, const mlaf_tensor *t, void *map, mlaf_err *err) {
  assert_int_equal((uintptr_t)map % 64, 0);
  memset(map, 0x55, MLAF_MAP_BYTES);
  memcpy(map, t, sizeof *t);
  return MLAF_OK;
}

typedef struct rig {
  mlaf_device_ops ops;
  fake_device dev;
  mlaf_problem problem;
  bool alone, paired; /* no combine kernel, or one, whatever the splits */
  const char *params; /* of the decode kernel; NULL: none */
  image code;
} rig;

static void rig_make(rig *r) {
  r->alone = r->paired = false;
  r->params = NULL;
  assert_int_equal(mlaf_problem_parse("mla_decode:h5,r64,p32,q3,bf16,page16,b2,s64", &r->problem, NULL, 0), MLAF_OK);
  r->dev = fake_make(&r->problem, BUG_NONE);
  r->ops = *r->dev.base.ops;
  r->ops.features = MLAF_DEVICE_CLUSTERS;
  r->ops.tensor_map_encode = keep_tensor;
  r->dev.base.ops = &r->ops;
  make_image(&r->code);
}

static mlaf_status rig_load(rig *r, uint32_t splits, mlaf_loaded **out, mlaf_err *err) {
  mlaf_kernel_ref decode = {.template_name = "t", .symbol = "decode", .threads = 128, .rows_per_wg = 8};
  static const mlaf_kernel_ref combine = {.template_name = "t", .symbol = "combine", .threads = 64, .rows_per_wg = 4};
  const mlaf_code code = {&r->code, sizeof r->code};
  if (r->params) snprintf(decode.params, sizeof decode.params, "%s", r->params);
  const mlaf_loaded_desc desc = {
      "fake/s", {{&decode, code}, {(splits > 1 || r->paired) && !r->alone ? &combine : NULL, code}}, splits};
  return mlaf_loaded_open((mlaf_device *)&r->dev, pt(&r->problem), &desc, out, err);
}

static mlaf_execute_args some_args(void) {
  mlaf_execute_args a = MLAF_EXECUTE_ARGS_INIT;
  a.q = (void *)0x1000;
  a.ckv = (void *)0x2000;
  a.o = (void *)0x3000;
  a.workspace = (void *)0x10000;
  a.num_pages = 7;
  a.batch = 2;
  a.total_q = 6;
  a.scale = 0.1f;
  return a;
}

static void expect_refused_as(rig *r, uint32_t splits, mlaf_status as, const char *says) {
  mlaf_loaded *l = NULL;
  mlaf_err err = {MLAF_OK, ""};
  assert_int_equal(rig_load(r, splits, &l, &err), as);
  if (!strstr(err.text, says)) fail_msg("'%s' does not say '%s'", err.text, says);
  assert_null(l);
}

static void expect_refused(rig *r, uint32_t splits, const char *says) { expect_refused_as(r, splits, MLAF_E_ARG, says); }

TEST(maps_clusters_overlap) {
  rig r;
  mlaf_loaded *l = NULL;
  mlaf_prepared p;
  const mlaf_decode_parameters *with = mlaf_decode_parameters_of(&p);
  mlaf_execute_args a = some_args();
  rig_make(&r);
  mlaf_kernel_launch *want = &r.code.wants[0];
  want->cluster[0] = 2, want->cluster[2] = 4;
  want->flags = MLAF_KERNEL_OVERLAPS;
  want->n_maps = 4;
  for (uint32_t i = 0; i < 4; i++) want->maps[i] = (mlaf_map_want){MLAF_MAP_CKV + i, 32, 8 + i, 64};
  assert_int_equal(rig_load(&r, 7, &l, NULL), MLAF_OK);
  assert_int_equal(mlaf_loaded_prepare(l, 7, &a, &p, NULL), MLAF_OK);
  assert_int_equal(p.n, 2);
  const uint32_t grid[3] = {2, 7, 4}; /* 15 rows are 2 groups; 2 requests are rounded up to a cluster */
  assert_memory_equal(p.launches[0].grid, grid, sizeof grid);
  assert_int_equal(p.launches[0].cluster[0], 2);
  assert_int_equal(p.launches[0].cluster[1], 1);
  assert_int_equal(p.launches[0].cluster[2], 4);
  assert_int_equal(p.launches[0].flags, MLAF_LAUNCH_OVERLAPS);
  assert_int_equal(p.launches[1].flags, 0);
  assert_ptr_equal(p.launches[0].args, &with->decode);
  assert_int_equal(p.launches[0].args_size, 128 + 4 * 128);
  const struct {
    const void *data;
    uint64_t cols, rows, stride;
  } tensors[] = {{(void *)0x2000, 64, 112, 192},
                 {(void *)0x2080, 32, 112, 192},
                 {(void *)0x1000, 96, 30, 192},
                 {(void *)0x3000, 64, 30, 128}};
  for (uint32_t i = 0; i < 4; i++) {
    const mlaf_tensor *t = (const void *)with->maps[i];
    assert_ptr_equal(t->data, tensors[i].data);
    assert_int_equal(t->cols, tensors[i].cols);
    assert_int_equal(t->rows, tensors[i].rows);
    assert_int_equal(t->row_stride, tensors[i].stride);
    assert_int_equal(t->box_cols, 32);
    assert_int_equal(t->box_rows, 8 + i);
    assert_int_equal(t->swizzle, 64);
  }
  a.num_pages = 0; /* nothing to map: zeros, not an error */
  assert_int_equal(mlaf_loaded_prepare(l, 1, &a, &p, NULL), MLAF_OK);
  for (int i = 0; i < MLAF_MAP_BYTES; i++) assert_int_equal(with->maps[0][i] | with->maps[1][i], 0);
  assert_int_equal(((const mlaf_tensor *)(const void *)with->maps[2])->rows, 30);
  mlaf_loaded_close(l);
}

/* A launch that may cut its batch: where parts do not meet they leave the pieces to a combine kernel, however many splits there
 * are. */
TEST(fitted) {
  rig r;
  mlaf_loaded *l = NULL;
  mlaf_prepared p;
  const mlaf_decode_parameters *with = mlaf_decode_parameters_of(&p);
  mlaf_execute_args a = some_args();
  rig_make(&r);
  r.alone = true;
  r.code.wants[0].flags = r.code.wants[1].flags = MLAF_KERNEL_FITS;
  expect_refused(&r, 1, "no combine kernel, and its decode kernel may cut its batch");
  expect_refused(&r, 5, "5 splits without a combine kernel");
  r.code.wants[0].flags |= MLAF_KERNEL_OVERLAPS | MLAF_KERNEL_TURNS; /* as kernels of sm90_many say it */
  expect_refused(&r, 1, "leaves the pieces to one");
  for (int meets = 0; meets < 2; meets++) {
    rig_make(&r);
    r.alone = meets;
    r.paired = !meets;
    r.code.wants[0].flags = MLAF_KERNEL_FITS | (meets ? MLAF_KERNEL_MEETS : 0);
    r.code.wants[1].flags = MLAF_KERNEL_FITS;
    assert_int_equal(rig_load(&r, 1, &l, NULL), MLAF_OK);
    a.workspace_size = mlaf_loaded_workspace_size(l, 1, 6);
    assert_true(a.workspace_size > MLAF_FIT_BYTES);
    assert_int_equal(mlaf_loaded_prepare(l, 1, &a, &p, NULL), MLAF_OK);
    assert_int_equal(p.n, meets ? 1 : 2);
    assert_int_equal(with->decode.splits >> 15 & 1, !meets);
    assert_ptr_equal(with->decode.part_o, (char *)a.workspace + MLAF_FIT_BYTES);
    assert_int_equal(mlaf_loaded_check(l, 5, &a, NULL), MLAF_E_ARG);
    mlaf_loaded_close(l);
  }
  rig_make(&r);
  r.paired = true;
  r.code.wants[0].flags = MLAF_KERNEL_FITS;
  expect_refused(&r, 1, "of different schedules"); /* a combine kernel that looks for splits only */
}

/* Two groups of rows: on 7 units 3 requests run at once. As few blocks as take no more turns than that. */
TEST(turns) {
  static const struct { int batch, groups, splits, z; } cases[] = {
    {1, 1, 1, 1},  {3, 1, 1, 3},  {4, 1, 1, 2}, {6, 1, 1, 3}, {7, 1, 1, 3}, {10, 1, 1, 3},
    {13, 1, 1, 3}, {16, 1, 1, 3}, {5, 1, 3, 1}, {5, 4, 1, 1}, {5, 8, 1, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig r;
    mlaf_loaded *l = NULL;
    mlaf_prepared p;
    mlaf_execute_args a = some_args();
    rig_make(&r);
    r.dev.base.info.compute_units = 7;
    r.code.wants[0].flags = MLAF_KERNEL_TURNS;
    r.code.wants[0].cluster[0] = (uint32_t)cases[i].groups;
    a.batch = cases[i].batch;
    a.total_q = 3 * a.batch;
    assert_int_equal(rig_load(&r, (uint32_t)cases[i].splits, &l, NULL), MLAF_OK);
    assert_int_equal(mlaf_loaded_prepare(l, (uint32_t)cases[i].splits, &a, &p, NULL), MLAF_OK);
    if (p.launches[0].grid[2] != (uint32_t)cases[i].z) fail_msg("case %zu: grid z is %u", i, p.launches[0].grid[2]);
    mlaf_loaded_close(l);
  }
}

TEST(what_a_device_lacks) {
  rig r;
  rig_make(&r);
  r.ops.features = 0;
  r.code.wants[0].cluster[1] = 2;
  expect_refused_as(&r, 1, MLAF_E_TEMPLATE, "wants clusters of 0x2x0 blocks, fake has none");
  rig_make(&r);
  r.ops.tensor_map_encode = NULL;
  r.code.wants[0].n_maps = 1;
  r.code.wants[0].maps[0] = (mlaf_map_want){MLAF_MAP_CKV, 64, 64, 128};
  expect_refused_as(&r, 1, MLAF_E_TEMPLATE, "wants 1 tensor maps, fake has none");
  rig_make(&r);
  r.code.wants[1].n_maps = 1;
  r.code.wants[1].maps[0] = (mlaf_map_want){MLAF_MAP_Q, 64, 64, 128};
  expect_refused(&r, 2, "a combine kernel gets no tensor maps");
}

/* A kernel that was compiled for another shape reads and writes as that says, whatever the problem is. */
TEST(made_for_another_shape) {
  static const struct { const char *params, *says; } cases[] = {
      {"dtype=bf16,heads=16,q_len=3,rank=64,rope=32", "kernel decode was made for heads=16, and the problem has heads=5"},
      {"heads=5,q_len=3,rank=512", "made for rank=512, and the problem has rank=64"},
      {"heads=5,page_size=64", "made for page_size=64, and the problem has page_size=16"},
      {"q_len=1,xheads=9", "made for q_len=1, and the problem has q_len=3"}};
  rig r;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    rig_make(&r);
    r.params = cases[i].params;
    expect_refused(&r, 1, cases[i].says);
  }
  mlaf_loaded *l = NULL;
  rig_make(&r);
  r.params = "heads=5,page_size=16,q_len=3,rank=64,rope=32,xheads=9";
  assert_int_equal(rig_load(&r, 1, &l, NULL), MLAF_OK);
  mlaf_loaded_close(l);
}

/* A launch word of another version, or a damaged one, is never taken for none. */
TEST(not_understood) {
  for (int i = 0; i < 8; i++) {
    rig r;
    rig_make(&r);
    mlaf_kernel_launch *w = &r.code.wants[0];
    switch (i) {
      case 0: w->magic++; break;
      case 1: w->size += 4; break;
      case 2: w->schedule = 1; break; /* "balanced", of an earlier version */
      case 3: w->n_maps = 9; break;
      case 4: w->n_maps = 1; break; /* of nothing */
      case 5: w->flags = 1u << 31; break;
      case 6: w->flags = MLAF_KERNEL_MEETS; break; /* an in-kernel split merge, and no batch is cut */
      default: r.code.symbols[1].st_size = 4; break;
    }
    expect_refused(&r, 1, "compile it again");
  }
}

TESTS(NULL, NULL)
