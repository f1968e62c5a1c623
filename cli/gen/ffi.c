/* ffi.c: see ffi.h. A declaration stands after those that it needs; declarations with the same name belong together. */
#include "ffi.h"

#include "schema.h"

#include "src/object/nearest.h"

#include <kinformer/version.h>

#include <stdbool.h>
#include <string.h>

#define DECLARATION(text) text,
#define NAME(name, index)
static const char *const declarations[] = {
#include "declarations.inc"
};
#undef DECLARATION
#undef NAME

#define DECLARATION(text)
#define NAME(name, index) { name, index },
static const struct {
    const char *name;
    size_t declaration;
} names_of[] = {
#include "declarations.inc"
};
#undef DECLARATION
#undef NAME

enum {
    DECLARATION_COUNT = sizeof declarations / sizeof *declarations,
    NAME_COUNT = sizeof names_of / sizeof *names_of
};

const char *gen_ffi_name(size_t index) {
    return index < NAME_COUNT ? names_of[index].name : NULL;
}

/* Marks the declarations of a name. Returns false if there is none. */
static bool mark(const char *name, size_t size, bool is_wanted[DECLARATION_COUNT]) {
    bool is_found = false;
    for (size_t i = 0; i < NAME_COUNT; i++) {
        if (strncmp(names_of[i].name, name, size) == 0 && !names_of[i].name[size])
            is_found = is_wanted[names_of[i].declaration] = true;
    }
    return is_found;
}

/* Marks what a declaration needs: the identifiers in it that are names. */
static void mark_needed(const char *text, bool is_wanted[DECLARATION_COUNT]) {
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    while (*(text += strcspn(text, letters))) {
        size_t size = strspn(text, letters);
        (void)mark(text, size, is_wanted);
        text += size;
    }
}

static size_t count_marks(const bool is_wanted[DECLARATION_COUNT]) {
    size_t count = 0;
    for (size_t i = 0; i < DECLARATION_COUNT; i++)
        count += is_wanted[i];
    return count;
}

static ki_status fail(const char *name, ki_error *err) {
    ki_nearest nearest;
    if (ki_nearest_begin(&nearest, name)) {
        for (size_t i = 0; i < NAME_COUNT; i++)
            ki_nearest_try(&nearest, names_of[i].name, names_of[i].name);
    } else {
        nearest.best = NULL;
    }
    return gen_fail(err, KI_ERR_NOT_FOUND, "the interface has no \"%.100s\"%s%s%s", name,
                    nearest.best ? "; did you mean " : "", nearest.best ? nearest.best : "", nearest.best ? "?" : "");
}

ki_status gen_ffi_write(const char *const *names, size_t count, FILE *out, ki_error *err) {
    bool is_wanted[DECLARATION_COUNT];
    memset(is_wanted, count == 0, sizeof is_wanted);
    for (size_t i = 0; i < count; i++) {
        if (!mark(names[i], strlen(names[i]), is_wanted))
            return fail(names[i], err);
    }
    for (size_t before = 0, now; before != (now = count_marks(is_wanted)); before = now) {
        for (size_t i = 0; i < DECLARATION_COUNT; i++) {
            if (is_wanted[i])
                mark_needed(declarations[i], is_wanted);
        }
    }
    fprintf(out, "/* The interface of kinformer " KI_VERSION " for an FFI. Made by: kinformer gen --ffi");
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %s", names[i]);
    fprintf(out, " */\n");
    for (size_t i = 0; i < DECLARATION_COUNT; i++) {
        if (is_wanted[i])
            fprintf(out, "%s\n", declarations[i]);
    }
    return KI_OK;
}
