/* image.c: see image.h. */
#include "testing/values/image.h"

#include <string.h>

enum {
    PATH_SIZE = 255,
    TAG_SIZE = 128,
    IDENTIFIER_SIZE = 64 /* a reference of so many digits is the id of an image */
};

#define DIGITS "0123456789"
#define SMALL "abcdefghijklmnopqrstuvwxyz"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define HEX DIGITS "abcdef"

/* Returns true if `letters` has each byte of the text. */
static bool is_of(ki_str text, const char *letters) {
    for (size_t i = 0; i < text.size; i++) {
        if (!text.data[i] || !strchr(letters, text.data[i]))
            return false;
    }
    return true;
}

/* Returns the position of the first of `letters`; the size if there is none. */
static size_t find(ki_str text, const char *letters) {
    size_t at = 0;
    while (at < text.size && !(text.data[at] && strchr(letters, text.data[at])))
        at++;
    return at;
}

static ki_str first(ki_str text, size_t size) {
    return (ki_str){ text.data, size };
}

static ki_str after(ki_str text, size_t at) {
    return at < text.size ? (ki_str){ text.data + at, text.size - at } : (ki_str){ text.data, 0 };
}

/* Returns true for one ".", one or two "_", or any number of "-". */
static bool is_separator(ki_str text) {
    return (text.size == 1 && text.data[0] == '.') || (text.size <= 2 && is_of(text, "_")) || is_of(text, "-");
}

/* Returns true for small letters and digits with separators between them. */
static bool is_component(ki_str text) {
    size_t end = find(text, "._-");
    while (end && end < text.size) {
        ki_str rest = after(text, end);
        size_t separator = find(rest, DIGITS SMALL);
        if (!is_of(first(text, end), DIGITS SMALL) || !is_separator(first(rest, separator)))
            return false;
        text = after(rest, separator);
        end = find(text, "._-");
    }
    return end && is_of(text, DIGITS SMALL);
}

/* Returns true for the name or address of a registry, with or without a port. */
static bool is_domain(ki_str domain) {
    bool is_address = domain.size && domain.data[0] == '[', is_valid = true;
    size_t end = find(domain, is_address ? "]" : ":");
    ki_str host = first(domain, end), port = after(domain, end + is_address);
    if (is_address)
        is_valid = end < domain.size && end > 1 && is_of(after(host, 1), HEX "ABCDEF:");
    else
        is_valid = host.size && host.data[host.size - 1] != '.';
    while (!is_address && is_valid && host.size) {
        ki_str name = ki_str_split(host, '.', &host);
        is_valid = name.size && is_of(name, DIGITS SMALL CAPITALS "-") && name.data[0] != '-' &&
                   name.data[name.size - 1] != '-';
    }
    return is_valid && (!port.size || (port.size > 1 && port.data[0] == ':' && is_of(after(port, 1), DIGITS)));
}

static bool is_digest(ki_str digest) {
    static const struct {
        ki_str name;
        size_t size;
    } algorithms[] = { { { "sha256:", 7 }, 64 }, { { "sha384:", 7 }, 96 }, { { "sha512:", 7 }, 128 } };
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        size_t prefix = algorithms[i].name.size;
        if (ki_str_starts_with(digest, algorithms[i].name) && digest.size == prefix + algorithms[i].size)
            return is_of(after(digest, prefix), HEX);
    }
    return false;
}

/* Returns true if `maybe`, before the first slash, names a registry and not a folder of the default one. */
static bool names_registry(ki_str maybe) {
    return ki_str_equals(maybe, "localhost") || find(maybe, ".:" CAPITALS) < maybe.size;
}

bool kt_image_is_latest(ki_str image) {
    size_t slash = find(image, "/");
    ki_str domain = { "docker.io", 9 }, rest = image, tag = { NULL, 0 }, digest = { NULL, 0 };
    if (slash < image.size && names_registry(first(image, slash))) {
        domain = first(image, slash);
        rest = after(image, slash + 1);
    }
    bool is_default = ki_str_equals(domain, "docker.io") || ki_str_equals(domain, "index.docker.io");
    ki_str name = first(rest, find(rest, ":@")), remote = first(rest, find(rest, ":"));
    ki_str end = after(rest, name.size);
    size_t path_size = name.size + (is_default && find(rest, "/") == rest.size ? sizeof "library/" - 1 : 0);
    if (end.size && end.data[0] == ':') {
        tag = after(end, 1);
        tag = first(tag, find(tag, "@"));
        end = after(end, tag.size + 1);
        if (!tag.size || tag.size > TAG_SIZE || !is_of(tag, DIGITS SMALL CAPITALS "_.-") || find(tag, ".-") == 0)
            return false;
    }
    if (end.size) {
        digest = after(end, 1);
        if (!is_digest(digest))
            return false;
    }
    if (!is_domain(domain)) { /* it can be a part of the path */
        path_size += domain.size + 1;
        if (!is_component(domain))
            return false;
    }
    if ((image.size == IDENTIFIER_SIZE && is_of(image, HEX)) || find(remote, CAPITALS) < remote.size || !name.size ||
        name.data[name.size - 1] == '/' || path_size > PATH_SIZE)
        return false;
    while (name.size) {
        if (!is_component(ki_str_split(name, '/', &name)))
            return false;
    }
    return tag.size ? ki_str_equals(tag, "latest") : !digest.size;
}
