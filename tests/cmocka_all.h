/* cmocka wants these four headers before its own. */
#ifndef MLAF_TEST_CMOCKA_ALL_H
#define MLAF_TEST_CMOCKA_ALL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
