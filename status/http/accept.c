/* accept.c: see accept.h. */
#include "status/http/accept.h"

#include "src/base/string_view.h"

#include <string.h>
#include <strings.h>

enum {
    ONE = 1000 /* the weight of a name without q */
};

static ki_str trim(ki_str text) {
    while (text.size && (text.data[0] == ' ' || text.data[0] == '\t'))
        text = (ki_str){ text.data + 1, text.size - 1 };
    while (text.size && (text.data[text.size - 1] == ' ' || text.data[text.size - 1] == '\t'))
        text.size--;
    return text;
}

/* Reads "0", "0.5" or "1.000"; anything else is 0: not accepted. */
static int read_weight(ki_str text) {
    int weight = 0, digit = ONE;
    for (size_t i = 0; i < text.size; i++) {
        if (i == 1 && text.data[i] == '.')
            continue;
        if (text.data[i] < '0' || text.data[i] > '9' || (i == 1 && text.data[i] != '.'))
            return 0;
        weight += (text.data[i] - '0') * digit;
        digit /= 10;
    }
    return weight < ONE ? weight : ONE;
}

/* Returns the weight among the parameters "version=1.0.0; q=0.5". */
static int weight_of(ki_str parameters) {
    while (parameters.size) {
        ki_str value;
        ki_str name = trim(ki_str_split(trim(ki_str_split(parameters, ';', &parameters)), '=', &value));
        if (name.size == 1 && (name.data[0] == 'q' || name.data[0] == 'Q'))
            return read_weight(trim(value));
    }
    return ONE;
}

int ki_http_weight(const char *header, const char *name) {
    ki_str rest = ki_str_of(header);
    size_t size = strlen(name);
    int best = 0;
    while (rest.size) {
        ki_str parameters;
        ki_str found = trim(ki_str_split(ki_str_split(rest, ',', &rest), ';', &parameters));
        int weight = found.size == size && strncasecmp(found.data, name, size) == 0 ? weight_of(parameters) : 0;
        if (weight > best)
            best = weight;
    }
    return best;
}

bool ki_http_accepts_gzip(const char *accept_encoding) {
    return ki_http_weight(accept_encoding, "gzip") > 0;
}
