/* Device memory: every allocation is its own mapping with unmapped pages on both sides, guest address = host address.
 *
 * A guest access is legal when one live allocation holds all of its bytes. The table is a sorted array: kernels touch
 * a dozen allocations, so a search is four comparisons, and callers on the hot path keep the span they hit last.
 * Alignment: ROCm runs gfx942 with SH_MEM_CONFIG.alignment_mode = unaligned, so vector loads and stores may start at any
 * byte (the timing model charges the extra lines); atomics must be naturally aligned. */
#include <errno.h>
#include <inttypes.h>
#include <sys/mman.h>

#include "emu/memory.h"
#include "emu/strict.h"

const emu_absent_service emu_absent[EMU_ABSENT_COUNT] = {
    {MLAF_HIDDEN_PRINTF, "the kernel calls printf, whose buffer the emulator does not provide: store what you want to see in"
                         " memory"},
    {MLAF_HIDDEN_HOSTCALL, "the kernel calls the host (printf, the message of a failed assert, malloc or free on the device),"
                           " which"
                           " the emulator does not serve: store what you want to see in memory, and pass buffers instead of"
                           " allocating"},
    {MLAF_HIDDEN_HEAP, "the kernel uses the device's heap (malloc or free in a kernel), which the emulator does not have: pass"
                       " a buffer"
                       " instead"},
    {MLAF_HIDDEN_MULTIGRID_SYNC, "the kernel synchronises grids of several devices, which the emulator does not do"},
    {MLAF_HIDDEN_DEFAULT_QUEUE, "the kernel enqueues kernels itself, which the emulator does not do"},
    {MLAF_HIDDEN_COMPLETION, "the kernel enqueues kernels itself, which the emulator does not do"}};

enum { PAGE = 4096, HUGE = 2 << 20, GUARD = 16 * PAGE, FREED_KEPT = 32 };

struct emu_memory {
  pthread_rwlock_t lock; /* a launch holds it for reading from begin to end: spans stay where they are while kernels run */
  emu_span *live; /* sorted by lo; no two overlap */
  size_t n, cap;
  emu_span *registered; /* host memory as it was registered, sorted by lo; may overlap. Of `live`, what they cover */
  size_t n_registered, cap_registered;
  emu_span freed[FREED_KEPT]; /* ring: still reserved, not accessible */
  size_t n_freed;
};

mlaf_status emu_memory_open(emu_device *dev, mlaf_err *err) {
  emu_memory *m = calloc(1, sizeof *m);
  if (!m) return mlaf_fail(err, MLAF_E_NOMEM, "no host memory for the emulator's allocation table");
  if (pthread_rwlock_init(&m->lock, NULL) != 0) {
    free(m);
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot create the lock of the emulator's allocation table");
  }
  dev->memory = m;
  return MLAF_OK;
}

static size_t mapped_bytes(const emu_span *s) {
  uint64_t payload = (s->hi - s->lo + PAGE - 1) / PAGE * PAGE;
  return (size_t)(payload + 2 * GUARD);
}

static void unmap(const emu_span *s) { munmap((void *)(uintptr_t)(s->lo - GUARD), mapped_bytes(s)); }

/* --- which bytes were written: a byte each, so that host threads may mark neighbours at the same time --- */

static uint8_t *track(uint64_t bytes) {
  void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return p == MAP_FAILED ? NULL : p;
}

static void untrack(emu_span *s) {
  if (s->written) munmap(s->written, s->hi - s->lo);
  s->written = NULL;
}

static void mark(const emu_span *s, uint64_t addr, uint64_t n) {
  if (s && s->written) memset(s->written + (addr - s->lo), 0xff, n);
}

bool emu_global_written(emu_wave *w, int lane, uint64_t addr, uint64_t n, const char *what) {
  if (!w->group->dev->tracking) return true;
  const emu_span *s = emu_mem_find(w->group->dev, addr, n);
  const uint8_t *at = s && s->written ? s->written + (addr - s->lo) : NULL;
  const uint8_t *hole = at ? memchr(at, 0, n) : NULL;
  if (!hole) return true;
  uint64_t offset = addr - s->lo + (uint64_t)(hole - at);
  if (!(w->group->dev->forgiven >> EMU_RULE_GLOBAL_UNWRITTEN & 1))
    return emu_fault(w, lane, "%s of global memory that nothing has written: %" PRIu64 " bytes at 0x%" PRIx64 ", of which"
                     " offset %" PRIu64 " of the %" PRIu64 "-byte allocation at 0x%" PRIx64 " is the first unwritten"
                     " [rule global-unwritten]", what, n, addr, offset, s->hi - s->lo, s->lo);
  return emu_broken(w, EMU_RULE_GLOBAL_UNWRITTEN, lane, "%s of global memory that nothing has written, at 0x%" PRIx64, what,
                    addr);
}

bool emu_global_write(emu_wave *w, int lane, uint64_t addr, uint64_t n) {
  if (!w->group->dev->tracking) return true;
  const emu_span *s = emu_mem_find(w->group->dev, addr, n);
  if (s && s->read_only)
    return emu_fault(w, lane, "store of %" PRIu64 " bytes at offset %" PRIu64 " of host memory at 0x%" PRIx64 " that is"
                     " read-only: an output must be writable", n, addr - s->lo, s->lo);
  mark(s, addr, n);
  return true;
}

void emu_memory_close(emu_device *dev) {
  emu_memory *m = dev->memory;
  if (!m) return;
  for (size_t i = 0; i < m->n; i++)
    if (!m->live[i].host) untrack(&m->live[i]), unmap(&m->live[i]);
  for (size_t i = 0; i < FREED_KEPT; i++)
    if (m->freed[i].hi) unmap(&m->freed[i]);
  free(m->live);
  free(m->registered);
  pthread_rwlock_destroy(&m->lock);
  free(m);
  dev->memory = NULL;
}

void emu_mem_pin(emu_device *dev) { pthread_rwlock_rdlock(&dev->memory->lock); }
void emu_mem_unpin(emu_device *dev) { pthread_rwlock_unlock(&dev->memory->lock); }

/* Index of the first allocation that begins above addr. */
static size_t upper(const emu_memory *m, uint64_t addr) {
  size_t lo = 0, hi = m->n;
  while (lo < hi) {
    size_t mid = (lo + hi) / 2;
    if (m->live[mid].lo <= addr) lo = mid + 1;
    else hi = mid;
  }
  return lo;
}

const emu_span *emu_mem_find(const emu_device *dev, uint64_t addr, uint64_t n) {
  const emu_memory *m = dev->memory;
  size_t i = upper(m, addr);
  if (i == 0) return NULL;
  const emu_span *s = &m->live[i - 1];
  return addr < s->hi && n <= s->hi - addr ? s : NULL;
}

const emu_span *emu_mem_spans(const emu_device *dev, size_t *n) {
  *n = dev->memory->n;
  return dev->memory->live;
}

void emu_mem_describe(const emu_device *dev, uint64_t addr, uint64_t n, char *why, size_t why_size) {
  const emu_memory *m = dev->memory;
  if (addr - EMU_ABSENT_BASE < (uint64_t)EMU_ABSENT_COUNT * EMU_ABSENT_BYTES) {
    snprintf(why, why_size, "%s", emu_absent[(addr - EMU_ABSENT_BASE) / EMU_ABSENT_BYTES].what);
    return;
  }
  for (size_t i = 0; i < FREED_KEPT && i < m->n_freed; i++) {
    const emu_span *s = &m->freed[(m->n_freed - 1 - i) % FREED_KEPT];
    if (addr < s->lo || addr >= s->hi) continue;
    snprintf(why, why_size, "%" PRIu64 " bytes at 0x%" PRIx64 " are at offset %" PRIu64 " of the freed %" PRIu64
             "-byte allocation at 0x%" PRIx64, n, addr, addr - s->lo, s->hi - s->lo, s->lo);
    return;
  }
  size_t i = upper(m, addr);
  const emu_span *below = i ? &m->live[i - 1] : NULL, *above = i < m->n ? &m->live[i] : NULL;
  uint64_t under = below ? (addr < below->hi ? 0 : addr - below->hi) : UINT64_MAX;
  uint64_t over = above ? above->lo - addr : UINT64_MAX;
  if (!below && !above)
    snprintf(why, why_size, "%" PRIu64 " bytes at 0x%" PRIx64 ": the device has no allocation", n, addr);
  else if (below && under <= over)
    snprintf(why, why_size, "%" PRIu64 " bytes at 0x%" PRIx64 " are at offset %" PRIu64 " of the nearest allocation, %" PRIu64
             " bytes at 0x%" PRIx64 ": %s its end", n, addr, addr - below->lo, below->hi - below->lo, below->lo,
             addr < below->hi ? "they cross" : "past");
  else
    snprintf(why, why_size, "%" PRIu64 " bytes at 0x%" PRIx64 " are %" PRIu64 " bytes before the nearest allocation, %" PRIu64
             " bytes at 0x%" PRIx64, n, addr, over, above->hi - above->lo, above->lo);
}

uint8_t *emu_mem_at(emu_device *dev, uint64_t addr, uint32_t n, char *why, size_t why_size) {
  if (emu_mem_find(dev, addr, n)) return (uint8_t *)(uintptr_t)addr;
  emu_mem_describe(dev, addr, n, why, why_size);
  return NULL;
}

/* Give the pages back but keep the addresses until FREED_KEPT later frees, so that a use after free is one. */
static void quarantine(emu_memory *m, emu_span s) {
  emu_span *oldest = &m->freed[m->n_freed++ % FREED_KEPT];
  if (oldest->hi) unmap(oldest);
  *oldest = s;
  mmap((void *)(uintptr_t)(s.lo - GUARD), mapped_bytes(&s), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
       -1, 0);
}

/* Room for `more` spans behind the n that are there. */
static mlaf_status reserve(emu_span **spans, size_t *cap, size_t n, size_t more, mlaf_err *err) {
  if (n + more <= *cap) return MLAF_OK;
  size_t larger = 2 * *cap > n + more ? 2 * *cap : n + more > 64 ? n + more : 64;
  emu_span *p = realloc(*spans, larger * sizeof *p);
  if (!p) return mlaf_fail(err, MLAF_E_NOMEM, "no host memory for %zu entries of the emulator's allocation table", larger);
  *spans = p;
  *cap = larger;
  return MLAF_OK;
}

/* There is room. */
static void put(emu_memory *m, emu_span s) {
  size_t at = upper(m, s.lo);
  memmove(&m->live[at + 1], &m->live[at], (m->n - at) * sizeof s);
  m->live[at] = s;
  m->n++;
}

static mlaf_status insert(emu_memory *m, emu_span s, mlaf_err *err) {
  mlaf_status st = reserve(&m->live, &m->cap, m->n, 1, err);
  if (st == MLAF_OK) put(m, s);
  return st;
}

mlaf_status emu_mem_alloc(emu_device *dev, size_t bytes, void **ptr, mlaf_err *err) {
  if (bytes == 0) return mlaf_fail(err, MLAF_E_ARG, "cannot allocate 0 bytes of device memory");
  if (bytes > (size_t)1 << 46)
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot allocate %zu bytes of emulated device memory", bytes);
  size_t payload = (bytes + PAGE - 1) / PAGE * PAGE;
  char *base = mmap(NULL, payload + 2 * GUARD, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED || mprotect(base + GUARD, payload, PROT_READ | PROT_WRITE) != 0) {
    int why = errno;
    if (base != MAP_FAILED) munmap(base, payload + 2 * GUARD);
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot map %zu bytes of emulated device memory: %s", bytes, strerror(why));
  }
  emu_span s = {(uint64_t)(uintptr_t)(base + GUARD), (uint64_t)(uintptr_t)(base + GUARD) + bytes, NULL, false, false};
  bool all = dev->extra >> EMU_RULE_GLOBAL_UNWRITTEN & 1;
  if (all && !(s.written = track(bytes))) {
    unmap(&s);
    return mlaf_fail(err, MLAF_E_NOMEM, "cannot map the shadow of %zu bytes of emulated device memory", bytes);
  }
  pthread_rwlock_wrlock(&dev->memory->lock);
  mlaf_status st = insert(dev->memory, s, err);
  dev->tracking |= all;
  pthread_rwlock_unlock(&dev->memory->lock);
  if (st != MLAF_OK) untrack(&s), unmap(&s);
  else *ptr = base + GUARD;
  return st;
}

mlaf_status emu_mem_free(emu_device *dev, void *ptr, mlaf_err *err) {
  if (!ptr) return MLAF_OK;
  emu_memory *m = dev->memory;
  uint64_t addr = (uint64_t)(uintptr_t)ptr;
  pthread_rwlock_wrlock(&m->lock);
  size_t i = upper(m, addr);
  if (i == 0 || m->live[i - 1].lo != addr || m->live[i - 1].host) {
    char why[256];
    emu_mem_describe(dev, addr, 1, why, sizeof why);
    pthread_rwlock_unlock(&m->lock);
    return mlaf_fail(err, MLAF_E_ARG, "free of %p, which no allocation starts at (%s): pass the pointer alloc returned, once",
                     ptr, why);
  }
  emu_span s = m->live[i - 1];
  memmove(&m->live[i - 1], &m->live[i], (m->n - i) * sizeof s);
  m->n--;
  untrack(&s);
  quarantine(m, s);
  pthread_rwlock_unlock(&m->lock);
  return MLAF_OK;
}

/* Host-side copies obey the same bounds as kernels. */
static mlaf_status check(emu_device *dev, const void *p, size_t bytes, bool writes, const char *what, mlaf_err *err) {
  if (bytes == 0) return MLAF_OK;
  emu_memory *m = dev->memory;
  pthread_rwlock_rdlock(&m->lock);
  const emu_span *s = emu_mem_find(dev, (uint64_t)(uintptr_t)p, bytes);
  bool ok = s != NULL && !(writes && s->read_only);
  if (ok && writes) mark(s, (uint64_t)(uintptr_t)p, bytes);
  char why[256] = "host memory that was registered read-only";
  if (!s) emu_mem_describe(dev, (uint64_t)(uintptr_t)p, bytes, why, sizeof why);
  pthread_rwlock_unlock(&m->lock);
  return ok ? MLAF_OK : mlaf_fail(err, MLAF_E_ARG, "%s of device memory %s%s", what, s ? "refused: " : "out of bounds: ", why);
}

/* Before n bytes are written at once: in large pages, as a fault for each small one takes longer than writing it. */
static void expect(void *at, size_t n) {
  uint64_t lo = ((uint64_t)(uintptr_t)at + PAGE - 1) / PAGE * PAGE, hi = ((uint64_t)(uintptr_t)at + n) / PAGE * PAGE;
  if (hi >= lo + HUGE) madvise((void *)(uintptr_t)lo, hi - lo, MADV_HUGEPAGE);
}

mlaf_status emu_mem_write(emu_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_status st = check(dev, dst, bytes, true, "write", err);
  if (st == MLAF_OK && bytes) expect(dst, bytes), memcpy(dst, src, bytes);
  return st;
}

mlaf_status emu_mem_read(emu_device *dev, void *dst, const void *src, size_t bytes, mlaf_err *err) {
  mlaf_status st = check(dev, src, bytes, false, "read", err);
  if (st == MLAF_OK && bytes) memcpy(dst, src, bytes);
  return st;
}

mlaf_status emu_mem_fill(emu_device *dev, void *dst, int byte, size_t bytes, mlaf_err *err) {
  mlaf_status st = check(dev, dst, bytes, true, "fill", err);
  if (st == MLAF_OK && bytes) expect(dst, bytes), memset(dst, byte, bytes);
  return st;
}

mlaf_status emu_mem_undefine(emu_device *dev, void *at, size_t bytes, mlaf_err *err) {
  mlaf_status st = check(dev, at, bytes, false, "declaration", err);
  if (st != MLAF_OK || bytes == 0) return st;
  emu_memory *m = dev->memory;
  uint64_t addr = (uint64_t)(uintptr_t)at;
  pthread_rwlock_wrlock(&m->lock);
  emu_span *s = &m->live[upper(m, addr) - 1];
  if (s->host)
    st = mlaf_fail(err, MLAF_E_ARG, "host memory at %p cannot be declared unwritten: only the device's own can", at);
  else if (s->written) memset(s->written + (addr - s->lo), 0, bytes);
  else if ((s->written = track(s->hi - s->lo))) mark(s, s->lo, addr - s->lo), mark(s, addr + bytes, s->hi - addr - bytes);
  else st = mlaf_fail(err, MLAF_E_NOMEM, "cannot map the shadow of %zu bytes of emulated device memory", bytes);
  dev->tracking |= st == MLAF_OK;
  pthread_rwlock_unlock(&m->lock);
  return st;
}

/* --- host memory that kernels work on in place --- */

/* True if every page has memory behind it: an address that has none would end the process at its first access. */
static bool is_mapped(uint64_t lo, uint64_t hi) {
  unsigned char seen[4096];
  for (uint64_t at = lo / PAGE * PAGE; at < hi; at += sizeof seen * PAGE) {
    uint64_t left = hi - at, most = sizeof seen * PAGE;
    if (mincore((void *)(uintptr_t)at, (size_t)(left < most ? left : most), seen) != 0) return false;
  }
  return true;
}

/* Writes what the registered ranges cover into the table: overlapping ranges become one span, ranges in device memory none. */
static void cover(emu_memory *m) {
  size_t kept = 0;
  for (size_t i = 0; i < m->n; i++)
    if (!m->live[i].host) m->live[kept++] = m->live[i];
  m->n = kept;
  for (size_t i = 0; i < m->n_registered;) {
    emu_span all = m->registered[i++];
    for (; i < m->n_registered && m->registered[i].lo < all.hi; i++) {
      if (m->registered[i].hi > all.hi) all.hi = m->registered[i].hi;
      all.read_only = all.read_only && m->registered[i].read_only;
    }
    const size_t at = upper(m, all.lo);
    if (at == 0 || m->live[at - 1].hi <= all.lo) put(m, all);
  }
}

static size_t registered_at(const emu_memory *m, uint64_t lo) {
  size_t at = 0;
  while (at < m->n_registered && m->registered[at].lo < lo) at++;
  return at;
}

mlaf_status emu_mem_register(emu_device *dev, void *host, size_t bytes, bool read_only, mlaf_err *err) {
  emu_memory *m = dev->memory;
  emu_span s = {.lo = (uint64_t)(uintptr_t)host, .host = true, .read_only = read_only};
  s.hi = s.lo + bytes;
  if (!bytes || s.hi < s.lo || !is_mapped(s.lo, s.hi))
    return mlaf_fail(err, MLAF_E_ARG, "%zu bytes at %p are not memory of this process", bytes, host);
  pthread_rwlock_wrlock(&m->lock);
  mlaf_status st = reserve(&m->registered, &m->cap_registered, m->n_registered, 1, err);
  if (st == MLAF_OK) st = reserve(&m->live, &m->cap, m->n, m->n_registered + 1, err);
  if (st == MLAF_OK) {
    size_t at = registered_at(m, s.lo);
    memmove(&m->registered[at + 1], &m->registered[at], (m->n_registered - at) * sizeof s);
    m->registered[at] = s;
    m->n_registered++;
    cover(m);
    dev->tracking |= read_only;
  }
  pthread_rwlock_unlock(&m->lock);
  return st;
}

mlaf_status emu_mem_unregister(emu_device *dev, void *host, size_t bytes, mlaf_err *err) {
  emu_memory *m = dev->memory;
  uint64_t lo = (uint64_t)(uintptr_t)host;
  pthread_rwlock_wrlock(&m->lock);
  size_t at = registered_at(m, lo);
  while (at < m->n_registered && m->registered[at].lo == lo && m->registered[at].hi - lo != bytes) at++;
  bool found = at < m->n_registered && m->registered[at].lo == lo;
  if (found) {
    memmove(&m->registered[at], &m->registered[at + 1], (m->n_registered - at - 1) * sizeof *m->registered);
    m->n_registered--;
    cover(m);
  }
  pthread_rwlock_unlock(&m->lock);
  return found ? MLAF_OK : mlaf_fail(err, MLAF_E_ARG, "%zu bytes at %p were not registered: pass what was, once", bytes, host);
}
