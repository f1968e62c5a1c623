/* listed_objects.c: the objects of the list or streaming list in progress. Each is kept as the store will keep it: the
 * known object if its state is the same, else packed; those that arrived before their dictionary, a few with each that
 * arrives later. */
#include "src/base/array.h"
#include "src/base/memory.h"
#include "src/cache/reflector/reflector_steps.h"
#include "src/object/object.h"
#include "src/object/pack.h"

enum {
    PACKS_BESIDE = 4 /* objects that are packed late with each that arrives */
};

/* Returns true if no object is plain that could be packed. */
static bool has_packed(const ki_reflector *reflector) {
    return reflector->packed_to == reflector->plain_to;
}

ki_object *ki_reflector_known(const ki_reflector *reflector, const char *key) {
    const ki_known_objects *known = &reflector->options.known;
    return known->get ? known->get(key, known->user) : NULL;
}

ki_object *ki_reflector_known_instance(const ki_reflector *reflector, ki_object *obj) {
    ki_object *known = ki_reflector_known(reflector, ki_object_key(obj));
    if (known && reflector->has_initial_version && ki_object_is_same_state(obj, known))
        return known;
    ki_object_unref(known);
    return ki_object_pack(obj);
}

void ki_reflector_put_listed(ki_reflector *reflector, size_t place, ki_object *obj) {
    ki_object *before = reflector->objects[place];
    const ki_str key = before ? ki_str_of(ki_object_key(before)) : KI_STR("");
    if (obj && ki_map_has(&reflector->collected, key))
        (void)ki_map_put(&reflector->collected, ki_str_of(ki_object_key(obj)), (void *)(uintptr_t)(place + 1), NULL);
    reflector->objects[place] = obj;
    reflector->object_bytes += obj ? ki_object_memory(obj) : 0;
    reflector->object_bytes -= before ? ki_object_memory(before) : 0;
    ki_object_unref(before);
}

/* Packs some objects that arrived before their dictionary. Without memory an object stays plain here; the store tries
 * again. */
static void pack_some(ki_reflector *reflector) {
    for (unsigned i = 0; i < PACKS_BESIDE && !has_packed(reflector); i++) {
        size_t place = reflector->packed_to++;
        ki_object *obj = reflector->objects[place], *made = obj ? ki_object_pack(obj) : NULL;
        if (made != obj)
            ki_reflector_put_listed(reflector, place, made);
        else
            ki_object_unref(made);
    }
}

/* Has the next objects packed with a dictionary of those that have arrived, if it is time. */
static void train(ki_reflector *reflector, ki_object_format *format) {
    ki_object *samples[KI_BODY_SAMPLES_MAX] = { NULL };
    size_t count = 0, apart = reflector->object_count / KI_BODY_SAMPLES_MAX + 1;
    bool is_first = !ki_object_format_packs(format);
    for (size_t i = 0; i < reflector->object_count; i += apart)
        if (reflector->objects[i])
            samples[count++] = reflector->objects[i];
    ki_object_format_train(format, samples, count, reflector->object_bytes);
    if (is_first && ki_object_format_packs(format))
        reflector->plain_to = reflector->object_count;
}

ki_status ki_reflector_append(ki_reflector *reflector, ki_object *obj) {
    if (KI_ARRAY_RESERVE(ki_engine_allocator(reflector->options.engine), reflector->objects, reflector->object_count,
                         reflector->object_capacity))
        return KI_ERR_NO_MEMORY;
    ki_object *kept = ki_reflector_known_instance(reflector, obj);
    reflector->objects[reflector->object_count++] = kept;
    reflector->object_bytes += ki_object_memory(kept);
    ki_object_format *format = ki_object_format_of(kept);
    if (ki_object_format_is_due(format, reflector->object_bytes))
        train(reflector, format);
    pack_some(reflector);
    return KI_OK;
}

static void release_objects(const ki_reflector *reflector) {
    for (size_t i = 0; i < reflector->object_count; i++)
        ki_object_unref(reflector->objects[i]);
    ki_free(ki_engine_allocator(reflector->options.engine), reflector->objects);
}

void ki_reflector_drop_objects(ki_reflector *reflector) {
    if (reflector->objects && reflector->shared.on_dropped)
        reflector->shared.on_dropped(reflector->objects, reflector->object_count, reflector->options.user);
    else if (reflector->objects)
        release_objects(reflector);
    reflector->objects = NULL;
    reflector->object_count = reflector->object_capacity = reflector->object_bytes = 0;
    reflector->plain_to = reflector->packed_to = 0;
    ki_map_free(&reflector->collected);
    ki_unreadable_marks_clear(&reflector->listed_unreadable);
    ki_buffer_reset(&reflector->continue_token, 0);
}
