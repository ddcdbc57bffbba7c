//! How far a long request is, on a terminal only: a bar on the standard error, fed by `GET /compactions`.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use super::api::Compactions;
use super::node::Node;

pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// Nothing is shown unless the standard error is a terminal.
    #[must_use]
    pub fn start(what: &'static str) -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new_spinner().with_message(what);
            bar.enable_steady_tick(Duration::from_millis(120));
            bar
        });
        Self { bar }
    }

    /// Asks the node how far its compactions of these tables are. No keyspace: of all; no tables: of the whole keyspace.
    pub fn tick(&self, node: &Node<'_>, keyspace: Option<&str>, tables: &[String]) {
        let Some(bar) = &self.bar else { return };
        // A bar is a courtesy: when the node does not tell, the request itself will say why.
        let Ok(stats) = node.get_as::<Compactions>("/compactions") else { return };
        let ours = stats.active.iter().filter(|task| {
            keyspace.is_none_or(|keyspace| keyspace == task.keyspace)
                && (tables.is_empty() || tables.contains(&task.table))
                && task.unit == "bytes"
        });
        let (done, total) = ours.fold((0, 0), |(done, total), task| (done + task.completed, total + task.total));
        if 0 < total {
            let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes} {eta}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_length(total);
            bar.set_position(done);
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
