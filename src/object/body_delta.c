/* body_delta.c: see body_delta.h. Both texts are read once, side by side. Where they differ, they are alike again at a
 * quote: the end of the value that differs, or the begin of a member that both have. */
#include "src/object/body_delta.h"

#include "src/base/assert.h"

enum {
    QUOTES = 12,    /* that are looked at in each text where the next one is not the end of the difference */
    WINDOW = 2048,  /* bytes in which they are */
    ALIKE = 12,     /* bytes from a quote on that must be equal */
    COUNT_SIZE = 2, /* bytes of the number before the steps */
    NUMBER_MAX = 5, /* bytes of a number of 32 bits */
    STEP_MAX = 3 * NUMBER_MAX
};

/* Returns how many bytes both begin with. */
static size_t common_size(ki_str a, ki_str b) {
    size_t size = a.size < b.size ? a.size : b.size, at = 0;
    uint64_t one, other;
    for (; size - at >= sizeof one; at += sizeof one) {
        memcpy(&one, a.data + at, sizeof one);
        memcpy(&other, b.data + at, sizeof other);
        if (one != other)
            break;
    }
    while (at < size && a.data[at] == b.data[at])
        at++;
    return at;
}

static ki_str after(ki_str text, size_t size) {
    KI_ASSERT(size <= text.size);
    return (ki_str){ text.data + size, text.size - size };
}

/* Writes the places of the next quotes. Returns their number. */
static size_t find_quotes(ki_str text, size_t max, size_t *places) {
    size_t count = 0, at = 0, end = text.size < WINDOW ? text.size : WINDOW;
    const char *quote;
    while (count < max && at < end && (quote = memchr(text.data + at, '"', end - at)) != NULL) {
        places[count++] = (size_t)(quote - text.data);
        at = (size_t)(quote - text.data) + 1;
    }
    return count;
}

static bool are_alike(ki_str base, size_t base_at, ki_str text, size_t text_at) {
    return base.size - base_at >= ALIKE && text.size - text_at >= ALIKE &&
           memcmp(base.data + base_at, text.data + text_at, ALIKE) == 0;
}

/* Finds where the texts are alike again; at their ends, if they are not. The nearest pair of quotes comes first. */
static void find_alike(ki_str base, ki_str text, size_t *ret_base_at, size_t *ret_text_at) {
    size_t places[QUOTES], base_places[QUOTES];
    size_t count = find_quotes(text, 1, places), base_count = find_quotes(base, 1, base_places);
    bool is_value = count && base_count && are_alike(base, base_places[0], text, places[0]);
    if (!is_value) {
        count = find_quotes(text, QUOTES, places);
        base_count = find_quotes(base, QUOTES, base_places);
    }
    for (size_t sum = 0; sum + 1 < count + base_count; sum++) {
        for (size_t i = sum < base_count ? 0 : sum - base_count + 1; i <= sum && i < count; i++) {
            if (!are_alike(base, base_places[sum - i], text, places[i]))
                continue;
            *ret_base_at = base_places[sum - i];
            *ret_text_at = places[i];
            return;
        }
    }
    *ret_base_at = base.size;
    *ret_text_at = text.size;
}

static char *write_number(char *out, size_t number) {
    for (; number >= 128; number >>= 7)
        *out++ = (char)(unsigned char)((number & 127u) | 128u);
    *out++ = (char)(unsigned char)number;
    return out;
}

size_t ki_body_delta_max(size_t size) {
    return COUNT_SIZE + KI_BODY_DELTA_STEPS_MAX + size;
}

size_t ki_body_delta_write(ki_str base, ki_str text, char *out) {
    KI_ASSERT(base.size <= UINT32_MAX / 2 && text.size <= UINT32_MAX / 2);
    char *const steps = out + COUNT_SIZE, *const literals = steps + KI_BODY_DELTA_STEPS_MAX;
    char *step = steps, *literal = literals;
    for (;;) {
        size_t same = common_size(base, text), skipped, added;
        base = after(base, same);
        text = after(text, same);
        if (!text.size)
            break;
        if (step - steps > KI_BODY_DELTA_STEPS_MAX - 2 * STEP_MAX) { /* the last one */
            skipped = base.size;
            added = text.size;
        } else {
            find_alike(base, text, &skipped, &added);
        }
        bool differ = skipped != added;
        step = write_number(write_number(step, same), added * 2 + differ);
        if (differ)
            step = write_number(step, skipped);
        memcpy(literal, text.data, added);
        literal += added;
        base = after(base, skipped);
        text = after(text, added);
    }
    size_t size = (size_t)(step - steps), literal_size = (size_t)(literal - literals);
    KI_ASSERT(size <= KI_BODY_DELTA_STEPS_MAX);
    out[0] = (char)(unsigned char)(size & 255);
    out[1] = (char)(unsigned char)(size >> 8);
    memmove(steps + size, literals, literal_size);
    return COUNT_SIZE + size + literal_size;
}

/* Reads a number from the begin of `*from`. Returns false if there is none of 32 bits. */
static bool read_number(ki_str *from, size_t *ret_number) {
    uint64_t number = 0;
    for (unsigned i = 0; i < NUMBER_MAX && i < from->size; i++) {
        unsigned char byte = (unsigned char)from->data[i];
        number |= (uint64_t)(byte & 127u) << 7 * i;
        if (byte < 128) {
            *from = after(*from, i + 1);
            *ret_number = (size_t)number;
            return number <= UINT32_MAX;
        }
    }
    return false;
}

/* Moves bytes from the begin of `*from` to `*out`. Returns false if one has fewer. */
static bool move(ki_str *from, size_t size, char **out, size_t *room) {
    if (size > from->size || size > *room)
        return false;
    memcpy(*out, from->data, size);
    *from = after(*from, size);
    *out += size;
    *room -= size;
    return true;
}

bool ki_body_delta_apply(ki_str base, ki_str delta, char *out, size_t size) {
    if (delta.size < COUNT_SIZE)
        return false;
    size_t step_bytes = (unsigned char)delta.data[0] + 256u * (unsigned char)delta.data[1];
    delta = after(delta, COUNT_SIZE);
    if (step_bytes > delta.size)
        return false;
    ki_str steps = { delta.data, step_bytes }, literals = after(delta, step_bytes);
    while (steps.size) {
        size_t same, added, skipped;
        if (!read_number(&steps, &same) || !read_number(&steps, &added))
            return false;
        skipped = added / 2;
        if (added % 2 && !read_number(&steps, &skipped))
            return false;
        if (!move(&base, same, &out, &size) || !move(&literals, added / 2, &out, &size) || skipped > base.size)
            return false;
        base = after(base, skipped);
    }
    return !literals.size && move(&base, size, &out, &size);
}
