/* A locale whose decimal point is a comma, as in half of Europe, without the locales that a machine may lack: glibc's own file
 * format (a magic number, the number of fields, their offsets), written where $LOCPATH then points. */
#pragma once

#include <locale.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* DIR/comma/LC_NUMERIC: decimal point ",", thousands ".", groups of 3. False when it cannot be written. */
static inline bool comma_write(const char *dir) {
  static const struct {
    uint32_t magic, fields, offset[6];
    char point[2], thousands[2];
    unsigned char grouping[4];
    uint32_t point_wide, thousands_wide;
    char codeset[8];
  } file = {0x20031115 ^ LC_NUMERIC, 6, {32, 34, 36, 40, 44, 48}, ",", ".", {3, 3, 0, 0}, ',', '.', "UTF-8"};
  char path[4096], temp[4200];
  mkdir(dir, 0777);
  snprintf(path, sizeof path, "%s/comma", dir);
  mkdir(path, 0777);
  snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", dir);
  snprintf(temp, sizeof temp, "%s.%ld", path, (long)getpid());
  FILE *f = fopen(temp, "w");
  bool ok = f && fwrite(&file, 1, 56, f) == 56;
  if (f) ok = fclose(f) == 0 && ok;
  return ok && rename(temp, path) == 0;
}

/* This process reads and prints 1,5 from here on. */
static inline bool comma_set(const char *dir) {
  char *before = getenv("LOCPATH"), *keep = before ? strdup(before) : NULL, text[16];
  setenv("LOCPATH", dir, 1);
  const bool set = setlocale(LC_NUMERIC, "comma") != NULL;
  if (keep) setenv("LOCPATH", keep, 1);
  else unsetenv("LOCPATH");
  free(keep);
  snprintf(text, sizeof text, "%.1f", 1.5);
  return set && strcmp(text, "1,5") == 0;
}
