/* body_delta.h: what a text has that another one, its base, has not. Objects of one owner differ in names, times and
 * ids: a delta of some 700 bytes stands for a pod of 7,000. Pure functions; they allocate nothing.
 *
 * A delta is two bytes (how many bytes of steps), the steps, and the literals. A step is two or three numbers of seven
 * bits a byte, the lowest first: bytes that are copied from the base; bytes that are copied from the literals, times
 * two; and if one is added to that, bytes of the base that are skipped, else as many are skipped as were literals.
 * After the last step the rest is copied from the base. */
#ifndef KI_OBJECT_BODY_DELTA_H
#define KI_OBJECT_BODY_DELTA_H

#include "src/base/string_view.h"

enum {
    KI_BODY_DELTA_STEPS_MAX = 4096 /* bytes of a delta's steps */
};

/* Returns how many bytes a delta of a text of `size` bytes may have. */
size_t ki_body_delta_max(size_t size);
/* Writes the delta of `text` to `out`, of ki_body_delta_max bytes. Returns its size. Never fails: what is not found in
 * the base is a literal. */
size_t ki_body_delta_write(ki_str base, ki_str text, char *out);
/* Writes the text, of `size` bytes, to `out`. Returns false if the delta is none of a text of this size; never reads or
 * writes outside. */
bool ki_body_delta_apply(ki_str base, ki_str delta, char *out, size_t size);

#endif
