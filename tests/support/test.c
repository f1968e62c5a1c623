/* test.c: the main function of each test program. PROGRAM NOUN [PATTERN] runs the tests of a noun, or those whose names
 * match, as "*_twice". */
#include "tests/support/test.h"

#include <stdio.h>
#include <string.h>

static kt_group *groups;

void kt_add_group(kt_group *group) {
    group->next = groups;
    groups = group;
}

int main(int argc, char **argv) {
    for (kt_group *group = groups; group && argc >= 2; group = group->next) {
        if (strcmp(group->noun, argv[1]) != 0)
            continue;
        if (argc >= 3)
            cmocka_set_test_filter(argv[2]);
        return group->run();
    }
    (void)fprintf(stderr, "usage: %s NOUN [PATTERN], where NOUN is one of:\n", argv[0]);
    for (kt_group *group = groups; group; group = group->next)
        (void)fprintf(stderr, "    %s\n", group->noun);
    return 2;
}
