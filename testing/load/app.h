/* app.h: the applications of the load's workloads, and how many pods each kind of owner has. */
#ifndef KT_LOAD_APP_H
#define KT_LOAD_APP_H

#include "testing/load/template.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct kt_load_app {
    kt_load_owner owner;
    const char *namespace_name, *name, *version, *port;
    bool is_small;        /* a pod of 2 KB: one container without probes, environment and configuration */
    bool has_mesh;        /* a sidecar with its annotations */
    bool has_init;        /* an init container */
    uint32_t variables;   /* environment variables of its own: 330 make a pod of 30 KB */
    uint32_t config_size; /* bytes of its ConfigMap */
    uint32_t most_pods;   /* 0: no limit */
} kt_load_app;

extern const kt_load_app kt_load_apps[];
extern const size_t kt_load_app_count;
enum {
    KT_LOAD_APPS_MAX = 32
};

/* Hundredths of the pods that each kind of owner has. */
extern const uint32_t kt_load_shares[KT_LOAD_OWNERS];

enum {
    KT_LOAD_VARIABLE_SIZE = 64
};
/* Writes the name of an environment variable; those of two indexes differ. */
void kt_load_write_variable(uint32_t index, char name[KT_LOAD_VARIABLE_SIZE]);

#endif
