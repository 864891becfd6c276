//! Words with a meaning: events, gauges, reasons.
//!
//! Core declares the common ones; a scheme, also one of another crate, declares its own beside its code. Nobody has to
//! know all of them: results and metrics go by the label, and two with the same label are the same.

/// A word and what it means.
#[derive(Debug)]
pub struct Label {
    /// Name in results, metrics and traces: `lower_case`.
    pub label: &'static str,
    /// What is counted, one sentence.
    pub about: &'static str,
}

/// Defines a kind of label and its common members, as associated constants and as the list `COMMON`.
macro_rules! labels {
    ($(#[$meta:meta])* $kind:ident { $($(#[doc = $about:literal])+ $name:ident = $label:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy)]
        pub struct $kind(&'static $crate::label::Label);

        impl $kind {
            $(
                $(#[doc = $about])+
                pub const $name: $kind = {
                    static LABEL: $crate::label::Label =
                        $crate::label::Label { label: $label, about: concat!($($about),+).trim_ascii() };
                    $kind(&LABEL)
                };
            )+

            /// Those that do not belong to one scheme, in the order of their declaration.
            pub const COMMON: &'static [$kind] = &[$($kind::$name),+];

            /// One more; [`declare!`](crate::declare!) calls it.
            pub const fn new(label: &'static $crate::label::Label) -> Self {
                $kind(label)
            }

            /// The name in results, metrics and traces.
            pub const fn label(self) -> &'static str {
                self.0.label
            }

            /// What it means, one sentence.
            pub const fn about(self) -> &'static str {
                self.0.about
            }
        }

        impl PartialEq for $kind {
            #[inline]
            fn eq(&self, other: &Self) -> bool {
                core::ptr::eq(self.0, other.0) || self.label() == other.label()
            }
        }

        impl Eq for $kind {}

        impl PartialOrd for $kind {
            fn partial_cmp(&self, other: &Self) -> Option<core::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }

        impl Ord for $kind {
            fn cmp(&self, other: &Self) -> core::cmp::Ordering {
                self.label().cmp(other.label())
            }
        }

        impl core::fmt::Debug for $kind {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.label())
            }
        }
    };
}
pub(crate) use labels;

/// Declares events, gauges or reasons of one scheme, and the list of them for its line in the table of schemes.
///
/// ```
/// use airtcp_core::Event;
/// airtcp_core::declare! { Event, EVENTS:
///     /// An acknowledgment left in the place of several.
///     MERGED = "acks_merged",
/// }
/// assert_eq!((EVENTS, MERGED.label()), (&[MERGED][..], "acks_merged"));
/// ```
#[macro_export]
macro_rules! declare {
    ($kind:ident, $list:ident: $($(#[doc = $about:literal])+ $name:ident = $label:literal,)+) => {
        $(
            $(#[doc = $about])+
            pub const $name: $crate::$kind = {
                static LABEL: $crate::label::Label =
                    $crate::label::Label { label: $label, about: concat!($($about),+).trim_ascii() };
                $crate::$kind::new(&LABEL)
            };
        )+
        #[doc = concat!("Every `", stringify!($kind), "` that is declared here.")]
        pub const $list: &[$crate::$kind] = &[$($name),+];
    };
}

#[cfg(test)]
mod tests {
    use crate::{DropReason, Event};

    crate::declare! { Event, EVENTS:
        /// One of our own,
        /// in two lines.
        OWN = "own",
        /// Another one.
        OTHER = "other",
    }

    #[test]
    fn a_label_is_itself_and_no_other() {
        assert_eq!(OWN, OWN);
        assert!(OWN != OTHER && EVENTS == [OWN, OTHER]);
        assert_eq!(OWN.about(), "One of our own, in two lines.");
    }

    #[test]
    fn common_labels_are_words_and_differ() {
        let mut labels: alloc::vec::Vec<&str> = DropReason::COMMON.iter().map(|reason| reason.label()).collect();
        let count = labels.len();
        labels.sort_unstable();
        labels.dedup();
        assert_eq!(labels.len(), count);
        assert!(Event::COMMON.iter().all(|event| event.label().bytes().all(|c| c.is_ascii_lowercase() || c == b'_')));
    }
}
