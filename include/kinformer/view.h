/* view.h: typed access without generated code: a struct of the program that the library fills when it decodes an
 * object.
 *
 *     struct pod { const char *node; int64_t generation; bool host_network; };
 *     static const ki_field pod_fields[] = {
 *         KI_FIELD(struct pod, node,         "spec.nodeName"),
 *         KI_FIELD(struct pod, generation,   "metadata.generation"),
 *         KI_FIELD(struct pod, host_network, "spec.hostNetwork"),
 *         KI_FIELD_END
 *     };
 *
 * ki_informer_options.view takes the fields; ki_object_view returns the struct of an object.
 *
 * Members are const char *, bool, double, integers of 32 or 64 bits with or without sign, ki_string_list and
 * ki_string_map. The compiler determines the type (GCC, Clang, any C++11); a member of another type does not compile.
 * KI_FIELD_LIST makes a list of structs, each with fields of its own; KI_FIELD_TEXT, KI_FIELD_TIME, KI_FIELD_QUANTITY,
 * KI_FIELD_MILLI and KI_FIELD_PRESENT convert what they read. A member can be inside of another:
 * KI_FIELD(struct pod, spec.node, "spec.nodeName"). `kinformer gen` writes struct and fields from a schema.
 *
 *     struct container { const char *name, *id; };
 *     static const ki_field container_fields[] = {
 *         KI_FIELD(struct container, name, "name"),
 *         KI_FIELD(struct container, id,   "containerID"),
 *         KI_FIELD_END
 *     };
 *     … KI_FIELD_LIST(struct pod, containers, container_fields, "status.containerStatuses") …
 *
 *     const struct container *containers = pod->containers.items;
 *     for (size_t i = 0; i < pod->containers.count; i++) … containers[i].id …
 *
 * Two members can be in one place, as in a union, but not if one is a list or map: that view is KI_ERR_INVALID.
 *
 * A member is NULL, 0, false or empty if its field is absent, null, of another JSON type or out of range; the last two
 * are counted (the metric informer_view_mismatches). For an integer a number with a point or an exponent, also 1.0 and
 * 1e2, is of another type. A string with a zero character (\u0000) ends there. In a path "[*]" stands for all elements
 * of an array: a list has all that match, any other member the first.
 *
 * A path that is misspelt is a field that is absent. When the informer has synced, its line in the log names the fields
 * that no object has, and those whose values are all of another type or out of range, among the view's first 64 with
 * the fields of their lists: "pods: synced, 120 objects; none has spec.nodName, status.containerStatuses[*].nam; of
 * another type or out of range: status.phase". The latter make it a warning. */
#ifndef KINFORMER_VIEW_H
#define KINFORMER_VIEW_H

#include <kinformer/export.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ki_field_type {
    KI_FIELD_TYPE_END = 0,
    KI_FIELD_TYPE_STRING = 1,
    KI_FIELD_TYPE_BOOL = 2,
    KI_FIELD_TYPE_INT32 = 3,
    KI_FIELD_TYPE_INT64 = 4,
    KI_FIELD_TYPE_UINT32 = 5,
    KI_FIELD_TYPE_UINT64 = 6,
    KI_FIELD_TYPE_DOUBLE = 7,
    KI_FIELD_TYPE_TIME = 8,
    KI_FIELD_TYPE_QUANTITY = 9,
    KI_FIELD_TYPE_MILLI = 10,
    KI_FIELD_TYPE_PRESENT = 11,
    KI_FIELD_TYPE_STRING_LIST = 12,
    KI_FIELD_TYPE_STRING_MAP = 13,
    KI_FIELD_TYPE_LIST = 14,
    KI_FIELD_TYPE_TEXT = 15
} ki_field_type;

enum {
    KI_VIEW_MAX_FIELDS = 256,  /* fields of one struct */
    KI_VIEW_MAX_SIZE = 4096,   /* bytes of one struct */
    KI_VIEW_MAX_DEPTH = 4,     /* structs in lists in structs */
    KI_VIEW_MAX_ITEMS = 100000 /* items of all lists and maps of one object; more are KI_ERR_LIMIT */
};

/* The items of a KI_FIELD_LIST: an array of its structs. An element that is not an object is a struct of zeros. */
typedef struct ki_list {
    const void *items; /* NULL: none */
    size_t count;
} ki_list;

/* The strings of an array, or of a path with "[*]". Elements that are not strings are skipped. */
typedef struct ki_string_list {
    const char *const *items;
    size_t count;
} ki_string_list;

typedef struct ki_string_pair {
    const char *name;
    const char *value;
} ki_string_pair;

/* The members of an object whose values are strings, in the server's order. Others are skipped. */
typedef struct ki_string_map {
    const void *of_; /* internal */
    size_t count;
} ki_string_map;

KI_BEGIN_DECLS

/* Returns the value under `name`; NULL if there is none. Ownership: borrowed from the object. Threads: any. */
KI_API const char *ki_string_map_get(const ki_string_map *map, const char *name);
/* Gets the member number `index`, counted from 0. Returns false past the last. Ownership, Threads: as
 * ki_string_map_get. */
KI_API bool ki_string_map_at(const ki_string_map *map, size_t index, const char **ret_name, const char **ret_value);

KI_END_DECLS

/* One member of the program's struct and the path of its field. Made by KI_FIELD. The struct is aligned to at most 8
 * bytes, or does not compile. Ownership: the array and its paths must outlive the informer and its objects; usually
 * both are static. */
typedef struct ki_field {
    const char *path;   /* as for ki_object_field */
    size_t offset;      /* of the member in the struct */
    size_t struct_size; /* of the whole struct */
    ki_field_type type;
    const struct ki_field *elements; /* of KI_FIELD_LIST: the fields of each struct; else NULL */
} ki_field;

/* The last entry of an array of fields. */
#define KI_FIELD_END \
    { NULL, 0, 0, KI_FIELD_TYPE_END, NULL }

/* A ki_list of structs with the fields `elements`: one for each element of the arrays at `path`. */
#define KI_FIELD_LIST(type, member, elements, path) KI_FIELD_AS_(type, member, ki_list, LIST, path, elements)
/* A const char *: a string, or an integer in decimal digits. For a port or a count that can also be "http" or "25%". */
#define KI_FIELD_TEXT(type, member, path) KI_FIELD_AS_(type, member, const char *, TEXT, path, NULL)
/* An int64_t: milliseconds since 1970 of a time (RFC 3339). */
#define KI_FIELD_TIME(type, member, path) KI_FIELD_AS_(type, member, int64_t, TIME, path, NULL)
/* An int64_t: a quantity such as "2Gi", parts of 1 rounded away from 0. */
#define KI_FIELD_QUANTITY(type, member, path) KI_FIELD_AS_(type, member, int64_t, QUANTITY, path, NULL)
/* An int64_t: thousandths of a quantity such as "500m". */
#define KI_FIELD_MILLI(type, member, path) KI_FIELD_AS_(type, member, int64_t, MILLI, path, NULL)
/* A bool: the object has the field, and it is not null. */
#define KI_FIELD_PRESENT(type, member, path) KI_FIELD_AS_(type, member, bool, PRESENT, path, NULL)

#ifdef __cplusplus
extern "C++" {
namespace kinformer_detail {
template <class T> struct field_struct { /* what a member is in */
    static_assert(alignof(T) <= 8, "the struct of a view is aligned to at most 8 bytes");
    static constexpr size_t size = sizeof(T);
};
template <class T> struct field_type; /* not defined for types that a view cannot have */
template <> struct field_type<const char *> { static constexpr ki_field_type value = KI_FIELD_TYPE_STRING; };
template <> struct field_type<bool> { static constexpr ki_field_type value = KI_FIELD_TYPE_BOOL; };
template <> struct field_type<double> { static constexpr ki_field_type value = KI_FIELD_TYPE_DOUBLE; };
template <> struct field_type<int> { static constexpr ki_field_type value = KI_FIELD_TYPE_INT32; };
template <> struct field_type<unsigned> { static constexpr ki_field_type value = KI_FIELD_TYPE_UINT32; };
template <> struct field_type<long> {
    static constexpr ki_field_type value = sizeof(long) == 8 ? KI_FIELD_TYPE_INT64 : KI_FIELD_TYPE_INT32;
};
template <> struct field_type<unsigned long> {
    static constexpr ki_field_type value = sizeof(long) == 8 ? KI_FIELD_TYPE_UINT64 : KI_FIELD_TYPE_UINT32;
};
template <> struct field_type<long long> { static constexpr ki_field_type value = KI_FIELD_TYPE_INT64; };
template <> struct field_type<unsigned long long> { static constexpr ki_field_type value = KI_FIELD_TYPE_UINT64; };
template <> struct field_type<ki_string_list> { static constexpr ki_field_type value = KI_FIELD_TYPE_STRING_LIST; };
template <> struct field_type<ki_string_map> { static constexpr ki_field_type value = KI_FIELD_TYPE_STRING_MAP; };
/* The fields of the structs of a list that has a type of its own (cpp/object.hpp). */
template <class T> struct field_elements {
    static constexpr const ki_field *get() noexcept { return nullptr; }
};
template <class Member, class Expected, ki_field_type type> struct field_as; /* not defined for another member */
template <class Member, ki_field_type type> struct field_as<Member, Member, type> {
    static constexpr ki_field_type value = type;
};
} // namespace kinformer_detail
}
#define KI_FIELD(type, member, path) \
    { \
        path, offsetof(type, member), kinformer_detail::field_struct<type>::size, \
            kinformer_detail::field_type<decltype(static_cast<type *>(nullptr)->member)>::value, \
            kinformer_detail::field_elements<decltype(static_cast<type *>(nullptr)->member)>::get() \
    }
#define KI_FIELD_AS_(type, member, expected, kind, path, elements) \
    { \
        path, offsetof(type, member), kinformer_detail::field_struct<type>::size, \
            kinformer_detail::field_as<decltype(static_cast<type *>(nullptr)->member), expected, \
                                       KI_FIELD_TYPE_##kind>::value, \
            elements \
    }
#else
#define KI_FIELD_IS_(type, member, other) __builtin_types_compatible_p(__typeof__(((type *)0)->member), other)
#define KI_FIELD_IS_ALIGNED_(type) (__alignof__(type) <= 8)
#define KI_FIELD_TYPE_(type, member) \
    (KI_FIELD_IS_(type, member, const char *)    ? KI_FIELD_TYPE_STRING \
     : KI_FIELD_IS_(type, member, bool)          ? KI_FIELD_TYPE_BOOL \
     : KI_FIELD_IS_(type, member, double)        ? KI_FIELD_TYPE_DOUBLE \
     : KI_FIELD_IS_(type, member, int)           ? KI_FIELD_TYPE_INT32 \
     : KI_FIELD_IS_(type, member, unsigned)      ? KI_FIELD_TYPE_UINT32 \
     : KI_FIELD_IS_(type, member, long)          ? (sizeof(long) == 8 ? KI_FIELD_TYPE_INT64 : KI_FIELD_TYPE_INT32) \
     : KI_FIELD_IS_(type, member, unsigned long) ? (sizeof(long) == 8 ? KI_FIELD_TYPE_UINT64 : KI_FIELD_TYPE_UINT32) \
     : KI_FIELD_IS_(type, member, long long)     ? KI_FIELD_TYPE_INT64 \
     : KI_FIELD_IS_(type, member, unsigned long long) ? KI_FIELD_TYPE_UINT64 \
     : KI_FIELD_IS_(type, member, ki_string_list)     ? KI_FIELD_TYPE_STRING_LIST \
     : KI_FIELD_IS_(type, member, ki_string_map)      ? KI_FIELD_TYPE_STRING_MAP \
                                                      : KI_FIELD_TYPE_END)
/* A member of an unsupported type makes a bit-field of a negative width, whose name the compiler's error has. */
#define KI_FIELD_CHECKED_(value, is_right) \
    ((ki_field_type)((int)(value) * \
                     (sizeof(struct { int this_member_cannot_be_in_a_view : (is_right) ? 2 : -1; }) > 0 ? 1 : 0)))
#define KI_FIELD(type, member, path) \
    { \
        path, offsetof(type, member), sizeof(type), \
            KI_FIELD_CHECKED_(KI_FIELD_TYPE_(type, member), \
                              KI_FIELD_IS_ALIGNED_(type) && KI_FIELD_TYPE_(type, member) != KI_FIELD_TYPE_END), \
            NULL \
    }
#define KI_FIELD_AS_(type, member, expected, kind, path, elements) \
    { \
        path, offsetof(type, member), sizeof(type), \
            KI_FIELD_CHECKED_(KI_FIELD_TYPE_##kind, \
                              KI_FIELD_IS_ALIGNED_(type) && KI_FIELD_IS_(type, member, expected)), \
            elements \
    }
#endif

#endif
