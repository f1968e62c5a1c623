/* format.h: how one informer's objects are made from JSON and stored: allocator, view, managedFields. Immutable once
 * made; shared by the informer and by every object made with it, because objects may outlive the informer. Any
 * thread. */
#ifndef KI_OBJECT_FORMAT_H
#define KI_OBJECT_FORMAT_H

#include <kinformer/error.h>
#include <kinformer/parts/object_format.h>

#include "src/base/buffer.h"
#include "src/base/internal_api.h"

enum {
    KI_OBJECT_SCRATCH_KEEP = 256 * 1024 /* bytes; a larger scratch is freed after its object */
};

/* Returns true if both are the fields of one view: the same paths in the same words, members and struct, in the same
 * order. NULL and no field: no view. */
bool ki_fields_are_same(const ki_field *a, const ki_field *b);
/* Writes a view's name for a message: "a view of spec.nodeName, status.phase", or "no view". Returns `text`. */
const char *ki_fields_name(const ki_field *fields, char *text, size_t size);
ki_object_format *ki_object_format_ref(ki_object_format *format);
/* Sets what a cache keeps of the objects, before the first one is made. The default is KI_KEEP_OBJECT. */
void ki_object_format_set_keep(ki_object_format *format, ki_keep keep);
/* Sets the seed of the hashes that find what objects share (group.h), before the first object. The default is 0. */
void ki_object_format_set_seed(ki_object_format *format, uint64_t seed);
/* A transform will be applied to objects: a source makes them with all their content. Before the informer's first
 * object; another thread may make one at the same time. */
void ki_object_format_set_transform(ki_object_format *format);
bool ki_object_format_has_view(const ki_object_format *format);
/* Returns true if the view has the map of all labels: an object without its content has them, too. */
bool ki_object_format_has_labels(const ki_object_format *format);
/* Returns how many fields of the view had another type than their member, or were out of range. */
uint64_t ki_object_format_mismatches(const ki_object_format *format);
/* Returns the bits of the view's fields that an object has had so far. Formats with the same view have the same
 * bits. */
uint64_t ki_object_format_seen_fields(const ki_object_format *format);
/* Writes which fields of the view no object has had so far, and which have never fitted (ki_view_describe).
 * `elsewhere`: bits of fields that objects of other formats have. Returns true if a field has never fitted. */
bool ki_object_format_describe_fields(const ki_object_format *format, uint64_t elsewhere, char *text, size_t size);
/* Returns the memory of what objects of this format have in common (group.h). */
size_t ki_object_format_group_bytes(const ki_object_format *format);
const ki_allocator *ki_object_format_allocator(const ki_object_format *format);

/* Makes an object from JSON text, as a source does; does not keep the text. `api_version` and `kind` are filled in if
 * the JSON has none (items of a built-in type's list); NULL: nothing is filled in. Errors: KI_ERR_PARSE (not JSON, not
 * an object, no metadata, no name, or a zero character in a field of the header; the message names the field and, if
 * known, namespace/name), KI_ERR_LIMIT (over 1 GiB), KI_ERR_NO_MEMORY. */
ki_status ki_object_from_json(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                              ki_object **ret_obj, ki_error *err);

/* The same for an object of a list or watch. managedFields that the format drops are not parsed: brackets and strings
 * show where they end, and other mistakes in them are not noticed. `scratch`: an empty buffer that gives memory for the
 * call, and keeps KI_OBJECT_SCRATCH_KEEP bytes; NULL: none. Errors: also KI_ERR_LIMIT (nested deeper than
 * KI_JSON_DEPTH_MAX). */
ki_status ki_object_from_server(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                                ki_buffer *scratch, ki_object **ret_obj, ki_error *err);
/* The same, of a format that keeps less than the object, too. */
ki_status ki_object_from_json_whole(ki_object_format *format, ki_str json, const char *api_version, const char *kind,
                                    ki_object **ret_obj, ki_error *err);
/* Gets the object without its content if its format keeps the view, else another reference to it. For what a transform
 * returns. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_object_view_only(ki_object *obj, ki_object **ret_obj, ki_error *err);
/* Gets the object without its content if its format keeps keys, else another reference to it. For the store. Errors:
 * KI_ERR_NO_MEMORY. */
ki_status ki_object_key_only(ki_object *obj, ki_object **ret_obj, ki_error *err);
/* Returns what the object has: KI_KEEP_OBJECT also for a whole one of a cache that keeps less; KI_KEEP_METADATA also
 * for what a transform made of metadata alone. */
ki_keep ki_object_keep(const ki_object *obj);
/* Returns true if the object has the labels that the server sent: also without its content, if its view has the map of
 * all labels. */
bool ki_object_has_labels(const ki_object *obj);
/* Returns KI_ERR_STATE, with the reason, for an object without its content. */
KI_INTERNAL_API ki_status ki_object_check_content(const ki_object *obj, ki_error *err);

/* Reads a field of JSON text, as ki_object_field; the text is valid, as json_text.h has it. `whose` names the text in
 * the message for a missing field. */
ki_status ki_json_field(ki_object_format *format, ki_str json, const char *whose, const char *path, ki_value *ret_value,
                        ki_error *err);

/* Returns the memory of what bodies of this format's objects are deltas against (body_bases.h). */
size_t ki_object_format_base_bytes(const ki_object_format *format);
/* Returns the bytes of memory that the object takes, including its body. */
size_t ki_object_memory(const ki_object *obj);
/* The same, and the base of its body, which it can have alone. */
size_t ki_object_memory_with_base(const ki_object *obj);
/* Returns a hash of those `size` bytes without the reference count. It changes only if a program writes into the
 * immutable object. */
uint64_t ki_object_fingerprint(const ki_object *obj, size_t size);

#endif
