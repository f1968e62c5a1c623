//! What a step demands of answers, and how it waits.

use std::fmt::Debug;
use std::time::Duration;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long an event or a state may take.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Fails unless what was found is as wanted.
pub fn equal<T: Debug + PartialEq>(what: &str, found: T, want: T) -> Result<()> {
    if found == want { Ok(()) } else { Err(format!("{what}: {found:?}, not {want:?}").into()) }
}

/// Fails unless the server refused with this code and reason.
pub fn refused<T: Debug>(answer: kube::Result<T>, code: u16, reason: &str) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == code && status.reason == reason => Ok(()),
        other => Err(format!("not refused with {code} {reason}: {other:?}").into()),
    }
}

/// Asks again until the answer is true.
pub async fn until<F: Future<Output = Result<bool>>>(what: &str, mut condition: impl FnMut() -> F) -> Result<()> {
    let mut last = String::new();
    let wait = async {
        loop {
            match condition().await {
                Ok(true) => return,
                Ok(false) => last.clear(),
                Err(err) => last = err.to_string(),
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(DEADLINE, wait).await.map_err(|_| format!("{what}: waited in vain {last}").into())
}
