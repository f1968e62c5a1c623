/* exec_plugin.h: a credential plugin: the program that a kubeconfig's user.exec names, run for credentials. Loop only. */
#ifndef KI_AUTH_EXEC_PLUGIN_H
#define KI_AUTH_EXEC_PLUGIN_H

#include "src/auth/exec_credential.h"
#include "src/engine/engine.h"

enum {
    KI_EXEC_TIME_LIMIT_S = 60,
    KI_EXEC_OUTPUT_LIMIT = 1024 * 1024 /* bytes of standard output */
};

typedef struct ki_exec_plugin ki_exec_plugin;

/* Once for each run: `answer` (borrowed, wiped afterwards) or `err`, which names command and remedy. */
typedef void ki_exec_ended(const ki_exec_answer *answer, const ki_error *err, void *user);

/* Borrows `config`, which must outlive it. Errors: KI_ERR_NO_MEMORY. */
ki_status ki_exec_plugin_new(ki_engine *engine, const ki_config *config, ki_exec_ended *ended, void *user,
                             ki_exec_plugin **ret_plugin, ki_error *err);
/* Runs it, unless it runs already. `ended` never comes from inside. Errors: as `ended` would tell them: it could not be started. */
ki_status ki_exec_plugin_run(ki_exec_plugin *plugin, ki_error *err);
bool ki_exec_plugin_is_running(const ki_exec_plugin *plugin);
/* Kills one that runs. NULL is accepted. */
void ki_exec_plugin_free(ki_exec_plugin *plugin);

#endif
