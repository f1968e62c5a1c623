/* document.h: an object as lines of YAML. */
#ifndef CLI_TOP_DOCUMENT_H
#define CLI_TOP_DOCUMENT_H

#include <kinformer/object.h>

#include <stdio.h>

/* {0} is empty. */
typedef struct document {
    ki_object *obj; /* referenced */
    char *text;     /* the lines, each with a closing zero; safe to print */
    size_t *begins; /* where each line begins */
    size_t count;
} document;

/* Reads an object in the place of what was there. Errors: KI_ERR_NO_MEMORY, KI_ERR_LIMIT: what was there stays. */
ki_status document_read(document *d, const ki_object *obj, ki_error *err);
void document_clear(document *d);
/* Returns a line; "" past the last. */
const char *document_line(const document *d, size_t index);

#endif
