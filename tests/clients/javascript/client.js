// The steps of ../README.md with @kubernetes/client-node: its typed clients, makeInformer, patches.
//
// usage: client.js KUBECONFIG NAMESPACE

import assert from 'node:assert/strict';
import {
    ADD,
    ApiException,
    ApiextensionsV1Api,
    AppsV1Api,
    CONNECT,
    CoreV1Api,
    CustomObjectsApi,
    DELETE,
    ERROR,
    KubeConfig,
    PatchStrategy,
    UPDATE,
    Watch,
    makeInformer,
    setHeaderOptions,
} from '@kubernetes/client-node';

const DEADLINE = 30_000; // ms that an event may take

const [kubeconfig, namespace] = process.argv.slice(2);
const config = new KubeConfig();
config.loadFromFile(kubeconfig);
const core = config.makeApiClient(CoreV1Api);
const apps = config.makeApiClient(AppsV1Api);
const definitions = config.makeApiClient(ApiextensionsV1Api);
const custom = config.makeApiClient(CustomObjectsApi);

const as = (strategy) => setHeaderOptions('Content-Type', strategy);

const map = (name, value, of) => ({ metadata: { name, labels: { of } }, data: { value } });
const createMap = (name, value, of) => core.createNamespacedConfigMap({ namespace, body: map(name, value, of) });
const readMap = (name) => core.readNamespacedConfigMap({ namespace, name });
const patchMap = (name, strategy, body, more = {}) =>
    core.patchNamespacedConfigMap({ namespace, name, body, ...more }, as(strategy));
const names = async (options) =>
    (await core.listNamespacedConfigMap({ namespace, ...options })).items.map((one) => one.metadata.name);

async function refused(code, reason, call) {
    try {
        await call();
    } catch (refusal) {
        if (!(refusal instanceof ApiException)) throw refusal;
        const status = typeof refusal.body === 'string' ? JSON.parse(refusal.body) : refusal.body;
        assert.deepEqual([refusal.code, status.reason], [code, reason], status.message);
        return;
    }
    throw new Error(`not refused with ${code}`);
}

// Waits for the promise until the deadline.
async function inTime(promise, what) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(what())), DEADLINE);
    });
    try {
        return await Promise.race([promise, late]);
    } finally {
        clearTimeout(timer);
    }
}

// Events of an informer, in order, and what to call when an event comes that a step waits for.
const events = [];
const waiting = new Map();

function note(event) {
    events.push(event);
    waiting.get(event)?.();
}

async function awaitEvent(event) {
    if (events.includes(event)) return;
    await inTime(new Promise((resolve) => waiting.set(event, resolve)), () => `no ${event} among ${events}`);
}

// Watches a definition until it is established. The watch begins with an event of what is there.
async function awaitEstablished(name) {
    let request;
    const established = new Promise((resolve, reject) => {
        const onEvent = (_, { status }) => {
            if (status?.conditions?.some((one) => one.type === 'Established' && one.status === 'True')) resolve();
        };
        const onEnd = (failure) => reject(failure ?? new Error('the watch ended'));
        const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
        request = new Watch(config).watch(path, { fieldSelector: `metadata.name=${name}` }, onEvent, onEnd);
    });
    try {
        await inTime(established, () => `${name} is not established`);
    } finally {
        (await request).abort();
    }
}

let informer;
const group = `${namespace}.example.com`;
const things = { group, version: 'v1', namespace, plural: 'things' };
const thing = (name, size) => ({ apiVersion: `${group}/v1`, kind: 'Thing', metadata: { name }, spec: { size } });

const steps = {
    async namespace() {
        await core.createNamespace({ body: { metadata: { name: namespace } } });
    },

    async create() {
        const made = await createMap('first', '1', 'client');
        assert.ok(made.metadata.uid && made.metadata.resourceVersion && made.metadata.creationTimestamp);
        assert.deepEqual(made.data, { value: '1' });
    },

    exists: () => refused(409, 'AlreadyExists', () => createMap('first', '2', 'client')),

    missing: () => refused(404, 'NotFound', () => readMap('none')),

    invalid: () => refused(422, 'Invalid', () => createMap('No_Name', '1', 'client')),

    async 'informer-sync'() {
        const labelSelector = 'of=client';
        informer = makeInformer(
            config,
            `/api/v1/namespaces/${namespace}/configmaps`,
            () => core.listNamespacedConfigMap({ namespace, labelSelector }),
            labelSelector,
        );
        for (const kind of [ADD, UPDATE, DELETE]) {
            informer.on(kind, (one) => note(`${kind} ${one.metadata.name} ${one.data.value}`));
        }
        informer.on(CONNECT, () => note('connect'));
        informer.on(ERROR, (failure) => note(`error ${failure}`));
        await informer.start();
        await awaitEvent('connect');
        await awaitEvent('add first 1');
    },

    async 'informer-add'() {
        await createMap('second', '1', 'client');
        await awaitEvent('add second 1');
    },

    async update() {
        const found = await readMap('second');
        const before = found.metadata.resourceVersion;
        found.data.value = '2';
        const response = await core.replaceNamespacedConfigMap({ namespace, name: 'second', body: found });
        assert.notEqual(response.metadata.resourceVersion, before);
    },

    'informer-update': () => awaitEvent('update second 2'),

    async conflict() {
        const old = await readMap('second');
        await patchMap('second', PatchStrategy.MergePatch, { data: { more: '1' } });
        old.data.value = '3';
        await refused(409, 'Conflict', () =>
            core.replaceNamespacedConfigMap({ namespace, name: 'second', body: old }));
    },

    async selector() {
        await createMap('third', '1', 'nobody');
        assert.deepEqual(await names({ labelSelector: 'of in (client)' }), ['first', 'second']);
        assert.deepEqual(await names({ fieldSelector: 'metadata.name=third' }), ['third']);
    },

    async pages() {
        const all = [];
        let _continue;
        do {
            const page = await core.listNamespacedConfigMap({ namespace, limit: 1, _continue });
            assert.equal(page.items.length, 1);
            all.push(page.items[0].metadata.name);
            _continue = page.metadata._continue;
        } while (_continue);
        assert.deepEqual(all, ['first', 'second', 'third']);
    },

    async 'json-patch'() {
        const patched = await patchMap('third', PatchStrategy.JsonPatch, [
            { op: 'test', path: '/data/value', value: '1' },
            { op: 'add', path: '/data/added', value: 'yes' },
            { op: 'remove', path: '/data/value' },
        ]);
        assert.deepEqual(patched.data, { added: 'yes' });
        const failing = [{ op: 'test', path: '/data/added', value: 'no' }];
        await refused(422, 'Invalid', () => patchMap('third', PatchStrategy.JsonPatch, failing));
    },

    async 'merge-patch'() {
        const patched = await patchMap('third', PatchStrategy.MergePatch, { data: { added: null, merged: 'yes' } });
        assert.deepEqual(patched.data, { merged: 'yes' });
    },

    async 'strategic-patch'() {
        const labels = { app: 'web' };
        const containers = [
            { name: 'web', image: 'web:1' },
            { name: 'side', image: 'side:1' },
        ];
        await apps.createNamespacedDeployment({
            namespace,
            body: {
                metadata: { name: 'web' },
                spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec: { containers } } },
            },
        });
        const body = { spec: { template: { spec: { containers: [{ name: 'side', image: 'side:2' }] } } } };
        const patched = await apps.patchNamespacedDeployment(
            { namespace, name: 'web', body },
            as(PatchStrategy.StrategicMergePatch),
        );
        assert.deepEqual(patched.spec.template.spec.containers.map((one) => one.image).sort(), ['side:2', 'web:1']);
    },

    async apply() {
        const made = await apply('1', { fieldManager: 'one' });
        assert.deepEqual(made.metadata.managedFields.map((one) => [one.manager, one.operation]), [['one', 'Apply']]);
        assert.deepEqual(made.data, { value: '1' });
    },

    async 'apply-conflict'() {
        await refused(409, 'Conflict', () => apply('2', { fieldManager: 'other' }));
        const forced = await apply('2', { fieldManager: 'other', force: true });
        assert.deepEqual(forced.data, { value: '2' });
    },

    async status() {
        const body = { status: { observedGeneration: 7 }, spec: { replicas: 9 } };
        const patched = await apps.patchNamespacedDeploymentStatus(
            { namespace, name: 'web', body },
            as(PatchStrategy.MergePatch),
        );
        assert.deepEqual([patched.status.observedGeneration, patched.spec.replicas], [7, 1]);
    },

    async scale() {
        const body = await apps.readNamespacedDeploymentScale({ namespace, name: 'web' });
        body.spec.replicas = 3;
        await apps.replaceNamespacedDeploymentScale({ namespace, name: 'web', body });
        const web = await apps.readNamespacedDeployment({ namespace, name: 'web' });
        assert.deepEqual([web.spec.replicas, web.metadata.generation], [3, 3]);
    },

    async secret() {
        const body = { metadata: { name: 'secret' }, stringData: { key: 'word' } };
        await core.createNamespacedSecret({ namespace, body });
        const found = await core.readNamespacedSecret({ namespace, name: 'secret' });
        assert.deepEqual([found.data, found.type], [{ key: 'd29yZA==' }, 'Opaque']);
    },

    async finalizer() {
        const body = map('kept', '1', 'nobody');
        body.metadata.finalizers = ['example.com/kept'];
        await core.createNamespacedConfigMap({ namespace, body });
        await core.deleteNamespacedConfigMap({ namespace, name: 'kept' });
        assert.ok((await readMap('kept')).metadata.deletionTimestamp);
        await patchMap('kept', PatchStrategy.MergePatch, { metadata: { finalizers: null } });
        await refused(404, 'NotFound', () => readMap('kept'));
    },

    async delete() {
        await core.deleteNamespacedConfigMap({ namespace, name: 'second' });
        await refused(404, 'NotFound', () => core.deleteNamespacedConfigMap({ namespace, name: 'second' }));
    },

    async 'informer-delete'() {
        await awaitEvent('delete second 2');
        assert.deepEqual(informer.list().map((one) => one.metadata.name), ['first']);
        await informer.stop();
    },

    async 'delete-collection'() {
        await core.deleteCollectionNamespacedConfigMap({ namespace, labelSelector: 'of' });
        assert.deepEqual(await names({ labelSelector: 'of' }), []);
    },

    // Defines a resource, and sees an object of it in an informer.
    async custom() {
        const size = { type: 'integer', minimum: 1 };
        const spec = { type: 'object', properties: { size } };
        const openAPIV3Schema = { type: 'object', properties: { spec } };
        const name = `things.${group}`;
        await definitions.createCustomResourceDefinition({
            body: {
                metadata: { name },
                spec: {
                    group,
                    scope: 'Namespaced',
                    names: { plural: 'things', singular: 'thing', kind: 'Thing' },
                    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } }],
                },
            },
        });
        await awaitEstablished(name);
        // A create comes first: kube-apiserver answers the creates of a new resource only when lists work too.
        await refused(422, 'Invalid', () => custom.createNamespacedCustomObject({ ...things, body: thing('bad', 0) }));
        const list = () => custom.listNamespacedCustomObject(things);
        const seen = makeInformer(config, `/apis/${group}/v1/namespaces/${namespace}/things`, list);
        seen.on(ADD, (one) => note(`thing ${one.metadata.name} ${one.spec.size}`));
        await seen.start();
        await custom.createNamespacedCustomObject({ ...things, body: thing('thing', 1) });
        await awaitEvent('thing thing 1');
        await seen.stop();
        await definitions.deleteCustomResourceDefinition({ name });
    },
};

function apply(value, options) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'applied' }, data: { value } };
    return patchMap('applied', PatchStrategy.ServerSideApply, body, options);
}

let status = 0;
for (const [name, run] of Object.entries(steps)) {
    try {
        await run();
        console.log(`ok ${name}`);
    } catch (failure) {
        status = 1;
        console.log(`failed ${name}: ${String(failure).replace(/\s+/g, ' ')}`);
    }
}
process.exit(status);
