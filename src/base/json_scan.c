/* json_scan.c: compact JSON and sizes of containers, with the block scan. */
#include "src/base/json_scan.h"

static size_t block_size(ki_str text, size_t at) {
    size_t left = text.size - at;
    return left < KI_JSON_BLOCK ? left : KI_JSON_BLOCK;
}

bool ki_json_is_compact(ki_str text) {
    ki_json_state state = { false, false };
    for (size_t at = 0; at < text.size; at += KI_JSON_BLOCK) {
        if (ki_json_scan(text.data + at, block_size(text, at), &state).space)
            return false;
    }
    return true;
}

size_t ki_json_compact(char *out, ki_str text) {
    size_t size = 0;
    bool in_string = false;
    for (size_t i = 0; i < text.size; i++) {
        char c = text.data[i];
        if (!in_string && (c == ' ' || c == '\t' || c == '\n' || c == '\r'))
            continue;
        out[size++] = c;
        if (c == '"')
            in_string = !in_string;
        else if (in_string && c == '\\' && i + 1 < text.size)
            out[size++] = text.data[++i];
    }
    return size;
}

size_t ki_json_container_size(ki_str text) {
    ki_json_state state = { false, false };
    size_t depth = 0;
    for (size_t at = 0; at < text.size; at += KI_JSON_BLOCK) {
        ki_json_block block = ki_json_scan(text.data + at, block_size(text, at), &state);
        if (depth > ki_json_count_bits(block.close)) {
            depth += ki_json_count_bits(block.open);
            depth -= ki_json_count_bits(block.close);
            continue;
        }
        for (uint64_t brackets = block.open | block.close; brackets; brackets &= brackets - 1) {
            unsigned bit = ki_json_lowest_bit(brackets);
            if (block.open >> bit & 1)
                depth++;
            else if (--depth == 0)
                return at + bit + 1;
        }
    }
    return text.size;
}
