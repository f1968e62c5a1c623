/* gen.c: kinformer gen: a C header for views (kinformer/view.h), made of the schema of a resource. With --ffi the same
 * for the FFI of another language, or the interface of the libraries. */
#include "gen/ffi.h"
#include "gen/header.h"

#include "flags.h"
#include "format/yaml.h"
#include "output.h"
#include "session/connection.h"
#include "session/failure.h"

#include <stdlib.h>
#include <string.h>

enum {
    FILE_MAX = 64 * 1024 * 1024, /* bytes of a document */
    COMMAND_MAX = 16384,         /* bytes of the command that a header names */
    PATH_MAX_SIZE = 2048         /* bytes of a request path */
};

/* ---- a file ---- */

/* Finds the schema in a file. A built-in resource is found by its kind, if the file has it in that version. */
static int read_from_file(const options *o, gen_schema *ret_schema) {
    const ki_resource *resource = ki_resource_find(o->arguments[0]);
    ki_error err = KI_ERROR_INIT;
    size_t size = 0;
    char *text = yaml_read_file(o->from, FILE_MAX, &size, &err);
    if (!text) {
        say("gen", "%s", ki_error_message(&err));
        return EXIT_FAILED;
    }
    ki_status status = KI_ERR_NOT_FOUND;
    if (resource)
        status = gen_schema_find(text, size, o->from, o->arguments[0], resource, ret_schema, &err);
    if (status == KI_ERR_NOT_FOUND)
        status = gen_schema_find(text, size, o->from, o->arguments[0], NULL, ret_schema, &err);
    free(text);
    if (!status)
        return EXIT_OK;
    say("gen", "%s", ki_error_message(&err));
    return status == KI_ERR_NOT_FOUND ? EXIT_USAGE : EXIT_FAILED;
}

/* ---- a cluster ---- */

typedef struct cluster {
    ki_config *config;
    ki_client *client;
    ki_discovery *discovery;
    ki_resource_map *map;
    ki_request_options request;
    ki_error err;
} cluster;

static int fail_request(const cluster *c, const char *what) {
    if (ki_error_is_not_found(&c->err))
        say("gen", "%s: the server has no such document; OpenAPI v3 comes with Kubernetes 1.24", what);
    else
        say("gen", "%s: %s", what, ki_error_message(&c->err));
    return EXIT_UNREACHED;
}

static int connect_to(const options *o, cluster *c) {
    c->err = (ki_error)KI_ERROR_INIT;
    c->request = (ki_request_options){ .size = sizeof c->request, .timeout_ms = o->request_timeout_ms };
    if (connection_config(o, NULL, &c->config, &c->err) == KI_OK &&
        ki_client_new(c->config, NULL, &c->client, &c->err) == KI_OK)
        return EXIT_OK;
    say("gen", "%s", ki_error_message(&c->err));
    return EXIT_FAILED;
}

static void disconnect(cluster *c) {
    ki_resource_map_unref(c->map);
    ki_discovery_free(c->discovery);
    ki_client_free(c->client);
    ki_config_free(c->config);
}

/* For failure_is_unread. */
static void get_document(void *user, const char *path, ki_error *ret_cause) {
    const cluster *c = user;
    ki_response *response = NULL;
    (void)!ki_client_do(c->client,
                        &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = path,
                                           .options = &KI_REQUEST_OPTIONS(.timeout_ms = FAILURE_WAIT_MS)),
                        &response, ret_cause);
    ki_response_unref(response);
}

/* Finds a resource that is not built in by discovery. Returns an exit status. */
static int discover(cluster *c, const char *name, const ki_resource **ret_resource) {
    const ki_discovery_options how = { .size = sizeof how, .timeout_ms = c->request.timeout_ms };
    if (ki_discovery_new(c->client, &how, &c->discovery, &c->err) || ki_discovery_get(c->discovery, &c->map, &c->err))
        return fail_request(c, "discovery");
    const ki_discovered *found = ki_resource_map_find(c->map, name);
    if (found) {
        *ret_resource = &found->resource;
        return EXIT_OK;
    }
    if (failure_is_unread(c->map, name, get_document, c, &c->err)) {
        say("gen", "%s", ki_error_message(&c->err));
        return EXIT_FAILED;
    }
    const char *meant = ki_resource_map_nearest(c->map, name);
    say("gen", "the resource \"%s\" is not known%s%s%s", name, meant ? "; did you mean " : "", meant ? meant : "",
        meant ? "?" : "");
    return EXIT_USAGE;
}

static ki_status get(cluster *c, const char *path, ki_response **ret_response) {
    return ki_client_do(
        c->client, &KI_CLIENT_REQUEST(.verb = KI_CLIENT_RAW, .method = "GET", .path = path, .options = &c->request),
        ret_response, &c->err);
}

/* Reads the path of a group version's document from the index of /openapi/v3. */
static bool find_document(const ki_response *index, const ki_resource *resource, char path[PATH_MAX_SIZE]) {
    char key[PATH_MAX_SIZE];
    ki_value value = KI_VALUE_INIT;
    bool has_group = resource->group[0] != '\0';
    snprintf(key, sizeof key, "paths['%s%s/%s'].serverRelativeURL", has_group ? "apis/" : "api", resource->group,
             resource->version);
    bool found = ki_response_field(index, key, &value, NULL) == KI_OK && value.text && value.text[0] == '/' &&
                 value.text_size < PATH_MAX_SIZE;
    if (found)
        snprintf(path, PATH_MAX_SIZE, "%s", value.text);
    ki_value_clear(&value);
    return found;
}

static int read_document(cluster *c, const ki_resource *resource, gen_schema *ret_schema) {
    ki_response *index = NULL, *document = NULL;
    char path[PATH_MAX_SIZE];
    size_t size = 0;
    int status = EXIT_UNREACHED;
    if (get(c, "/openapi/v3", &index)) {
        status = fail_request(c, "/openapi/v3");
    } else if (!find_document(index, resource, path)) {
        say("gen", "/openapi/v3: the server has no schemas of %s%s%s", resource->group, resource->group[0] ? "/" : "",
            resource->version);
    } else if (get(c, path, &document)) {
        status = fail_request(c, path);
    } else {
        const char *text = ki_response_body(document, &size);
        status = gen_schema_find(text, size, path, resource->plural, resource, ret_schema, &c->err) ? EXIT_UNREACHED
                                                                                                    : EXIT_OK;
        if (status)
            say("gen", "%s", ki_error_message(&c->err));
        else
            snprintf(ret_schema->plural, sizeof ret_schema->plural, "%s", resource->plural);
    }
    ki_response_unref(index);
    ki_response_unref(document);
    return status;
}

static int read_from_cluster(const options *o, gen_schema *ret_schema) {
    const ki_resource *resource = ki_resource_find(o->arguments[0]);
    cluster c = { 0 };
    int status = connect_to(o, &c);
    if (!status && !resource)
        status = discover(&c, o->arguments[0], &resource);
    if (!status)
        status = read_document(&c, resource, ret_schema);
    disconnect(&c);
    return status;
}

/* ---- the command ---- */

/* Appends a word as a shell reads it. */
static void append_word(FILE *out, const char *word) {
    bool is_plain = word[0] && !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                                  "_-.,/:=@%+")];
    fputc(' ', out);
    if (is_plain) {
        fputs(word, out);
        return;
    }
    fputc('\'', out);
    for (; *word; word++) {
        if (*word == '\'')
            fputs("'\\''", out);
        else
            fputc(*word, out);
    }
    fputc('\'', out);
}

/* Writes the command that makes the same header, without the flags of the connection. */
static bool write_command(const options *o, char text[COMMAND_MAX]) {
    FILE *out = fmemopen(text, COMMAND_MAX, "w");
    if (!out)
        return false;
    fprintf(out, "kinformer gen");
    append_word(out, o->arguments[0]);
    if (o->from) {
        fprintf(out, " --from");
        append_word(out, o->from);
    }
    for (size_t i = 0; i < o->fields.count; i++) {
        fprintf(out, " --fields");
        append_word(out, o->fields.items[i]);
    }
    if (o->struct_name) {
        fprintf(out, " --name");
        append_word(out, o->struct_name);
    }
    if (o->ffi)
        fprintf(out, " --ffi");
    fclose(out);
    text[COMMAND_MAX - 1] = '\0';
    return true;
}

/* Prints the interface. The names are those of functions, types, enumerators and macros. */
static int print_interface(const options *o) {
    ki_error err = KI_ERROR_INIT;
    size_t count = 0;
    while (o->arguments[count])
        count++;
    if (o->fields.count || o->from || o->struct_name) {
        say("gen", "--fields, --from and --name are for the fields of a resource: kinformer gen RESOURCE --ffi");
        return EXIT_USAGE;
    }
    if (gen_ffi_write(o->arguments, count, stdout, &err)) {
        say("gen", "%s", ki_error_message(&err));
        return EXIT_USAGE;
    }
    return output_flush() ? EXIT_OK : output_status();
}

/* Returns true for a name of the library, which no resource has. */
static bool is_interface_name(const char *word) {
    return strncmp(word, "ki_", 3) == 0 || strncmp(word, "KI_", 3) == 0;
}

static int run_gen(const options *o) {
    static char command[COMMAND_MAX];
    gen_schema schema = { 0 };
    ki_error err = KI_ERROR_INIT;
    const char *name = o->arguments[0];
    if (o->ffi && (!name || is_interface_name(name)))
        return print_interface(o);
    if (!name || !*name || strpbrk(name, ",/ ")) {
        say("gen", "name one resource: kinformer gen RESOURCE");
        return EXIT_USAGE;
    }
    if (o->arguments[1]) {
        say("gen", "unexpected argument \"%s\"", o->arguments[1]);
        return EXIT_USAGE;
    }
    int status = o->from ? read_from_file(o, &schema) : read_from_cluster(o, &schema);
    if (status)
        return status;
    const gen_request request = {
        .resource = name,
        .struct_name = o->struct_name,
        .fields = o->fields.items,
        .field_count = o->fields.count,
        .command = write_command(o, command) ? command : "kinformer gen",
        .is_for_ffi = o->ffi,
    };
    ki_status failed = gen_header_write(&schema, &request, stdout, &err);
    gen_schema_free(&schema);
    if (failed) {
        say("gen", "%s", ki_error_message(&err));
        return failed == KI_ERR_NO_MEMORY ? EXIT_FAILED : EXIT_USAGE;
    }
    return output_flush() ? EXIT_OK : output_status();
}

static const flag flags[] = {
    FLAG("fields", 0, FLAG_LIST, fields, "LIST",
         "take these fields only: paths with commas between them; [] for all\nelements of a list; repeatable (default: "
         "all fields)"),
    FLAG("ffi", 0, FLAG_BOOL, ffi, NULL,
         "print what an FFI reads (ffi.cdef of LuaJIT and of Python's cffi), not a\nC header; without a RESOURCE the "
         "interface of the libraries"),
    FLAG("from", 0, FLAG_TEXT, from, "FILE",
         "read an OpenAPI v3 document or CustomResourceDefinitions, JSON or YAML,\nnot a cluster; - is standard input"),
    FLAG("name", 0, FLAG_TEXT, struct_name, "NAME", "name the struct so (default: the kind, as in pod)"), FLAGS_END
};
static const flag *const tables[] = { flags, flags_connection, NULL };

const cli_command command_gen = {
    .name = "gen",
    .usage = "RESOURCE [flags] | --ffi [NAME...]",
    .purpose = "write a C header with the fields of a resource, for views",
    .text =
        "  kinformer gen pods --fields 'spec.nodeName,status.phase,spec.containers[].image' > pod.h\n"
        "  kinformer gen deployments --name workload > workload.h\n"
        "  kinformer gen foos --from crd.yaml > foo.h\n"
        "  kinformer gen nodes --fields status.allocatable.cpu,status.allocatable.memory:quantity\n"
        "  kinformer gen --ffi > kinformer.ffi\n"
        "  kinformer gen --ffi ki_factory_new_default ki_factory_informer KI_PODS\n"
        "  kinformer gen pods --fields spec.nodeName --ffi > pod.ffi\n"
        "\n"
        "Prints a struct and its table of fields (kinformer/view.h), from the server's OpenAPI v3. An object or a "
        "list\n"
        "of objects in --fields brings all of its fields. \":TYPE\" after a path reads the value in another way: "
        "string,\n"
        "text (a string or an integer), bool, int32, int64, double, time, quantity, milli (thousandths of a quantity)\n"
        "or present (a bool: the object has the field). The same schema gives the same header.\n"
        "\n"
        "--ffi prints declarations for the FFI of another language: of the whole interface, or of the functions, "
        "types\n"
        "and macros that are named, with what they need. With a RESOURCE it prints its struct, and the rows of its "
        "table\n"
        "of fields with their offsets as a comment.\n",
    .max_arguments = MAX_ARGUMENTS,
    .flags = tables,
    .run = run_gen,
};
