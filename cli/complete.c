/* complete.c: see complete.h. Requests to the cluster use the connection flags of the line and a time limit of two
 * seconds. A failed request offers no candidates. */
#include "complete.h"

#include "flags.h"
#include "format/yaml.h"
#include "gen/ffi.h"
#include "output.h"
#include "session/connection.h"

#include <kinformer/kinformer.h>

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <yyjson.h>

enum {
    WORDS_MAX = 256,
    ASK_MS = 2000,
    NAMES_MAX = 500, /* names of one resource */
    KUBECONFIG_MAX = 1024 * 1024
};

/* The command line so far. */
typedef struct line {
    const cli_command *command;        /* NULL: not typed yet */
    const char *positional[WORDS_MAX]; /* arguments after the command, without the last word */
    size_t positional_count;
    const flag *value_of; /* the flag whose value is the last word; or NULL */
    const char *before;   /* the part of the last word before the completed part: "pods," of "pods,dep" */
    size_t before_size;
    const char *last; /* the completed part of the last word */
    options options;  /* the flags before the last word */
} line;

static void offer(const line *l, const char *text, const char *description) {
    if (strncmp(text, l->last, strlen(l->last)) != 0 || strpbrk(text, " \t\n\"'$`\\"))
        return;
    printf("%.*s%s", (int)l->before_size, l->before, text);
    if (description)
        printf("\t%.*s", (int)strcspn(description, "\n"), description);
    putchar('\n');
}

/* Offers each value of a list such as "bash zsh fish". */
static void offer_values(const line *l, const char *words) {
    char word[64];
    while (*words) {
        size_t size = strcspn(words, " ");
        snprintf(word, sizeof word, "%.*s", (int)size, words);
        offer(l, word, NULL);
        words += size + (words[size] == ' ');
    }
}

static void offer_commands(const line *l) {
    for (size_t i = 0; command_at(i); i++)
        offer(l, command_at(i)->name, command_at(i)->purpose);
    offer(l, "help", "print the help of a command");
}

static void offer_flags(const line *l) {
    const cli_command *command = l->command ? l->command : &command_get;
    const flag *f;
    char name[64];
    for (size_t i = 0; (f = flags_at(command, i)); i++) {
        snprintf(name, sizeof name, "--%s", f->name);
        offer(l, name, f->help);
    }
    if (!l->command)
        offer(l, "--version", "print the version of kinformer");
}

/* ---- the cluster ---- */

typedef struct cluster {
    ki_config *config;
    ki_client *client;
} cluster;

static bool connect_to(const line *l, cluster *c) {
    *c = (cluster){ 0 };
    if (connection_config(&l->options, NULL, &c->config, NULL))
        return false;
    return ki_client_new(c->config, NULL, &c->client, NULL) == KI_OK;
}

static void disconnect(cluster *c) {
    ki_client_free(c->client);
    ki_config_free(c->config);
}

static ki_discovery *discover(const cluster *c, ki_resource_map **ret_map) {
    const ki_discovery_options how = { .size = sizeof how, .timeout_ms = ASK_MS };
    ki_discovery *discovery = NULL;
    if (ki_discovery_new(c->client, &how, &discovery, NULL) || ki_discovery_get(discovery, ret_map, NULL))
        *ret_map = NULL;
    return discovery;
}

static bool is_built_in(const ki_resource *resource) {
    const ki_resource *one;
    for (unsigned i = 0; (one = ki_resource_at(i)); i++) {
        if (strcmp(one->plural, resource->plural) == 0 && strcmp(one->group, resource->group) == 0)
            return true;
    }
    return false;
}

/* Offers custom resources with their group: their plural alone can be ambiguous. */
static void offer_resources(const line *l) {
    const ki_resource *resource;
    ki_resource_map *map = NULL;
    ki_discovery *discovery = NULL;
    cluster c;
    for (unsigned i = 0; (resource = ki_resource_at(i)); i++)
        offer(l, resource->plural, NULL);
    if (connect_to(l, &c))
        discovery = discover(&c, &map);
    const ki_discovered *found;
    for (size_t i = 0; map && (found = ki_resource_map_at(map, i)); i++) {
        char name[512];
        if (is_built_in(&found->resource))
            continue;
        snprintf(name, sizeof name, "%s.%s", found->resource.plural, found->resource.group);
        offer(l, name, NULL);
    }
    ki_resource_map_unref(map);
    ki_discovery_free(discovery);
    disconnect(&c);
}

static bool is_given(const line *l, const char *name) {
    for (size_t i = 0; i < l->positional_count; i++) {
        if (strcmp(l->positional[i], name) == 0)
            return true;
    }
    return false;
}

/* Offers the names of a resource's objects. `word` is the resource name as typed. */
static void offer_names(const line *l, const char *word) {
    const ki_request_options how = { .size = sizeof how, .timeout_ms = ASK_MS, .limit = NAMES_MAX };
    const ki_resource *resource = ki_resource_find(word);
    const ki_object *obj;
    ki_resource_map *map = NULL;
    ki_discovery *discovery = NULL;
    ki_response *response = NULL;
    cluster c;
    bool is_connected = connect_to(l, &c);
    if (is_connected && !resource) {
        discovery = discover(&c, &map);
        const ki_discovered *found = map ? ki_resource_map_find(map, word) : NULL;
        resource = found ? &found->resource : NULL;
    }
    if (is_connected && resource) {
        const char *ns = resource->namespaced ? ki_config_namespace(c.config) : NULL;
        if (ki_client_list(c.client, resource, ns, &how, &response, NULL))
            response = NULL;
    }
    for (size_t i = 0; response && (obj = ki_response_item(response, i)); i++) {
        if (!is_given(l, ki_object_name(obj)))
            offer(l, ki_object_name(obj), NULL);
    }
    ki_response_unref(response);
    ki_resource_map_unref(map);
    ki_discovery_free(discovery);
    disconnect(&c);
}

/* ---- the kubeconfig ---- */

static char *read_file(const char *path) {
    char *text = malloc(KUBECONFIG_MAX + 1);
    int fd = text ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    ssize_t size = fd >= 0 ? read(fd, text, KUBECONFIG_MAX) : -1;
    if (fd >= 0)
        close(fd);
    if (size >= 0) {
        text[size] = '\0';
        return text;
    }
    free(text);
    return NULL;
}

/* Offers the names in one list of a kubeconfig file, such as "contexts". */
static void offer_entries_of(const line *l, const char *file, const char *list) {
    char why[256];
    size_t size = 0, index, count;
    char *text = read_file(file);
    char *json = text ? yaml_to_json(text, strlen(text), &size, why) : NULL;
    yyjson_doc *doc = json ? yyjson_read_opts(json, size, YYJSON_READ_STOP_WHEN_DONE, NULL, NULL) : NULL;
    yyjson_val *entry;
    yyjson_arr_foreach(yyjson_obj_get(yyjson_doc_get_root(doc), list), index, count, entry) {
        const char *name = yyjson_get_str(yyjson_obj_get(entry, "name"));
        if (name)
            offer(l, name, NULL);
    }
    yyjson_doc_free(doc);
    free(json);
    free(text);
}

/* Offers the names from --kubeconfig, or from the files of $KUBECONFIG, or from ~/.kube/config. */
static void offer_entries(const line *l, const char *list) {
    const char *one = l->options.kubeconfig;
    const char *several = getenv("KUBECONFIG");
    const char *home = getenv("HOME");
    char path[4096];
    if (one) {
        offer_entries_of(l, one, list);
    } else if (several && *several) {
        for (; *several; several += *several == ':') {
            size_t size = strcspn(several, ":");
            snprintf(path, sizeof path, "%.*s", (int)size, several);
            offer_entries_of(l, path, list);
            several += size;
        }
    } else if (home) {
        snprintf(path, sizeof path, "%s/.kube/config", home);
        offer_entries_of(l, path, list);
    }
}

/* ---- the line ---- */

static void offer_value(line *l) {
    const flag *f = l->value_of;
    if (strcmp(f->name, "output") == 0)
        offer_values(l, flags_output_formats(l->command ? l->command : &command_get));
    else if (strcmp(f->name, "namespace") == 0)
        offer_names(l, "namespaces");
    else if (strcmp(f->name, "context") == 0)
        offer_entries(l, "contexts");
    else if (strcmp(f->name, "cluster") == 0)
        offer_entries(l, "clusters");
    else if (strcmp(f->name, "user") == 0)
        offer_entries(l, "users");
    else if (f->value && (strcmp(f->value, "FILE") == 0 || strcmp(f->value, "DIR") == 0))
        puts(":files");
}

/* Moves the first `size` bytes of the completed part into the part before it. */
static void skip_prefix(line *l, size_t size) {
    l->before = l->last;
    l->before_size = size;
    l->last += size;
}

static void offer_arguments(line *l) {
    const char *usage = l->command->usage;
    bool takes_resource = strstr(usage, "RESOURCE") != NULL, takes_names = strstr(usage, "RESOURCE/NAME") != NULL;
    const char *slash = strchr(l->last, '/');
    const char *comma = strrchr(l->last, ',');
    if (l->options.ffi && strncasecmp(l->last, "ki_", 3) == 0) {
        for (size_t i = 0; gen_ffi_name(i); i++)
            offer(l, gen_ffi_name(i), NULL);
    } else if (l->command == &command_completion && l->positional_count == 0) {
        offer_values(l, "bash zsh fish");
    } else if (l->command == &command_man && l->positional_count == 0) {
        offer_commands(l);
    } else if (takes_names && slash) { /* "pods/we" */
        char word[256];
        snprintf(word, sizeof word, "%.*s", (int)(slash - l->last), l->last);
        skip_prefix(l, (size_t)(slash - l->last) + 1);
        offer_names(l, word);
    } else if (takes_resource && (l->positional_count == 0 || strchr(l->positional[0], '/'))) {
        if (comma)
            skip_prefix(l, (size_t)(comma - l->last) + 1);
        offer_resources(l);
    } else if (takes_names && !strchr(l->positional[0], ',')) {
        offer_names(l, l->positional[0]);
    }
}

static const cli_command *find_command(const char *name) {
    for (size_t i = 0; command_at(i); i++) {
        if (strcmp(command_at(i)->name, name) == 0)
            return command_at(i);
    }
    return NULL;
}

static const flag *find_flag(const char *word) {
    const flag *f;
    size_t size = strcspn(word + 2, "=");
    for (size_t i = 0; command_at(i); i++) {
        for (size_t j = 0; (f = flags_at(command_at(i), j)); j++) {
            bool is_it = word[1] == '-' ? strlen(f->name) == size && strncmp(f->name, word + 2, size) == 0
                                        : f->letter && f->letter == word[1];
            if (is_it)
                return f;
        }
    }
    return NULL;
}

/* Sorts the words before the last one into command, flags and arguments, and parses the flags. Returns false if there
 * is nothing to offer. */
static bool read_line(line *l, int count, char **words) {
    char *given[WORDS_MAX];
    int given_count = 0;
    bool is_help = false;
    for (int i = 0; i < count; i++) {
        char *word = words[i];
        if (word[0] != '-' || !word[1]) {
            if (!l->command && !is_help) {
                l->command = find_command(word);
                is_help = strcmp(word, "help") == 0;
                if (!l->command && !is_help)
                    return false;
            } else {
                l->positional[l->positional_count++] = word;
            }
            continue;
        }
        int taken = flags_count_arguments(word);
        if (taken == 2 && i + 1 == count) {
            l->value_of = find_flag(word);
            break;
        }
        for (int j = 0; j < (taken ? taken : 1); j++)
            given[given_count++] = words[i + j];
        i += taken == 2;
    }
    if (is_help)
        l->command = &command_man; /* "help" takes the arguments of "man" */
    /* A wrong flag is ignored here: the others still apply. */
    (void)flags_parse(l->command ? l->command : &command_get, given_count, given, &l->options);
    return true;
}

/* bash splits "--output=ya" into three words; this function joins them. */
static int join_equal_signs(int count, char **words) {
    if (count > 2 && strcmp(words[count - 2], "=") == 0) {
        words[count - 2] = words[count - 1];
        return count - 1;
    }
    if (count > 1 && strcmp(words[count - 1], "=") == 0)
        words[count - 1] = words[count - 1] + 1; /* "" */
    return count;
}

int complete(int count, char **words) {
    static line l;
    if (count < 1 || count > WORDS_MAX)
        return EXIT_USAGE;
    count = join_equal_signs(count, words);
    l.last = words[count - 1];
    if (!read_line(&l, count - 1, words))
        return EXIT_OK;
    const char *equal = strncmp(l.last, "--", 2) == 0 ? strchr(l.last, '=') : NULL;
    if (!l.value_of && equal && (l.value_of = find_flag(l.last)))
        skip_prefix(&l, (size_t)(equal - l.last) + 1);
    if (l.value_of)
        offer_value(&l);
    else if (l.last[0] == '-')
        offer_flags(&l);
    else if (!l.command)
        offer_commands(&l);
    else
        offer_arguments(&l);
    return output_flush() ? EXIT_OK : output_status();
}
