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

/* Returns the part of a text from `begin` to `end`; empty if it begins behind the text. */
static ki_str part(ki_str text, size_t begin, size_t end) {
    return begin < text.size ? (ki_str){ text.data + begin, end - begin } : (ki_str){ text.data, 0 };
}

/* Returns true for one ".", one or two "_", or any number of "-". */
static bool is_separator(ki_str text) {
    return (text.size == 1 && text.data[0] == '.') || (text.size <= 2 && is_of(text, "_")) || is_of(text, "-");
}

/* Returns true for small letters and digits with separators between them. */
static bool is_component(ki_str text) {
    size_t end = find(text, "._-");
    while (end && end < text.size) {
        ki_str rest = part(text, end, text.size);
        size_t separator = find(rest, DIGITS SMALL);
        if (!is_of(part(text, 0, end), DIGITS SMALL) || !is_separator(part(rest, 0, separator)))
            return false;
        text = part(rest, separator, rest.size);
        end = find(text, "._-");
    }
    return end && is_of(text, DIGITS SMALL);
}

/* Returns true for the name or address of a registry, with or without a port. */
static bool is_domain(ki_str domain) {
    bool is_address = domain.size && domain.data[0] == '[', is_valid = true;
    size_t end = find(domain, is_address ? "]" : ":");
    ki_str host = part(domain, 0, end), port = part(domain, end + is_address, domain.size);
    if (is_address)
        is_valid = end < domain.size && end > 1 && is_of(part(host, 1, host.size), HEX "ABCDEF:");
    else
        is_valid = host.size && host.data[host.size - 1] != '.';
    while (!is_address && is_valid && host.size) {
        ki_str name = ki_str_split(host, '.', &host);
        is_valid = name.size && is_of(name, DIGITS SMALL CAPITALS "-") && name.data[0] != '-' &&
                   name.data[name.size - 1] != '-';
    }
    return is_valid &&
           (!port.size || (port.size > 1 && port.data[0] == ':' && is_of(part(port, 1, port.size), DIGITS)));
}

static bool is_digest(ki_str digest) {
    static const struct {
        ki_str name;
        size_t size;
    } algorithms[] = { { { "sha256:", 7 }, 64 }, { { "sha384:", 7 }, 96 }, { { "sha512:", 7 }, 128 } };
    for (size_t i = 0; i < sizeof algorithms / sizeof algorithms[0]; i++) {
        size_t prefix = algorithms[i].name.size;
        if (ki_str_starts_with(digest, algorithms[i].name) && digest.size == prefix + algorithms[i].size)
            return is_of(part(digest, prefix, digest.size), HEX);
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
    if (slash < image.size && names_registry(part(image, 0, slash))) {
        domain = part(image, 0, slash);
        rest = part(image, slash + 1, image.size);
    }
    bool is_default = ki_str_equals(domain, "docker.io") || ki_str_equals(domain, "index.docker.io");
    ki_str name = part(rest, 0, find(rest, ":@")), remote = part(rest, 0, find(rest, ":"));
    ki_str end = part(rest, name.size, rest.size);
    size_t path_size = name.size + (is_default && find(rest, "/") == rest.size ? sizeof "library/" - 1 : 0);
    if (end.size && end.data[0] == ':') {
        tag = part(end, 1, end.size);
        tag = part(tag, 0, find(tag, "@"));
        end = part(end, tag.size + 1, end.size);
        if (!tag.size || tag.size > TAG_SIZE || !is_of(tag, DIGITS SMALL CAPITALS "_.-") || find(tag, ".-") == 0)
            return false;
    }
    if (end.size) {
        digest = part(end, 1, end.size);
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
