//! The steps with a custom resource: its definition, and a Controller with `finalizer()` that keeps a ConfigMap for each Thing.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::finalizer::{Event, finalizer};
use kube::runtime::wait::conditions;
use kube::runtime::watcher;
use kube::{Api, Client, CustomResource, CustomResourceExt, Resource, ResourceExt};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::checks::{Result, equal, refused, until};

const FINALIZER: &str = "rust.example.com/things";
const MANAGER: &str = "controller";

#[derive(CustomResource, Clone, Debug, Deserialize, Serialize, JsonSchema)]
#[kube(group = "rust.example.com", version = "v1", kind = "Thing", namespaced, status = "ThingStatus")]
pub struct ThingSpec {
    #[schemars(range(min = 1))]
    size: i64,
}

#[derive(Clone, Debug, Default, Deserialize, Serialize, JsonSchema)]
pub struct ThingStatus {
    size: i64,
}

pub struct Things {
    client: Client,
    namespace: String,
    things: Api<Thing>,
    maps: Api<ConfigMap>,
}

#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Failure(#[from] kube::Error);

impl Things {
    pub fn new(client: Client, namespace: &str) -> Things {
        Things {
            things: Api::namespaced(client.clone(), namespace),
            maps: Api::namespaced(client.clone(), namespace),
            client,
            namespace: namespace.to_string(),
        }
    }

    /// Applies the definition that the derived type gives, and waits until the resource is served.
    pub async fn custom(&self) -> Result<()> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let apply = PatchParams::apply(MANAGER).force();
        definitions.patch(Thing::crd_name(), &apply, &Patch::Apply(Thing::crd())).await?;
        until("the definition", &definitions, Thing::crd_name(), conditions::is_crd_established()).await?;
        // A create comes first: kube-apiserver answers the creates of a new resource only when lists work too.
        let bad = Thing::new("bad", ThingSpec { size: 0 });
        refused(self.things.create(&PostParams::default(), &bad).await, 422, "Invalid")
    }

    async fn await_map(&self, size: &str) -> Result<()> {
        let has_size =
            |map: Option<&ConfigMap>| map.and_then(|map| map.data.as_ref()).is_some_and(|data| data["size"] == size);
        until(&format!("a ConfigMap of size {size}"), &self.maps, "thing", has_size).await
    }

    pub async fn controller(&self) -> Result<()> {
        let controller = Controller::new(self.things.clone(), watcher::Config::default())
            .owns(self.maps.clone(), watcher::Config::default())
            .run(
                reconcile,
                |_, _, _| Action::requeue(Duration::from_secs(1)),
                Arc::new((self.client.clone(), self.namespace.clone())),
            );
        tokio::spawn(controller.for_each(|result| async move {
            if let Err(err) = result {
                eprintln!("controller: {err}");
            }
        }));
        self.things.create(&PostParams::default(), &Thing::new("thing", ThingSpec { size: 1 })).await?;
        self.await_map("1").await
    }

    pub async fn controller_status(&self) -> Result<()> {
        let has_status = |thing: Option<&Thing>| {
            thing.and_then(|thing| thing.status.as_ref()).is_some_and(|status| status.size == 1)
        };
        until("a status of size 1", &self.things, "thing", has_status).await
    }

    pub async fn controller_update(&self) -> Result<()> {
        let patch = Patch::Merge(json!({"spec": {"size": 2}}));
        self.things.patch("thing", &PatchParams::default(), &patch).await?;
        self.await_map("2").await
    }

    /// Deletes what the controller made, which makes it anew.
    pub async fn controller_owned(&self) -> Result<()> {
        let before = self.maps.get("thing").await?;
        let owner = before.owner_references().first().ok_or("no owner")?;
        equal("owner", Some(owner.uid.clone()), self.things.get("thing").await?.uid())?;
        self.maps.delete("thing", &DeleteParams::default()).await?;
        let is_new = |map: Option<&ConfigMap>| map.is_some_and(|map| map.uid() != before.uid());
        until("another ConfigMap", &self.maps, "thing", is_new).await
    }

    /// Deletes the thing: the controller cleans up, and lets it go.
    pub async fn finalizer(&self) -> Result<()> {
        let thing = self.things.get("thing").await?;
        equal("finalizers", thing.finalizers(), &[FINALIZER.to_string()])?;
        self.things.delete("thing", &DeleteParams::default()).await?;
        let is_absent = |thing: Option<&Thing>| thing.is_none();
        until("no thing", &self.things, "thing", is_absent).await?;
        equal("the ConfigMap", self.maps.get_opt("thing").await?, None)
    }
}

async fn reconcile(
    thing: Arc<Thing>,
    context: Arc<(Client, String)>,
) -> std::result::Result<Action, kube::runtime::finalizer::Error<Failure>> {
    let (client, namespace) = context.as_ref();
    let things: Api<Thing> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let (writer, name) = (things.clone(), thing.name_any());
    finalizer(&things, FINALIZER, thing, |event| async move {
        match event {
            Event::Apply(thing) => {
                let map = json!({
                    "apiVersion": "v1", "kind": "ConfigMap",
                    "metadata": {"name": name, "ownerReferences": [thing.controller_owner_ref(&())]},
                    "data": {"size": thing.spec.size.to_string()},
                });
                maps.patch(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(map)).await?;
                let status = json!({
                    "apiVersion": "rust.example.com/v1", "kind": "Thing", "status": ThingStatus { size: thing.spec.size },
                });
                writer.patch_status(&name, &PatchParams::apply(MANAGER).force(), &Patch::Apply(status)).await?;
            }
            Event::Cleanup(_) => {
                // A clean-up may run twice.
                match maps.delete(&name, &DeleteParams::default()).await {
                    Err(kube::Error::Api(status)) if status.is_not_found() => {}
                    other => drop(other?),
                }
            }
        }
        Ok(Action::await_change())
    })
    .await
}
