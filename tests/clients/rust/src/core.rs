//! The steps with built-in resources: CRUD, patches, a watcher with a reflector.

use std::collections::BTreeMap;
use std::sync::Mutex;

use futures::StreamExt;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;

use crate::checks::{DEADLINE, Result, equal, refused};

pub struct Core {
    name: String,
    namespaces: Api<Namespace>,
    maps: Api<ConfigMap>,
    deployments: Api<Deployment>,
    secrets: Api<Secret>,
    events: watch::Sender<Vec<String>>,
    store: Mutex<Option<Store<ConfigMap>>>,
}

fn data(pairs: &[(&str, &str)]) -> Option<BTreeMap<String, String>> {
    Some(pairs.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect())
}

fn value(map: &ConfigMap) -> &str {
    map.data.as_ref().and_then(|data| data.get("value")).map_or("", String::as_str)
}

impl Core {
    pub fn new(client: Client, namespace: &str) -> Core {
        Core {
            name: namespace.to_string(),
            namespaces: Api::all(client.clone()),
            maps: Api::namespaced(client.clone(), namespace),
            deployments: Api::namespaced(client.clone(), namespace),
            secrets: Api::namespaced(client, namespace),
            events: watch::Sender::default(),
            store: Mutex::default(),
        }
    }

    async fn create_map(&self, name: &str, value: &str, of: &str) -> kube::Result<ConfigMap> {
        let mut map = ConfigMap { data: data(&[("value", value)]), ..ConfigMap::default() };
        map.metadata.name = Some(name.to_string());
        map.labels_mut().insert("of".to_string(), of.to_string());
        self.maps.create(&PostParams::default(), &map).await
    }

    async fn patch_map(&self, name: &str, patch: Patch<serde_json::Value>) -> kube::Result<ConfigMap> {
        self.maps.patch(name, &PatchParams::default(), &patch).await
    }

    pub async fn namespace(&self) -> Result<()> {
        let mut namespace = Namespace::default();
        namespace.metadata.name = Some(self.name.clone());
        self.namespaces.create(&PostParams::default(), &namespace).await?;
        Ok(())
    }

    pub async fn create(&self) -> Result<()> {
        let made = self.create_map("first", "1", "client").await?;
        equal("has a uid", made.uid().is_some(), true)?;
        equal("has a version", made.resource_version().is_some(), true)?;
        equal("has a time", made.creation_timestamp().is_some(), true)?;
        equal("data", made.data, data(&[("value", "1")]))
    }

    pub async fn exists(&self) -> Result<()> {
        refused(self.create_map("first", "2", "client").await, 409, "AlreadyExists")
    }

    pub async fn missing(&self) -> Result<()> {
        refused(self.maps.get("none").await, 404, "NotFound")?;
        equal("get_opt finds", self.maps.get_opt("none").await?, None)
    }

    pub async fn invalid(&self) -> Result<()> {
        refused(self.create_map("No_Name", "1", "client").await, 422, "Invalid")
    }

    /// Starts a watcher with a streaming list, which feeds a reflector and the list of events.
    pub async fn informer_sync(&self) -> Result<()> {
        let (store, writer) = reflector::store();
        let events = self.events.clone();
        let stream = watcher(self.maps.clone(), watcher::Config::default().labels("of=client").streaming_lists());
        let reflected = stream.default_backoff().reflect(writer).for_each(move |event| {
            let line = match event {
                Ok(watcher::Event::InitApply(map)) => format!("listed {} {}", map.name_any(), value(&map)),
                Ok(watcher::Event::Apply(map)) => format!("applied {} {}", map.name_any(), value(&map)),
                Ok(watcher::Event::Delete(map)) => format!("deleted {} {}", map.name_any(), value(&map)),
                Ok(other) => format!("{other}"),
                Err(err) => format!("error {err}"),
            };
            events.send_modify(|seen| seen.push(line));
            async {}
        });
        tokio::spawn(reflected);
        *self.store.lock().unwrap() = Some(store.clone());
        tokio::time::timeout(DEADLINE, store.wait_until_ready()).await??;
        self.wait_event("listed first 1").await
    }

    async fn wait_event(&self, event: &str) -> Result<()> {
        let mut events = self.events.subscribe();
        let wait = events.wait_for(|seen| seen.iter().any(|one| one == event));
        let found = tokio::time::timeout(DEADLINE, wait).await.is_ok();
        if found { Ok(()) } else { Err(format!("no {event} among {:?}", *self.events.borrow()).into()) }
    }

    pub async fn informer_add(&self) -> Result<()> {
        self.create_map("second", "1", "client").await?;
        self.wait_event("applied second 1").await
    }

    pub async fn update(&self) -> Result<()> {
        let mut found = self.maps.get("second").await?;
        let version = found.resource_version();
        found.data = data(&[("value", "2")]);
        let response = self.maps.replace("second", &PostParams::default(), &found).await?;
        equal("the version stayed", response.resource_version() == version, false)
    }

    pub async fn informer_update(&self) -> Result<()> {
        self.wait_event("applied second 2").await
    }

    pub async fn conflict(&self) -> Result<()> {
        let mut old = self.maps.get("second").await?;
        self.patch_map("second", Patch::Merge(json!({"data": {"more": "1"}}))).await?;
        old.data = data(&[("value", "3")]);
        refused(self.maps.replace("second", &PostParams::default(), &old).await, 409, "Conflict")
    }

    async fn names(&self, params: ListParams) -> Result<(Vec<String>, Option<String>)> {
        let list = self.maps.list(&params).await?;
        Ok((list.items.iter().map(|map| map.name_any()).collect(), list.metadata.continue_))
    }

    pub async fn selector(&self) -> Result<()> {
        self.create_map("third", "1", "nobody").await?;
        let (names, _) = self.names(ListParams::default().labels("of in (client)")).await?;
        equal("by label", names, vec!["first".into(), "second".into()])?;
        let (names, _) = self.names(ListParams::default().fields("metadata.name=third")).await?;
        equal("by field", names, vec!["third".into()])
    }

    pub async fn pages(&self) -> Result<()> {
        let (mut all, mut params) = (vec![], ListParams::default().limit(1));
        loop {
            let (names, next) = self.names(params.clone()).await?;
            equal("items of a page", names.len(), 1)?;
            all.extend(names);
            match next.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return equal("names", all, vec!["first".into(), "second".into(), "third".into()]),
            }
        }
    }

    pub async fn json_patch(&self) -> Result<()> {
        let patch: json_patch::Patch = serde_json::from_value(json!([
            {"op": "test", "path": "/data/value", "value": "1"},
            {"op": "add", "path": "/data/added", "value": "yes"},
            {"op": "remove", "path": "/data/value"},
        ]))?;
        let patched = self.patch_map("third", Patch::Json(patch)).await?;
        equal("data", patched.data, data(&[("added", "yes")]))?;
        let failing = serde_json::from_value(json!([{"op": "test", "path": "/data/added", "value": "no"}]))?;
        refused(self.patch_map("third", Patch::Json(failing)).await, 422, "Invalid")
    }

    pub async fn merge_patch(&self) -> Result<()> {
        let patch = json!({"data": {"added": null, "merged": "yes"}});
        let patched = self.patch_map("third", Patch::Merge(patch)).await?;
        equal("data", patched.data, data(&[("merged", "yes")]))
    }

    pub async fn strategic_patch(&self) -> Result<()> {
        let web: Deployment = serde_json::from_value(json!({
            "metadata": {"name": "web"},
            "spec": {
                "selector": {"matchLabels": {"app": "web"}},
                "template": {
                    "metadata": {"labels": {"app": "web"}},
                    "spec": {"containers": [{"name": "web", "image": "web:1"}, {"name": "side", "image": "side:1"}]},
                },
            },
        }))?;
        self.deployments.create(&PostParams::default(), &web).await?;
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "side", "image": "side:2"}]}}}});
        let patched = self.deployments.patch("web", &PatchParams::default(), &Patch::Strategic(patch)).await?;
        let pod = patched.spec.and_then(|spec| spec.template.spec).ok_or("no pod")?;
        let mut images: Vec<_> = pod.containers.into_iter().filter_map(|one| one.image).collect();
        images.sort();
        equal("images", images, vec!["side:2".into(), "web:1".into()])
    }

    async fn apply_map(&self, value: &str, params: &PatchParams) -> kube::Result<ConfigMap> {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "applied"}, "data": {"value": value},
        });
        self.maps.patch("applied", params, &Patch::Apply(map)).await
    }

    pub async fn apply(&self) -> Result<()> {
        let made = self.apply_map("1", &PatchParams::apply("one")).await?;
        let managers: Vec<_> =
            made.managed_fields().iter().map(|one| (one.manager.as_deref(), one.operation.as_deref())).collect();
        equal("managers", managers, vec![(Some("one"), Some("Apply"))])?;
        equal("data", made.data, data(&[("value", "1")]))
    }

    pub async fn apply_conflict(&self) -> Result<()> {
        refused(self.apply_map("2", &PatchParams::apply("other")).await, 409, "Conflict")?;
        let forced = self.apply_map("2", &PatchParams::apply("other").force()).await?;
        equal("data", forced.data, data(&[("value", "2")]))
    }

    pub async fn status(&self) -> Result<()> {
        let patch = json!({"status": {"observedGeneration": 7}, "spec": {"replicas": 9}});
        let patched = self.deployments.patch_status("web", &PatchParams::default(), &Patch::Merge(patch)).await?;
        equal("observed", patched.status.and_then(|status| status.observed_generation), Some(7))?;
        equal("replicas", patched.spec.and_then(|spec| spec.replicas), Some(1))
    }

    pub async fn scale(&self) -> Result<()> {
        let mut scale = self.deployments.get_scale("web").await?;
        scale.spec.get_or_insert_default().replicas = Some(3);
        self.deployments.replace_scale("web", &PostParams::default(), &scale).await?;
        let web = self.deployments.get("web").await?;
        equal("generation", web.metadata.generation, Some(3))?;
        equal("replicas", web.spec.and_then(|spec| spec.replicas), Some(3))
    }

    pub async fn secret(&self) -> Result<()> {
        let mut secret = Secret { string_data: data(&[("key", "word")]), ..Secret::default() };
        secret.metadata.name = Some("secret".to_string());
        self.secrets.create(&PostParams::default(), &secret).await?;
        let found = self.secrets.get("secret").await?;
        equal("type", found.type_.as_deref(), Some("Opaque"))?;
        let key = found.data.and_then(|mut data| data.remove("key")).ok_or("no key")?;
        equal("key", key.0.as_slice(), b"word")
    }

    pub async fn delete(&self) -> Result<()> {
        self.maps.delete("second", &DeleteParams::default()).await?;
        refused(self.maps.delete("second", &DeleteParams::default()).await, 404, "NotFound")
    }

    pub async fn informer_delete(&self) -> Result<()> {
        self.wait_event("deleted second 2").await?;
        let store = self.store.lock().unwrap().clone().ok_or("no store")?;
        equal("stored", store.get(&ObjectRef::new("second").within(&self.name)).is_some(), false)?;
        equal("stored", store.get(&ObjectRef::new("first").within(&self.name)).is_some(), true)
    }

    pub async fn delete_collection(&self) -> Result<()> {
        let labelled = ListParams::default().labels("of");
        self.maps.delete_collection(&DeleteParams::default(), &labelled).await?;
        equal("left", self.names(labelled).await?.0, vec![])
    }
}
