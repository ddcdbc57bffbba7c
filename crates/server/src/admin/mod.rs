//! Admin API: HTTP on a thread and runtime of its own, which talks to the shards by message.
//!
//! Role: serves nodetool, the dashboard and automation under `/api/v1`, its own description at `/api/openapi.json`, and
//! Prometheus at `/metrics`. Handlers gather from the shards and shape the answer; they decide nothing.
//!
//! Invariant: nothing here holds up a shard: what it asks for is computed between two awaits of that shard.

pub mod api;
mod gather;
mod host_check;
mod openapi;
mod problem;
mod prometheus;
mod routes;

pub(crate) use routes::compactions::kind_name as compaction_kind_name;

use std::io;
use std::net::TcpListener;
use std::sync::Arc;
use std::thread::Builder;

use axum::Router;
use axum::middleware;
use axum::routing::{get, post};
use helenus_cluster::Topology;
use helenus_env::Env;
use tokio::sync::oneshot;

use crate::node::Node;
use crate::server_port::ServerLinks;
use crate::start::Build;

/// What handlers work with.
pub(crate) struct AdminState {
    pub env: Env,
    pub node: Arc<Node>,
    pub links: ServerLinks,
    pub topology: Arc<Topology>,
    pub build: Build,
}

pub(crate) type Shared = Arc<AdminState>;

/// The running API; dropping it stops it.
pub struct AdminServer {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
}

impl AdminServer {
    /// # Errors
    /// When the thread or its runtime cannot be started.
    pub(crate) fn start(listener: TcpListener, state: AdminState) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (stop, stopped) = oneshot::channel::<()>();
        let router = router(Arc::new(state));
        let serve = move || {
            runtime.block_on(async move {
                let listener = match tokio::net::TcpListener::from_std(listener) {
                    Ok(listener) => listener,
                    Err(error) => {
                        tracing::error!(%error, "the admin API cannot listen");
                        return;
                    }
                };
                // Requests that run are dropped at the stop: what they asked for is going away.
                tokio::select! {
                    served = async { axum::serve(listener, router).await } => {
                        if let Err(error) = served {
                            tracing::error!(%error, "the admin API ended");
                        }
                    }
                    _ = stopped => {}
                }
            });
        };
        let thread = Builder::new().name("helenus-admin".to_owned()).spawn(serve)?;
        Ok(Self { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for AdminServer {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic there was printed when it happened.
            let _ = thread.join();
        }
    }
}

fn router(state: Shared) -> Router {
    use routes::{clients, cluster, compactions, control, node, pools, snapshots, tables};
    Router::new()
        .route("/api/openapi.json", get(openapi::document))
        .route("/metrics", get(prometheus::metrics))
        .route("/api/v1/node", get(node::node))
        .route("/api/v1/gossip", get(node::gossip))
        .route("/api/v1/cluster", get(cluster::cluster))
        .route("/api/v1/ring", get(cluster::ring))
        .route("/api/v1/tables", get(tables::tables))
        .route("/api/v1/tables/{keyspace}/{table}/histograms", get(tables::table_histograms))
        .route("/api/v1/histograms", get(tables::histograms))
        .route("/api/v1/flush", post(tables::flush))
        .route("/api/v1/compact", post(tables::compact))
        .route("/api/v1/threadpools", get(pools::thread_pools))
        .route("/api/v1/compactions", get(compactions::compactions))
        .route("/api/v1/compactions/history", get(compactions::history))
        .route("/api/v1/compactions/stop", post(compactions::stop))
        .route("/api/v1/compaction-throughput", get(compactions::throughput).put(compactions::set_throughput))
        .route("/api/v1/auto-compaction", get(compactions::auto_compaction).put(compactions::set_auto_compaction))
        .route("/api/v1/snapshots", get(snapshots::snapshots).post(snapshots::take).delete(snapshots::remove))
        .route("/api/v1/clients", get(clients::clients))
        .route("/api/v1/settings", get(control::settings))
        .route("/api/v1/logging", get(control::logging).put(control::set_logging))
        .route("/api/v1/trace-probability", get(control::trace_probability).put(control::set_trace_probability))
        .route("/api/v1/drain", post(control::drain))
        .fallback(problem::no_such_path)
        .method_not_allowed_fallback(problem::wrong_method)
        .layer(middleware::from_fn_with_state(Arc::clone(&state), host_check::check))
        .with_state(state)
}
