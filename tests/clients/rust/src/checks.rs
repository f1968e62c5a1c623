//! The checks of responses, and how a step waits.

use std::fmt::Debug;
use std::time::Duration;

use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;

pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// How long an event or a state may take.
pub const DEADLINE: Duration = Duration::from_secs(30);

/// Fails unless what was found is as wanted.
pub fn equal<T: Debug + PartialEq>(what: &str, found: T, want: T) -> Result<()> {
    if found == want { Ok(()) } else { Err(format!("{what}: {found:?}, not {want:?}").into()) }
}

/// Fails unless the server refused with this code and reason.
pub fn refused<T: Debug>(response: kube::Result<T>, code: u16, reason: &str) -> Result<()> {
    match response {
        Err(kube::Error::Api(status)) if status.code == code && status.reason == reason => Ok(()),
        other => Err(format!("not refused with {code} {reason}: {other:?}").into()),
    }
}

/// Watches the object of this name until the condition holds. The condition gets None while there is no object.
pub async fn until<K>(what: &str, api: &Api<K>, name: &str, condition: impl Condition<K>) -> Result<()>
where
    K: Clone + Debug + Send + DeserializeOwned + Resource + 'static,
{
    let wait = tokio::time::timeout(DEADLINE, await_condition(api.clone(), name, condition));
    wait.await.map_err(|_| format!("{what}: not within {DEADLINE:?}"))??;
    Ok(())
}
