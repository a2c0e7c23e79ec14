/* Debian's liblua5.4.a is compiled for executables: it reaches stdin, stdout and stderr in a way that a shared library cannot.
 * There it is made to reach these instead (cmake/static-deps.cmake). */
#include <stdio.h>

#define HIDDEN __attribute__((visibility("hidden")))
extern FILE *mlaf_lua_stdin, *mlaf_lua_stdout, *mlaf_lua_stderr;
HIDDEN FILE *mlaf_lua_stdin, *mlaf_lua_stdout, *mlaf_lua_stderr;

__attribute__((constructor)) static void mlaf_lua_stdio(void) {
  mlaf_lua_stdin = stdin;
  mlaf_lua_stdout = stdout;
  mlaf_lua_stderr = stderr;
}
