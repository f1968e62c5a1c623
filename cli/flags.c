/* flags.c: see flags.h. */
#include "flags.h"

#include "src/object/nearest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    TABLE_FLAGS_MAX = 128,
    HELP_COLUMN = 34
};

const flag flags_connection[] = {
    FLAG("kubeconfig", 0, FLAG_TEXT, kubeconfig, "FILE",
         "use this kubeconfig (default: $KUBECONFIG, else ~/.kube/config)"),
    FLAG("context", 0, FLAG_TEXT, context, "NAME", "use this context of the kubeconfig"),
    FLAG("server", 's', FLAG_TEXT, server, "URL", "connect to this API server, not to the kubeconfig's"),
    FLAG("token", 0, FLAG_TEXT, token, "TOKEN", "send this bearer token"),
    FLAG("certificate-authority", 0, FLAG_TEXT, certificate_authority, "FILE",
         "trust the certificate authorities in this file"),
    FLAG("insecure-skip-tls-verify", 0, FLAG_BOOL, insecure, NULL, "do not check the server's certificate"),
    FLAG("cluster", 0, FLAG_TEXT, cluster, "NAME", "use this cluster of the kubeconfig"),
    FLAG("user", 0, FLAG_TEXT, user, "NAME", "use this user of the kubeconfig"),
    FLAG("token-file", 0, FLAG_TEXT, token_file, "FILE",
         "send the bearer token in this file; read it again when it changes"),
    FLAG("username", 0, FLAG_TEXT, username, "NAME", "send this user name (basic authentication)"),
    FLAG("password", 0, FLAG_TEXT, password, "WORD", "send this password (basic authentication)"),
    FLAG("client-certificate", 0, FLAG_TEXT, client_certificate, "FILE", "use this client certificate"),
    FLAG("client-key", 0, FLAG_TEXT, client_key, "FILE", "use this key of the client certificate"),
    FLAG("tls-server-name", 0, FLAG_TEXT, tls_server_name, "NAME", "expect this name in the server's certificate"),
    FLAG("proxy-url", 0, FLAG_TEXT, proxy_url, "URL", "connect through this proxy: http, https or socks5"),
    FLAG("disable-compression", 0, FLAG_BOOL, disable_compression, NULL,
         "pass to credential plugins; responses are never compressed"),
    FLAG("as", 0, FLAG_TEXT, as, "NAME", "impersonate this user"),
    FLAG("as-uid", 0, FLAG_TEXT, as_uid, "UID", "impersonate this uid"),
    FLAG("as-group", 0, FLAG_LIST, as_groups, "NAME", "impersonate this group; repeatable"),
    FLAG("as-user-extra", 0, FLAG_LIST, as_user_extra, "NAME=VALUE", "impersonate this extra field; repeatable"),
    FLAG("request-timeout", 0, FLAG_DURATION, request_timeout_ms, "DURATION",
         "end with status 3 if the first list takes longer (0: no limit)"),
    FLAGS_END
};

const flag flags_selection[] = {
    FLAG("namespace", 'n', FLAG_TEXT, namespace_name, "NAME",
         "use this namespace (default: the context's, else \"default\")"),
    FLAG("all-namespaces", 'A', FLAG_BOOL, all_namespaces, NULL, "use all namespaces"),
    FLAG("selector", 'l', FLAG_TEXT, selector, "SELECTOR", "select objects by labels: app=redis,tier in (a,b),!canary"),
    FLAG("field-selector", 0, FLAG_TEXT, field_selector, "SELECTOR", "select objects by fields: spec.nodeName=node-1"),
    FLAGS_END
};

const flag flags_once[] = {
    FLAG("wait", 0, FLAG_BOOL, wait, NULL,
         "try again until the list succeeds, except after a malformed request or for an unknown\nresource"),
    FLAG("timeout", 0, FLAG_DURATION, timeout_ms, "DURATION",
         "try again as with --wait, and end with status 3 after this time"),
    FLAG("quiet", 'q', FLAG_BOOL, quiet, NULL, "print only fatal errors on stderr"),
    FLAG("verbose", 'v', FLAG_LEVEL, verbose, NULL,
         "print more on stderr; -v=N as in kubectl: the same for every N above 0"),
    FLAGS_END
};

static const flag flags_common[] = { FLAG("help", 'h', FLAG_BOOL, help, NULL, "print this help"), FLAGS_END };

/* All flags of a command, in the order of its tables. */
typedef struct flag_list {
    const flag *flags[TABLE_FLAGS_MAX];
    size_t count;
} flag_list;

static void add_table(flag_list *list, const flag *table) {
    for (; table->type != FLAG_END && list->count < TABLE_FLAGS_MAX; table++)
        list->flags[list->count++] = table;
}

static void collect(const cli_command *command, flag_list *list) {
    list->count = 0;
    for (const flag *const *table = command->flags; table && *table; table++)
        add_table(list, *table);
    add_table(list, flags_common);
}

static const char *name_at(size_t index, const void *user) {
    const flag_list *list = user;
    return list->flags[index]->name;
}

static const flag *find_long(const flag_list *list, const char *name, size_t size) {
    for (size_t i = 0; i < list->count; i++) {
        const flag *f = list->flags[i];
        bool is_level = f->type == FLAG_LEVEL && size == 1 && *name == f->letter; /* kubectl's --v=6 */
        if (is_level || (strlen(f->name) == size && memcmp(f->name, name, size) == 0))
            return f;
    }
    return NULL;
}

static const flag *find_short(const flag_list *list, char letter) {
    for (size_t i = 0; i < list->count; i++) {
        if (letter && list->flags[i]->letter == letter)
            return list->flags[i];
    }
    return NULL;
}

static bool parse_number(const char *text, int64_t *ret_value) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno || end == text || *end || value < 0)
        return false;
    *ret_value = value;
    return true;
}

/* Parses a duration as Go and kubectl do: "1h30m", "2s", "500ms". A plain number is seconds. */
static bool parse_duration(const char *text, int64_t *ret_ms) {
    static const struct {
        const char *name;
        double ms;
    } units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 } };
    double total = 0;
    const char *at = text;
    do {
        char *end = NULL;
        if (*at < '0' || *at > '9')
            return false;
        double value = strtod(at, &end);
        double ms = -1;
        if (end == at)
            return false;
        if (!*end && at == text)
            ms = 1000;
        for (size_t i = 0; i < sizeof units / sizeof units[0] && ms < 0; i++) {
            size_t size = strlen(units[i].name);
            char next = strncmp(end, units[i].name, size) == 0 ? end[size] : 'x';
            if (next && (next < '0' || next > '9'))
                continue; /* "m" is not the unit of "5ms" */
            ms = units[i].ms;
            end += size;
        }
        if (ms < 0)
            return false;
        total += value * ms;
        at = end;
    } while (*at);
    if (total > 1e15)
        return false;
    *ret_ms = (int64_t)total;
    return true;
}

static bool takes_value(const flag *f) {
    return f->type != FLAG_BOOL && f->type != FLAG_CHOICE;
}

static bool set(const cli_command *command, const flag *f, const char *text, options *o) {
    char *place = (char *)o + f->place;
    switch (f->type) {
    case FLAG_BOOL:
        if (!text || strcmp(text, "true") == 0)
            *(bool *)(void *)place = true;
        else if (strcmp(text, "false") == 0)
            *(bool *)(void *)place = false;
        else
            break;
        return true;
    case FLAG_CHOICE:
        if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0)
            break;
        *(choice *)(void *)place = text && strcmp(text, "false") == 0 ? CHOICE_FALSE : CHOICE_TRUE;
        return true;
    case FLAG_TEXT:
        *(const char **)(void *)place = text;
        return true;
    case FLAG_LEVEL: {
        int64_t level = 1;
        if (text && strcmp(text, "true") != 0 && strcmp(text, "false") != 0 && !parse_number(text, &level))
            break;
        *(bool *)(void *)place = level > 0 && !(text && strcmp(text, "false") == 0);
        return true;
    }
    case FLAG_LIST: {
        option_list *list = (option_list *)(void *)place;
        if (list->count == MAX_REPEATS) {
            fprintf(stderr, "kinformer %s: --%s: at most %d values\n", command->name, f->name, MAX_REPEATS);
            return false;
        }
        list->items[list->count++] = text;
        return true;
    }
    case FLAG_NUMBER:
        if (parse_number(text, (int64_t *)(void *)place))
            return true;
        break;
    case FLAG_DURATION:
        if (parse_duration(text, (int64_t *)(void *)place))
            return true;
        break;
    default:
        break;
    }
    fprintf(stderr, "kinformer %s: --%s=%s: %s expected\n", command->name, f->name, text,
            f->type == FLAG_DURATION ? "a duration such as 30s or 5m"
            : !takes_value(f)        ? "true or false"
                                     : "a number");
    return false;
}

static bool say_hint(const cli_command *command, const char *name, char letter) {
    for (const cli_hint *hint = command->hints; hint && hint->name; hint++) {
        if (letter ? letter == hint->letter : strcmp(name, hint->name) == 0) {
            fprintf(stderr, "kinformer %s: %s\n", command->name, hint->text);
            return true;
        }
    }
    return false;
}

static void say_unknown(const cli_command *command, const flag_list *list, const char *name) {
    if (say_hint(command, name, '\0'))
        return;
    const char *meant = nearest(name, list->count, name_at, list);
    fprintf(stderr, "kinformer %s: there is no flag --%s", command->name, name);
    if (meant)
        fprintf(stderr, "; did you mean --%s?\n", meant);
    else
        fprintf(stderr, "; see kinformer %s --help\n", command->name);
}

const char *nearest(const char *word, size_t count, const char *(*at)(size_t index, const void *user),
                    const void *user) {
    ki_nearest search;
    if (!ki_nearest_begin(&search, word))
        return NULL;
    for (size_t i = 0; i < count; i++)
        ki_nearest_try(&search, at(i, user), at(i, user));
    return search.best;
}

/* Returns true for kubectl's -v N: a word of digits after the flag is its value. */
static bool is_level(const flag *f, const char *word) {
    return f->type == FLAG_LEVEL && word && *word && strspn(word, "0123456789") == strlen(word);
}

/* Sets a flag from `value`; NULL: from the next word, if the flag takes one. Returns how many words the flag took, 0 on
 * failure. */
static int take_value(const cli_command *command, const flag *f, const char *value, char **words, int left,
                      options *o) {
    if (value || !takes_value(f) || (f->type == FLAG_LEVEL && !is_level(f, left > 1 ? words[1] : NULL)))
        return set(command, f, value, o) ? 1 : 0;
    if (left < 2) {
        fprintf(stderr, "kinformer %s: --%s needs a value: --%s %s\n", command->name, f->name, f->name, f->value);
        return 0;
    }
    return set(command, f, words[1], o) ? 2 : 0;
}

static int parse_long(const cli_command *command, const flag_list *list, char **words, int left, options *o) {
    const char *word = words[0] + 2;
    size_t size = strcspn(word, "=");
    const flag *f = find_long(list, word, size);
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)size, word);
    if (!f) {
        say_unknown(command, list, name);
        return 0;
    }
    return take_value(command, f, word[size] ? word + size + 1 : NULL, words, left, o);
}

/* Parses "-A", "-oname", "-o=name" or several short flags in one word, "-Aoname". The last one can have a value. */
static int parse_short(const cli_command *command, const flag_list *list, char **words, int left, options *o) {
    for (const char *at = words[0] + 1;; at++) {
        const flag *f = find_short(list, *at);
        if (!f) {
            if (!say_hint(command, "", *at))
                fprintf(stderr, "kinformer %s: there is no flag -%c; see kinformer %s --help\n", command->name, *at,
                        command->name);
            return 0;
        }
        bool is_alone = !takes_value(f) || (f->type == FLAG_LEVEL && !(at[1] >= '0' && at[1] <= '9'));
        if (is_alone && at[1] && at[1] != '=') { /* other flags follow */
            if (!set(command, f, NULL, o))
                return 0;
            continue;
        }
        const char *value = at[1] == '=' ? at + 2 : at[1] ? at + 1 : NULL;
        return take_value(command, f, value, words, left, o);
    }
}

/* Parses an argument that begins with a dash. Returns how many arguments it took (2 with a separate value), 0 on
 * failure. */
static int parse_flag(const cli_command *command, const flag_list *list, char **words, int left, options *o) {
    return words[0][1] == '-' ? parse_long(command, list, words, left, o) : parse_short(command, list, words, left, o);
}

bool flags_parse(const cli_command *command, int count, char **words, options *ret_options) {
    flag_list list;
    options o = { 0 };
    int arguments = 0;
    bool flags_end = false;

    collect(command, &list);
    if (command->set_defaults)
        command->set_defaults(&o);
    for (int i = 0; i < count;) {
        if (!flags_end && strcmp(words[i], "--") == 0) {
            flags_end = true;
            i++;
        } else if (!flags_end && words[i][0] == '-' && words[i][1]) {
            int taken = parse_flag(command, &list, words + i, count - i, &o);
            if (!taken)
                return false;
            i += taken;
        } else if (arguments < command->max_arguments && arguments < MAX_ARGUMENTS) {
            o.arguments[arguments++] = words[i++];
        } else {
            fprintf(stderr, "kinformer %s: unexpected argument \"%s\"; usage: kinformer %s%s%s\n", command->name,
                    words[i], command->name, command->usage[0] ? " " : "", command->usage);
            return false;
        }
    }
    *ret_options = o;
    return true;
}

/* Returns how many arguments the flags of `word` take; 0 if the command does not have one of them. */
static int count_arguments(const flag_list *list, const char *word) {
    bool is_long = word[1] == '-';
    size_t size = is_long ? strcspn(word + 2, "=") : 1;
    const flag *f = is_long ? find_long(list, word + 2, size) : find_short(list, word[1]);
    while (f && !is_long && !takes_value(f) && word[2] && word[2] != '=')
        f = find_short(list, (++word)[1]); /* several flags in one word */
    if (!f)
        return 0;
    bool has_value = is_long ? word[2 + size] == '=' : word[2] != '\0';
    return !takes_value(f) || f->type == FLAG_LEVEL || has_value ? 1 : 2;
}

int flags_count_arguments(const char *word) {
    flag_list list;
    int count = 0;
    for (size_t i = 0; command_at(i) && !count; i++) {
        collect(command_at(i), &list);
        count = count_arguments(&list, word);
    }
    return count;
}

const flag *flags_at(const cli_command *command, size_t index) {
    flag_list list;
    collect(command, &list);
    return index < list.count ? list.flags[index] : NULL;
}

const char *flags_output_formats(const cli_command *command) {
    if (command == &command_watch)
        return "line wide json yaml name jsonpath= jsonpath-file= go-template= go-template-file= custom-columns= "
               "custom-columns-file=";
    if (command == &command_get)
        return "wide json jsonl yaml name jsonpath= jsonpath-file= jsonpath-as-json= go-template= "
               "go-template-file= custom-columns= "
               "custom-columns-file=";
    return "text json"; /* doctor */
}

void flags_print_help(const cli_command *command, FILE *out) {
    flag_list list;
    char left[128];

    collect(command, &list);
    fprintf(out, "%s\n\nusage: kinformer %s%s%s\n\n%s\n", command->purpose, command->name, command->usage[0] ? " " : "",
            command->usage, command->text);
    if (list.count > 1)
        fprintf(out, "flags:\n");
    for (size_t i = 0; list.count > 1 && i < list.count; i++) {
        const flag *f = list.flags[i];
        int size = snprintf(left, sizeof left, "  %c%c%c --%s%s%s", f->letter ? '-' : ' ', f->letter ? f->letter : ' ',
                            f->letter ? ',' : ' ', f->name, f->value ? " " : "", f->value ? f->value : "");
        fprintf(out, "%s%*s ", left, size < HELP_COLUMN ? HELP_COLUMN - size : 0, "");
        for (const char *c = f->help; *c; c++) { /* further lines are indented */
            fputc(*c, out);
            if (*c == '\n')
                fprintf(out, "%*s", HELP_COLUMN + 1, "");
        }
        fputc('\n', out);
    }
}
