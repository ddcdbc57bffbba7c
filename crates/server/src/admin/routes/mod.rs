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

fn nothing() -> Json<Nothing> {
    Json(Nothing {})
}
