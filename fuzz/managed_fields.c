/* managed_fields.c: an object of a list or watch. It is the one that parsing all of its text gives, although dropped
 * managedFields are not parsed. The first byte chooses what is kept. */
#include "fuzz/fuzz.h"

#include "src/base/json_scan.h"
#include "src/base/memory.h"
#include "src/object/format.h"
#include "src/object/object.h"

#include <string.h>

#define MANAGED "\"managedFields\":["

static void check_same(const ki_object *a, const ki_object *b) {
    ki_value left = KI_VALUE_INIT, right = KI_VALUE_INIT;
    fuzz_check(strcmp(ki_object_key(a), ki_object_key(b)) == 0);
    fuzz_check(strcmp(ki_object_kind(a), ki_object_kind(b)) == 0);
    fuzz_check(ki_object_memory(a) == ki_object_memory(b));
    fuzz_check(ki_object_label_count(a) == ki_object_label_count(b));
    fuzz_check(ki_object_is_same_state(a, b));
    if (!ki_object_json(a, &left, NULL)) {
        fuzz_check(ki_object_json(b, &right, NULL) == KI_OK);
        fuzz_check(strcmp(left.text, right.text) == 0);
    }
    ki_value_clear(&left);
    ki_value_clear(&right);
}

/* Removes what is between the brackets of the first managedFields. Returns the new size; 0: there are none. */
static size_t empty_managed_fields(char *text, size_t size) {
    for (size_t at = 0; at + strlen(MANAGED) <= size; at++) {
        if (memcmp(text + at, MANAGED, strlen(MANAGED)) != 0)
            continue;
        ki_json_walk walk = KI_JSON_WALK_INIT;
        size_t array = at + strlen(MANAGED) - 1;
        size_t array_size = ki_json_find_end(&walk, (ki_str){ text + array, size - array });
        size_t end = array + array_size;
        if (!array_size)
            return 0;
        memmove(text + array + 1, text + end - 1, size - end + 1);
        return size - array_size + 2;
    }
    return 0;
}

static void read_object(ki_object_format *format, ki_str text) {
    ki_object *obj = NULL, *plain = NULL;
    ki_status status = ki_object_from_server(format, text, "v1", "Pod", NULL, &obj, NULL);
    ki_status plain_status = ki_object_from_json(format, text, "v1", "Pod", &plain, NULL);
    if (!status && plain_status) {
        /* The mistake is between these brackets, and nothing else depends on it. */
        char *emptied = ki_strndup(&ki_allocator_default, text.data, text.size);
        fuzz_check(emptied != NULL);
        size_t size = empty_managed_fields(emptied, text.size);
        fuzz_check(size != 0);
        fuzz_check(ki_object_from_json(format, (ki_str){ emptied, size }, "v1", "Pod", &plain, NULL) == KI_OK);
        ki_free(&ki_allocator_default, emptied);
    }
    fuzz_check(!status || plain_status || status == KI_ERR_LIMIT); /* the limit of nesting */
    if (!status)
        check_same(obj, plain);
    ki_object_unref(obj);
    ki_object_unref(plain);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    ki_object_format *format = NULL;
    if (size < 2)
        return 0;
    fuzz_check(ki_object_format_new(&ki_allocator_default, NULL, &format, NULL) == KI_OK);
    ki_object_format_set_keep(format, (ki_keep)(data[0] % (KI_KEEP_KEYS + 1)));
    read_object(format, (ki_str){ (const char *)data + 1, size - 1 });
    ki_object_format_unref(format);
    return 0;
}
