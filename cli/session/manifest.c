/* manifest.c: see manifest.h. */
#include "manifest.h"

#include "cli/format/yaml.h"
#include "cli/output.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yyjson.h>

enum {
    FILE_LIMIT = 64 * 1024 * 1024, /* bytes */
    DOCUMENTS_MAX = 1024
};

struct manifest {
    yyjson_doc *docs[DOCUMENTS_MAX];
    size_t count;
};

/* Writes Kind.version.group, as a resource is named on the command line. Returns false if the object has no type. */
static bool write_resource(yyjson_val *object, char *word, size_t size) {
    const char *kind = yyjson_get_str(yyjson_obj_get(object, "kind"));
    const char *api = yyjson_get_str(yyjson_obj_get(object, "apiVersion"));
    if (!kind || !*kind || !api || !*api)
        return false;
    const char *slash = strchr(api, '/');
    int written = slash ? snprintf(word, size, "%s.%s.%.*s", kind, slash + 1, (int)(slash - api), api)
                        : snprintf(word, size, "%s.%s", kind, api);
    return written > 0 && (size_t)written < size;
}

static int add_object(session *s, const char *file, yyjson_val *object) {
    char word[256];
    yyjson_val *metadata = yyjson_obj_get(object, "metadata");
    const char *name = yyjson_get_str(yyjson_obj_get(metadata, "name"));
    const char *own = yyjson_get_str(yyjson_obj_get(metadata, "namespace"));
    const char *given = s->options->namespace_name;
    if (!write_resource(object, word, sizeof word) || !name || !*name) {
        say(s->command, "%s: an object has no %s", file, name ? "apiVersion and kind" : "metadata.name");
        return EXIT_FAILED;
    }
    if (own && *own && given && strcmp(own, given) != 0) {
        say(s->command,
            "the namespace from the provided object \"%s\" does not match the namespace \"%s\". You must pass "
            "'--namespace=%s' to perform this operation.",
            own, given, own);
        return EXIT_USAGE;
    }
    return session_add_object(s, word, name, own && *own ? own : NULL);
}

/* Adds an object, or the items of a List. */
static int add_document(session *s, const char *file, yyjson_val *document) {
    yyjson_val *items = yyjson_obj_get(document, "items"), *item;
    size_t index, max;
    int status = EXIT_OK;
    if (!yyjson_is_arr(items))
        return add_object(s, file, document);
    yyjson_arr_foreach(items, index, max, item) {
        if (!status)
            status = add_object(s, file, item);
    }
    return status;
}

static int add_file(session *s, manifest *m, const char *file) {
    size_t size = 0;
    ki_error err = KI_ERROR_INIT;
    int status = EXIT_OK;
    char *text = yaml_read_file(file, FILE_LIMIT, &size, &err);
    if (!text) {
        say(s->command, "-f: %s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    for (size_t at = strspn(text, " \t\r\n"); !status && at < size; at += strspn(text + at, " \t\r\n")) {
        yyjson_doc *doc =
            m->count < DOCUMENTS_MAX ? yyjson_read(text + at, size - at, YYJSON_READ_STOP_WHEN_DONE) : NULL;
        if (!doc) {
            say(s->command, "-f %s: %s", file, m->count < DOCUMENTS_MAX ? "not YAML or JSON" : "too many documents");
            status = EXIT_FAILED;
            break;
        }
        m->docs[m->count++] = doc;
        at += yyjson_doc_get_read_size(doc);
        status = add_document(s, file, yyjson_doc_get_root(doc));
    }
    free(text);
    return status;
}

int manifest_add_targets(session *s, manifest **ret_manifest) {
    const option_list *files = &s->options->files;
    int status = EXIT_OK;
    if (s->options->arguments[0]) {
        say(s->command, "-f names the objects: write no resources beside it");
        return EXIT_USAGE;
    }
    *ret_manifest = calloc(1, sizeof **ret_manifest);
    if (!*ret_manifest)
        return EXIT_FAILED;
    for (size_t i = 0; i < files->count && !status; i++) {
        bool is_url = strncmp(files->items[i], "http://", 7) == 0 || strncmp(files->items[i], "https://", 8) == 0;
        if (is_url)
            say(s->command, "-f %s: pipe it: curl -fsS URL | kinformer %s -f -", files->items[i], s->command);
        status = is_url ? EXIT_USAGE : add_file(s, *ret_manifest, files->items[i]);
    }
    if (!status && !s->target_count) {
        say(s->command, "-f: no objects in %s", files->items[0]);
        status = EXIT_FAILED;
    }
    return status ? status : session_check_flags(s);
}

void manifest_free(manifest *m) {
    for (size_t i = 0; m && i < m->count; i++)
        yyjson_doc_free(m->docs[i]);
    free(m);
}
