/* exec_plugin.h: runs a credential plugin, the program of a kubeconfig's user.exec. Loop only. */
#ifndef KI_AUTH_EXEC_PLUGIN_H
#define KI_AUTH_EXEC_PLUGIN_H

#include "src/auth/exec_credential.h"
#include "src/engine/engine.h"

enum {
    KI_EXEC_TIME_LIMIT_S = 60,
    KI_EXEC_OUTPUT_LIMIT = 1024 * 1024 /* bytes of standard output */
};

typedef struct ki_exec_plugin ki_exec_plugin;

/* Called once for each run, with `result` (borrowed, wiped afterwards) or with `err`, which names the command and what
 * to do. */
typedef void ki_exec_ended(const ki_exec_result *result, const ki_error *err, void *user);

/* Creates a plugin; does not run it. Borrows `config`, which must outlive it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_exec_plugin_new(ki_engine *engine, const ki_config *config, ki_exec_ended *ended, void *user,
                             ki_exec_plugin **ret_plugin, ki_error *err);
/* Runs the plugin, unless it is running. Never calls `ended` itself. Errors: the plugin could not be started. */
ki_status ki_exec_plugin_run(ki_exec_plugin *plugin, ki_error *err);
bool ki_exec_plugin_is_running(const ki_exec_plugin *plugin);
/* Kills the plugin if it is running. NULL is allowed. */
void ki_exec_plugin_free(ki_exec_plugin *plugin);

#endif
