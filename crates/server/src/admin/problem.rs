//! Problem: a refusal as HTTP says it, and the extractors whose refusals take that form too.

use axum::Json;
use axum::extract::rejection::{JsonRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Query, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use serde::de::DeserializeOwned;

use super::api;
use crate::server_port::Stopping;

/// Why a call has no answer. Codes and texts stand in `docs/admin-api.md`.
#[derive(Debug)]
pub(crate) enum Refusal {
    InvalidRequest(String),
    Forbidden(String),
    UnknownKeyspace(String),
    UnknownTable { keyspace: String, table: String },
    NotFound,
    WrongMethod,
    WrongContentType(String),
    SnapshotExists { tag: String },
    Failed(String),
    Unavailable,
}

impl From<Stopping> for Refusal {
    fn from(_: Stopping) -> Self {
        Self::Unavailable
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let (status, code, message) = match self {
            Self::InvalidRequest(message) => (StatusCode::BAD_REQUEST, "invalid_request", message),
            Self::Forbidden(message) => (StatusCode::FORBIDDEN, "forbidden", message),
            Self::UnknownKeyspace(name) => {
                (StatusCode::NOT_FOUND, "unknown_keyspace", format!("Keyspace [{name}] does not exist."))
            }
            Self::UnknownTable { keyspace, table } => {
                (StatusCode::NOT_FOUND, "unknown_table", format!("Unknown keyspace/cf pair ({keyspace}.{table})"))
            }
            Self::NotFound => (StatusCode::NOT_FOUND, "not_found", "no such path; see /api/openapi.json".to_owned()),
            Self::WrongMethod => (StatusCode::METHOD_NOT_ALLOWED, "invalid_request", "wrong method".to_owned()),
            Self::WrongContentType(message) => (StatusCode::UNSUPPORTED_MEDIA_TYPE, "invalid_request", message),
            Self::SnapshotExists { tag } => {
                (StatusCode::CONFLICT, "snapshot_exists", format!("Snapshot {tag} already exists."))
            }
            Self::Failed(message) => (StatusCode::INTERNAL_SERVER_ERROR, "failed", message),
            Self::Unavailable => {
                let message = "the node is starting or has been drained and cannot do this now".to_owned();
                (StatusCode::SERVICE_UNAVAILABLE, "unavailable", message)
            }
        };
        let error = api::ProblemText { code: code.to_owned(), message };
        (status, Json(api::Problem { error })).into_response()
    }
}

pub(super) async fn no_such_path() -> Refusal {
    Refusal::NotFound
}

pub(super) async fn wrong_method() -> Refusal {
    Refusal::WrongMethod
}

/// A JSON body.
pub(super) struct Body<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequest<S> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &S) -> Result<Self, Refusal> {
        match Json::<T>::from_request(request, state).await {
            Ok(Json(body)) => Ok(Self(body)),
            Err(JsonRejection::MissingJsonContentType(rejection)) => {
                Err(Refusal::WrongContentType(rejection.body_text()))
            }
            Err(rejection) => Err(Refusal::InvalidRequest(rejection.body_text())),
        }
    }
}

/// Parameters behind the question mark.
pub(super) struct Parameters<T>(pub T);

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Parameters<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        let query = Query::<T>::from_request_parts(parts, state).await;
        query
            .map(|Query(parameters)| Self(parameters))
            .map_err(|rejection: QueryRejection| Refusal::InvalidRequest(rejection.body_text()))
    }
}
