/* kinformer gen: headers for every built-in kind compile, the example's header is what the command prints, and wrong
 * input is reported. */
#include "tests/support/command.h"
#include "tests/support/folder.h"

#include <kinformer/resource.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FOOS \
    "apiVersion: apiextensions.k8s.io/v1\n" \
    "kind: CustomResourceDefinition\n" \
    "metadata: {name: foos.example.com}\n" \
    "spec:\n" \
    "  group: example.com\n" \
    "  scope: Namespaced\n" \
    "  names: {plural: foos, singular: foo, kind: Foo, shortNames: [fo]}\n" \
    "  versions:\n" \
    "  - name: v1\n" \
    "    served: true\n" \
    "    storage: true\n" \
    "    schema:\n" \
    "      openAPIV3Schema:\n" \
    "        type: object\n" \
    "        properties:\n" \
    "          spec:\n" \
    "            type: object\n" \
    "            properties:\n" \
    "              size: {type: integer, format: int32, description: 'How many. At most 9.'}\n" \
    "              class: {type: string}\n"

static int set_up(void **state) {
    return folder_open(state) || command_set_up(state) ? -1 : 0;
}

static int tear_down(void **state) {
    command_tear_down(state);
    return folder_close(state);
}

#define GEN_TEST(name) TEST_WITH(set_up, tear_down, name)

/* Runs a command of the shell. Prints its standard error if the status is not 0. */
static void shell(const char *line) {
    command_start("/bin/sh", (const char *const[]){ "-c", line, NULL });
    (void)command_output();
    command_ends(0);
}

/* Compiles a source of the folder as C99 and, if there is a compiler, as C++17. */
static void compile(const char *name) {
    static const char flags[] =
        "-Wall -Wextra -Wpedantic -Wconversion -Werror -fsyntax-only -I" KI_TEST_DATA_DIR "/../../include";
    char line[1024];
    snprintf(line, sizeof line, "cc -std=c99 %s -x c %s", flags, folder_file(name));
    shell(line);
    snprintf(line, sizeof line, "! command -v c++ >/dev/null || c++ -std=c++17 -Wold-style-cast %s -x c++ %s", flags,
             folder_file(name));
    shell(line);
}

GEN_TEST(headers_of_all_built_in_kinds_compile_and_are_stable) {
    const ki_resource *resource;
    char *source = NULL;
    size_t source_size = 0;
    FILE *out = open_memstream(&source, &source_size);
    assert_non_null(out);
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++) {
        char word[256], name[32], file[40];
        snprintf(word, sizeof word, "%s.%s%s%s", resource->plural, resource->version, resource->group[0] ? "." : "",
                 resource->group);
        snprintf(name, sizeof name, "kind_%u", i);
        snprintf(file, sizeof file, "kind_%u.h", i);
        COMMAND_RUN("gen", word, "--name", name, "--server", "URL");
        char *first = strdup(command_output());
        command_ends(0);
        assert_non_null(first);
        for (const char *line = first; *line; line += strcspn(line, "\n") + 1)
            assert_true(strcspn(line, "\n") <= 120);
        if (i % 8 == 0) {
            COMMAND_RUN("gen", word, "--name", name, "--server", "URL");
            assert_string_equal(command_output(), first);
            command_ends(0);
        }
        folder_write(file, first);
        fprintf(out, "#include \"%s\"\n", file);
        free(first);
    }
    fprintf(out, "int main(void) { return 0; }\n");
    assert_int_equal(fclose(out), 0);
    folder_write("all.c", source);
    free(source);
    compile("all.c");
}

static void assert_example(const char *path, const char *const *words) {
    static char text[65536];
    FILE *in = fopen(path, "r");
    assert_non_null(in);
    text[fread(text, 1, sizeof text - 1, in)] = '\0';
    assert_int_equal(fclose(in), 0);
    command_start(KI_TEST_PROGRAM, words);
    assert_string_equal(command_output(), text);
    command_ends(0);
}

GEN_TEST(the_headers_of_the_examples_are_what_the_command_prints) {
    assert_example(KI_TEST_DATA_DIR "/../../examples/images-by-node.h",
                   (const char *const[]){
                       "gen", "pods", "-s", "URL", "--fields",
                       "spec.nodeName,status.phase,spec.containers[].image,spec.containers[].resources.requests.cpu",
                       NULL });
    assert_example(KI_TEST_DATA_DIR "/../../examples/haproxy-backends/slice.h",
                   (const char *const[]){ "gen", "endpointslices", "-s", "URL", "--name", "slice", "--fields",
                                          "endpoints[].addresses,endpoints[].conditions.ready,"
                                          "endpoints[].conditions.ready:present,ports[].name,ports[].port",
                                          NULL });
}

/* Returns what follows the first comment, which names the command. The caller frees the result. */
static char *body_of(const char *header) {
    const char *body = strstr(header, "#ifndef ");
    assert_non_null(body);
    return strdup(body);
}

GEN_TEST(a_file_gives_the_header_that_the_server_gives) {
    ki_testing_text document = KI_TESTING_TEXT_INIT;
    assert_int_equal(
        ki_testing_server_request(command_server, "GET", "/openapi/v3/apis/apps/v1", NULL, NULL, 0, &document, NULL),
        KI_OK);
    folder_write_bytes("apps.json", document.data, document.size);
    ki_testing_text_clear(&document);
    COMMAND_RUN("gen", "deploy", "-s", "URL");
    char *server = body_of(command_output());
    command_ends(0);
    COMMAND_RUN("gen", "deploy", "--from", folder_file("apps.json"));
    char *file = body_of(command_output());
    command_ends(0);
    assert_string_equal(file, server);
    assert_non_null(strstr(file, "struct deployment_spec_template_spec_container {"));
    free(server);
    free(file);
}

GEN_TEST(a_definition_gives_the_header_that_its_server_gives) {
    folder_write("crd.yaml", "# definitions\n---\n" FOOS "---\n");
    COMMAND_RUN("gen", "fo", "--from", folder_file("crd.yaml"));
    char *file = body_of(command_output());
    command_ends(0);
    assert_non_null(strstr(file, "    int32_t size; /* How many. */\n"));
    assert_non_null(strstr(file, "KI_FIELD(struct foo, spec.class_, \"spec.class\"),\n"));
    assert_non_null(strstr(file, "KI_FIELD_TIME(struct foo, metadata.creation_timestamp, "));
    folder_write("foo.h", file);
    folder_write("foo.c", "#include \"foo.h\"\nint main(void) { return 0; }\n");
    compile("foo.c");

    COMMAND_RUN("serve", "--listen", "127.0.0.1:0", "--load", folder_file("crd.yaml"));
    const char *line = ki_process_expect(&command, "serving http://");
    assert_non_null(line);
    ki_process server = command;
    char url[256];
    snprintf(url, sizeof url, "%s", strstr(line, "http://"));
    memset(&command, 0, sizeof command);
    command.pid = command.in = command.out = command.err = -1;
    COMMAND_RUN("gen", "foos.example.com", "-s", url, "--fields", "spec");
    char *spec = body_of(command_output());
    command_ends(0);
    assert_non_null(strstr(spec, "    int32_t size; /* How many. */\n"));
    COMMAND_RUN("gen", "foz", "-s", url);
    command_says("the resource \"foz\" is not known; did you mean foos?");
    command_ends(2);
    ki_process_signal(&server, SIGTERM);
    (void)ki_process_wait(&server);
    ki_process_free(&server);
    free(file);
    free(spec);
}

/* The kinds and members have names of the library, of its headers' guards, and of C and C++. */
GEN_TEST(names_of_the_library_and_the_languages_compile) {
    static const char *const kinds[] = { "Kinformer", "KiObject", "KiStatus", "Ki", "Class", "Int", "Union" };
    static const char text[] = "{\"type\":\"string\"}";
    static const char list[] = "{\"type\":\"array\",\"items\":{\"type\":\"object\",\"properties\":{\"new\":{\"type\":"
                               "\"string\"},\"kiList\":{\"type\":\"integer\"}}}}";
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        char definition[4096];
        snprintf(
            definition, sizeof definition,
            "{\"kind\":\"CustomResourceDefinition\",\"spec\":{\"group\":\"example.com\",\"names\":{\"kind\":\"%s\","
            "\"plural\":\"things\"},\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"schema\":{"
            "\"openAPIV3Schema\":{\"type\":\"object\",\"properties\":{\"kiObject\":%s,\"kiField\":%s,\"kiStringList\":%"
            "s,"
            "\"fields\":%s,\"events\":%s,\"views\":%s,\"KI_FIELD\":%s,\"int64_t\":%s,\"bool\":%s,\"template\":%s,"
            "\"this\":%s,\"NULL\":%s,\"size_t\":%s,\"offsetof\":%s}}}}]}}",
            kinds[i], list, list, list, list, list, list, text, text, text, text, text, text, text, text);
        folder_write("crd.json", definition);
        COMMAND_RUN("gen", "things", "--from", folder_file("crd.json"));
        char *header = body_of(command_output());
        command_ends(0);
        snprintf(definition, sizeof definition, "things_%zu.h", i);
        folder_write(definition, header);
        free(header);
    }
    folder_write("things.c", "#include \"things_0.h\"\n#include \"things_1.h\"\n#include <kinformer/kinformer.h>\n"
                             "#include \"things_2.h\"\n#include \"things_3.h\"\n#include \"things_4.h\"\n"
                             "#include \"things_5.h\"\n#include \"things_6.h\"\n");
    compile("things.c");
}

GEN_TEST(wrong_input_is_reported) {
    folder_write("crd.yaml", FOOS);
    folder_write("broken.yaml", "a: [\n");
    folder_write("broken.json", "{\"a\":");
    folder_write("empty", "");
    folder_write("config.yaml", "kind: ConfigMap\nmetadata: {name: a}\n");
    static const struct {
        const char *words[6]; /* a name with '@' is a file of the folder */
        int status;
        const char *message;
    } rows[] = {
        { { "foos", "--from", "@crd.yaml", "--fields", "spec.siez" },
          2,
          "--fields, character 6: \"spec\" has no field \"siez\"; did you mean size?" },
        { { "foos", "--from", "@crd.yaml", "--fields", "spec.size,spec[" }, 2, "character 16: ']' is missing" },
        { { "fooz", "--from", "@crd.yaml" }, 2, "crd.yaml has no schema of the resource \"fooz\"; did you mean foos?" },
        { { "foos", "--from", "@crd.yaml", "--name", "int" }, 2, "--name int: this word has a meaning" },
        { { "foos", "--from", "@broken.yaml" }, 1, "broken.yaml: document 1: " },
        { { "foos", "--from", "@broken.json" }, 1, "broken.json: invalid JSON at byte 5" },
        { { "foos", "--from", "@empty" },
          2,
          "empty has no schemas: an OpenAPI v3 document or a CustomResourceDefinition" },
        { { "foos", "--from", "@config.yaml" }, 2, "config.yaml has no schemas" },
        { { "foos", "--from", "@none" }, 1, "cannot read " },
        { { "foos", "--from", "/" }, 1, "cannot read /: Is a directory" },
        { { "-s", "URL" }, 2, "name one resource" },
        { { "pods,nodes", "-s", "URL" }, 2, "name one resource" },
        { { "pods", "nodes", "-s", "URL" }, 2, "unexpected argument \"nodes\"" },
        { { "--ffi", "ki_factory_nwe" }, 2, "the interface has no \"ki_factory_nwe\"; did you mean ki_factory_new?" },
        { { "--ffi", "ki_factory_new", "pods" }, 2, "the interface has no \"pods\"" },
        { { "--ffi", "--name", "pod" }, 2, "--fields, --from and --name are for the fields of a resource" },
        { { "--ffi", "pods", "ki_factory_new" }, 2, "unexpected argument \"ki_factory_new\"" },
        { { "ki_factory_new", "-s", "URL" }, 2, "the resource \"ki_factory_new\" is not known" },
        { { "podz", "-s", "URL" }, 2, "the resource \"podz\" is not known; did you mean pods?" },
        { { "pods", "-s", "http://127.0.0.1:1" }, 3, "kinformer gen: /openapi/v3: " },
        { { "podz", "-s", "http://127.0.0.1:1" }, 3, "kinformer gen: discovery: " },
        { { "pods" }, 1, "kinformer gen: " },
        { { "pods", "--feilds", "a" }, 2, "there is no flag --feilds; did you mean --fields?" },
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *words[8] = { "gen" };
        for (size_t j = 0; j < 6 && rows[i].words[j]; j++)
            words[j + 1] = rows[i].words[j][0] == '@' ? folder_file(rows[i].words[j] + 1) : rows[i].words[j];
        command_start(KI_TEST_PROGRAM, words);
        assert_string_equal(command_output(), "");
        command_says(rows[i].message);
        command_ends(rows[i].status);
    }
}

GEN_TEST(a_file_has_a_limit_of_its_size) {
    folder_write("huge", "");
    assert_int_equal(truncate(folder_file("huge"), (off_t)100 * 1024 * 1024), 0);
    COMMAND_RUN("gen", "pods", "--from", folder_file("huge"));
    command_says("is larger than 67108864 bytes");
    command_ends(1);
}
