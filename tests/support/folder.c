/* folder.c: see folder.h. */
#include "tests/support/folder.h"

#include "tests/support/test.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum {
    PATH_SIZE = 256
};

static char folder[64];

int folder_open(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/kinformer-test-XXXXXX");
    return mkdtemp(folder) ? 0 : 1;
}

static int remove_one(const char *path, const struct stat *info, int type, struct FTW *where) {
    (void)info;
    (void)type;
    (void)where;
    return remove(path);
}

int folder_close(void **state) {
    (void)state;
    return nftw(folder, remove_one, 8, FTW_DEPTH | FTW_PHYS);
}

const char *folder_path(void) {
    return folder;
}

const char *folder_file(const char *name) {
    static char paths[8][PATH_SIZE];
    static int turn;
    turn = (turn + 1) % 8;
    snprintf(paths[turn], PATH_SIZE, "%s/%s", folder, name);
    return paths[turn];
}

void folder_write_bytes(const char *name, const char *data, size_t size) {
    char path[PATH_SIZE];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    for (char *slash = path + strlen(folder) + 1; (slash = strchr(slash, '/')); slash++) {
        *slash = '\0';
        mkdir(path, 0700);
        *slash = '/';
    }
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

void folder_write(const char *name, const char *text) {
    folder_write_bytes(name, text, strlen(text));
}
