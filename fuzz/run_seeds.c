/* run_seeds.c: runs a target once over the files of its arguments, without libFuzzer. */
#include "fuzz/fuzz.h"

#include <stdio.h>

enum {
    SEED_MAX = 1024 * 1024
};

int main(int argc, char **argv) {
    for (int i = 1; i < argc; i++) {
        uint8_t *bytes = malloc(SEED_MAX);
        FILE *file = fopen(argv[i], "re");
        if (!bytes || !file) {
            fprintf(stderr, "cannot read %s\n", argv[i]);
            return 1;
        }
        size_t size = fread(bytes, 1, SEED_MAX, file);
        fclose(file);
        uint8_t *exact = realloc(bytes, size ? size : 1); /* so that a byte too many is seen */
        LLVMFuzzerTestOneInput(exact ? exact : bytes, size);
        free(exact ? exact : bytes);
    }
    return argc > 1 ? 0 : 1;
}
