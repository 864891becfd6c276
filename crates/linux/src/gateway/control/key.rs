//! The secret that both ends of a link share, and the keys made from it, one for each direction.
//!
//! HKDF-SHA256 (RFC 5869) makes a key from the secret and from who sends to whom. So a message that comes back to its
//! sender, or is carried to another pair of gateways with the same secret, is not authentic there.

use airtcp_core::control::MAC_LEN;
use hkdf::Hkdf;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::{fmt, io};

/// Fewest bytes of a secret.
const SECRET_MIN: usize = 16;
/// A file with more is something else that was named by mistake.
const SECRET_MAX: u64 = 4096;
/// Keys that other programs make from the same secret differ.
const SALT: &[u8] = b"airtcp control 2";

/// What a key file holds, ready for use. Never printed.
#[derive(Clone)]
pub struct Secret(Hkdf<Sha256>);

/// Why a key file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum KeyError {
    /// It cannot be read.
    #[error("the key file {path} cannot be read: {source}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// It is a directory or a device.
    #[error("the key {path} is no file")]
    NoFile {
        /// Which one.
        path: PathBuf,
    },
    /// It is no key.
    #[error("the key file {path} has {found} bytes; a key has {SECRET_MAX} at most")]
    Long {
        /// Which file.
        path: PathBuf,
        /// Its length.
        found: u64,
    },
    /// It is too short.
    #[error("the key in {path} has {found} bytes; at least {SECRET_MIN} are needed")]
    Short {
        /// Which file.
        path: PathBuf,
        /// How many it has, without white space around them.
        found: usize,
    },
    /// Others may read it.
    #[error("the key file {path} can be read by everybody")]
    Exposed {
        /// Which file.
        path: PathBuf,
    },
}

impl KeyError {
    /// What to do about it.
    pub fn remedy(&self) -> String {
        match self {
            KeyError::Exposed { path } => format!("chmod 600 {}", path.display()),
            KeyError::Read { path, source } if source.kind() == io::ErrorKind::PermissionDenied => {
                format!("chown root {0}; chmod 600 {0}; or run this as the user that may read it", path.display())
            }
            KeyError::Read { path, .. }
            | KeyError::NoFile { path }
            | KeyError::Long { path, .. }
            | KeyError::Short { path, .. } => {
                format!("make one with `airtcp key {}` and copy it to the other router", path.display())
            }
        }
    }
}

impl Secret {
    /// How to get a key.
    pub const HOW_TO_MAKE: &str = "make one with `airtcp key /etc/airtcp/link.key` and copy it to the other router";

    /// Reads a key file; white space around the secret does not count.
    ///
    /// # Errors
    /// It cannot be read, is no file, too short, too long, or everybody may read it.
    pub fn read(path: &Path) -> Result<Secret, KeyError> {
        let fail = |source| KeyError::Read { path: path.into(), source };
        let found = std::fs::metadata(path).map_err(fail)?;
        if !found.is_file() {
            return Err(KeyError::NoFile { path: path.into() });
        }
        if found.permissions().mode() & 0o007 != 0 {
            return Err(KeyError::Exposed { path: path.into() });
        }
        if found.len() > SECRET_MAX {
            return Err(KeyError::Long { path: path.into(), found: found.len() });
        }
        let content = std::fs::read(path).map_err(fail)?;
        let bytes = content.trim_ascii();
        Secret::from_bytes(bytes).ok_or_else(|| KeyError::Short { path: path.into(), found: bytes.len() })
    }

    /// A secret from its bytes; `None` if there are fewer than 16.
    pub fn from_bytes(secret: &[u8]) -> Option<Secret> {
        (secret.len() >= SECRET_MIN).then(|| Secret(Hkdf::new(Some(SALT), secret)))
    }

    /// The key of what `from` sends to `to`.
    pub fn key(&self, from: SocketAddr, to: SocketAddr) -> Key {
        // Without the zone and flow of IPv6, which the two ends do not share.
        let [from, to] = [from, to].map(|end| SocketAddr::new(end.ip().to_canonical(), end.port()));
        self.expand(&format!("from {from} to {to}"))
    }

    /// The key of what one life of a process sends to one life of another, each by its epoch; `what` names the use.
    pub fn life_key(&self, what: &str, from: u64, to: u64) -> Key {
        self.expand(&format!("{what} from life {from:016x} to {to:016x}"))
    }

    /// The key of a test of the path, by its number.
    pub fn test_key(&self, test: u64) -> Key {
        self.expand(&format!("path test {test:016x}"))
    }

    /// True if both are made of the same bytes.
    pub fn is_same(&self, other: &Secret) -> bool {
        let what = b"are these the same";
        self.expand("comparison").verifies(what, &other.expand("comparison").mac(what))
    }

    fn expand(&self, info: &str) -> Key {
        let mut bytes = [0; 32];
        self.0.expand(info.as_bytes(), &mut bytes).expect("HKDF makes up to 255 blocks");
        Key::new(&bytes)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Makes and checks MACs: HMAC-SHA256 (RFC 2104).
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

impl Key {
    /// From its bytes.
    pub fn new(bytes: &[u8]) -> Key {
        Key(Hmac::new_from_slice(bytes).expect("HMAC takes keys of any length"))
    }

    /// The MAC of `data`.
    pub fn mac(&self, data: &[u8]) -> [u8; MAC_LEN] {
        let full = self.0.clone().chain_update(data).finalize().into_bytes();
        *full.first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// The first bytes of the MAC of `parts`, one after the other.
    pub fn tag<const N: usize>(&self, parts: [&[u8]; 2]) -> [u8; N] {
        const { assert!(N <= MAC_LEN) };
        let full = parts.iter().fold(self.0.clone(), |mac, part| mac.chain_update(part)).finalize().into_bytes();
        *full.first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// True if `tag` is the [`Key::tag`] of `parts`; takes the same time whatever differs.
    pub fn verifies_tag<const N: usize>(&self, parts: [&[u8]; 2], tag: &[u8; N]) -> bool {
        let mac = parts.iter().fold(self.0.clone(), |mac, part| mac.chain_update(part));
        mac.verify_truncated_left(tag).is_ok()
    }

    /// True if `mac` is the MAC of `data`; takes the same time whatever differs.
    pub fn verifies(&self, data: &[u8], mac: &[u8; MAC_LEN]) -> bool {
        self.0.clone().chain_update(data).verify_truncated_left(mac).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 6: a key longer than the block.
    #[test]
    fn macs_are_those_of_rfc_4231() {
        let mac = Key::new(&[0xaa; 131]).mac(b"Test Using Larger Than Block-Size Key - Hash Key First");
        let expected = [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f];
        assert_eq!(mac, expected);
    }

    #[test]
    fn a_secret_needs_sixteen_bytes() {
        assert!(Secret::from_bytes(&[1; SECRET_MIN]).is_some());
        assert!(Secret::from_bytes(&[1; SECRET_MIN - 1]).is_none());
    }

    #[test]
    fn equal_secrets_are_told_from_different_ones() {
        let secret = |byte| Secret::from_bytes(&[byte; 32]).unwrap();
        assert!(secret(1).is_same(&secret(1)) && !secret(1).is_same(&secret(2)));
    }

    #[test]
    fn each_direction_and_each_pair_of_gateways_has_a_key_of_its_own() {
        let secret = Secret::from_bytes(&[1; 32]).unwrap();
        let key = |from: &str, to: &str| secret.key(from.parse().unwrap(), to.parse().unwrap());
        let mac = key("10.0.0.1:4791", "10.0.0.2:4791").mac(b"release");
        let same = key("[::ffff:10.0.0.1]:4791", "10.0.0.2:4791");
        assert!(same.verifies(b"release", &mac));
        for (from, to) in [("10.0.0.2:4791", "10.0.0.1:4791"), ("10.0.0.1:4791", "10.0.0.3:4791")] {
            assert!(!key(from, to).verifies(b"release", &mac), "{from} {to}");
        }
    }

    #[test]
    fn a_key_that_everybody_can_read_is_refused() {
        let path = std::env::temp_dir().join(format!("airtcp-key-{}", std::process::id()));
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let exposed = Secret::read(&path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let private = Secret::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(&exposed, Err(error @ KeyError::Exposed { .. }) if error.remedy().starts_with("chmod 600 ")));
        assert!(private.is_ok());
    }

    #[test]
    fn what_is_no_key_is_not_read() {
        let path = std::env::temp_dir().join(format!("airtcp-no-key-{}", std::process::id()));
        std::fs::write(&path, vec![b'k'; 5000]).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let long = Secret::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(long, Err(KeyError::Long { found: 5000, .. })));
        for endless in ["/dev/zero", "/dev"] {
            assert!(matches!(Secret::read(Path::new(endless)), Err(KeyError::NoFile { .. })), "{endless}");
        }
    }
}
