/* website-controller.c: serves each Website: keeps a ConfigMap with its page, a Deployment of web servers and a
 * Service, and writes into its status how many replicas are ready. C99.
 * usage: website-controller ROUTES [ADDRESS]
 *
 * ROUTES is a folder that a proxy outside of the cluster reads: one file for each Website. A finalizer keeps a deleted
 * Website until its file is removed. ADDRESS serves probes, metrics and a status page; by default 127.0.0.1:8080. Of
 * several processes one works: the holder of the Lease website-controller. README.md has a walk-through. */
#include <kinformer-controllers/controller.h>
#include <kinformer-controllers/leader.h>
#include <kinformer-status/server.h>
#include <kinformer/kinformer.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char manager[] = "website-controller"; /* the field manager, and the name of the Lease */
static const char finalizer[] = "example.com/route";
static const ki_resource website_resource = { "example.com", "v1", "websites", "Website", true };

/* The fields of a Website that the controller reads. */
struct website {
    const char *html, *image;
    int64_t replicas;
};

static const ki_field website_fields[] = {
    KI_FIELD(struct website, html, "spec.html"),
    KI_FIELD(struct website, image, "spec.image"),
    KI_FIELD(struct website, replicas, "spec.replicas"),
    KI_FIELD_END,
};

struct program {
    const char *routes;
    ki_factory *factory;
    ki_informer *websites, *deployments;
};

/* ---- the children ---- */

static const char deployment_yaml[] = "apiVersion: apps/v1\n"
                                      "kind: Deployment\n"
                                      "metadata: {}\n"
                                      "spec:\n"
                                      "  selector: { matchLabels: {} }\n"
                                      "  template:\n"
                                      "    metadata: { labels: {} }\n"
                                      "    spec:\n"
                                      "      containers:\n"
                                      "      - name: web\n"
                                      "        ports: [{ containerPort: 80 }]\n"
                                      "        volumeMounts: [{ name: page, mountPath: /usr/share/nginx/html }]\n"
                                      "      volumes: [{ name: page, configMap: {} }]\n";

static const char service_yaml[] = "apiVersion: v1\n"
                                   "kind: Service\n"
                                   "metadata: {}\n"
                                   "spec:\n"
                                   "  ports: [{ port: 80, targetPort: 80 }]\n";

static ki_unstructured *new_configmap(const ki_object *site) {
    const struct website *wanted = ki_object_view(site);
    ki_unstructured *map = ki_unstructured_for(KI_CONFIGMAPS, ki_object_namespace(site), ki_object_name(site));
    ki_unstructured_set_string(map, "data['index.html']", wanted->html);
    return map;
}

static ki_unstructured *new_deployment(const ki_object *site) {
    const struct website *wanted = ki_object_view(site);
    const char *name = ki_object_name(site);
    ki_unstructured *deployment = ki_unstructured_new(deployment_yaml);
    ki_unstructured_set_string(deployment, "metadata.name", name);
    ki_unstructured_set_int(deployment, "spec.replicas", wanted->replicas);
    ki_unstructured_set_string(deployment, "spec.selector.matchLabels.website", name);
    ki_unstructured_set_string(deployment, "spec.template.metadata.labels.website", name);
    ki_unstructured_set_string(deployment, "spec.template.spec.containers[0].image", wanted->image);
    ki_unstructured_set_string(deployment, "spec.template.spec.volumes[0].configMap.name", name);
    return deployment;
}

static ki_unstructured *new_service(const ki_object *site) {
    ki_unstructured *service = ki_unstructured_new(service_yaml);
    ki_unstructured_set_string(service, "metadata.name", ki_object_name(site));
    ki_unstructured_set_string(service, "spec.selector.website", ki_object_name(site));
    return service;
}

/* ---- outside of the cluster: a file for the proxy ---- */

static ki_status route(struct program *p, const ki_object *site, bool wanted, ki_error *err) {
    char path[1024];
    snprintf(path, sizeof path, "%s/%s.%s", p->routes, ki_object_namespace(site), ki_object_name(site));
    if (!wanted)
        return remove(path) && errno != ENOENT
                   ? ki_error_set(err, KI_ERR_SYSTEM, "remove %s: %s", path, strerror(errno))
                   : KI_OK;
    FILE *file = fopen(path, "w");
    if (file)
        fprintf(file, "%s.%s.svc:80\n", ki_object_name(site), ki_object_namespace(site));
    if (!file || fclose(file))
        return ki_error_set(err, KI_ERR_SYSTEM, "write %s: %s", path, strerror(errno));
    return KI_OK;
}

/* ---- reconciling ---- */

/* Writes the status, unless the cache has this status already. */
static ki_status write_status(struct program *p, const ki_object *site, ki_error *err) {
    const struct website *wanted = ki_object_view(site);
    ki_object *deployment = ki_informer_get(p->deployments, ki_object_key(site));
    int64_t ready = deployment ? ki_object_int(deployment, "status.readyReplicas", 0) : 0;
    ki_unstructured *next = ki_unstructured_from_object(site);
    char message[64];
    snprintf(message, sizeof message, "%lld of %lld replicas are ready", (long long)ready, (long long)wanted->replicas);
    ki_unstructured_set_int(next, "status.readyReplicas", ready);
    ki_unstructured_set_condition(next, "Ready", ready >= wanted->replicas ? "True" : "False",
                                  ready >= wanted->replicas ? "AllReady" : "Starting", message,
                                  ki_engine_wall_now(ki_factory_engine(p->factory)));
    ki_object_unref(deployment);
    return ki_client_update_status(ki_factory_client(p->factory), &website_resource, next,
                                   &KI_REQUEST_OPTIONS(.informer = p->websites), NULL, err);
}

static ki_status serve(struct program *p, const ki_object *site, ki_error *err) {
    ki_client *client = ki_factory_client(p->factory);
    const ki_request_options by_us = KI_REQUEST_OPTIONS(.field_manager = manager);
    if (!ki_object_has_finalizer(site, finalizer)) /* the event of this change continues */
        return ki_client_add_finalizer(client, &website_resource, site, finalizer, NULL, err);
    if (ki_client_apply_child(client, KI_CONFIGMAPS, site, new_configmap(site), &by_us, NULL, err) ||
        ki_client_apply_child(client, KI_DEPLOYMENTS, site, new_deployment(site), &by_us, NULL, err) ||
        ki_client_apply_child(client, KI_SERVICES, site, new_service(site), &by_us, NULL, err) ||
        route(p, site, true, err))
        return err->code;
    return write_status(p, site, err);
}

static ki_status reconcile(ki_reconcile *call, const char *key, void *user, ki_error *err) {
    struct program *p = user;
    ki_object *site = ki_informer_get(p->websites, key);
    ki_status status = KI_OK;
    (void)call;
    if (site && !ki_object_is_being_deleted(site))
        status = serve(p, site, err);
    else if (site && ki_object_has_finalizer(site, finalizer) && !(status = route(p, site, false, err)))
        status =
            ki_client_remove_finalizer(ki_factory_client(p->factory), &website_resource, site, finalizer, NULL, err);
    ki_object_unref(site);
    return status;
}

/* ---- the program ---- */

int main(int argc, char **argv) {
    const ki_log log = { .write = ki_log_stderr };
    struct program p = { argc > 1 ? argv[1] : NULL, NULL, NULL, NULL };
    ki_error err = KI_ERROR_INIT;
    ki_config *config = NULL;
    ki_elector *elector = NULL;
    ki_controller *controller = NULL;
    ki_status_server *status_server = NULL;

    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: website-controller ROUTES [ADDRESS]\n");
        return 2;
    }
    if (ki_config_new_default(NULL, &config, &err) || /* in-cluster, else kubeconfig */
        ki_factory_new(config, &KI_FACTORY_OPTIONS(.log = &log), &p.factory, &err) ||
        ki_elector_new(p.factory,
                       &KI_ELECTOR_OPTIONS(.namespace_name = ki_config_namespace(config), .name = manager,
                                           .release_on_stop = true),
                       &elector, &err) ||
        ki_controller_new(p.factory,
                          &KI_CONTROLLER_OPTIONS(.name = "website", .reconcile = reconcile, .user = &p, .workers = 2,
                                                 .elector = elector),
                          &controller, &err) ||
        ki_controller_for(controller, &website_resource,
                          &KI_CONTROLLER_WATCH(.informer_options = &KI_INFORMER_OPTIONS(.view = website_fields)),
                          &p.websites, &err) ||
        ki_controller_owns(controller, KI_CONFIGMAPS, NULL, NULL, &err) ||
        ki_controller_owns(controller, KI_DEPLOYMENTS, NULL, &p.deployments, &err) ||
        ki_controller_owns(controller, KI_SERVICES, NULL, NULL, &err) ||
        ki_status_server_new(p.factory, &KI_STATUS_SERVER_OPTIONS(.address = argv[2], .title = manager), &status_server,
                             &err) ||
        ki_factory_run(p.factory, &err)) /* until SIGTERM or SIGINT */
        fprintf(stderr, "website-controller: %s\n", ki_error_message(&err));
    ki_status_server_free(status_server);
    ki_controller_free(controller);
    ki_elector_free(elector);
    ki_factory_free(p.factory);
    ki_config_free(config);
    return err.code ? 1 : 0;
}
