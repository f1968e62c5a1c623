/* values.h: fields of an object, and the texts that several kinds share: labels, annotations, times. Paths are names
 * with dots. */
#ifndef CLI_DESCRIBE_VALUES_H
#define CLI_DESCRIBE_VALUES_H

#include "sheet.h"

#include <stdint.h>
#include <yyjson.h>

enum {
    TIME_SIZE = 64,
    AGE_SIZE = 32
};

/* Returns the value under a path; NULL if it is missing or null. */
yyjson_val *value_at(yyjson_val *root, const char *path);
/* Return the value, or "", 0, false if it is missing or of another type. */
const char *text_at(yyjson_val *root, const char *path);
int64_t integer_at(yyjson_val *root, const char *path);
bool is_true_at(yyjson_val *root, const char *path);
const char *text_of(yyjson_val *value);
/* Writes an IntOrString: "80", "http", "25%". */
void write_int_or_string(sheet *s, yyjson_val *value);

/* Write a time "Mon, 02 Jan 2006 15:04:05 -0700" of the local zone, an age "3m20s". Return `text`. */
const char *time_text(yyjson_val *time, char text[TIME_SIZE]);
const char *age_text(yyjson_val *time, int64_t now_ms, char text[AGE_SIZE]);

typedef struct named_value {
    const char *name;
    yyjson_val *value;
} named_value;
/* Returns the members of an object sorted by name; the caller frees them. Returns NULL without members or if out of
 * memory, which the sheet keeps. */
named_value *members_sorted(sheet *s, yyjson_val *object, size_t *ret_count);

/* Returns the elements of an array in an order; the caller frees them. Returns NULL without elements or if out of
 * memory, which the sheet keeps. Elements with a greater place have a greater address. */
yyjson_val **elements_sorted(sheet *s, yyjson_val *array, int (*order)(const void *, const void *));

/* Writes a line with the text under a path, if there is one. */
void write_text(sheet *s, const char *title, yyjson_val *root, const char *path);
/* Writes "Labels:" with a line for each member, or <none>. */
void write_labels(sheet *s, const char *title, yyjson_val *labels);
/* Writes the annotations in the same way, without kubectl's own and with long ones cut. */
void write_annotations(sheet *s, const char *title, yyjson_val *annotations);
/* Writes the texts of an array, separated by `between`. */
void write_joined(sheet *s, yyjson_val *texts, const char *between);
/* Writes "Kind/name" of the controller that owns the object. Returns false, and writes nothing, without one. */
bool write_controller(sheet *s, const char *title, yyjson_val *object);

#endif
