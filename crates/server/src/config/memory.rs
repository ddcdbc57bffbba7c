//! How much memory and how many processors there are for this process: the machine's, or the container's limit.

use std::path::Path;

use helenus_env::Disk;
use helenus_env::whole_file;

/// cgroup v1 says "no limit" with a number near 2^63.
const NO_LIMIT: u64 = 1 << 60;

/// What the process may use: the smaller of the machine's memory and the limits of its control groups.
pub async fn available_bytes(disk: &dyn Disk) -> Option<u64> {
    let meminfo = read_text(disk, Path::new("/proc/meminfo")).await?;
    let machine = total_of_meminfo(&meminfo)?;
    let mut limit = machine;
    let groups = read_text(disk, Path::new("/proc/self/cgroup")).await.unwrap_or_default();
    for path in limit_files(&groups) {
        if let Some(bytes) = read_text(disk, Path::new(&path)).await.as_deref().and_then(parse_limit) {
            limit = limit.min(bytes);
        }
    }
    Some(limit)
}

/// Files of `/proc` and `/sys` have no length, so they are read until they end.
async fn read_text(disk: &dyn Disk, path: &Path) -> Option<String> {
    const BYTES_MAX: usize = 16 << 10;
    let file = disk.open(path, helenus_env::OpenMode::Read).await.ok()?;
    if let Some(Ok(text)) = whole_file::read(disk, path).await.ok().map(|bytes| String::from_utf8(bytes.to_vec()))
        && !text.is_empty()
    {
        return Some(text);
    }
    let mut text = Vec::new();
    while text.len() < BYTES_MAX {
        match file.read_at(text.len() as u64, 1).await {
            Ok(byte) => text.extend_from_slice(&byte),
            Err(_) => break,
        }
    }
    String::from_utf8(text).ok()
}

fn total_of_meminfo(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

/// Where the limits of the groups in `/proc/self/cgroup` stand: every group up to the root, for both versions.
fn limit_files(groups: &str) -> Vec<String> {
    let mut files = Vec::new();
    for line in groups.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(_), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else { continue };
        let (root, file) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            list if list.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        let mut group = path.trim_end_matches('/');
        loop {
            files.push(format!("{root}{group}/{file}"));
            match group.rfind('/') {
                Some(end) => group = &group[..end],
                None => break,
            }
        }
    }
    files
}

/// `max` is no limit.
fn parse_limit(text: &str) -> Option<u64> {
    text.trim().parse::<u64>().ok().filter(|bytes| *bytes < NO_LIMIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_of_both_versions_are_found_up_to_the_root() {
        let version_2 = limit_files("0::/system.slice/helenus.service\n");
        assert_eq!(
            version_2,
            [
                "/sys/fs/cgroup/system.slice/helenus.service/memory.max",
                "/sys/fs/cgroup/system.slice/memory.max",
                "/sys/fs/cgroup/memory.max"
            ]
        );
        let version_1 = limit_files("5:cpu,cpuacct:/a\n4:memory:/docker/x\n");
        assert_eq!(version_1[0], "/sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes");
        assert_eq!(version_1.len(), 3);
    }

    #[test]
    fn no_limit_has_two_spellings() {
        assert_eq!(parse_limit("max\n"), None);
        assert_eq!(parse_limit("9223372036854771712\n"), None);
        assert_eq!(parse_limit("1073741824\n"), Some(1 << 30));
        assert_eq!(total_of_meminfo("MemTotal:       16384 kB\nMemFree: 1 kB\n"), Some(16 << 20));
    }
}
