// Read anew each time, so that nothing made of it is kept while tiles are computed.
MLAF_DEV int thread_now() {
  int x;
  asm volatile("mov.u32 %0, %%tid.x;" : "=r"(x));
  return x;
}
