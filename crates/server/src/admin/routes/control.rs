//! What operators turn: logs, traces, settings to look at, and the node's way out.

use axum::Json;
use axum::extract::State;
use helenus_storage::FlushReason;

use super::{Answer, nothing, to_the_end};
use crate::admin::Shared;
use crate::admin::api::{LoggerLevel, Logging, LoggingChange, Nothing, Settings, TraceProbability};
use crate::admin::problem::{Body, Refusal};
use crate::node::Phase;
use crate::shard::chain;

/// Everything that has no level of its own.
const ROOT: &str = "ROOT";

#[utoipa::path(get, path = "/api/v1/logging", responses((status = 200, body = Logging)))]
pub(in crate::admin) async fn logging(State(state): State<Shared>) -> Json<Logging> {
    let text = state.node.log.levels();
    let mut levels: Vec<LoggerLevel> = text
        .split(',')
        .map(|directive| {
            let (logger, level) = directive.split_once('=').unwrap_or((ROOT, directive));
            LoggerLevel { logger: logger.to_owned(), level: level.to_uppercase() }
        })
        .collect();
    levels.sort_by(|a, b| (a.logger != ROOT, &a.logger).cmp(&(b.logger != ROOT, &b.logger)));
    Json(Logging { levels })
}

/// Changes a level at once and until the next start.
#[utoipa::path(put, path = "/api/v1/logging", request_body = LoggingChange, responses((status = 200, body = Nothing)))]
pub(in crate::admin) async fn set_logging(
    State(state): State<Shared>,
    Body(change): Body<LoggingChange>,
) -> Answer<Nothing> {
    let log = &state.node.log;
    let part = |logger: &str| if logger == ROOT { String::new() } else { logger.to_owned() };
    let changed = match (&change.logger, &change.level) {
        (None, None) => log.set(&state.node.config.log_level),
        (None, Some(level)) => log.set_part("", &level.to_lowercase()),
        (Some(logger), Some(level)) => log.set_part(&part(logger), &level.to_lowercase()),
        (Some(logger), None) => log.clear_part(&part(logger)),
    };
    changed.map_err(|error| Refusal::InvalidRequest(error.to_string()))?;
    tracing::info!(levels = log.levels(), "log levels were changed");
    Ok(nothing())
}

#[utoipa::path(get, path = "/api/v1/trace-probability", responses((status = 200, body = TraceProbability)))]
pub(in crate::admin) async fn trace_probability(State(state): State<Shared>) -> Json<TraceProbability> {
    Json(TraceProbability { probability: state.node.trace_probability() })
}

/// Share of requests that are traced although nobody asked for it.
#[utoipa::path(
    put,
    path = "/api/v1/trace-probability",
    request_body = TraceProbability,
    responses((status = 200, body = Nothing))
)]
pub(in crate::admin) async fn set_trace_probability(
    State(state): State<Shared>,
    Body(wanted): Body<TraceProbability>,
) -> Answer<Nothing> {
    if !(0.0..=1.0).contains(&wanted.probability) {
        return Err(Refusal::InvalidRequest("probability: must be between 0 and 1".to_owned()));
    }
    state.node.set_trace_probability(wanted.probability);
    tracing::info!(probability = wanted.probability, "the trace probability was changed");
    Ok(nothing())
}

#[utoipa::path(get, path = "/api/v1/settings", responses((status = 200, body = Settings)))]
pub(in crate::admin) async fn settings(State(state): State<Shared>) -> Json<Settings> {
    let shown = state.node.config.values.shown();
    let settings = shown.map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned))).collect();
    Json(Settings { settings })
}

/// Serves no clients any more and writes everything to SSTables, so that the next start has nothing to replay.
#[utoipa::path(post, path = "/api/v1/drain", request_body = Nothing, responses((status = 200, body = Nothing)))]
pub(in crate::admin) async fn drain(State(state): State<Shared>, Body(_): Body<Nothing>) -> Answer<Nothing> {
    to_the_end(drain_node(state)).await
}

async fn drain_node(state: Shared) -> Answer<Nothing> {
    tracing::info!("draining: no clients are served from here on");
    state.node.enter(Phase::Drain);
    state.node.all_drained().await;
    let flushed = state.links.run_on_all(|server| async move {
        server.cluster.storage().flush(None, FlushReason::UserForced).await.map_err(|error| chain(&error))
    });
    flushed.await?.into_iter().collect::<Result<Vec<()>, _>>().map_err(Refusal::Failed)?;
    state.node.set_flushed();
    tracing::info!("drained");
    Ok(nothing())
}
