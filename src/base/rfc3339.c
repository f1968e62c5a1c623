/* rfc3339.c: see rfc3339.h. */
#include "src/base/rfc3339.h"

#include <stddef.h>
#include <stdio.h>
#include <time.h>

enum {
    NANOSECONDS_OF_SECOND = 1000000000,
    NANOSECONDS_OF_MICROSECOND = 1000
};

/* Writes the time without fraction and zone. Returns the number of bytes. */
static size_t write_seconds(int64_t wall_ns, char ret_text[KI_RFC3339_SIZE]) {
    time_t seconds = (time_t)(wall_ns / NANOSECONDS_OF_SECOND);
    struct tm date = { .tm_year = 70, .tm_mday = 1 };
    gmtime_r(&seconds, &date);
    return strftime(ret_text, KI_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &date);
}

void ki_rfc3339_seconds(int64_t wall_ns, char ret_text[KI_RFC3339_SIZE]) {
    size_t size = write_seconds(wall_ns, ret_text);
    snprintf(ret_text + size, KI_RFC3339_SIZE - size, "Z");
}

void ki_rfc3339_micros(int64_t wall_ns, char ret_text[KI_RFC3339_SIZE]) {
    size_t size = write_seconds(wall_ns, ret_text);
    snprintf(ret_text + size, KI_RFC3339_SIZE - size, ".%06dZ",
             (int)(wall_ns % NANOSECONDS_OF_SECOND / NANOSECONDS_OF_MICROSECOND));
}
