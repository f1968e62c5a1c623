/* header.h: the C header of a tree: structs, tables of fields, and the function that returns an object's struct. Or the
 * structs for an FFI, with the rows of the tables in comments. */
#ifndef CLI_GEN_HEADER_H
#define CLI_GEN_HEADER_H

#include "tree.h"

#include <stdio.h>

/* What a header is made of. */
typedef struct gen_request {
    const char *resource;      /* as the user named it */
    const char *struct_name;   /* NULL: made of the kind */
    const char *const *fields; /* NULL or none: all */
    size_t field_count;
    const char *command; /* for the header's first comment */
    bool is_for_ffi;
} gen_request;

/* Writes the header. Errors: those of gen_fields_add; KI_ERR_INVALID (the struct's name); KI_ERR_LIMIT. */
ki_status gen_header_write(const gen_schema *schema, const gen_request *request, FILE *out, ki_error *err);

#endif
