//! Writes `conf/helenus.yaml` and the table of `docs/configuration.md` anew from the table of settings.

use std::path::Path;

use helenus_env::real::{RealEnv, block_on};
use helenus_env::whole_file;
use helenus_server::config::{settings_file, settings_table};

const TABLE_HEADING: &str = "## All settings\n";

fn main() -> std::io::Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let env = RealEnv::start_default()?;
    block_on(async move {
        let disk = &**env.disk();
        whole_file::replace(disk, &root.join("conf/helenus.yaml"), settings_file().into()).await?;
        let guide = root.join("docs/configuration.md");
        let text = String::from_utf8_lossy(&whole_file::read(disk, &guide).await?).into_owned();
        let head = text.split_once(TABLE_HEADING).map_or(text.as_str(), |(head, _)| head);
        whole_file::replace(disk, &guide, format!("{head}{TABLE_HEADING}{}", settings_table()).into()).await
    })
}
