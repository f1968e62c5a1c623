/* test_private_file.c: a file with a token in it is for its owner alone. */
#include "src/base/error.h"
#include "testing/server/private_file.h"
#include "tests/support/folder.h"
#include "tests/support/test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check(const char *name, const char *text) {
    struct stat is;
    char read[64] = "";
    assert_int_equal(lstat(folder_file(name), &is), 0);
    assert_true(S_ISREG(is.st_mode));
    assert_int_equal(is.st_mode & 0777, 0600);
    FILE *in = fopen(folder_file(name), "re");
    assert_non_null(in);
    assert_int_equal(fread(read, 1, sizeof read - 1, in), strlen(text));
    fclose(in);
    assert_string_equal(read, text);
}

FOLDER_TEST(a_new_file_is_for_its_owner_alone) {
    mode_t before = umask(0);
    ki_status status = kt_private_file_write(folder_file("new"), KI_STR("secret"), NULL);
    umask(before);
    assert_int_equal(status, KI_OK);
    check("new", "secret");
}

FOLDER_TEST(a_file_that_others_may_read_is_replaced) {
    folder_write("old", "something longer");
    assert_int_equal(chmod(folder_file("old"), 0666), 0);
    int reader = open(folder_file("old"), O_RDONLY | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(kt_private_file_write(folder_file("old"), KI_STR("secret"), NULL), KI_OK);
    check("old", "secret");
    char first[8] = "";
    assert_int_equal(read(reader, first, 4), 4); /* who had it open sees the old one */
    assert_string_equal(first, "some");
    close(reader);
}

FOLDER_TEST(a_link_is_replaced_and_not_followed) {
    folder_write("target", "mine");
    assert_int_equal(symlink(folder_file("target"), folder_file("link")), 0);
    assert_int_equal(kt_private_file_write(folder_file("link"), KI_STR("secret"), NULL), KI_OK);
    check("link", "secret");
    char read[8] = "";
    FILE *in = fopen(folder_file("target"), "re");
    assert_non_null(in);
    assert_non_null(fgets(read, sizeof read, in));
    fclose(in);
    assert_string_equal(read, "mine");
}

/* The file decides, not the beginning of its path. */
FOLDER_TEST(a_path_that_begins_with_dev_is_no_exception) {
    char path[256];
    folder_write("old", "something longer");
    assert_int_equal(chmod(folder_file("old"), 0666), 0);
    snprintf(path, sizeof path, "/dev/..%s", folder_file("old"));
    assert_int_equal(kt_private_file_write(path, KI_STR("secret"), NULL), KI_OK);
    check("old", "secret");
    folder_write("target", "mine");
    assert_int_equal(symlink(folder_file("target"), folder_file("link")), 0);
    snprintf(path, sizeof path, "/dev/..%s", folder_file("link"));
    assert_int_equal(kt_private_file_write(path, KI_STR("secret"), NULL), KI_OK);
    check("link", "secret");
    snprintf(path, sizeof path, "/proc/..%s", folder_file("new"));
    assert_int_equal(kt_private_file_write(path, KI_STR("secret"), NULL), KI_OK);
    check("new", "secret");
}

/* As /dev/stdout, and /dev/fd/63 of a shell's >(...), are links to /proc/self/fd. */
FOLDER_TEST(a_link_to_an_open_descriptor_is_written_to) {
    char path[64], text[16] = "";
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/proc/self/fd/%d", ends[1]);
    assert_int_equal(kt_private_file_write(path, KI_STR("secret"), NULL), KI_OK);
    assert_int_equal(symlink(path, folder_file("link")), 0);
    assert_int_equal(kt_private_file_write(folder_file("link"), KI_STR("more"), NULL), KI_OK);
    assert_int_equal(read(ends[0], text, sizeof text - 1), 10);
    assert_string_equal(text, "secretmore");
    close(ends[0]);
    close(ends[1]);
    int file = open(folder_file("output"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, "a ", 2), 2);
    snprintf(path, sizeof path, "/dev/fd/%d", file);
    assert_int_equal(kt_private_file_write(path, KI_STR("secret"), NULL), KI_OK);
    close(file);
    check("output", "a secret");
}

FOLDER_TEST(what_is_no_file_is_written_to) {
    assert_int_equal(kt_private_file_write("/dev/null", KI_STR("secret"), NULL), KI_OK);
    assert_int_equal(mkfifo(folder_file("pipe"), 0600), 0);
    int reader = open(folder_file("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(kt_private_file_write(folder_file("pipe"), KI_STR("secret"), NULL), KI_OK);
    char text[8] = "";
    assert_int_equal(read(reader, text, 7), 6);
    assert_string_equal(text, "secret");
    close(reader);
}

/* Everybody may make a pipe in /tmp and wait for the token. */
FOLDER_TEST(a_pipe_of_another_user_gets_nothing) {
    enum {
        SOMEBODY_ELSE = 65534
    };
    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    assert_int_equal(mkfifo(folder_file("pipe"), 0666), 0);
    int reader = open(folder_file("pipe"), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    assert_true(reader >= 0);
    assert_int_equal(lchown(folder_file("pipe"), SOMEBODY_ELSE, SOMEBODY_ELSE), 0);
    assert_int_equal(kt_private_file_write(folder_file("pipe"), KI_STR("secret"), NULL), KI_OK);
    char byte;
    assert_true(read(reader, &byte, 1) <= 0);
    close(reader);
    check("pipe", "secret"); /* replaced, as another user's link is */
}

FOLDER_TEST(what_cannot_be_written_says_why) {
    ki_error err = KI_ERROR_INIT;
    assert_int_equal(kt_private_file_write(folder_file("nowhere/file"), KI_STR("x"), &err), KI_ERR_SYSTEM);
    assert_non_null(strstr(ki_error_message(&err), "nowhere/file"));
    static char path[8192];
    memset(path, 'a', sizeof path - 1);
    assert_int_equal(kt_private_file_write(path, KI_STR("x"), &err), KI_ERR_LIMIT);
}
