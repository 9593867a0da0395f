//! Network file systems, where file locks are not reliable and shared memory does not exist.

use crate::StoreError;
use std::path::Path;

const FUSE: u64 = 0x6573_5546;

/// Names the network file system that a magic number of `statfs` stands for.
pub(super) fn network_kind(magic: u64) -> Option<&'static str> {
    match magic {
        0x6969 => Some("nfs"),
        0xff53_4d42 => Some("cifs"),
        0xfe53_4d42 => Some("smb2"),
        0x517b => Some("smb"),
        0x0102_1997 => Some("9p"),
        0x5346_414f => Some("afs"),
        0x6b41_4653 => Some("kafs"),
        0x00c3_6400 => Some("ceph"),
        0x0bd0_0bd0 => Some("lustre"),
        0x0116_1970 => Some("gfs2"),
        0x7461_636f => Some("ocfs2"),
        0x7375_7245 => Some("coda"),
        0x564c => Some("ncp"),
        0xaad7_aaea => Some("panfs"),
        0x4750_4653 => Some("gpfs"),
        _ => None,
    }
}

/// Names the network file system that a FUSE mount is, by the type that the mount table gives it.
fn fuse_network_kind(fs_type: &str) -> Option<&str> {
    const NETWORK: [&str; 13] = [
        "sshfs",
        "nfs",
        "s3",
        "goofys",
        "rclone",
        "gcsfuse",
        "glusterfs",
        "ceph",
        "davfs",
        "smb",
        "curlftpfs",
        "juicefs",
        "blobfuse",
    ];
    let kind = fs_type.strip_prefix("fuse.").unwrap_or(fs_type);
    NETWORK.iter().any(|name| kind.contains(name)).then_some(kind)
}

/// Finds the type of the mount that a path lies on, in the text of `/proc/self/mountinfo`.
fn mount_type<'t>(mountinfo: &'t str, path: &Path) -> Option<&'t str> {
    let mounts = mountinfo.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = left.split(' ').nth(4)?.replace("\\040", " ");
        path.starts_with(&point).then_some((point.len(), right.split(' ').next()?))
    });
    // Of two mounts on one point the later one is seen.
    mounts.max_by_key(|(length, _)| *length).map(|(_, fs_type)| fs_type)
}

/// Refuses a path on a network file system, before anything is created there.
pub(super) fn refuse(path: &Path) -> Result<(), StoreError> {
    let Some(existing) = path.ancestors().find(|dir| !dir.as_os_str().is_empty() && dir.exists())
    else {
        return check(path, Path::new("."));
    };
    check(path, existing)
}

fn check(path: &Path, existing: &Path) -> Result<(), StoreError> {
    let Some(magic) = magic_of(existing) else { return Ok(()) };
    let kind = match network_kind(magic) {
        Some(kind) => Some(kind.to_owned()),
        None if magic == FUSE => fuse_kind_of(existing),
        None => None,
    };
    match kind {
        Some(kind) => Err(StoreError::Network { path: path.display().to_string(), kind }),
        None => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn magic_of(path: &Path) -> Option<u64> {
    let found = rustix::fs::statfs(path).ok()?;
    // The field is 32 bits wide on some systems, and then signed.
    Some(u64::try_from(found.f_type).unwrap_or_default() & 0xffff_ffff)
}

#[cfg(not(target_os = "linux"))]
fn magic_of(_path: &Path) -> Option<u64> {
    None
}

fn fuse_kind_of(path: &Path) -> Option<String> {
    let mountinfo = std::fs::read_to_string("/proc/self/mountinfo").ok()?;
    let path = path.canonicalize().ok()?;
    fuse_network_kind(mount_type(&mountinfo, &path)?).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn network_file_systems_are_known_by_their_magic_numbers() {
        for (magic, kind) in [(0x6969, "nfs"), (0xff53_4d42, "cifs"), (0x0102_1997, "9p")] {
            assert_eq!(network_kind(magic), Some(kind));
        }
        for local in [0xef53, 0x0102_1994, 0x5846_5342, 0x9123_683e, 0x794c_7630, FUSE] {
            assert_eq!(network_kind(local), None, "{local:#x}");
        }
    }

    #[test]
    fn a_fuse_mount_is_a_network_one_only_by_its_type() {
        for remote in ["fuse.sshfs", "fuse.s3fs", "fuse.rclone", "fuse.glusterfs"] {
            assert!(fuse_network_kind(remote).is_some(), "{remote}");
        }
        for local in ["fuse", "fuse.ntfs-3g", "fuseblk", "fuse.gocryptfs", "fuse.bindfs"] {
            assert!(fuse_network_kind(local).is_none(), "{local}");
        }
    }

    #[test]
    fn the_innermost_mount_decides() {
        let table = "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n\
                     2 1 0:5 / /home/a\\040b rw shared:1 - fuse.sshfs host:/ rw\n";
        assert_eq!(mount_type(table, Path::new("/home/a b/c")), Some("fuse.sshfs"));
        assert_eq!(mount_type(table, Path::new("/home/other")), Some("ext4"));
    }

    #[test]
    fn a_local_directory_is_not_refused() {
        let dir = tempfile::tempdir().unwrap();
        assert!(refuse(&dir.path().join("not/there/yet.db")).is_ok());
    }
}
