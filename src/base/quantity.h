/* quantity.h: amounts such as "500m", "1.5Gi" or "1e3", as Kubernetes compares and writes them. Any thread. */
#ifndef KI_BASE_QUANTITY_H
#define KI_BASE_QUANTITY_H

#include "src/base/string_view.h"

#include <stdbool.h>
#include <stdint.h>

enum {
    KI_QUANTITY_SIZE = 48 /* of a quantity as text */
};

typedef enum ki_quantity_format {
    KI_QUANTITY_DECIMAL,  /* 500m, 2k */
    KI_QUANTITY_BINARY,   /* 1Gi */
    KI_QUANTITY_EXPONENT, /* 1e3 */
} ki_quantity_format;

/* An amount, at most 2^63 - 1; finer parts than 1e-9 are rounded up. */
typedef struct ki_quantity {
    bool is_negative;
    uint64_t whole;
    uint32_t nano; /* billionths beside `whole` */
    ki_quantity_format format;
} ki_quantity;

/* Parses a quantity. Returns false if `text` is none. */
bool ki_quantity_parse(ki_str text, ki_quantity *ret_quantity);
/* Returns the amount as Quantity.Value does: parts of 1 are rounded away from 0. */
int64_t ki_quantity_units(const ki_quantity *quantity);
/* Computes thousandths as Quantity.MilliValue does. Returns false if they exceed 64 bits. */
bool ki_quantity_milli(const ki_quantity *quantity, int64_t *ret_milli);
/* Returns a number below, equal to or above 0. */
int ki_quantity_compare(const ki_quantity *a, const ki_quantity *b);
/* Writes the canonical form: the largest suffix that needs no fraction. */
void ki_quantity_write(const ki_quantity *quantity, char ret_text[KI_QUANTITY_SIZE]);

#endif
