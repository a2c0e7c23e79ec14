/* Shared by the two run-time compilers: options in, log out. */
#pragma once

#include "base/base.h"

/* The file names that the compilers are given for sources: fixed, so that output depends on text only. */
#define MLAF_RTC_HIP_NAME  "kernel.hip"
#define MLAF_RTC_CUDA_NAME "kernel.cu"

/* The line a reader needs: the first that holds "error". Returns its length, 0 if there is none. */
size_t mlaf_rtc_first_error(const char *log, const char **line);
/* True if an error of the log points at a line of the kernel's source: then nothing else is at fault. */
bool mlaf_rtc_blames_source(const char *log);
/* The status of a result code of hiprtc and NVRTC, which number them alike. */
mlaf_status mlaf_rtc_status(int result);
/* The log with its first error line on top. Takes ownership of `raw`, which may be NULL. */
char *mlaf_rtc_error_first(char *raw);
/* `options` (NUL-terminated strings in a row) as an argument vector behind the `n_first` of `first`. NULL without memory. */
const char **mlaf_rtc_options(const char *const *first, int n_first, const char *options, size_t size, int *n);
