//! The steps of ../../README.md with kube: its client, a watcher with a reflector, and a Controller with `finalizer()`.
//!
//! usage: client KUBECONFIG NAMESPACE

mod checks;
mod controller;
mod core;

use std::process::ExitCode;

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use crate::checks::Result;

async fn connect(path: &str) -> Result<Client> {
    let config = Config::from_custom_kubeconfig(Kubeconfig::read_from(path)?, &KubeConfigOptions::default()).await?;
    Ok(Client::try_from(config)?)
}

/// Prints a step's line, and returns whether it is ok.
fn report(name: &str, result: Result<()>) -> bool {
    match &result {
        Ok(()) => println!("ok {name}"),
        Err(err) => {
            let text = err.to_string();
            println!("failed {name}: {}", text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    result.is_ok()
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, kubeconfig, namespace] = arguments.as_slice() else {
        eprintln!("usage: client KUBECONFIG NAMESPACE");
        return ExitCode::from(2);
    };
    let client = match connect(kubeconfig).await {
        Ok(client) => client,
        Err(err) => {
            eprintln!("{err}");
            return ExitCode::from(2);
        }
    };
    let core = core::Core::new(client.clone(), namespace);
    let things = controller::Things::new(client, namespace);
    let mut all_ok = true;
    macro_rules! steps {
        ($($name:literal => $call:expr),* $(,)?) => { $( all_ok &= report($name, $call.await); )* };
    }
    steps! {
        "namespace" => core.namespace(),
        "create" => core.create(),
        "exists" => core.exists(),
        "missing" => core.missing(),
        "invalid" => core.invalid(),
        "informer-sync" => core.informer_sync(),
        "informer-add" => core.informer_add(),
        "update" => core.update(),
        "informer-update" => core.informer_update(),
        "conflict" => core.conflict(),
        "selector" => core.selector(),
        "pages" => core.pages(),
        "json-patch" => core.json_patch(),
        "merge-patch" => core.merge_patch(),
        "strategic-patch" => core.strategic_patch(),
        "apply" => core.apply(),
        "apply-conflict" => core.apply_conflict(),
        "status" => core.status(),
        "scale" => core.scale(),
        "secret" => core.secret(),
        "delete" => core.delete(),
        "informer-delete" => core.informer_delete(),
        "delete-collection" => core.delete_collection(),
        "custom" => things.custom(),
        "controller" => things.controller(),
        "controller-status" => things.controller_status(),
        "controller-update" => things.controller_update(),
        "controller-owned" => things.controller_owned(),
        "finalizer" => things.finalizer(),
    }
    if all_ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
