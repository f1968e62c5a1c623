//! The program of ../src/lib.rs, tested against `kinformer serve`, without a sleep.

use std::error::Error;
use std::future::ready;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use example::follow_pods;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, Config};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

struct Server {
    process: Child, // its standard input ends with this process
    client: Client,
}

impl Server {
    fn start() -> Result<Server> {
        let mut process = Command::new("kinformer")
            .args(["serve", "--until-eof", "--load", "../pods.yaml"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line)?;
        let url = line.trim().trim_start_matches("serving ");
        Ok(Server { process, client: Client::try_from(Config::new(url.parse()?))? })
    }

    async fn api(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        let request = http::Request::builder().method(method).uri(path).body(body.as_bytes().to_vec())?;
        Ok(serde_json::from_str(&self.client.request_text(request).await?)?)
    }

    async fn set_phase(&self, name: &str, phase: &str) -> Result<()> {
        let patch = Patch::Merge(json!({"status": {"phase": phase}}));
        self.pods().patch_status(name, &PatchParams::default(), &patch).await?;
        Ok(())
    }

    fn pods(&self) -> Api<Pod> {
        Api::namespaced(self.client.clone(), "shop")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        self.process.wait().ok();
    }
}

struct Follower {
    task: JoinHandle<()>,
    seen: UnboundedReceiver<String>,
}

impl Follower {
    /// Begins to follow, up to the open watch.
    async fn start(server: &Server) -> Result<Follower> {
        let (sender, seen) = unbounded_channel();
        let pods = follow_pods(server.pods());
        let task = tokio::spawn(pods.for_each(move |line| ready(sender.send(line).unwrap_or_default())));
        let mut follower = Follower { task, seen };
        assert_eq!(follower.see().await, "cart-1 Pending");
        assert_eq!(follower.see().await, "cart-2 Running");
        server.api("GET", "/_wait?watches=pods", "").await?;
        Ok(follower)
    }

    async fn see(&mut self) -> String {
        self.seen.recv().await.expect("the follower has ended")
    }

    /// Ends, and returns the server to its start, for the next test.
    async fn end(self, server: &Server) -> Result<()> {
        self.task.abort();
        server.api("GET", "/_wait?watches=pods&count=0", "").await?;
        server.api("POST", "/_reset", "").await?;
        Ok(())
    }
}

async fn a_start_is_seen_though_the_watch_ends_and_the_server_fails_twice(server: &Server) -> Result<()> {
    let mut follower = Follower::start(server).await?;
    let fault = server.api("POST", "/_faults", "status,code=500,verb=list+watch,resource=pods,count=2").await?;
    server.api("POST", "/_faults", "close-watches").await?;
    server.api("GET", &format!("/_wait?fault={}&count=2", fault["id"]), "").await?;
    server.set_phase("cart-1", "Running").await?;
    assert_eq!(follower.see().await, "cart-1 Running");
    let recorded = server.api("GET", "/_requests?verb=list+watch&resource=pods", "").await?;
    let requests = recorded["requests"].as_array().unwrap();
    assert_eq!(requests.iter().filter(|request| request["status"] == 500).count(), 2);
    follower.end(server).await
}

async fn the_next_test_has_the_pods_of_the_start_and_no_faults(server: &Server) -> Result<()> {
    let mut follower = Follower::start(server).await?;
    assert_eq!(server.api("GET", "/_faults", "").await?, json!({"faults": []}));
    server.set_phase("cart-2", "Failed").await?;
    assert_eq!(follower.see().await, "cart-2 Failed");
    follower.end(server).await
}

#[tokio::test]
async fn pods() -> Result<()> {
    let server = Server::start()?;
    a_start_is_seen_though_the_watch_ends_and_the_server_fails_twice(&server).await?;
    the_next_test_has_the_pods_of_the_start_and_no_faults(&server).await
}
