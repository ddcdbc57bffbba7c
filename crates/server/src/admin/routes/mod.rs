//! Handlers, a file a subject. Each answers a shape of `api` or a refusal.

pub(super) mod clients;
pub(super) mod cluster;
pub(super) mod compactions;
pub(super) mod control;
pub(super) mod node;
pub(super) mod pools;
pub(super) mod snapshots;
pub(super) mod tables;

use axum::Json;

use super::api::Nothing;
use super::problem::Refusal;

type Answer<T> = Result<Json<T>, Refusal>;

/// Runs an action of several steps to its end, also when the client goes away in between.
async fn to_the_end<T: Send + 'static>(action: impl Future<Output = Answer<T>> + Send + 'static) -> Answer<T> {
    let ended = tokio::spawn(action).await;
    ended.unwrap_or_else(|_| Err(Refusal::Failed("the action was interrupted; the node's log says why".to_owned())))
}

fn nothing() -> Json<Nothing> {
    Json(Nothing {})
}
