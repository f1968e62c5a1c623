//! kube's program of bench/peers (README.md there): reflectors of pods whose changes are read for one annotation. The programs of
//! kinformer and client-go have the same command line, input and output.

use std::collections::HashMap;
use std::fmt::Debug;
use std::future::Future;
use std::hash::Hash;
use std::io::BufRead;
use std::pin::pin;
use std::sync::Mutex;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{ApiResource, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::{self, store::Writer};
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde::de::DeserializeOwned;

type Error = Box<dyn std::error::Error + Send + Sync>;

const STAMP: &str = "bench/changed-at-ns";
/// Changes that wait for a handler, of several.
const BUFFER: usize = 1000;

/// The changes since the last line on the standard input.
struct Changes {
    received: usize,
    expected: usize,
    delays: Option<Vec<i64>>,
}

static CHANGES: Mutex<Changes> = Mutex::new(Changes { received: 0, expected: 0, delays: None });

fn count<K: Resource>(pod: &K) {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as i64;
    let at = pod.annotations().get(STAMP).and_then(|at| at.parse().ok()).unwrap_or(0);
    let mut guard = CHANGES.lock().unwrap();
    let changes = &mut *guard;
    if let Some(delays) = changes.delays.as_mut().filter(|delays| delays.len() < changes.expected) {
        delays.push(now - at);
    }
    changes.received += 1;
    if changes.received == changes.expected {
        let n = changes.expected;
        match &mut changes.delays {
            None => println!("received {n}"),
            Some(delays) => {
                delays.sort_unstable();
                println!(
                    "received {n} {} {} {} {}",
                    delays[n / 2],
                    delays[n * 99 / 100],
                    delays[n * 999 / 1000],
                    delays[n - 1]
                );
            }
        }
    }
}

fn expect(expected: usize, timed: bool) {
    let delays = timed.then(|| Vec::with_capacity(expected));
    *CHANGES.lock().unwrap() = Changes { received: 0, expected, delays };
    println!("expecting");
}

#[derive(Clone)]
struct Settings {
    managed_fields: bool,
    handlers: usize,
    synced: tokio::sync::mpsc::UnboundedSender<()>,
}

/// Stores the events of one watch. Calls `seen` for each of them.
async fn reflect<K, S>(
    events: S,
    writer: Writer<K>,
    keep_managed_fields: bool,
    seen: impl Fn(&Event<K>),
) -> Result<(), Error>
where
    K: Resource + Clone + Debug + Send + Sync + DeserializeOwned + 'static,
    K::DynamicType: Clone + Eq + Hash + Send + Sync,
    S: Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
{
    let events = events.default_backoff().modify(move |pod| {
        if !keep_managed_fields {
            pod.managed_fields_mut().clear();
        }
    });
    let mut events = pin!(reflector::reflector(writer, events));
    while let Some(event) = events.next().await {
        match event {
            Ok(event) => seen(&event),
            Err(err) => eprintln!("kube-rs: {err}"),
        }
    }
    Ok(())
}

/// One handler: the stream itself is read, as most programs do.
async fn reflect_for_one<K, S>(events: S, kind: K::DynamicType, settings: Settings) -> Result<(), Error>
where
    K: Resource + Clone + Debug + Send + Sync + DeserializeOwned + 'static,
    K::DynamicType: Clone + Eq + Hash + Send + Sync,
    S: Stream<Item = Result<Event<K>, watcher::Error>> + Send + 'static,
{
    let seen = move |event: &Event<K>| match event {
        Event::Apply(pod) => count(pod),
        Event::InitDone => _ = settings.synced.send(()),
        _ => {}
    };
    reflect(events, Writer::new(kind), settings.managed_fields, seen).await
}

/// Several handlers: each has a subscription, which begins with all objects.
async fn reflect_for_several<S>(events: S, settings: Settings) -> Result<(), Error>
where
    S: Stream<Item = Result<Event<Pod>, watcher::Error>> + Send + 'static,
{
    let writer = Writer::<Pod>::new_shared(BUFFER, ());
    let reader = writer.as_reader();
    for _ in 0..settings.handlers {
        let handle = writer.subscribe().ok_or("no subscription")?;
        let (reader, synced) = (reader.clone(), settings.synced.clone());
        tokio::spawn(async move {
            let mut handle = pin!(handle);
            // Comes when all objects are in the store. `wait_until_ready` wakes one of several.
            handle.next().await;
            for _ in 1..reader.len() {
                handle.next().await;
            }
            let _ = synced.send(());
            while let Some(pod) = handle.next().await {
                count(&*pod);
            }
        });
    }
    reflect(events, writer, settings.managed_fields, |_| ()).await
}

fn start<F: Future<Output = Result<(), Error>> + Send + 'static>(reflector: F) {
    tokio::spawn(async move {
        if let Err(err) = reflector.await {
            eprintln!("kube-rs: {err}");
        }
    });
}

fn arguments() -> (HashMap<String, String>, bool) {
    let (mut values, mut managed_fields, mut given) = (HashMap::new(), false, std::env::args().skip(1));
    while let Some(name) = given.next() {
        match name.as_str() {
            "--managed-fields" => managed_fields = true,
            _ => _ = values.insert(name, given.next().unwrap_or_default()),
        }
    }
    (values, managed_fields)
}

#[tokio::main]
async fn main() -> Result<(), Error> {
    let (values, managed_fields) = arguments();
    let text = |name: &str, default: &'static str| values.get(name).cloned().unwrap_or(default.into());
    let informers: usize = text("--informers", "1").parse()?;
    let handlers: usize = text("--handlers", "1").parse()?;
    let file = Kubeconfig::read_from(text("--kubeconfig", ""))?;
    let client = Client::try_from(Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await?)?;
    let (synced, mut synced_by) = tokio::sync::mpsc::unbounded_channel();
    let settings = Settings { managed_fields, handlers, synced };
    for number in 0..informers {
        let mut config = watcher::Config::default();
        if informers > 1 {
            config = config.fields(&format!("metadata.name!=n{number}")); // the server ignores it
        }
        let (client, settings) = (client.clone(), settings.clone());
        match text("--form", "typed").as_str() {
            "typed" if handlers > 1 => start(reflect_for_several(watch(Api::<Pod>::all(client), config), settings)),
            "typed" => start(reflect_for_one(watch(Api::<Pod>::all(client), config), (), settings)),
            "metadata" => {
                let api = Api::<PartialObjectMeta<Pod>>::all(client);
                start(reflect_for_one(watch(api, config), (), settings));
            }
            "dynamic" => {
                let kind = ApiResource::erase::<Pod>(&());
                let api = Api::<DynamicObject>::all_with(client, &kind);
                start(reflect_for_one(watch(api, config), kind, settings));
            }
            form => return Err(format!("no form {form:?}").into()),
        }
    }
    for _ in 0..informers * handlers {
        synced_by.recv().await.ok_or("no reflector is left")?;
    }
    println!("synced");
    let input = tokio::task::spawn_blocking(|| {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            match line.split_once(' ') {
                Some((command, number)) => expect(number.parse().unwrap_or(0), command == "time"),
                None => {
                    unsafe { libc::malloc_trim(0) };
                    println!("settled");
                }
            }
        }
    });
    input.await?;
    std::process::exit(0);
}
