/* plugin_host.c: a program that has a yyjson of its own and knows libkinformer only as a plugin: it loads the library,
 * lists pods, unloads the library, and does so again; then it forks. usage: plugin_host LIBRARY URL. Prints the number
 * of pods of each round, and "done". */
#include <kinformer/kinformer.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yyjson.h>

enum {
    ROUNDS = 3,
    PATIENCE_MS = 60000
};

static void *plugin;

/* The host's own, which the plugin gets too: the program exports its symbols, and they come first. It calls the one of
 * the plugin's dependencies. */
yyjson_doc *yyjson_read_opts(char *text, size_t size, yyjson_read_flag flags, const yyjson_alc *allocator,
                             yyjson_read_err *err) {
    yyjson_doc *(*next)(char *, size_t, yyjson_read_flag, const yyjson_alc *, yyjson_read_err *);
    *(void **)&next = dlsym(plugin, "yyjson_read_opts");
    return next(text, size, flags, allocator, err);
}

static void *find(const char *name) {
    void *found = dlsym(plugin, name);
    if (!found) {
        fprintf(stderr, "plugin_host: %s\n", dlerror());
        exit(1);
    }
    return found;
}

/* The plugin's function of that name. */
#define CALL(function) (*(__extension__(__typeof__(&(function))) find(#function)))

static int fail(const ki_error *err) {
    fprintf(stderr, "plugin_host: %s\n", CALL(ki_error_message)(err));
    return 1;
}

static int use(const char *url) {
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_factory *factory = NULL;
    ki_informer *pods = NULL;
    ki_object_list list;
    if (CALL(ki_config_new)(&KI_CONFIG_OPTIONS(.server = url), &config, &err) ||
        CALL(ki_factory_new)(config, NULL, &factory, &err) ||
        CALL(ki_factory_informer)(factory, CALL(ki_resource_find)("pods"), NULL, &pods, &err) ||
        CALL(ki_factory_start)(factory, &err) || CALL(ki_factory_wait_for_sync)(factory, PATIENCE_MS, NULL, &err) ||
        CALL(ki_lister_list)(pods, NULL, NULL, NULL, &list, &err))
        return fail(&err);
    printf("%zu\n", list.count);
    CALL(ki_object_list_free)(&list);
    CALL(ki_factory_free)(factory);
    CALL(ki_config_free)(config);
    return 0;
}

int main(int count, char **arguments) {
    if (count != 3)
        return 2;
    for (int i = 0; i < ROUNDS; i++) {
        plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
        if (!plugin) {
            fprintf(stderr, "plugin_host: %s\n", dlerror());
            return 1;
        }
        if (use(arguments[2]))
            return 1;
        dlclose(plugin);
    }
    fflush(stdout);
    pid_t child = fork(); /* a hook that an unloaded library left behind would crash here */
    if (child == 0)
        _exit(0);
    int status = 1;
    waitpid(child, &status, 0);
    printf(status ? "the child failed\n" : "done\n");
    return status != 0;
}
