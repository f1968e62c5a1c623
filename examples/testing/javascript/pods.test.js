// Pods followed with @kubernetes/client-node's informer, tested against `kinformer serve`, without a sleep.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { after, afterEach, before, beforeEach, test } from 'node:test';
import { createInterface } from 'node:readline';
import { CoreV1Api, KubeConfig, PatchStrategy, makeInformer, setHeaderOptions } from '@kubernetes/client-node';

const namespace = 'shop';

// The program under test: calls `see` with "NAME PHASE" for each pod that is new or has changed. Returns what stops it.
async function followPods(config, see) {
    const core = config.makeApiClient(CoreV1Api);
    const list = () => core.listNamespacedPod({ namespace });
    const informer = makeInformer(config, `/api/v1/namespaces/${namespace}/pods`, list);
    let stopped = false;
    for (const verb of ['add', 'update']) informer.on(verb, (pod) => see(`${pod.metadata.name} ${pod.status.phase}`));
    informer.on('error', () => setTimeout(() => stopped || informer.start(), 1000));
    await informer.start();
    return () => {
        stopped = true;
        return informer.stop();
    };
}

let server, url, core, config, stop;
const seen = []; // lines that no see() has taken
let taker = null;

const see = () => (seen.length ? seen.shift() : new Promise((resolve) => (taker = resolve)));

function note(line) {
    if (taker) taker(line);
    else seen.push(line);
    taker = null;
}

async function api(method, path, body) {
    const response = await fetch(url + path, { method, body });
    const answer = await response.json();
    assert.ok(response.ok, answer.message);
    return answer;
}

const setPhase = (name, phase) =>
    core.patchNamespacedPodStatus(
        { namespace, name, body: { status: { phase } } },
        setHeaderOptions('Content-Type', PatchStrategy.MergePatch),
    );

before(async () => {
    server = spawn('kinformer', ['serve', '--until-eof', '--load', new URL('../pods.yaml', import.meta.url).pathname], {
        stdio: ['pipe', 'pipe', 'ignore'],
    });
    [url] = await once(createInterface(server.stdout), 'line');
    url = url.split(' ')[1]; // "serving http://127.0.0.1:41231"
    config = new KubeConfig();
    config.loadFromClusterAndUser({ name: 'test', server: url, skipTLSVerify: true }, { name: 'test' });
    core = config.makeApiClient(CoreV1Api);
});

after(() => server.stdin.end());

beforeEach(async () => {
    stop = await followPods(config, note);
    assert.deepEqual([await see(), await see()].sort(), ['cart-1 Pending', 'cart-2 Running']);
    await api('GET', '/_wait?watches=pods');
});

afterEach(async () => {
    await api('GET', '/_wait?watches=pods');
    await stop();
    await api('POST', '/_faults', 'close-watches'); // makeInformer leaves a watch that it is opening
    await api('GET', '/_wait?watches=pods&count=0');
    await api('POST', '/_reset');
});

test('a start is seen though the watch ends and the server fails twice', async () => {
    const fault = await api('POST', '/_faults', 'status,code=500,verb=list+watch,resource=pods,count=2');
    await api('POST', '/_faults', 'close-watches');
    await api('GET', `/_wait?fault=${fault.id}&count=2`);
    await setPhase('cart-1', 'Running');
    assert.equal(await see(), 'cart-1 Running');
    const { requests } = await api('GET', '/_requests?verb=list+watch&resource=pods');
    assert.equal(requests.filter((request) => request.status === 500).length, 2);
});

test('the next test has the pods of the start and no faults', async () => {
    assert.deepEqual(await api('GET', '/_faults'), { faults: [] });
    await setPhase('cart-2', 'Failed');
    assert.equal(await see(), 'cart-2 Failed');
});
