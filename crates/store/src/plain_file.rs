//! Reading files that a user or a repository names: plain files only, up to a bound, and without ever waiting. A link
//! may lead to a device that never ends, and a pipe may have nobody at its other end.

use rustix::fs::{Mode, OFlags, openat};
use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::os::fd::AsFd;
use std::path::Path;

/// How a plain file is opened: opening a pipe this way does not wait.
const READ: OFlags = OFlags::RDONLY.union(OFlags::NONBLOCK).union(OFlags::CLOEXEC);

/// Opens a plain file; links are followed.
pub fn open(path: &Path) -> Result<File> {
    plain(rustix::fs::open(path, READ, Mode::empty())?.into())
}

/// Opens a plain file of a directory; a link is none.
pub fn open_in(dir: impl AsFd, name: &str) -> Result<File> {
    plain(openat(dir, name, READ.union(OFlags::NOFOLLOW), Mode::empty())?.into())
}

/// Returns a file that is a plain one.
fn plain(file: File) -> Result<File> {
    let kind = file.metadata()?.file_type();
    let what = match kind {
        kind if kind.is_file() => return Ok(file),
        kind if kind.is_dir() => "it is a directory",
        _ => "it is a pipe or a device, and no file",
    };
    Err(Error::new(ErrorKind::InvalidInput, what))
}

/// Reads a plain file that has at most so many bytes.
pub fn read(path: &Path, bytes_max: usize) -> Result<Vec<u8>> {
    read_all(open(path)?, bytes_max)
}

/// Reads all of an open file, or of standard input, that has at most so many bytes.
pub fn read_all(input: impl Read, bytes_max: usize) -> Result<Vec<u8>> {
    let most = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    input.take(most).read_to_end(&mut bytes)?;
    if bytes.len() > bytes_max {
        let said = format!("it is larger than {bytes_max} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, said));
    }
    Ok(bytes)
}

/// Copies a plain file to a new one.
pub fn copy(from: &Path, to: &Path) -> Result<u64> {
    std::io::copy(&mut open(from)?, &mut File::create(to)?)
}

/// Reads a plain file as text.
pub fn read_text(path: &Path, bytes_max: usize) -> Result<String> {
    let bytes = read(path, bytes_max)?;
    String::from_utf8(bytes).map_err(|_| Error::new(ErrorKind::InvalidData, "it is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_file_is_read_up_to_its_bound_and_nothing_is_waited_for() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        std::fs::write(at("plain"), "12345").unwrap();
        assert_eq!(read_text(&at("plain"), 5).unwrap(), "12345");
        assert_eq!(read(&at("plain"), 4).unwrap_err().kind(), ErrorKind::FileTooLarge);
        std::os::unix::fs::symlink("plain", at("link")).unwrap();
        assert_eq!(read_text(&at("link"), 5).unwrap(), "12345");
        std::os::unix::fs::symlink("/dev/zero", at("zero")).unwrap();
        let (fifo, mode) = (rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR);
        rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), fifo, mode, 0).unwrap();
        for name in ["zero", "pipe", "."] {
            let error = read(&at(name), 5).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidInput, "{name}: {error}");
        }
        assert_eq!(read(&at("none"), 5).unwrap_err().kind(), ErrorKind::NotFound);
        let here = File::open(dir.path()).unwrap();
        assert!(open_in(&here, "plain").is_ok());
        assert!(open_in(&here, "link").is_err());
    }
}
