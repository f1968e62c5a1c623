//! A program that follows pods with kube's watcher.

use std::future::ready;

use futures::{Stream, StreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, predicates, watcher};
use kube::{Api, ResourceExt};

/// Returns "NAME PHASE" of each pod that is new or has changed.
pub fn follow_pods(pods: Api<Pod>) -> impl Stream<Item = String> {
    watcher(pods, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        .predicate_filter(predicates::resource_version, Default::default())
        .filter_map(|pod| ready(pod.ok())) // the watcher tries again after a failure
        .map(|pod| format!("{} {}", pod.name_any(), pod.status.and_then(|status| status.phase).unwrap_or_default()))
}
