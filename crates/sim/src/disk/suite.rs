//! One suite, two disks: whatever the kernel answers, the simulation answers too.

use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use helenus_env::real::{RealEnv, block_on};
use helenus_env::{Disk, File, OpenMode};

use crate::random::SeededRandom;
use crate::world::SimWorld;

const MODES: [OpenMode; 5] =
    [OpenMode::Read, OpenMode::ReadWrite, OpenMode::CreateNew, OpenMode::CreateOrOpen, OpenMode::CreateOrTruncate];

/// Few names, so that operations meet each other.
const NAMES: [&str; 6] = ["a", "b", "d", "d/a", "d/e", "d/e/b"];

fn kind<T>(answer: &io::Result<T>) -> Option<ErrorKind> {
    answer.as_ref().err().map(io::Error::kind)
}

/// Does what the seed says and writes down what the disk answers.
async fn play(disk: Arc<dyn Disk>, root: &Path, seed: u64) -> Vec<String> {
    let mut random = SeededRandom::new(seed);
    let mut log = Vec::new();
    let mut files: Vec<Arc<dyn File>> = Vec::new();
    for step in 0..120 {
        let mut draw_path = || -> PathBuf { root.join(NAMES[random.index(NAMES.len())]) };
        let (path, other) = (draw_path(), draw_path());
        let answer = match random.within(0..14) {
            0..4 => {
                let mode = MODES[random.index(MODES.len())];
                let is_directory = disk.list(&path).await.is_ok();
                // Linux opens directories for reading, which nothing here does.
                if is_directory && mode == OpenMode::Read {
                    continue;
                }
                let opened = disk.open(&path, mode).await;
                let answer = format!("open {mode:?} {:?}", kind(&opened).filter(|_| !is_directory));
                files.extend(opened);
                answer
            }
            4..7 if !files.is_empty() => use_file(&*files[random.index(files.len())], &mut random).await,
            7 => format!("rename {:?}", kind(&disk.rename(&path, &other).await)),
            8 => format!("remove {:?}", kind(&disk.remove_file(&path).await)),
            9 => format!("link {:?}", kind(&disk.hard_link(&path, &other).await)),
            10 => format!("mkdir {:?}", kind(&disk.create_dir_all(&path).await)),
            11 => format!("rmdir {:?}", kind(&disk.remove_dir_all(&path).await)),
            12 => format!("length {:?}", disk.file_len(&path).await.map_err(|error| error.kind())),
            _ => format!("sync {:?}", kind(&disk.sync_dir(&path).await)),
        };
        log.push(format!("{step} {} {}: {answer}", shown(&path, root), shown(&other, root)));
        for directory in [root.to_owned(), root.join("d"), root.join("d/e")] {
            log.push(format!("  {:?}", disk.list(&directory).await.map_err(|error| error.kind())));
        }
    }
    log
}

fn shown(path: &Path, root: &Path) -> String {
    path.strip_prefix(root).expect("every path is below the root").display().to_string()
}

async fn use_file(file: &dyn File, random: &mut SeededRandom) -> String {
    let offset = random.within(0..9_000);
    let data = Bytes::from(vec![u8::try_from(random.within(1..256)).unwrap(); random.index(6_000)]);
    let written = match random.within(0..5) {
        0 => file.write_now(offset, &data).is_ok(),
        1 => file.write_at(offset, data).await.is_ok(),
        2 => file.set_len(offset).await.is_ok(),
        3 => file.allocate(offset + 1).await.is_ok(),
        _ => file.sync().await.is_ok(),
    };
    let len = usize::try_from(file.len().unwrap()).unwrap();
    let content = file.read_at(0, len).await.unwrap();
    let digest = content.iter().fold(7_u64, |digest, byte| digest.wrapping_mul(31).wrapping_add(u64::from(*byte)));
    let beyond = kind(&file.read_at(1, len).await);
    format!("file {written} {len} {digest} {beyond:?}")
}

#[test]
fn the_simulated_disk_answers_as_the_real_one() {
    let env = RealEnv::start_default().unwrap();
    for seed in 0..60 {
        let directory = tempfile::tempdir().unwrap();
        let real = block_on(play(Arc::clone(env.disk()), directory.path(), seed));
        let simulated = SimWorld::run(seed, async |world| {
            let root = Path::new("/root");
            let node = world.add_node();
            node.disk().prepare_dir(root).unwrap();
            play(Arc::new(node.disk().clone()), root, seed).await
        });
        for (real, simulated) in real.iter().zip(&simulated.answer) {
            assert_eq!(real, simulated, "seed {seed}");
        }
        assert_eq!(real.len(), simulated.answer.len(), "seed {seed}");
    }
}

#[test]
fn a_lock_excludes_others_until_its_process_dies() {
    SimWorld::run(1, async |world| {
        let path = Path::new("/lock");
        let node = world.add_node();
        let first = node.start(move |env| async move {
            let guard = env.disk().lock_file(path).await.unwrap();
            let refused = env.disk().lock_file(path).await.err().unwrap().kind();
            (guard, refused)
        });
        let (guard, refused) = first.join().await.unwrap();
        assert_eq!(refused, ErrorKind::WouldBlock);
        node.kill().await;
        let second = node.start(move |env| async move { env.disk().lock_file(path).await.is_ok() });
        assert!(second.join().await.unwrap());
        drop(guard); // A leftover of the dead process; must not take the living one's lock away.
        node.kill().await;
    });
}
