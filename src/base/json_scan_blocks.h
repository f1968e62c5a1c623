/* json_scan_blocks.h: the scanners that read 64 bytes at a time with vector instructions. Only json_scan.c calls it. */
#ifndef KI_BASE_JSON_SCAN_BLOCKS_H
#define KI_BASE_JSON_SCAN_BLOCKS_H

#include "src/base/json_scan.h"

/* The fastest first. */
extern const ki_json_scanner ki_json_block_scanners[];
extern const size_t ki_json_block_scanner_count;

#endif
