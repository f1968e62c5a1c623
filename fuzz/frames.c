/* frames.c: a stream as scanners, a framer, a watch decoder and a list decoder read it: whole, and in pieces. The first
 * byte is the size of the pieces, the second the limit of a value in units of 4 bytes (0: the default). With pieces of
 * an odd size no object of a watch is assumed to end with its line. */
#include "fuzz/fuzz.h"

#include "src/base/memory.h"
#include "src/wire/list_decoder.h"
#include "src/wire/watch_decoder.h"

#include <yyjson.h>

enum {
    HEAD = 2
};

/* A stream, and what was read from it: one entry for each result, so that two readings can be compared. */
typedef struct reading {
    ki_str rest;
    size_t piece;
    size_t limit;
    bool is_sceptical; /* assumes no object's end */
    ki_buffer found;
} reading;

static void note(reading *self, int kind, int64_t number, ki_str text) {
    fuzz_check(!ki_buffer_printf(&self->found, "%d %lld %zu ", kind, (long long)number, text.size));
    fuzz_check(!ki_buffer_append_view(&self->found, text));
}

/* Copies the next piece into memory of its size, so that a byte too many is seen. The caller frees it. */
static char *take_piece(reading *self, ki_str *ret_piece) {
    size_t size = self->rest.size < self->piece ? self->rest.size : self->piece;
    char *copy = malloc(size ? size : 1);
    fuzz_check(copy != NULL);
    if (size)
        memcpy(copy, self->rest.data, size);
    self->rest = (ki_str){ self->rest.data + size, self->rest.size - size };
    *ret_piece = (ki_str){ copy, size };
    return copy;
}

/* --- scanners ----------------------------------------------------------------------------------------------------- */

/* Walks through the text in pieces with one way to scan. */
static void scan(const ki_json_scanner *scanner, reading *self) {
    ki_json_walk walk = { .depth_max = KI_JSON_DEPTH_MAX };
    size_t end = 0;
    while (self->rest.size && !end) {
        ki_str chunk;
        char *copy = take_piece(self, &chunk);
        end = scanner->find_end(&walk, chunk);
        note(self, 0, (int64_t)end, KI_STR(""));
        if (!end)
            note(self, walk.in_string + 2 * walk.escaped + 4 * walk.too_deep, (int64_t)walk.depth, KI_STR(""));
        free(copy);
    }
}

/* Text that all scanners which read blocks find valid is an object for the parser. */
static void compare_valid(ki_str text) {
    const ki_json_scanner *scanner;
    static ki_json_outline wanted, outline;
    if (text.size < 2 || *text.data != '{' || text.data[text.size - 1] != '}')
        return;
    bool is_valid = ki_json_is_valid(text, 0, 0, &wanted);
    for (size_t i = 0; (scanner = ki_json_scanner_at(i)); i++) {
        if (!scanner->is_supported() || strcmp(scanner->name, "bytes") == 0)
            continue;
        fuzz_check(scanner->is_valid(text, 0, 0, &outline) == is_valid);
        fuzz_check(!is_valid || (outline.count == wanted.count &&
                                 memcmp(outline.at, wanted.at, wanted.count * sizeof *wanted.at) == 0));
    }
    yyjson_doc *doc = is_valid ? yyjson_read(text.data, text.size, 0) : NULL;
    fuzz_check(!is_valid || yyjson_is_obj(yyjson_doc_get_root(doc)));
    yyjson_doc_free(doc);
}

/* All ways to scan that this processor has agree. */
static void compare_scanners(ki_str text, size_t piece) {
    const ki_json_scanner *scanner, *first = NULL;
    reading wanted = { .piece = piece, .rest = text };
    ki_buffer_init(&wanted.found, &ki_allocator_default, 0);
    for (size_t i = 0; (scanner = ki_json_scanner_at(i)); i++) {
        reading other = { .piece = piece, .rest = text };
        if (!scanner->is_supported())
            continue;
        if (!first) {
            first = scanner;
            scan(scanner, &wanted);
            continue;
        }
        ki_buffer_init(&other.found, &ki_allocator_default, 0);
        scan(scanner, &other);
        fuzz_check(ki_str_equal((ki_str){ wanted.found.data, wanted.found.size },
                                (ki_str){ other.found.data, other.found.size }));
        size_t opened = 0, opened_first = 0;
        fuzz_check(scanner->is_compact(text, &opened) == first->is_compact(text, &opened_first));
        fuzz_check(opened == opened_first);
        ki_buffer_free(&other.found);
    }
    ki_buffer_free(&wanted.found);
}

/* --- framer ------------------------------------------------------------------------------------------------------- */

/* Returns the size of the array or object at the beginning of `text`, found byte by byte. */
static size_t size_of_container(ki_str text) {
    size_t depth = 0;
    bool in_string = false, is_escaped = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (c == '"' && !is_escaped)
            in_string = !in_string;
        else if (!in_string && (c == '{' || c == '['))
            depth++;
        else if (!in_string && (c == '}' || c == ']') && --depth == 0)
            return i + 1;
        is_escaped = c == '\\' && !is_escaped;
    }
    return 0;
}

static void check_value(const reading *self, ki_str value) {
    fuzz_check(value.size > 0 && value.size <= self->limit);
    if (*value.data == '{' || *value.data == '[')
        fuzz_check(size_of_container(value) == value.size);
    yyjson_doc *doc = yyjson_read(value.data, value.size, 0);
    if (doc && yyjson_is_ctn(yyjson_doc_get_root(doc))) {
        char *out = malloc(value.size);
        fuzz_check(out != NULL);
        size_t size = ki_json_compact(out, value);
        size_t opened = 0;
        fuzz_check(ki_json_is_compact((ki_str){ out, size }, &opened));
        fuzz_check(ki_json_is_compact(value, &opened) == (size == value.size));
        yyjson_doc *compact = yyjson_read(out, size, 0);
        fuzz_check(compact && yyjson_equals(yyjson_doc_get_root(doc), yyjson_doc_get_root(compact)));
        yyjson_doc_free(compact);
        free(out);
    }
    yyjson_doc_free(doc);
}

static void read_frames(reading *self) {
    ki_framer framer;
    ki_frame frame = KI_FRAME_NEED_MORE;
    ki_framer_init(&framer, &ki_allocator_default, self->limit);
    while (self->rest.size && frame != KI_FRAME_INVALID) {
        ki_str chunk, value = { NULL, 0 };
        char *copy = take_piece(self, &chunk);
        while ((frame = ki_framer_next(&framer, &chunk, &value)) != KI_FRAME_NEED_MORE && frame != KI_FRAME_INVALID) {
            bool has_value = frame != KI_FRAME_SEPARATOR && frame != KI_FRAME_COLON && frame != KI_FRAME_CLOSE;
            if (frame == KI_FRAME_VALUE)
                check_value(self, value);
            note(self, (int)frame, 0, has_value ? value : KI_STR(""));
        }
        fuzz_check(frame == KI_FRAME_INVALID || chunk.size == 0);
        free(copy);
    }
    note(self, frame == KI_FRAME_INVALID, framer.in_value, KI_STR(""));
    ki_framer_free(&framer);
}

/* --- watch -------------------------------------------------------------------------------------------------------- */

/* Returns true for what makes an object: valid JSON that is not nested too deep. */
static bool is_object(ki_str text) {
    ki_json_walk walk = { .depth_max = KI_JSON_DEPTH_MAX };
    yyjson_doc *doc = yyjson_read(text.data, text.size, 0);
    bool is_valid = doc != NULL;
    yyjson_doc_free(doc);
    return is_valid && ki_json_find_end(&walk, text) == text.size && !walk.too_deep;
}

static ki_status read_events(reading *self, ki_watch_decoder *decoder) {
    ki_error err = KI_ERROR_INIT;
    ki_status status = KI_OK;
    ki_watch_event event = { .part = KI_WATCH_CHANGE };
    ki_str chunk;
    char *copy = take_piece(self, &chunk);
    while (!status && event.part != KI_WATCH_NOTHING) {
        status = ki_watch_decoder_next(decoder, &chunk, &event, &err);
        if (!status && event.is_assumed && (self->is_sceptical || !is_object(event.object)))
            status = ki_watch_decoder_reread(decoder, &chunk, &event, &err);
        if (status || event.part == KI_WATCH_NOTHING)
            continue;
        fuzz_check((event.part == KI_WATCH_BAD) == (event.why != NULL));
        fuzz_check(event.part == KI_WATCH_BAD || size_of_container(event.object) == event.object.size);
        note(self, (int)event.part, event.part == KI_WATCH_CHANGE ? (int)event.type : 0, event.object);
        if (event.why)
            note(self, (int)event.why->code, 0, ki_str_of(event.why->message));
    }
    fuzz_check(status ? status == KI_ERR_PROTOCOL && err.message[0] : chunk.size == 0);
    free(copy);
    return status;
}

static void read_watch(reading *self) {
    ki_watch_decoder *decoder = NULL;
    ki_status status = KI_OK;
    fuzz_check(!ki_watch_decoder_new(&ki_allocator_default, self->limit, &decoder, NULL));
    while (self->rest.size && !status)
        status = read_events(self, decoder);
    if (!status) {
        self->rest = ki_watch_decoder_give_back(decoder);
        self->piece = self->rest.size;
        status = read_events(self, decoder);
        fuzz_check(ki_watch_decoder_give_back(decoder).size == 0);
    }
    note(self, (int)status, ki_watch_decoder_is_clean(decoder), KI_STR(""));
    ki_watch_decoder_free(decoder);
}

/* --- list --------------------------------------------------------------------------------------------------------- */

static ki_status on_item(ki_str item, void *user) {
    fuzz_check(size_of_container(item) == item.size);
    note(user, 1, 0, item);
    return KI_OK;
}

static ki_status on_bad(const ki_error *why, ki_str sample, void *user) {
    note(user, 2, why->code, sample);
    return KI_OK;
}

static void read_list(reading *self) {
    const ki_list_sink sink = { .on_item = on_item, .on_bad = on_bad, .user = self };
    ki_list_decoder *decoder = NULL;
    ki_status status = KI_OK;
    fuzz_check(!ki_list_decoder_new(&ki_allocator_default, self->limit, &sink, &decoder, NULL));
    while (self->rest.size && !status) {
        ki_error err = KI_ERROR_INIT;
        ki_str chunk;
        char *copy = take_piece(self, &chunk);
        status = ki_list_decoder_feed(decoder, &chunk, &err);
        fuzz_check(status ? err.message[0] != '\0' : chunk.size == 0);
        free(copy);
    }
    if (!status)
        status = ki_list_decoder_finish(decoder, NULL);
    const ki_list_meta *meta = ki_list_decoder_meta(decoder);
    note(self, (int)status, meta->remaining_item_count, ki_str_of(meta->resource_version));
    note(self, 0, 0, ki_str_of(meta->continue_token));
    note(self, 0, 0, ki_str_of(meta->kind));
    note(self, 0, 0, ki_str_of(meta->api_version));
    ki_list_decoder_free(decoder);
}

/* ------------------------------------------------------------------------------------------------------------------ */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void (*const readers[])(reading * self) = { read_frames, read_watch, read_list };
    if (size < HEAD)
        return 0;
    reading whole = { .piece = size, .limit = data[1] ? data[1] * (size_t)4 : KI_WIRE_OBJECT_LIMIT };
    reading pieces = { .piece = data[0] ? data[0] : 1, .limit = whole.limit, .is_sceptical = data[0] % 2 };
    ki_str text = { (const char *)data + HEAD, size - HEAD };
    if (text.size && (*text.data == '{' || *text.data == '[')) {
        compare_scanners(text, whole.piece);
        compare_scanners(text, pieces.piece);
        compare_valid(text);
    }
    for (size_t i = 0; i < sizeof readers / sizeof *readers; i++) {
        whole.rest = pieces.rest = text;
        whole.piece = size;
        pieces.piece = data[0] ? data[0] : 1;
        ki_buffer_init(&whole.found, &ki_allocator_default, 0);
        ki_buffer_init(&pieces.found, &ki_allocator_default, 0);
        readers[i](&whole);
        readers[i](&pieces);
        fuzz_check(ki_str_equal((ki_str){ whole.found.data, whole.found.size },
                                (ki_str){ pieces.found.data, pieces.found.size }));
        ki_buffer_free(&whole.found);
        ki_buffer_free(&pieces.found);
    }
    return 0;
}
