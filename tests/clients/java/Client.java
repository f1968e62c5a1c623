import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.ConfigMapBuilder;
import io.fabric8.kubernetes.api.model.ConfigMapList;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.ListOptionsBuilder;
import io.fabric8.kubernetes.api.model.NamespaceBuilder;
import io.fabric8.kubernetes.api.model.Secret;
import io.fabric8.kubernetes.api.model.SecretBuilder;
import io.fabric8.kubernetes.api.model.apiextensions.v1.CustomResourceDefinition;
import io.fabric8.kubernetes.api.model.apps.Deployment;
import io.fabric8.kubernetes.api.model.apps.DeploymentBuilder;
import io.fabric8.kubernetes.client.Config;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.dsl.MixedOperation;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.io.File;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/**
 * The steps of ../README.md with the client of fabric8, whose informers watch over WebSockets.
 *
 * <p>usage: Client KUBECONFIG NAMESPACE
 */
final class Client {
    private static final Duration LEASE = Duration.ofSeconds(4);
    private static final Duration RENEW = Duration.ofSeconds(3);
    private static final Duration RETRY = Duration.ofSeconds(1);

    private final KubernetesClient client;
    private final String namespace;
    private final NonNamespaceOperation<ConfigMap, ConfigMapList, Resource<ConfigMap>> maps;
    private final Steps.Events events = new Steps.Events();
    private final Steps.Events leading = new Steps.Events();
    private SharedIndexInformer<ConfigMap> informer;
    private CompletableFuture<?> first;

    private Client(KubernetesClient client, String namespace) {
        this.client = client;
        this.namespace = namespace;
        this.maps = client.configMaps().inNamespace(namespace);
    }

    public static void main(String[] arguments) {
        if (arguments.length != 2) {
            System.err.println("usage: Client KUBECONFIG NAMESPACE");
            System.exit(2);
        }
        Config config = Config.fromKubeconfig(new File(arguments[0]));
        // The steps expect the first response, not that of a retry.
        config.setRequestRetryBackoffLimit(0);
        Steps steps = new Steps();
        try (KubernetesClient client = new KubernetesClientBuilder().withConfig(config).build()) {
            new Client(client, arguments[1]).run(steps);
        }
        System.exit(steps.allOk() ? 0 : 1);
    }

    private void run(Steps steps) {
        steps.run("namespace", this::makeNamespace);
        steps.run("create", this::create);
        steps.run("exists", () -> Steps.refused(409, "AlreadyExists", () -> createMap("first", "2", "client")));
        steps.run("missing", this::missing);
        steps.run("invalid", () -> Steps.refused(422, "Invalid", () -> createMap("No_Name", "1", "client")));
        steps.run("informer-sync", this::informerSync);
        steps.run("informer-add", this::informerAdd);
        steps.run("update", this::update);
        steps.run("informer-update", () -> events.await("update second 2"));
        steps.run("conflict", this::conflict);
        steps.run("selector", this::selector);
        steps.run("pages", this::pages);
        steps.run("json-patch", this::jsonPatch);
        steps.run("merge-patch", this::mergePatch);
        steps.run("strategic-patch", this::strategicPatch);
        steps.run("apply", this::apply);
        steps.run("apply-conflict", this::applyConflict);
        steps.run("status", this::status);
        steps.run("scale", this::scale);
        steps.run("secret", this::secret);
        steps.run("finalizer", this::finalizer);
        steps.run("delete", this::delete);
        steps.run("informer-delete", this::informerDelete);
        steps.run("delete-collection", this::deleteCollection);
        steps.run("custom", this::custom);
        steps.run("leader", this::leader);
        steps.run("leader-takeover", this::leaderTakeover);
    }

    private static ConfigMap map(String name, String value, String of) {
        return new ConfigMapBuilder()
                .withNewMetadata().withName(name).addToLabels("of", of).endMetadata()
                .addToData("value", value)
                .build();
    }

    private ConfigMap createMap(String name, String value, String of) {
        return maps.resource(map(name, value, of)).create();
    }

    private ConfigMap patch(String name, PatchType type, String patch) {
        return maps.withName(name).patch(PatchContext.of(type), patch);
    }

    private void makeNamespace() {
        client.namespaces()
                .resource(new NamespaceBuilder().withNewMetadata().withName(namespace).endMetadata().build())
                .create();
    }

    private void create() {
        ConfigMap made = createMap("first", "1", "client");
        Steps.equal("has a uid", made.getMetadata().getUid() != null, true);
        Steps.equal("has a version", made.getMetadata().getResourceVersion() != null, true);
        Steps.equal("has a time", made.getMetadata().getCreationTimestamp() != null, true);
        Steps.equal("data", made.getData(), Map.of("value", "1"));
    }

    private void missing() throws Exception {
        Steps.equal("found", maps.withName("none").get(), null);
        Steps.refused(404, "NotFound", () -> patch("none", PatchType.JSON_MERGE, "{}"));
    }

    private void informerSync() throws Exception {
        informer = maps.withLabel("of", "client").inform(handler(map -> map.getData().get("value")));
        Steps.equal("synced", informer.hasSynced(), true);
        events.await("add first 1");
    }

    /** Returns a handler that adds events: kind, name and value of the object. */
    private <T extends HasMetadata> ResourceEventHandler<T> handler(Function<T, Object> value) {
        return new ResourceEventHandler<T>() {
            @Override
            public void onAdd(T found) {
                event("add", found);
            }

            @Override
            public void onUpdate(T old, T found) {
                event("update", found);
            }

            @Override
            public void onDelete(T found, boolean finalStateUnknown) {
                event("delete", found);
            }

            private void event(String kind, T found) {
                events.add(kind + " " + found.getMetadata().getName() + " " + value.apply(found));
            }
        };
    }

    private void informerAdd() throws Exception {
        createMap("second", "1", "client");
        events.await("add second 1");
    }

    private void update() {
        ConfigMap found = maps.withName("second").get();
        ConfigMap changed = new ConfigMapBuilder(found).addToData("value", "2").build();
        ConfigMap response = maps.resource(changed).update();
        Steps.equal("the version stayed",
                response.getMetadata().getResourceVersion().equals(found.getMetadata().getResourceVersion()), false);
    }

    private void conflict() throws Exception {
        ConfigMap old = maps.withName("second").get();
        patch("second", PatchType.JSON_MERGE, "{\"data\":{\"more\":\"1\"}}");
        ConfigMap changed = new ConfigMapBuilder(old).addToData("value", "3").build();
        Steps.refused(409, "Conflict", () -> maps.resource(changed).update());
    }

    private static List<String> names(ConfigMapList list) {
        return list.getItems().stream().map(map -> map.getMetadata().getName()).toList();
    }

    private void selector() {
        createMap("third", "1", "nobody");
        Steps.equal("by label", names(maps.withLabelIn("of", "client").list()), List.of("first", "second"));
        Steps.equal("by field", names(maps.withField("metadata.name", "third").list()), List.of("third"));
    }

    private void pages() {
        List<String> all = new ArrayList<>();
        String next = null;
        do {
            ConfigMapList page = maps.list(new ListOptionsBuilder().withLimit(1L).withContinue(next).build());
            Steps.equal("items of a page", page.getItems().size(), 1);
            all.addAll(names(page));
            next = page.getMetadata().getContinue();
        } while (next != null && !next.isEmpty());
        Steps.equal("names", all, List.of("first", "second", "third"));
    }

    private void jsonPatch() throws Exception {
        ConfigMap patched = patch("third", PatchType.JSON, "[{\"op\":\"test\",\"path\":\"/data/value\",\"value\":\"1\"},"
                + "{\"op\":\"add\",\"path\":\"/data/added\",\"value\":\"yes\"},{\"op\":\"remove\",\"path\":\"/data/value\"}]");
        Steps.equal("data", patched.getData(), Map.of("added", "yes"));
        Steps.refused(422, "Invalid", () -> patch("third", PatchType.JSON,
                "[{\"op\":\"test\",\"path\":\"/data/added\",\"value\":\"no\"}]"));
        // The client itself computes a JSON patch from an edit.
        ConfigMap edited = maps.withName("third").edit(map -> new ConfigMapBuilder(map).addToData("edited", "yes").build());
        Steps.equal("edited", edited.getData(), Map.of("added", "yes", "edited", "yes"));
    }

    private void mergePatch() {
        ConfigMap patched = patch("third", PatchType.JSON_MERGE,
                "{\"data\":{\"added\":null,\"edited\":null,\"merged\":\"yes\"}}");
        Steps.equal("data", patched.getData(), Map.of("merged", "yes"));
    }

    private Resource<Deployment> web() {
        return client.apps().deployments().inNamespace(namespace).withName("web");
    }

    private void strategicPatch() {
        Deployment web = new DeploymentBuilder()
                .withNewMetadata().withName("web").withNamespace(namespace).endMetadata()
                .withNewSpec()
                .withNewSelector().addToMatchLabels("app", "web").endSelector()
                .withNewTemplate()
                .withNewMetadata().addToLabels("app", "web").endMetadata()
                .withNewSpec()
                .addNewContainer().withName("web").withImage("web:1").endContainer()
                .addNewContainer().withName("side").withImage("side:1").endContainer()
                .endSpec()
                .endTemplate()
                .endSpec()
                .build();
        client.resource(web).create();
        Deployment patched = web().patch(PatchContext.of(PatchType.STRATEGIC_MERGE),
                "{\"spec\":{\"template\":{\"spec\":{\"containers\":[{\"name\":\"side\",\"image\":\"side:2\"}]}}}}");
        List<String> images = patched.getSpec().getTemplate().getSpec().getContainers().stream()
                .map(container -> container.getImage()).sorted().toList();
        Steps.equal("images", images, List.of("side:2", "web:1"));
    }

    private static ConfigMap applied(String value) {
        return new ConfigMapBuilder().withNewMetadata().withName("applied").endMetadata().addToData("value", value).build();
    }

    private void apply() {
        ConfigMap made = maps.resource(applied("1")).fieldManager("one").serverSideApply();
        List<String> managers = made.getMetadata().getManagedFields().stream()
                .map(entry -> entry.getManager() + " " + entry.getOperation()).toList();
        Steps.equal("managers", managers, List.of("one Apply"));
        Steps.equal("data", made.getData(), Map.of("value", "1"));
    }

    private void applyConflict() throws Exception {
        Steps.refused(409, "Conflict", () -> maps.resource(applied("2")).fieldManager("other").serverSideApply());
        ConfigMap forced = maps.resource(applied("2")).fieldManager("other").forceConflicts().serverSideApply();
        Steps.equal("data", forced.getData(), Map.of("value", "2"));
    }

    private void status() {
        Deployment patched = web().subresource("status").patch(PatchContext.of(PatchType.JSON_MERGE),
                "{\"status\":{\"observedGeneration\":7},\"spec\":{\"replicas\":9}}");
        Steps.equal("observed", patched.getStatus().getObservedGeneration(), 7L);
        Steps.equal("replicas", patched.getSpec().getReplicas(), 1);
    }

    private void scale() {
        client.apps().deployments().inNamespace(namespace).withName("web").scale(3);
        Deployment web = web().get();
        Steps.equal("replicas", web.getSpec().getReplicas(), 3);
        Steps.equal("generation", web.getMetadata().getGeneration(), 3L);
    }

    private void secret() {
        Secret secret = new SecretBuilder()
                .withNewMetadata().withName("secret").withNamespace(namespace).endMetadata()
                .addToStringData("key", "word")
                .build();
        client.resource(secret).create();
        Secret found = client.secrets().inNamespace(namespace).withName("secret").get();
        Steps.equal("data", found.getData(), Map.of("key", "d29yZA=="));
        Steps.equal("type", found.getType(), "Opaque");
    }

    private void finalizer() {
        ConfigMap kept = map("kept", "1", "nobody");
        kept.addFinalizer("example.com/kept");
        maps.resource(kept).create();
        maps.withName("kept").delete();
        ConfigMap found = maps.withName("kept").get();
        Steps.equal("is being deleted", found.isMarkedForDeletion(), true);
        patch("kept", PatchType.JSON_MERGE, "{\"metadata\":{\"finalizers\":null}}");
        Steps.equal("found", maps.withName("kept").get(), null);
    }

    private void delete() {
        Steps.equal("deleted", maps.withName("second").delete().size(), 1);
        Steps.equal("deleted again", maps.withName("second").delete().size(), 0);
    }

    private void informerDelete() throws Exception {
        events.await("delete second 2");
        Steps.equal("stored", informer.getStore().listKeys(), List.of(namespace + "/first"));
        informer.close();
    }

    private void deleteCollection() {
        maps.withLabel("of").delete();
        Steps.equal("left", names(maps.withLabel("of").list()), List.of());
    }

    /** Defines a resource, and sees an object of it in an informer of generic resources. */
    private void custom() throws Exception {
        String group = namespace + ".example.com";
        String text = String.join("\n",
                "apiVersion: apiextensions.k8s.io/v1", "kind: CustomResourceDefinition", "metadata: {name: things." + group + "}",
                "spec:", "  group: " + group, "  scope: Namespaced", "  names: {plural: things, singular: thing, kind: Thing}",
                "  versions:", "  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, properties: {spec:",
                "      {type: object, properties: {size: {type: integer, minimum: 1}}}}}}}");
        var definition = client.resource((CustomResourceDefinition)
                client.getKubernetesSerialization().unmarshal(text));
        definition.create();
        definition.waitUntilCondition(found -> found != null && found.getStatus() != null
                && found.getStatus().getConditions().stream()
                .anyMatch(one -> one.getType().equals("Established") && one.getStatus().equals("True")),
                Steps.DEADLINE_SECONDS, TimeUnit.SECONDS);
        ResourceDefinitionContext context = new ResourceDefinitionContext.Builder()
                .withGroup(group).withVersion("v1").withKind("Thing").withPlural("things").withNamespaced(true).build();
        MixedOperation<GenericKubernetesResource, ?, Resource<GenericKubernetesResource>> things =
                client.genericKubernetesResources(context);
        // A create comes first: kube-apiserver answers the creates of a new resource only when lists work too.
        Steps.refused(422, "Invalid", () -> things.inNamespace(namespace).resource(thing(group, "bad", 0)).create());
        try (var all = things.inNamespace(namespace).inform(handler(thing -> thing.get("spec", "size")))) {
            things.inNamespace(namespace).resource(thing(group, "thing", 1)).create();
            events.await("add thing 1");
            Steps.equal("stored", all.getStore().listKeys(), List.of(namespace + "/thing"));
        }
        definition.delete();
    }

    private static GenericKubernetesResource thing(String group, String name, int size) {
        GenericKubernetesResource thing = new GenericKubernetesResource();
        thing.setApiVersion(group + "/v1");
        thing.setKind("Thing");
        thing.setMetadata(new io.fabric8.kubernetes.api.model.ObjectMetaBuilder().withName(name).build());
        thing.setAdditionalProperty("spec", Map.of("size", size));
        return thing;
    }

    private void leader() throws Exception {
        first = candidate("one");
        leading.await("one leads");
        Steps.equal("holder", holder(), "one");
        candidate("two");
    }

    private void leaderTakeover() throws Exception {
        first.cancel(true);
        leading.await("two leads");
        Steps.equal("holder", holder(), "two");
    }

    private String holder() {
        return client.leases().inNamespace(namespace).withName("lock").get().getSpec().getHolderIdentity();
    }

    /** Starts a candidate, which gives the lease back when it is cancelled. */
    private CompletableFuture<?> candidate(String name) {
        return client.leaderElector().withConfig(new LeaderElectionConfigBuilder()
                .withName("clients").withLock(new LeaseLock(namespace, "lock", name))
                .withLeaseDuration(LEASE).withRenewDeadline(RENEW).withRetryPeriod(RETRY).withReleaseOnCancel(true)
                .withLeaderCallbacks(new LeaderCallbacks(() -> leading.add(name + " leads"), () -> { }, leader -> { }))
                .build()).build().start();
    }
}
