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
 * Members are const char *, bool, double, or integers of 32 or 64 bits with or without sign. The compiler determines
 * the type (GCC, Clang, any C++11); a member of another type does not compile. A member is NULL, 0 or false if its
 * field is absent, null, of another JSON type or out of range. A string with a zero character (\u0000) ends there. */
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
    KI_FIELD_TYPE_DOUBLE = 7
} ki_field_type;

enum {
    KI_VIEW_MAX_FIELDS = 64, /* fields of one view */
    KI_VIEW_MAX_SIZE = 4096  /* bytes of the struct */
};

/* One member of the program's struct and the path of its field. Made by KI_FIELD. Ownership: the array and its paths
 * must outlive the informer; usually both are static. */
typedef struct ki_field {
    const char *path;   /* as for ki_object_field */
    size_t offset;      /* of the member in the struct */
    size_t struct_size; /* of the whole struct */
    ki_field_type type;
} ki_field;

/* The last entry of an array of fields. */

#define KI_FIELD_END \
    { NULL, 0, 0, KI_FIELD_TYPE_END }

#ifdef __cplusplus
extern "C++" {
namespace kinformer_detail {
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
} // namespace kinformer_detail
}
#define KI_FIELD(type, member, path) \
    { path, offsetof(type, member), sizeof(type), kinformer_detail::field_type<decltype(((type *)0)->member)>::value }
#else
#define KI_FIELD_IS_(type, member, other) __builtin_types_compatible_p(__typeof__(((type *)0)->member), other)
/* A member of an unsupported type gives an array of size -1. */
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
                                                      : KI_FIELD_TYPE_END)
#define KI_FIELD_CHECKED_(type, member) \
    ((ki_field_type)((int)KI_FIELD_TYPE_(type, member) * \
                     (int)sizeof(char[KI_FIELD_TYPE_(type, member) == KI_FIELD_TYPE_END ? -1 : 1])))
#define KI_FIELD(type, member, path) \
    { path, offsetof(type, member), sizeof(type), KI_FIELD_CHECKED_(type, member) }
#endif

#endif
