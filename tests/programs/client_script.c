/* client_script.c: requests of a ki_client from standard input, one a line, responses as lines of JSON. For tests of
 * other programs' view of what a client does.
 *
 *     client_script KUBECONFIG
 *     VERB<tab>RESOURCE<tab>NAMESPACE<tab>NAME<tab>SUBRESOURCE<tab>OPTIONS<tab>BODY
 *
 * RESOURCE is any word that discovery knows; OPTIONS are NAME=VALUE with blanks between; what is empty is not said. The
 * verb `resources` prints what the server has, one "WORD PLURAL.VERSION.GROUP KIND SCOPE" for each word of RESOURCE,
 * which is a list with blanks between. */
#include <kinformer/kinformer.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELDS = 7
};

typedef struct script {
    ki_client *client;
    ki_discovery *discovery;
} script;

static void print_text(const char *text) {
    putchar('"');
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            printf("\\%c", c);
        else if (c < 0x20)
            printf("\\u%04x", c);
        else
            putchar(c);
    }
    putchar('"');
}

static void print_error(const ki_error *err, const ki_error_response *error_response) {
    printf("{\"ok\":false,\"http\":%d,\"reason\":", err->http_status);
    print_text(err->reason);
    printf(",\"message\":");
    print_text(error_response ? error_response->message : ki_error_message(err));
    printf(",\"fields\":[");
    for (size_t i = 0; error_response && i < error_response->cause_count; i++) {
        printf("%s", i ? "," : "");
        print_text(error_response->causes[i].field);
    }
    printf("],\"conflict\":%d,\"notFound\":%d,\"exists\":%d,\"invalid\":%d,\"forbidden\":%d}\n",
           ki_error_is_conflict(err), ki_error_is_not_found(err), ki_error_is_already_exists(err),
           ki_error_is_invalid(err), ki_error_is_forbidden(err));
}

static void print_object(const ki_object *obj) {
    ki_value value = KI_VALUE_INIT;
    if (ki_object_json(obj, &value, NULL) == KI_OK)
        fputs(value.text, stdout);
    ki_value_clear(&value);
}

static void print_response(const ki_response *response, ki_client_verb verb) {
    printf("{\"ok\":true,\"http\":%d,\"continue\":", ki_response_http_status(response));
    print_text(ki_response_continue(response));
    printf(",\"items\":[");
    for (size_t i = 0; i < ki_response_item_count(response); i++) {
        printf("%s", i ? "," : "");
        print_object(ki_response_item(response, i));
    }
    printf("]");
    const char *body = ki_response_body(response, NULL);
    if (ki_response_object(response)) {
        printf(",\"object\":");
        print_object(ki_response_object(response));
    } else if (verb != KI_CLIENT_LIST) {
        printf(",\"body\":");
        print_text(body);
    }
    puts("}");
}

static void set_option(ki_request_options *options, ki_client_request *request, const char *name, const char *value) {
    if (strcmp(name, "patch") == 0)
        request->patch = strcmp(value, "json") == 0        ? KI_PATCH_JSON
                         : strcmp(value, "strategic") == 0 ? KI_PATCH_STRATEGIC
                         : strcmp(value, "apply") == 0     ? KI_PATCH_APPLY
                                                           : KI_PATCH_MERGE;
    else if (strcmp(name, "manager") == 0)
        options->field_manager = value;
    else if (strcmp(name, "force") == 0)
        options->force = true;
    else if (strcmp(name, "dry-run") == 0)
        options->dry_run = true;
    else if (strcmp(name, "selector") == 0)
        options->label_selector = value;
    else if (strcmp(name, "limit") == 0)
        options->limit = atoi(value);
    else if (strcmp(name, "continue") == 0)
        options->continue_token = value;
    else if (strcmp(name, "uid") == 0)
        options->precondition_uid = value;
    else if (strcmp(name, "now") == 0)
        options->grace_period_s = KI_GRACE_NOW;
    else if (strcmp(name, "propagation") == 0)
        options->propagation = strcmp(value, "orphan") == 0       ? KI_PROPAGATION_ORPHAN
                               : strcmp(value, "foreground") == 0 ? KI_PROPAGATION_FOREGROUND
                                                                  : KI_PROPAGATION_BACKGROUND;
}

static ki_client_verb verb_of(const char *word) {
    static const char *const words[] = { "", "get", "list", "create", "update", "patch", "delete", "deletecollection" };
    for (int i = 1; i < 8; i++) {
        if (strcmp(word, words[i]) == 0)
            return (ki_client_verb)i;
    }
    return KI_CLIENT_RAW;
}

static void print_resources(script *s, char *words) {
    char *rest = NULL;
    for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        ki_error err = KI_ERROR_INIT;
        ki_resource_map *map = NULL;
        const ki_discovered *found = NULL;
        if (ki_discovery_find(s->discovery, word, &map, &found, &err))
            printf("%s - %s\n", word, ki_error_message(&err));
        else
            printf("%s %s.%s.%s %s %s\n", word, found->resource.plural, found->resource.version, found->resource.group,
                   found->resource.kind, found->resource.namespaced ? "namespaced" : "cluster");
        ki_resource_map_unref(map);
    }
    puts("end");
}

static void run_line(script *s, char *line) {
    char *fields[FIELDS];
    char *end = line + strlen(line); /* what is not there is empty */
    for (int i = 0; i < FIELDS; i++)
        fields[i] = !line ? end : i < FIELDS - 1 ? strsep(&line, "\t") : line;
    if (strcmp(fields[0], "resources") == 0) {
        print_resources(s, fields[1]);
        return;
    }
    ki_error err = KI_ERROR_INIT;
    ki_error_response *error_response = NULL;
    ki_response *response = NULL;
    ki_resource_map *map = NULL;
    const ki_discovered *found = NULL;
    ki_request_options options = KI_REQUEST_OPTIONS(.subresource = fields[4], .ret_error_response = &error_response);
    ki_client_request request =
        KI_CLIENT_REQUEST(.verb = verb_of(fields[0]), .namespace_name = fields[2], .name = fields[3], .body = fields[6],
                          .body_size = strlen(fields[6]), .options = &options);
    char *rest = NULL;
    for (char *word = strtok_r(fields[5], " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        if (value)
            *value++ = '\0';
        set_option(&options, &request, word, value ? value : "");
    }
    ki_status status = KI_OK;
    if (request.verb == KI_CLIENT_RAW) {
        request.method = fields[0];
        request.path = fields[1];
    } else {
        status = ki_discovery_find(s->discovery, fields[1], &map, &found, &err);
        request.resource = status ? NULL : &found->resource;
    }
    if (!status)
        status = ki_client_do(s->client, &request, &response, &err);
    if (status)
        print_error(&err, error_response);
    else
        print_response(response, request.verb);
    ki_error_response_free(error_response);
    ki_response_unref(response);
    ki_resource_map_unref(map);
}

int main(int argc, char **argv) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    script s = { .client = NULL };
    if (argc != 2)
        return 2;
    if (ki_config_new(&KI_CONFIG_OPTIONS(.kubeconfig = argv[1]), &config, &err) ||
        ki_client_new(config, &KI_CLIENT_OPTIONS(.requests_per_second = -1), &s.client, &err) ||
        ki_discovery_new(s.client, &KI_DISCOVERY_OPTIONS(.refresh_ms = 1), &s.discovery, &err)) {
        fprintf(stderr, "client_script: %s\n", ki_error_message(&err));
        return 1;
    }
    ki_config_free(config);
    char *line = NULL;
    size_t room = 0;
    ssize_t size;
    while ((size = getline(&line, &room, stdin)) > 0) {
        if (line[size - 1] == '\n')
            line[size - 1] = '\0';
        run_line(&s, line);
        fflush(stdout);
    }
    free(line);
    ki_discovery_free(s.discovery);
    ki_client_free(s.client);
    return 0;
}
