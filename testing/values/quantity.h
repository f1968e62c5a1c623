/* quantity.h: amounts such as "500m", "1.5Gi" or "1e3", as Kubernetes compares and writes them. Any thread. */
#ifndef KT_VALUES_QUANTITY_H
#define KT_VALUES_QUANTITY_H

#include "src/base/string_view.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    KT_QUANTITY_SIZE = 48 /* of a quantity as text */
};

typedef enum kt_quantity_format {
    KT_QUANTITY_DECIMAL,  /* 500m, 2k */
    KT_QUANTITY_BINARY,   /* 1Gi */
    KT_QUANTITY_EXPONENT, /* 1e3 */
} kt_quantity_format;

/* An amount, at most 2^63 - 1; finer parts than 1e-9 are rounded up. */
typedef struct kt_quantity {
    bool is_negative;
    uint64_t whole;
    uint32_t nano; /* billionths beside `whole` */
    kt_quantity_format format;
} kt_quantity;

/* Parses a quantity. Returns false if `text` is none. */
bool kt_quantity_parse(ki_str text, kt_quantity *ret_quantity);
/* Returns a number below, equal to or above 0. */
int kt_quantity_compare(const kt_quantity *a, const kt_quantity *b);
/* Writes the canonical form: the largest suffix that needs no fraction. */
void kt_quantity_write(const kt_quantity *quantity, char ret_text[KT_QUANTITY_SIZE]);

#endif
