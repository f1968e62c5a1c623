/* ffi.h: the declarations of the public headers for an FFI without a C compiler, such as LuaJIT's and cffi's.
 * declarations.awk makes them when the command is built. */
#ifndef CLI_GEN_FFI_H
#define CLI_GEN_FFI_H

#include <kinformer/error.h>

#include <stdio.h>

/* Writes all declarations, or those of the names with what they need. A name is that of a function, a type, an
 * enumerator or a macro. Errors: KI_ERR_NOT_FOUND (with the nearest name). */
ki_status gen_ffi_write(const char *const *names, size_t count, FILE *out, ki_error *err);
/* Returns a name by its index; NULL past the last. */
const char *gen_ffi_name(size_t index);

#endif
