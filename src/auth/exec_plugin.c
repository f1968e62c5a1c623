/* exec_plugin.c: finds the command, makes its arguments and environment, and reports its failures. Loop only. */
#include "src/auth/exec_plugin.h"

#include "src/base/assert.h"
#include "src/base/error.h"
#include "src/base/log.h"
#include "src/base/memory.h"
#include "src/engine/subprocess.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    PATH_LIMIT = 4096,
    ERROR_TEXT_MAX = 160, /* bytes of standard error in a message */
    HIDDEN_MIN = 8,       /* shortest word of standard error that is hidden if the output has it too */
    TOKEN_MIN = 40        /* shortest word that is hidden if it has upper and lower case letters and digits */
};

struct ki_exec_plugin {
    ki_engine *engine;
    const ki_allocator *allocator;
    const ki_config *config;
    ki_exec_ended *ended;
    void *user;
    ki_subprocess *process; /* NULL: not running */
};

static const char info_name[] = "KUBERNETES_EXEC_INFO";

/* --- errors ------------------------------------------------------------------------------------------------------- */

/* Sets "exec plugin COMMAND: WHAT; REMEDY". The category is credentials for every status: the reader of the message
 * has to fix them. */
static ki_status set_error(const ki_exec_plugin *plugin, ki_status status, const char *what, ki_error *err) {
    const ki_exec_config *exec = &plugin->config->exec;
    if (status == KI_ERR_NO_MEMORY)
        return ki_error_no_memory(err, "running a credential plugin");
    const ki_config *config = plugin->config;
    char place[2 * ERROR_TEXT_MAX] = "users.user.exec of the kubeconfig";
    if (config->files.data && config->user.data)
        snprintf(place, sizeof place, "users[%.60s].exec of kubeconfig %.*s", config->user.data, ERROR_TEXT_MAX,
                 config->files.data);
    if (exec->install_hint.size)
        ki_error_set(err, status, "exec plugin %.100s: %s; %.*s (%s)", exec->command.data, what, ERROR_TEXT_MAX,
                     exec->install_hint.data, place);
    else
        ki_error_set(err, status, "exec plugin %.100s: %s; check %s", exec->command.data, what, place);
    if (err) {
        ki_log_on_one_line(err->message);
        err->category = KI_CATEGORY_CREDENTIALS;
    }
    return status;
}

/* Copies the end of the last line that is not blank, at most ERROR_TEXT_MAX bytes. `text` has room for them and a
 * zero. */
static void last_line(ki_str errors, char *text) {
    size_t end = errors.size;
    while (end && (unsigned char)errors.data[end - 1] <= 0x20)
        end--;
    size_t begin = end;
    while (begin && errors.data[begin - 1] != '\n' && end - begin < ERROR_TEXT_MAX)
        begin--;
    for (size_t i = begin; i < end; i++)
        text[i - begin] = errors.data[i] ? errors.data[i] : ' ';
    KI_ASSERT(end - begin <= ERROR_TEXT_MAX);
    text[end - begin] = '\0';
}

static bool is_random(const char *word, size_t size) {
    bool has_capital = false, has_small = false, has_digit = false;
    for (size_t i = 0; i < size; i++) {
        has_capital |= word[i] >= 'A' && word[i] <= 'Z';
        has_small |= word[i] >= 'a' && word[i] <= 'z';
        has_digit |= word[i] >= '0' && word[i] <= '9';
    }
    return size >= TOKEN_MIN && has_capital && has_small && has_digit;
}

/* Replaces possible credentials with asterisks: words that the plugin's output has too, and words that look like a
 * token. */
static void hide_credentials(char *line, ki_str output) {
    static const char token[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~+=-";
    for (char *at = line; *at;) {
        size_t size = strspn(at, token);
        bool is_echoed = size >= HIDDEN_MIN && output.size && memmem(output.data, output.size, at, size);
        if (is_echoed || is_random(at, size))
            memset(at, '*', size);
        at += size ? size : 1;
    }
}

static void describe(const ki_subprocess_result *result, ki_buffer *what) {
    switch (result->end) {
    case KI_SUBPROCESS_EXITED:
        ki_buffer_printf(what, "it failed with exit status %d", result->number);
        break;
    case KI_SUBPROCESS_SIGNALLED:
        ki_buffer_printf(what, "it was killed by signal %d", result->number);
        break;
    case KI_SUBPROCESS_TIMED_OUT:
        ki_buffer_printf(what, "it did not end within %d s", KI_EXEC_TIME_LIMIT_S);
        break;
    case KI_SUBPROCESS_TOO_MUCH:
        ki_buffer_printf(what, "it printed more than %d bytes", KI_EXEC_OUTPUT_LIMIT);
        break;
    case KI_SUBPROCESS_UNKNOWN:
    case KI_SUBPROCESS_NO_MEMORY:
        break;
    }
    char line[ERROR_TEXT_MAX + 1] = "";
    last_line(result->errors, line);
    hide_credentials(line, result->output);
    if (line[0])
        ki_buffer_printf(what, " and printed: %s", line);
}

static void process_ended(const ki_subprocess_result *result, void *user) {
    ki_exec_plugin *plugin = user;
    KI_ASSERT(plugin->process);
    plugin->process = NULL;
    ki_error err = KI_ERROR_INIT;
    bool is_good = result->end == KI_SUBPROCESS_UNKNOWN || (result->end == KI_SUBPROCESS_EXITED && result->number == 0);
    ki_exec_result exec_result = { .expires = INT64_MAX };
    ki_status status;
    if (is_good) {
        ki_error why = KI_ERROR_INIT;
        status = ki_exec_result_parse(plugin->allocator, plugin->config->exec.api_version.data, result->output,
                                      &exec_result, &why);
        if (status)
            set_error(plugin, status, why.message, &err);
    } else {
        ki_buffer what;
        ki_buffer_init(&what, plugin->allocator, 0);
        describe(result, &what);
        status = result->end == KI_SUBPROCESS_NO_MEMORY || what.failed ? KI_ERR_NO_MEMORY
                 : result->end == KI_SUBPROCESS_TIMED_OUT              ? KI_ERR_TIMEOUT
                 : result->end == KI_SUBPROCESS_TOO_MUCH               ? KI_ERR_LIMIT
                                                                       : KI_ERR_CONFIG;
        set_error(plugin, status, what.data ? what.data : "", &err);
        ki_buffer_free(&what);
    }
    plugin->ended(status ? NULL : &exec_result, status ? &err : NULL, plugin->user);
    ki_exec_result_clear(plugin->allocator, &exec_result);
}

/* --- the command -------------------------------------------------------------------------------------------------- */

static bool is_executable(const char *path) {
    struct stat info;
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && access(path, X_OK) == 0;
}

/* Finds the command. A name without a slash is searched in PATH, without PATH's relative folders: the choice must not
 * depend on the working directory. */
static bool find_command(const char *command, char *ret_path) {
    size_t size = strlen(command);
    if (strchr(command, '/')) {
        if (size >= PATH_LIMIT)
            return false;
        memcpy(ret_path, command, size + 1);
        return true; /* starting it reports what is wrong */
    }
    const char *variable = getenv("PATH");
    ki_str rest = ki_str_of(variable ? variable : "/usr/local/bin:/usr/bin:/bin");
    while (rest.data) {
        ki_str folder = ki_str_split(rest, ':', &rest);
        if (folder.size == 0 || folder.data[0] != '/' || folder.size + 1 + size >= PATH_LIMIT)
            continue;
        memcpy(ret_path, folder.data, folder.size);
        ret_path[folder.size] = '/';
        memcpy(ret_path + folder.size + 1, command, size + 1);
        if (is_executable(ret_path))
            return true;
    }
    return false;
}

/* --- arguments and environment ------------------------------------------------------------------------------------ */

static const char **make_arguments(const ki_exec_plugin *plugin) {
    const ki_exec_config *exec = &plugin->config->exec;
    const char **arguments = ki_alloc_array(plugin->allocator, exec->arguments.count + 2, sizeof *arguments);
    if (!arguments)
        return NULL;
    arguments[0] = exec->command.data;
    for (size_t i = 0; i < exec->arguments.count; i++)
        arguments[i + 1] = exec->arguments.items[i].data;
    arguments[exec->arguments.count + 1] = NULL;
    return arguments;
}

static bool is_named(const char *entry, const char *name, size_t size) {
    return strncmp(entry, name, size) == 0 && entry[size] == '=';
}

/* Returns true if the plugin's environment replaces this variable. */
static bool is_replaced(const ki_exec_config *exec, const char *entry) {
    if (is_named(entry, info_name, sizeof info_name - 1))
        return true;
    for (size_t i = 0; i < exec->environment.count; i++) {
        if (is_named(entry, exec->environment.items[i].name.data, exec->environment.items[i].name.size))
            return true;
    }
    return false;
}

/* Makes the process's variables and then the plugin's. `own` gets the plugin's, "NAME=VALUE\0…"; NULL: no memory. */
static const char **make_environment(const ki_exec_plugin *plugin, ki_buffer *own) {
    const ki_exec_config *exec = &plugin->config->exec;
    for (size_t i = 0; i < exec->environment.count; i++) {
        ki_buffer_printf(own, "%s=%s", exec->environment.items[i].name.data, exec->environment.items[i].value.data);
        ki_buffer_append(own, "", 1);
    }
    ki_buffer_printf(own, "%s=", info_name);
    ki_exec_request(plugin->config, own);
    ki_buffer_append(own, "", 1);
    size_t count = 0;
    while (environ && environ[count])
        count++;
    const char **entries =
        own->failed ? NULL : ki_alloc_array(plugin->allocator, count + exec->environment.count + 2, sizeof *entries);
    if (!entries)
        return NULL;
    size_t used = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_replaced(exec, environ[i]))
            entries[used++] = environ[i];
    }
    for (size_t at = 0; at < own->size; at += strlen(own->data + at) + 1)
        entries[used++] = own->data + at;
    KI_ASSERT(used < count + exec->environment.count + 2);
    entries[used] = NULL;
    return entries;
}

/* --- the plugin --------------------------------------------------------------------------------------------------- */

ki_status ki_exec_plugin_new(ki_engine *engine, const ki_config *config, ki_exec_ended *ended, void *user,
                             ki_exec_plugin **ret_plugin, ki_error *err) {
    const ki_allocator *allocator = ki_engine_allocator(engine);
    ki_exec_plugin *plugin = ki_alloc(allocator, sizeof *plugin);
    if (!plugin)
        return ki_error_no_memory(err, "reading the configuration");
    *plugin = (ki_exec_plugin){ engine, allocator, config, ended, user, NULL };
    *ret_plugin = plugin;
    return KI_OK;
}

static ki_status start(ki_exec_plugin *plugin, const char *path, ki_error *err) {
    KI_ASSERT(!plugin->process);
    ki_buffer own;
    ki_buffer_init(&own, plugin->allocator, 0);
    own.is_secret = true;
    const char **arguments = make_arguments(plugin), **entries = make_environment(plugin, &own);
    ki_error why = KI_ERROR_INIT;
    ki_status status = arguments && entries ? KI_OK : KI_ERR_NO_MEMORY;
    if (!status) {
        const ki_subprocess_options options = { .path = path,
                                                .arguments = arguments,
                                                .environment = entries,
                                                .output_limit = KI_EXEC_OUTPUT_LIMIT,
                                                .time_limit_ns = KI_SECONDS(KI_EXEC_TIME_LIMIT_S),
                                                .ended = process_ended,
                                                .user = plugin };
        status = ki_subprocess_start(plugin->engine, &options, &plugin->process, &why);
    }
    ki_buffer_free(&own);
    ki_free(plugin->allocator, entries);
    ki_free(plugin->allocator, arguments);
    return status ? set_error(plugin, status, why.message, err) : KI_OK;
}

ki_status ki_exec_plugin_run(ki_exec_plugin *plugin, ki_error *err) {
    KI_ON_LOOP(plugin->engine);
    if (plugin->process)
        return KI_OK;
    const ki_exec_config *exec = &plugin->config->exec;
    char path[PATH_LIMIT];
    if (exec->interactive_mode == KI_EXEC_ALWAYS)
        return set_error(plugin, KI_ERR_UNSUPPORTED, "interactiveMode is Always, but a plugin gets no terminal", err);
    if (!find_command(exec->command.data, path))
        return set_error(plugin, KI_ERR_NOT_FOUND, "no such program in PATH", err);
    return start(plugin, path, err);
}

bool ki_exec_plugin_is_running(const ki_exec_plugin *plugin) {
    return plugin->process != NULL;
}

void ki_exec_plugin_free(ki_exec_plugin *plugin) {
    if (!plugin)
        return;
    ki_subprocess_cancel(plugin->process);
    ki_free(plugin->allocator, plugin);
}
