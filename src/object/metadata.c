/* metadata.c: reads an object's owner, finalizers and deletion from its body, without parsing all of it and without
 * allocating, so that the functions cannot fail. Any thread.
 *
 * A body is valid JSON without white space between its parts (object.c). */
#include <kinformer/unstructured.h>

#include "src/base/json_scan.h"
#include "src/object/object.h"

/* Returns the size of the string that `text` begins with, quotes included. */
static size_t string_size(ki_str text) {
    size_t at = 1;
    while (at < text.size && text.data[at] != '"')
        at += text.data[at] == '\\' ? 2 : 1;
    return at < text.size ? at + 1 : text.size;
}

/* Consumes the value at the beginning of `*rest` and the separator after it. */
static ki_str take_value(ki_str *rest) {
    size_t size = 0;
    if (rest->size && *rest->data == '"')
        size = string_size(*rest);
    else if (rest->size && (*rest->data == '{' || *rest->data == '['))
        size = ki_json_container_size(*rest);
    else
        while (size < rest->size && !memchr(",]}", rest->data[size], 3))
            size++;
    ki_str value = { rest->data, size };
    size_t taken = size < rest->size ? size + 1 : size;
    *rest = (ki_str){ rest->data + taken, rest->size - taken };
    return value;
}

/* Returns the text between the brackets of a container that begins with `open`; else an empty view. */
static ki_str inside(ki_str value, char open) {
    if (value.size < 2 || *value.data != open)
        return (ki_str){ NULL, 0 };
    return (ki_str){ value.data + 1, value.size - 2 };
}

static unsigned hex_digit(char c) {
    return c <= '9' ? (unsigned)(c - '0') : ((unsigned)c | 0x20) - 'a' + 10;
}

/* Consumes one character of a JSON string. Returns 0x100, which equals no byte, for escapes beyond ASCII. */
static unsigned take_character(ki_str *text) {
    static const char escapes[] = "b\bf\fn\nr\rt\t";
    char c = text->data[0];
    size_t size = 1;
    unsigned character = (unsigned char)c;
    if (c == '\\' && text->size > 1) {
        size = 2;
        c = text->data[1];
        character = (unsigned char)c;
        for (size_t i = 0; i + 1 < sizeof escapes; i += 2)
            if (escapes[i] == c)
                character = (unsigned char)escapes[i + 1];
        if (c == 'u' && text->size >= 6) {
            size = 6;
            character = 0;
            for (size_t i = 2; i < 6; i++)
                character = character << 4 | hex_digit(text->data[i]);
            if (character >= 0x80)
                character = 0x100;
        }
    }
    *text = (ki_str){ text->data + size, text->size - size };
    return character;
}

/* Returns true if `value` is the JSON string of `text`. */
static bool is_string(ki_str value, const char *text) {
    if (value.size < 2 || *value.data != '"')
        return false;
    ki_str rest = { value.data + 1, value.size - 2 };
    while (rest.size && *text) {
        if (take_character(&rest) != (unsigned char)*text++)
            return false;
    }
    return rest.size == 0 && !*text;
}

/* Returns the member `name` of a map, or an empty view. */
static ki_str member(ki_str map, const char *name) {
    for (ki_str rest = inside(map, '{'); rest.size;) {
        ki_str key = take_value(&rest); /* with the colon */
        ki_str value = take_value(&rest);
        if (is_string(key, name))
            return value;
    }
    return (ki_str){ NULL, 0 };
}

static ki_str metadata_member(const ki_object *obj, const char *name) {
    return member(member(ki_object_body(obj), "metadata"), name);
}

bool ki_object_is_controlled_by(const ki_object *obj, const ki_object *owner) {
    if (!obj || !owner || !*ki_object_uid(owner))
        return false;
    for (ki_str rest = inside(metadata_member(obj, "ownerReferences"), '['); rest.size;) {
        ki_str reference = take_value(&rest);
        if (ki_str_equals(member(reference, "controller"), "true"))
            return is_string(member(reference, "uid"), ki_object_uid(owner));
    }
    return false;
}

bool ki_object_is_being_deleted(const ki_object *obj) {
    ki_str value = obj ? metadata_member(obj, "deletionTimestamp") : (ki_str){ NULL, 0 };
    return value.size > 0 && !ki_str_equals(value, "null");
}

bool ki_object_has_finalizer(const ki_object *obj, const char *finalizer) {
    if (!obj || !finalizer)
        return false;
    for (ki_str rest = inside(metadata_member(obj, "finalizers"), '['); rest.size;) {
        if (is_string(take_value(&rest), finalizer))
            return true;
    }
    return false;
}
