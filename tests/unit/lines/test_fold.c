/* The changes of a busy second by owner: when, of whom, and the lines. */
#include "cli/lines/fold.h"
#include "cli/output.h"
#include "tests/support/make_object.h"
#include "tests/support/test.h"

#include <stdlib.h>
#include <string.h>

static const fold_words pods = { .plural = "pods", .kind = "Pod", .has_ready = true };
static const fold_words nodes = { .plural = "nodes", .kind = "Node" };

static const condition ready = { .status = "Running", .is_ready = true };
static const condition running = { .status = "Running" };
static const condition pending = { .status = "Pending" };
static const condition failed = { .status = "Failed" };

/* The caller frees the text. */
static char *text_of(fold *f, const fold_words *words, size_t max, size_t width) {
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    assert_true(fold_write(f, words, "18:45:55", max, width, out));
    assert_int_equal(fclose(out), 0);
    return text;
}

static void assert_text(fold *f, const fold_words *words, size_t width, const char *expected) {
    char *text = text_of(f, words, FOLD_LINES_MAX, width);
    if (strcmp(text, expected) != 0)
        fail_msg("'%s' is not '%s'", text, expected);
    free(text);
}

static void change(fold *f, const char *owner, const condition *before, const condition *after) {
    assert_true(fold_change(f, owner, before, after, true));
}

/* Objects that were there before. */
static void have(fold *f, const char *owner, size_t count, const condition *of) {
    for (size_t i = 0; i < count; i++)
        assert_true(fold_change(f, owner, NULL, of, false));
}

TEST(a_second_with_more_changes_than_lines_is_folded_until_a_quiet_one) {
    fold_rate rate = { .changes = 0 };
    for (int i = 0; i < FOLD_LINES_MAX; i++)
        assert_false(fold_rate_add(&rate));
    fold_rate_tick(&rate);
    for (int i = 0; i < FOLD_LINES_MAX; i++)
        assert_false(fold_rate_add(&rate));
    assert_true(fold_rate_add(&rate));
    fold_rate_tick(&rate);
    assert_true(fold_rate_add(&rate)); /* the last second was busy */
    fold_rate_tick(&rate);
    assert_false(fold_rate_add(&rate));
}

TEST(an_owner_has_a_line_with_the_counts_that_changed) {
    fold *f = fold_new();
    have(f, "deployment shop/cart", 9, &ready);
    have(f, "deployment shop/cart", 1, &running);
    have(f, "deployment shop/cart", 2, &pending);
    assert_text(f, &pods, 0, ""); /* nothing changed */
    assert_false(fold_has_changes(f));

    change(f, "deployment shop/cart", &pending, &running);
    change(f, "deployment shop/cart", &running, &ready);
    change(f, "deployment shop/cart", &running, &ready);
    assert_true(fold_has_changes(f));
    assert_text(f, &pods, 0,
                "18:45:55 pods: 3 changes of 1 owner\n~ deployment shop/cart  12 pods: 9 Ready → 11, 2 Pending → 1\n");
    assert_text(f, &pods, 0, "");

    change(f, "deployment shop/cart", &ready, &ready);
    assert_text(f, &pods, 0,
                "18:45:55 pods: 1 change of 1 owner\n~ deployment shop/cart  12 pods: 11 Ready, 1 change\n");
    change(f, "deployment shop/cart", NULL, &pending);
    change(f, "deployment shop/cart", &ready, NULL);
    assert_text(
        f, &pods, 0,
        "18:45:55 pods: 2 changes of 1 owner\n~ deployment shop/cart  12 pods (+1 -1): 11 Ready → 10, 1 Pending → "
        "2\n");
    fold_free(f);
}

TEST(changes_that_have_lines_of_their_own_are_counted_but_not_shown) {
    fold *f = fold_new();
    have(f, "deployment a/b", 2, &pending);
    assert_true(fold_change(f, "deployment a/b", &pending, &ready, false));
    change(f, "deployment a/b", &pending, &ready);
    assert_text(f, &pods, 0,
                "18:45:55 pods: 1 change of 1 owner\n~ deployment a/b  2 pods: 1 Ready → 2, 1 Pending → 0\n");
    fold_free(f);
}

TEST(without_a_column_ready_the_statuses_are_shown) {
    static const condition well = { .status = "Ready", .is_ready = true }, ill = { .status = "NotReady" };
    fold *f = fold_new();
    have(f, "cluster", 3, &well);
    change(f, "cluster", &well, &ill);
    assert_text(f, &nodes, 0, "18:45:55 nodes: 1 change of 1 owner\n~ cluster  3 nodes: 3 Ready → 2, 0 NotReady → 1\n");
    fold_free(f);
}

TEST(the_owners_with_the_most_changes_of_a_status_come_first) {
    fold *f = fold_new();
    have(f, "job x/a", 1, &ready);
    have(f, "job x/b", 3, &ready);
    have(f, "job x/c", 2, &ready);
    change(f, "job x/a", &ready, &ready);
    for (int i = 0; i < 3; i++)
        change(f, "job x/b", &ready, &failed);
    change(f, "job x/c", &ready, &failed);
    char *text = text_of(f, &pods, 2, 0);
    assert_string_equal(text, "18:45:55 pods: 5 changes of 3 owners, 2 shown\n"
                              "~ job x/b  3 pods: 3 Ready → 0, 0 Failed → 3\n"
                              "~ job x/c  2 pods: 2 Ready → 1, 0 Failed → 1\n");
    free(text);
    assert_text(f, &pods, 0, "");
    fold_free(f);
}

TEST(a_narrow_line_keeps_the_counts) {
    static const struct {
        size_t width;
        const char *line;
    } rows[] = {
        { 80, "~ deployment shop/a-long-name-of-a-deployment  1 pod (+1 -1): 1 Ready → 0\n" },
        { 60, "~ deployment sho…of-a-deployment  1 pod (+1 -1): 1 Ready → 0\n" },
        { 40, "~ deployme…eployment  1 pod: 1 Ready → 0\n" },
        { 20, "~ sh…ent 1 Ready → 0\n" },
        { 3, "~ …\n" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        fold *f = fold_new();
        have(f, "deployment shop/a-long-name-of-a-deployment", 1, &ready);
        change(f, "deployment shop/a-long-name-of-a-deployment", NULL, &running);
        change(f, "deployment shop/a-long-name-of-a-deployment", &ready, NULL);
        char *text = text_of(f, &pods, 20, rows[i].width);
        const char *line = strchr(text, '\n') + 1;
        if (strcmp(line, rows[i].line) != 0)
            fail_msg("%zu: '%s' is not '%s'", rows[i].width, line, rows[i].line);
        if (display_width(line) > rows[i].width + 1) /* with the newline */
            fail_msg("'%s' is wider than %zu", line, rows[i].width);
        free(text);
        fold_free(f);
    }
}

TEST(what_has_no_objects_left_is_forgotten) {
    fold *f = fold_new();
    char owner[32];
    for (int i = 0; i < 1000; i++) {
        snprintf(owner, sizeof owner, "job x/%d", i);
        change(f, owner, NULL, &ready);
        change(f, owner, &ready, NULL);
    }
    char *text = text_of(f, &pods, 1, 0);
    assert_string_equal(text,
                        "18:45:55 pods: 2,000 changes of 1,000 owners, 1 shown\n~ job x/0  0 pods (+1 -1): 0 Ready, 2 "
                        "changes\n");
    free(text);
    fold_free(f);
}

TEST(a_name_with_escape_sequences_does_not_reach_the_terminal) {
    fold *f = fold_new();
    change(f, "job x/a\033[2J\xe2\x80\xae", NULL, &ready);
    assert_text(f, &pods, 0, "18:45:55 pods: 1 change of 1 owner\n~ job x/a?[2J???  1 pod (+1): 0 Ready → 1\n");
    fold_free(f);
}

#define OWNED(kind, name, labels) \
    "{'metadata':{'name':'a','namespace':'shop','labels':{" labels "},'ownerReferences':[{'kind':'Other','name':'x'}," \
    "{'kind':'" kind "','name':'" name "','controller':true}]}}"

TEST(an_object_belongs_to_its_controller_or_its_namespace) {
    static const struct {
        const char *json, *owner;
    } rows[] = {
        { OWNED("ReplicaSet", "cart-7d", "'pod-template-hash':'7d'"), "deployment shop/cart" },
        { OWNED("ReplicaSet", "cart-7d", "'pod-template-hash':'8e'"), "replicaset shop/cart-7d" },
        { OWNED("ReplicaSet", "cart-7d", ""), "replicaset shop/cart-7d" },
        { OWNED("ReplicaSet", "-7d", "'pod-template-hash':'7d'"), "replicaset shop/-7d" },
        { OWNED("StatefulSet", "kafka", ""), "statefulset shop/kafka" },
        { OWNED("Job", "backup-29404800", "'batch.kubernetes.io/job-name':'backup-29404800'"), "cronjob shop/backup" },
        { OWNED("Job", "backup-1764288000", "'job-name':'backup-1764288000'"), "cronjob shop/backup" },
        { OWNED("Job", "a-b-29404800", "'job-name':'a-b-29404800'"), "cronjob shop/a-b" },
        { OWNED("Job", "backup-29404800", ""), "job shop/backup-29404800" },
        { OWNED("Job", "backup-29404800", "'job-name':'backup-29404801'"), "job shop/backup-29404800" },
        { OWNED("Job", "backup-2940480", "'job-name':'backup-2940480'"), "job shop/backup-2940480" },
        { OWNED("Job", "backup-17642880001", "'job-name':'backup-17642880001'"), "job shop/backup-17642880001" },
        { OWNED("Job", "backup-2940480a", "'job-name':'backup-2940480a'"), "job shop/backup-2940480a" },
        { OWNED("Job", "backup29404800", "'job-name':'backup29404800'"), "job shop/backup29404800" },
        { OWNED("Job", "-29404800", "'job-name':'-29404800'"), "job shop/-29404800" },
        { OWNED("Job", "backup", "'job-name':'backup'"), "job shop/backup" },
        { OWNED("CronJob", "backup", ""), "cronjob shop/backup" },
        { OWNED("Node", "n1", ""), "node n1" },
        { "{'metadata':{'name':'a','namespace':'shop'}}", "namespace shop" },
        { "{'metadata':{'name':'a'}}", "cluster" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char owner[OWNER_MAX], *text = strdup(rows[i].json);
        ki_error err = KI_ERROR_INIT;
        for (char *c = text; *c; c++)
            *c = *c == '\'' ? '"' : *c;
        ki_object *obj = make_object_from_json(text);
        assert_int_equal(fold_owner_of(obj, owner, &err), KI_OK);
        assert_string_equal(owner, rows[i].owner);
        ki_object_unref(obj);
        free(text);
    }
}
