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
    return reflector->listed.packed_to == reflector->listed.plain_to;
}

ki_object *ki_reflector_known_instance(const ki_reflector *reflector, ki_object *obj) {
    ki_object *known = ki_reflector_known(reflector, ki_object_key(obj));
    if (known && reflector->initial.has_version && ki_object_is_same_state(obj, known))
        return known;
    ki_object_unref(known);
    return ki_object_pack(ki_object_ref(obj));
}

void ki_reflector_put_listed(ki_reflector *reflector, size_t place, ki_object *obj) {
    ki_object *before = reflector->listed.objects[place];
    const ki_str key = before ? ki_str_of(ki_object_key(before)) : KI_STR("");
    if (obj && ki_map_has(&reflector->listed.places, key))
        (void)ki_map_put(&reflector->listed.places, ki_str_of(ki_object_key(obj)), (void *)(uintptr_t)(place + 1),
                         NULL);
    reflector->listed.objects[place] = obj;
    reflector->listed.bytes += obj ? ki_object_memory(obj) : 0;
    reflector->listed.bytes -= before ? ki_object_memory(before) : 0;
    ki_object_unref(before);
}

/* Packs some objects that arrived before their dictionary. Without memory an object stays plain here; the store tries
 * again. */
static void pack_some(ki_reflector *reflector) {
    for (unsigned i = 0; i < PACKS_BESIDE && !has_packed(reflector); i++) {
        size_t place = reflector->listed.packed_to++;
        ki_object *obj = reflector->listed.objects[place], *made = obj ? ki_object_pack(ki_object_ref(obj)) : NULL;
        if (made != obj)
            ki_reflector_put_listed(reflector, place, made);
        else
            ki_object_unref(made);
    }
}

/* Has the next objects packed with a dictionary of those that have arrived, if it is time. */
static void train(ki_reflector *reflector, ki_object_format *format) {
    ki_object *samples[KI_BODY_SAMPLES_MAX] = { NULL };
    size_t count = 0, apart = reflector->listed.count / KI_BODY_SAMPLES_MAX + 1;
    bool is_first = !ki_object_format_packs(format);
    for (size_t i = 0; i < reflector->listed.count; i += apart)
        if (reflector->listed.objects[i])
            samples[count++] = reflector->listed.objects[i];
    ki_object_format_train(format, samples, count, reflector->listed.bytes);
    if (is_first && ki_object_format_packs(format))
        reflector->listed.plain_to = reflector->listed.count;
}

ki_status ki_reflector_append(ki_reflector *reflector, ki_object *obj) {
    if (KI_ARRAY_RESERVE(ki_engine_allocator(reflector->options.engine), reflector->listed.objects,
                         reflector->listed.count, reflector->listed.capacity))
        return KI_ERR_NO_MEMORY;
    ki_object *kept = ki_reflector_known_instance(reflector, obj);
    reflector->listed.objects[reflector->listed.count++] = kept;
    reflector->listed.bytes += ki_object_memory(kept);
    ki_object_format *format = ki_object_format_of(kept);
    if (ki_object_format_is_due(format, reflector->listed.bytes))
        train(reflector, format);
    pack_some(reflector);
    return KI_OK;
}

static void release_objects(const ki_reflector *reflector) {
    for (size_t i = 0; i < reflector->listed.count; i++)
        ki_object_unref(reflector->listed.objects[i]);
    ki_free(ki_engine_allocator(reflector->options.engine), reflector->listed.objects);
}

void ki_reflector_drop_objects(ki_reflector *reflector) {
    if (reflector->listed.objects && reflector->shared.on_dropped)
        reflector->shared.on_dropped(reflector->listed.objects, reflector->listed.count, reflector->options.user);
    else if (reflector->listed.objects)
        release_objects(reflector);
    reflector->listed.objects = NULL;
    reflector->listed.count = reflector->listed.capacity = reflector->listed.bytes = 0;
    reflector->listed.plain_to = reflector->listed.packed_to = 0;
    ki_map_free(&reflector->listed.places);
    ki_unreadable_marks_clear(&reflector->listed.unreadable);
    ki_buffer_reset(&reflector->listed.continue_token, 0);
}
