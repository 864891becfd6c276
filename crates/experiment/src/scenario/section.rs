//! The keys of a section of a file, written once: what a typed struct, its reader, help and docs are made of.

/// One key: its name, an example, what it means.
pub type Key = (&'static str, &'static str, &'static str);

/// Declares the keys of a section as `KEYS` and those with a type as a struct that reads them:
/// `/// meaning` `key: Type = default, "example";` or, for a key that is read in another way, `key, "example";`.
macro_rules! section {
    ($(#[$meta:meta])* $name:ident {
        $(#[doc = $about:literal] $key:ident $(: $type:ty = $default:expr)?, $example:literal;)+
    }) => {
        /// The keys of this section, for help and docs.
        pub const KEYS: &[$crate::scenario::section::Key] =
            &[$((stringify!($key), $example, $about.trim_ascii()),)+];

        $(#[$meta])*
        pub(super) struct $name { $($(#[doc = $about] pub(super) $key: $type,)?)+ }

        impl $name {
            pub(super) fn read(keys: &$crate::scenario::Keys<'_>) -> Result<Self, $crate::scenario::ScenarioError> {
                Ok($name { $($($key: keys.value::<$type>(stringify!($key))?.unwrap_or_else(|| $default),)?)+ })
            }
        }
    };
}

pub(super) use section;

/// The names of `keys`.
pub fn names(keys: &[Key]) -> Vec<&'static str> {
    keys.iter().map(|(name, ..)| *name).collect()
}
