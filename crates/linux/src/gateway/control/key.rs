//! The secret that both ends of a link share, and the MAC it makes (HMAC-SHA256, RFC 2104).

use airtcp_core::control::MAC_LEN;
use hmac::{Hmac, Mac};
use sha2::Sha256;
use std::fmt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Fewest bytes of a secret.
const SECRET_MIN: usize = 16;

/// A secret, ready for use. Never printed.
#[derive(Clone)]
pub struct Key(Hmac<Sha256>);

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
    /// It is too short.
    #[error("the key in {path} has {found} bytes; at least {SECRET_MIN} are needed")]
    Short {
        /// Which file.
        path: PathBuf,
        /// How many it has, without white space around them.
        found: usize,
    },
    /// Others may read it.
    #[error("the key file {path} can be read by everybody; run: chmod 600 {path}")]
    Exposed {
        /// Which file.
        path: PathBuf,
    },
}

impl Key {
    /// How to get a key.
    pub const HOW_TO_MAKE: &str = "make one with `(umask 077; head -c 32 /dev/urandom | base64 > link.key)` and copy it to \
         the other box";

    /// Reads a key file; white space around the secret does not count.
    ///
    /// # Errors
    /// It cannot be read, is too short, or everybody may read it.
    pub fn read(path: &Path) -> Result<Key, KeyError> {
        let fail = |source| KeyError::Read { path: path.into(), source };
        let mode = std::fs::metadata(path).map_err(fail)?.permissions().mode();
        if mode & 0o007 != 0 {
            return Err(KeyError::Exposed { path: path.into() });
        }
        let content = std::fs::read(path).map_err(fail)?;
        let secret = content.trim_ascii();
        Key::from_bytes(secret).ok_or_else(|| KeyError::Short { path: path.into(), found: secret.len() })
    }

    /// A key from its bytes; `None` if there are fewer than 16.
    pub fn from_bytes(secret: &[u8]) -> Option<Key> {
        if secret.len() < SECRET_MIN {
            return None;
        }
        Hmac::new_from_slice(secret).ok().map(Key)
    }

    /// The MAC of `data`.
    pub fn mac(&self, data: &[u8]) -> [u8; MAC_LEN] {
        let full = self.0.clone().chain_update(data).finalize().into_bytes();
        *full.first_chunk().expect("SHA-256 has 32 bytes")
    }

    /// True if `mac` is the MAC of `data`; takes the same time whatever differs.
    pub fn verifies(&self, data: &[u8], mac: &[u8; MAC_LEN]) -> bool {
        self.0.clone().chain_update(data).verify_truncated_left(mac).is_ok()
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(secret)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231, test case 6: a key longer than the block.
    #[test]
    fn macs_are_those_of_rfc_4231() {
        let key = Key::from_bytes(&[0xaa; 131]).unwrap();
        let mac = key.mac(b"Test Using Larger Than Block-Size Key - Hash Key First");
        let expected = [0x60, 0xe4, 0x31, 0x59, 0x1e, 0xe0, 0xb6, 0x7f, 0x0d, 0x8a, 0x26, 0xaa, 0xcb, 0xf5, 0xb7, 0x7f];
        assert_eq!(mac, expected);
    }

    #[test]
    fn a_secret_needs_sixteen_bytes() {
        assert!(Key::from_bytes(&[1; SECRET_MIN]).is_some());
        assert!(Key::from_bytes(&[1; SECRET_MIN - 1]).is_none());
    }

    #[test]
    fn a_key_that_everybody_can_read_is_refused() {
        let path = std::env::temp_dir().join(format!("airtcp-key-{}", std::process::id()));
        std::fs::write(&path, "0123456789abcdef0123456789abcdef\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
        let exposed = Key::read(&path);
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let private = Key::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert!(matches!(exposed, Err(KeyError::Exposed { .. })));
        assert!(private.is_ok());
    }
}
