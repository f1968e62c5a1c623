/* app.c: see app.h. */
#include "testing/load/app.h"

#include <stdio.h>

#define DEPLOYMENT KT_LOAD_OF_DEPLOYMENT
#define STATEFUL KT_LOAD_OF_STATEFUL_SET
#define DAEMON KT_LOAD_OF_DAEMON_SET
#define CRON KT_LOAD_OF_CRON_JOB

const kt_load_app kt_load_apps[] = {
    { DEPLOYMENT, "shop", "frontend", "4.12.1", "8080", .has_mesh = true, .config_size = 1200 },
    { DEPLOYMENT, "shop", "cart", "2.7.0", "8080", .config_size = 800 },
    { DEPLOYMENT, "shop", "catalog", "3.1.5", "9090", .variables = 6, .config_size = 3000 },
    { DEPLOYMENT, "payments", "checkout", "1.44.2", "8443", .has_mesh = true, .has_init = true, .config_size = 2000 },
    { DEPLOYMENT, "payments", "ledger", "0.19.3", "7000", .has_init = true, .variables = 12, .config_size = 2000 },
    { DEPLOYMENT, "payments", "fraud-scoring", "5.0.0", "8080", .variables = 330, .config_size = 100000,
      .most_pods = 8 },
    { DEPLOYMENT, "search", "indexer", "2.2.9", "9200", .variables = 20, .config_size = 5000 },
    { DEPLOYMENT, "search", "query", "2.2.9", "9201", .config_size = 5000 },
    { DEPLOYMENT, "data", "ingest", "11.3.0", "6000", .is_small = true, .config_size = 300 },
    { DEPLOYMENT, "data", "stream-joiner", "1.8.1", "6010", .variables = 40, .config_size = 100000 },
    { DEPLOYMENT, "accounts", "identity", "3.30.0", "8081", .has_init = true, .config_size = 1500 },
    { DEPLOYMENT, "accounts", "mailer", "1.2.4", "2525", .is_small = true, .config_size = 300 },
    { STATEFUL, "data", "postgres", "17.4.0", "5432", .has_init = true, .config_size = 20000 },
    { STATEFUL, "data", "kafka", "4.1.0", "9092", .variables = 30, .config_size = 8000 },
    { STATEFUL, "shop", "redis", "8.2.1", "6379", .is_small = true, .config_size = 2000 },
    { DAEMON, "monitoring", "log-agent", "3.2.6", "2020", .variables = 4, .config_size = 6000 },
    { DAEMON, "monitoring", "node-exporter", "1.9.1", "9100", .is_small = true, .config_size = 300 },
    { DAEMON, "kube-system", "csi-node", "1.48.0", "9808", .variables = 8, .config_size = 600 },
    { KT_LOAD_OF_JOB, "payments", "settle-accounts", "1.44.2", "8080", .has_init = true, .config_size = 900 },
    { KT_LOAD_OF_JOB, "search", "reindex", "2.2.9", "8080", .is_small = true, .config_size = 400 },
    { CRON, "accounts", "nightly-report", "3.30.0", "8080", .variables = 5, .config_size = 700 },
    { CRON, "data", "backup", "17.4.0", "8080", .config_size = 900 },
    { CRON, "shop", "warm-cache", "2.7.0", "8080", .is_small = true, .config_size = 300 },
    { KT_LOAD_OF_NOTHING, "accounts", "debug-shell", "12.9.0", "8080", .is_small = true, .config_size = 300 },
};
const size_t kt_load_app_count = sizeof kt_load_apps / sizeof kt_load_apps[0];

const uint32_t kt_load_shares[KT_LOAD_OWNERS] = {
    [DEPLOYMENT] = 60, [STATEFUL] = 10, [DAEMON] = 10, [KT_LOAD_OF_JOB] = 5, [CRON] = 10, [KT_LOAD_OF_NOTHING] = 5,
};

void kt_load_write_variable(uint32_t index, char name[KT_LOAD_VARIABLE_SIZE]) {
    static const char *const subjects[] = { "CACHE", "QUEUE", "UPSTREAM", "SESSION", "INDEX", "BATCH",  "LEDGER",
                                            "TOKEN", "RATE",  "POOL",     "TRACE",   "AUDIT", "WEBHOOK" };
    static const char *const attributes[] = { "TIMEOUT_MS", "MAX_SIZE",  "ENDPOINT",    "RETRY_LIMIT", "TTL_SECONDS",
                                              "ENABLED",    "SHARDS",    "CONCURRENCY", "BACKOFF_MS",  "REGION",
                                              "PREFIX",     "KEEPALIVE", "WINDOW",      "BUCKET" };
    enum {
        SUBJECTS = sizeof subjects / sizeof subjects[0],
        ATTRIBUTES = sizeof attributes / sizeof attributes[0]
    };
    const char *subject = subjects[index % SUBJECTS], *attribute = attributes[index / SUBJECTS % ATTRIBUTES];
    if (index < SUBJECTS * ATTRIBUTES)
        snprintf(name, KT_LOAD_VARIABLE_SIZE, "%s_%s", subject, attribute);
    else
        snprintf(name, KT_LOAD_VARIABLE_SIZE, "%s_%s_%u", subject, attribute, index / (SUBJECTS * ATTRIBUTES));
}
