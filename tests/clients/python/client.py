"""The steps of ../README.md with the official client for Python: CRUD, patches, its informer, its leader election.

usage: client.py KUBECONFIG NAMESPACE
"""

import logging
import sys
import threading

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.informer import ADDED, DELETED, MODIFIED, SharedInformer
from kubernetes.leaderelection import electionconfig, leaderelection
from kubernetes.leaderelection.resourcelock.leaselock import LeaseLock

DEADLINE = 30  # seconds that an event may take

JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_PATCH = "application/strategic-merge-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"


class Failed(Exception):
    """A step's response is not what it must be."""


def must(condition, text):
    if not condition:
        raise Failed(text)


def must_refuse(code, reason, call):
    """Calls what the server must refuse, with this code and reason."""
    try:
        call()
    except ApiException as refusal:
        must(refusal.status == code, f"status {refusal.status}, not {code}: {refusal.body}")
        must(f'"reason":"{reason}"' in str(refusal.body), f"no reason {reason}: {refusal.body}")
        return
    raise Failed(f"not refused with {code}")


class Events:
    """The events of an informer, in order; a step waits for the one that it causes."""

    def __init__(self):
        self.seen = []
        self.changed = threading.Condition()

    def handler(self, kind):
        def handle(obj):
            with self.changed:
                self.seen.append((kind, obj.metadata.name, (obj.data or {}).get("value")))
                self.changed.notify_all()

        return handle

    def wait(self, *event):
        with self.changed:
            must(self.changed.wait_for(lambda: event in self.seen, DEADLINE), f"no {event} among {self.seen}")


class Client:
    def __init__(self, namespace):
        self.namespace = namespace
        self.core = client.CoreV1Api()
        self.apps = client.AppsV1Api()
        self.events = Events()
        self.informer = None

    def config_map(self, name, value, labels=None):
        return client.V1ConfigMap(metadata=client.V1ObjectMeta(name=name, labels=labels), data={"value": value})

    def create_config_map(self, name, value, labels=None):
        return self.core.create_namespaced_config_map(self.namespace, self.config_map(name, value, labels))

    def patch_config_map(self, name, patch, content_type, **arguments):
        return self.core.patch_namespaced_config_map(
            name, self.namespace, patch, _content_type=content_type, **arguments
        )

    # The steps, in the order in which they run.

    def namespace_(self):
        self.core.create_namespace(client.V1Namespace(metadata=client.V1ObjectMeta(name=self.namespace)))

    def create(self):
        made = self.create_config_map("first", "1", {"of": "client"})
        must(made.metadata.uid and made.metadata.resource_version and made.metadata.creation_timestamp, f"{made.metadata}")
        must(made.data == {"value": "1"}, f"{made.data}")

    def exists(self):
        must_refuse(409, "AlreadyExists", lambda: self.create_config_map("first", "2"))

    def missing(self):
        must_refuse(404, "NotFound", lambda: self.core.read_namespaced_config_map("none", self.namespace))

    def invalid(self):
        must_refuse(422, "Invalid", lambda: self.create_config_map("No_Name", "1"))

    def informer_sync(self):
        self.informer = SharedInformer(self.core.list_namespaced_config_map, self.namespace, label_selector="of=client")
        for kind in (ADDED, MODIFIED, DELETED):
            self.informer.add_event_handler(kind, self.events.handler(kind))
        self.informer.start()
        self.events.wait(ADDED, "first", "1")

    def informer_add(self):
        self.create_config_map("second", "1", {"of": "client"})
        self.events.wait(ADDED, "second", "1")

    def update(self):
        changed = self.core.read_namespaced_config_map("second", self.namespace)
        changed.data["value"] = "2"
        response = self.core.replace_namespaced_config_map("second", self.namespace, changed)
        must(response.metadata.resource_version != changed.metadata.resource_version, "the version stayed")

    def informer_update(self):
        self.events.wait(MODIFIED, "second", "2")

    def conflict(self):
        old = self.core.read_namespaced_config_map("second", self.namespace)
        self.patch_config_map("second", {"data": {"more": "1"}}, MERGE_PATCH)
        old.data["value"] = "3"
        must_refuse(
            409, "Conflict", lambda: self.core.replace_namespaced_config_map("second", self.namespace, old)
        )

    def selector(self):
        self.create_config_map("third", "1", {"of": "nobody"})
        found = self.core.list_namespaced_config_map(self.namespace, label_selector="of in (client)").items
        must([one.metadata.name for one in found] == ["first", "second"], f"{[one.metadata.name for one in found]}")
        found = self.core.list_namespaced_config_map(self.namespace, field_selector="metadata.name=third").items
        must([one.metadata.name for one in found] == ["third"], f"{[one.metadata.name for one in found]}")

    def pages(self):
        names, token = [], None
        while True:
            page = self.core.list_namespaced_config_map(self.namespace, limit=1, _continue=token)
            must(len(page.items) == 1, f"a page of {len(page.items)}")
            names += [one.metadata.name for one in page.items if one.metadata.name != "kube-root-ca.crt"]
            token = page.metadata._continue
            if not token:
                break
        must(names == ["first", "second", "third"], f"{names}")

    def json_patch(self):
        patch = [
            {"op": "test", "path": "/data/value", "value": "1"},
            {"op": "add", "path": "/data/added", "value": "yes"},
            {"op": "remove", "path": "/data/value"},
        ]
        patched = self.patch_config_map("third", patch, JSON_PATCH)
        must(patched.data == {"added": "yes"}, f"{patched.data}")
        failing = [{"op": "test", "path": "/data/added", "value": "no"}]
        must_refuse(422, "Invalid", lambda: self.patch_config_map("third", failing, JSON_PATCH))

    def merge_patch(self):
        patched = self.patch_config_map("third", {"data": {"added": None, "merged": "yes"}}, MERGE_PATCH)
        must(patched.data == {"merged": "yes"}, f"{patched.data}")

    def strategic_patch(self):
        labels = {"app": "web"}
        self.apps.create_namespaced_deployment(
            self.namespace,
            client.V1Deployment(
                metadata=client.V1ObjectMeta(name="web"),
                spec=client.V1DeploymentSpec(
                    selector=client.V1LabelSelector(match_labels=labels),
                    template=client.V1PodTemplateSpec(
                        metadata=client.V1ObjectMeta(labels=labels),
                        spec=client.V1PodSpec(
                            containers=[
                                client.V1Container(name="web", image="web:1"),
                                client.V1Container(name="side", image="side:1"),
                            ]
                        ),
                    ),
                ),
            ),
        )
        patch = {"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}}}
        patched = self.apps.patch_namespaced_deployment(
            "web", self.namespace, patch, _content_type=STRATEGIC_PATCH
        )
        images = sorted(one.image for one in patched.spec.template.spec.containers)
        must(images == ["side:2", "web:1"], f"{images}")

    def apply_patch(self, value, manager, force=None):
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "applied"},
            "data": {"value": value},
        }
        return self.patch_config_map("applied", body, APPLY_PATCH, field_manager=manager, force=force)

    def apply(self):
        made = self.apply_patch("1", "one")
        must(made.data == {"value": "1"}, f"{made.data}")
        entries = [(one.manager, one.operation) for one in made.metadata.managed_fields]
        must(entries == [("one", "Apply")], f"{entries}")

    def apply_conflict(self):
        must_refuse(409, "Conflict", lambda: self.apply_patch("2", "other"))
        must(self.apply_patch("2", "other", force=True).data == {"value": "2"}, "not applied by force")

    def status(self):
        patch = {"status": {"observedGeneration": 7}, "spec": {"replicas": 9}}
        patched = self.apps.patch_namespaced_deployment_status(
            "web", self.namespace, patch, _content_type=MERGE_PATCH
        )
        must(patched.status.observed_generation == 7, f"{patched.status}")
        must(patched.spec.replicas == 1, f"{patched.spec.replicas} replicas")

    def scale(self):
        scale = self.apps.read_namespaced_deployment_scale("web", self.namespace)
        scale.spec.replicas = 3
        self.apps.replace_namespaced_deployment_scale("web", self.namespace, scale)
        web = self.apps.read_namespaced_deployment("web", self.namespace)
        must(web.spec.replicas == 3 and web.metadata.generation == 3, f"{web.spec.replicas}, {web.metadata.generation}")

    def secret(self):
        self.core.create_namespaced_secret(
            self.namespace, client.V1Secret(metadata=client.V1ObjectMeta(name="secret"), string_data={"key": "word"})
        )
        found = self.core.read_namespaced_secret("secret", self.namespace)
        must(found.data == {"key": "d29yZA=="} and found.type == "Opaque", f"{found.data} {found.type}")

    def finalizer(self):
        body = self.config_map("kept", "1")
        body.metadata.finalizers = ["example.com/kept"]
        self.core.create_namespaced_config_map(self.namespace, body)
        self.core.delete_namespaced_config_map("kept", self.namespace)
        must(
            self.core.read_namespaced_config_map("kept", self.namespace).metadata.deletion_timestamp,
            "no time of deletion",
        )
        self.patch_config_map("kept", {"metadata": {"finalizers": None}}, MERGE_PATCH)
        must_refuse(404, "NotFound", lambda: self.core.read_namespaced_config_map("kept", self.namespace))

    def delete(self):
        self.core.delete_namespaced_config_map("second", self.namespace)
        must_refuse(404, "NotFound", lambda: self.core.delete_namespaced_config_map("second", self.namespace))

    def informer_delete(self):
        self.events.wait(DELETED, "second", "2")
        must(self.informer.cache.list_keys() == [f"{self.namespace}/first"], f"{self.informer.cache.list_keys()}")
        self.informer.stop()

    def delete_collection(self):
        self.core.delete_collection_namespaced_config_map(self.namespace, label_selector="of")
        left = self.core.list_namespaced_config_map(self.namespace, label_selector="of").items
        must(not left, f"{len(left)} left")

    def custom(self):
        """A definition made with the typed client, objects with the dynamic one, which reads the server's discovery."""
        group = f"{self.namespace}.example.com"
        schema = client.V1JSONSchemaProps(
            type="object",
            properties={
                "spec": client.V1JSONSchemaProps(
                    type="object", properties={"size": client.V1JSONSchemaProps(type="integer", minimum=1)}
                )
            },
        )
        definitions = client.ApiextensionsV1Api()
        definitions.create_custom_resource_definition(
            client.V1CustomResourceDefinition(
                metadata=client.V1ObjectMeta(name=f"things.{group}"),
                spec=client.V1CustomResourceDefinitionSpec(
                    group=group,
                    scope="Namespaced",
                    names=client.V1CustomResourceDefinitionNames(plural="things", singular="thing", kind="Thing"),
                    versions=[
                        client.V1CustomResourceDefinitionVersion(
                            name="v1",
                            served=True,
                            storage=True,
                            schema=client.V1CustomResourceValidation(open_apiv3_schema=schema),
                        )
                    ],
                ),
            )
        )
        await_established(definitions, f"things.{group}")
        body = {"apiVersion": f"{group}/v1", "kind": "Thing", "metadata": {"name": "thing"}, "spec": {"size": 1}}
        bad = body | {"metadata": {"name": "bad"}, "spec": {"size": 0}}
        # A create comes first: kube-apiserver answers the creates of a new resource only when lists and discovery work too.
        must_refuse(
            422,
            "Invalid",
            lambda: client.CustomObjectsApi().create_namespaced_custom_object(
                group, "v1", self.namespace, "things", bad
            ),
        )
        things = dynamic.DynamicClient(client.ApiClient()).resources.get(api_version=f"{group}/v1", kind="Thing")
        must_refuse(422, "Invalid", lambda: things.create(body=bad, namespace=self.namespace))
        things.create(body=body, namespace=self.namespace)
        event = next(things.watch(namespace=self.namespace, timeout=DEADLINE), None)
        must(event, "no event")
        seen = event["type"], event["object"].metadata.name, event["object"].spec.size
        must(seen == ("ADDED", "thing", 1), f"{seen}")
        definitions.delete_custom_resource_definition(f"things.{group}")

    def leader(self):
        self.leading = {name: threading.Event() for name in ("one", "two")}
        self.leave = {name: threading.Event() for name in self.leading}
        self.elections = {}
        self.candidate("one")
        must(self.leading["one"].wait(DEADLINE), "nobody leads")
        self.candidate("two")
        must(self.holder() == "one", f"{self.holder()} holds the lease")

    def leader_takeover(self):
        self.leave["one"].set()
        must(self.leading["two"].wait(DEADLINE), "the second one does not lead")
        must(self.holder() == "two", f"{self.holder()} holds the lease")
        self.leave["two"].set()
        for name, election in self.elections.items():
            election.join(DEADLINE)
            must(not election.is_alive(), f"candidate {name} does not end")

    def holder(self):
        return client.CoordinationV1Api().read_namespaced_lease("lock", self.namespace).spec.holder_identity

    def candidate(self, name):
        """Starts a candidate. A leader that is to leave fails, which ends its election."""

        def lead():
            self.leading[name].set()
            self.leave[name].wait()
            raise Failed("leaves")

        election = leaderelection.LeaderElection(
            electionconfig.Config(
                LeaseLock("lock", self.namespace, name),
                lease_duration=4,
                renew_deadline=3,
                retry_period=1,
                onstarted_leading=lead,
                onstopped_leading=lambda: None,
            )
        )
        self.elections[name] = threading.Thread(target=election.run, daemon=True)
        self.elections[name].start()


def is_established(definition):
    conditions = (definition.status and definition.status.conditions) or []
    return any(one.type == "Established" and one.status == "True" for one in conditions)


def await_established(definitions, name):
    """Watches the definition. The watch begins with an event of what is there."""
    events = watch.Watch().stream(
        definitions.list_custom_resource_definition, field_selector=f"metadata.name={name}", timeout_seconds=DEADLINE
    )
    must(any(is_established(event["object"]) for event in events), f"{name} is not established")


def main():
    kubeconfig, namespace = sys.argv[1:]
    config.load_kube_config(kubeconfig)
    for name in ("leaderelection", "kubernetes.informer.informer"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    steps = Client(namespace)
    failures = 0
    for name in (
        "namespace",
        "create",
        "exists",
        "missing",
        "invalid",
        "informer-sync",
        "informer-add",
        "update",
        "informer-update",
        "conflict",
        "selector",
        "pages",
        "json-patch",
        "merge-patch",
        "strategic-patch",
        "apply",
        "apply-conflict",
        "status",
        "scale",
        "secret",
        "finalizer",
        "delete",
        "informer-delete",
        "delete-collection",
        "custom",
        "leader",
        "leader-takeover",
    ):
        method = "namespace_" if name == "namespace" else name.replace("-", "_")
        try:
            getattr(steps, method)()
            print(f"ok {name}", flush=True)
        except Exception as failure:  # whatever goes wrong is this step's failure
            failures += 1
            text = " ".join(f"{type(failure).__name__}: {failure}".split())
            print(f"failed {name}: {text}", flush=True)
    sys.exit(1 if failures else 0)


main()
