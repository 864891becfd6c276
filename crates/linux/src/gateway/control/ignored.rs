//! Why control messages are ignored.

macro_rules! reasons {
    ($($(#[$doc:meta])* $variant:ident = $label:literal, $sentence:literal;)+) => {
        /// Why a control message was ignored.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Ignored { $($(#[$doc])* $variant,)+ }

        impl Ignored {
            /// Every reason, in declaration order.
            pub const ALL: &[Ignored] = &[$(Ignored::$variant),+];

            /// The name used in status and metrics.
            pub const fn label(self) -> &'static str {
                match self { $(Ignored::$variant => $label,)+ }
            }

            /// What it says about the peer, for operators.
            pub const fn sentence(self) -> &'static str {
                match self { $(Ignored::$variant => $sentence,)+ }
            }
        }
    };
}

reasons! {
    /// Its sender is not the configured peer.
    Stranger = "stranger", "somebody else sends control messages";
    /// It came over more routers than `hops` allows.
    HopLimit = "hop_limit", "its messages come over more routers than `hops` allows";
    /// It is not in our envelope.
    Malformed = "malformed", "what comes from its address is no control message";
    /// It is of a version this program does not speak.
    Version = "version", "it speaks another version of the control protocol: update the older gateway";
    /// It is not authenticated, but a key is set here.
    Unauthenticated = "unauthenticated", "it has no key, and this gateway has one: give both the same `key`";
    /// It is authenticated, but there is no key here.
    Keyed = "keyed", "it has a key, and this gateway has none: give both the same `key`";
    /// Its authentication is wrong: another key, or forged.
    BadMac = "bad_mac", "its messages are made with another key: give both gateways the same `key`";
    /// It has the key, but another gateway that has it answers elsewhere.
    Elsewhere = "elsewhere", "another gateway with its key sends from another address: give each peer a `key` of its own";
    /// It is a message of ours that came back.
    Reflected = "reflected", "this gateway's own messages come back: is `peer` the other router's address?";
    /// It was seen before, or is too old to tell.
    Replayed = "replayed", "its messages are repeated";
    /// It is of a life of the peer that has not answered a challenge.
    NoSession = "no_session", "it has not answered a challenge";
    /// The peer has not answered a challenge lately: it may not hear us.
    Unanswered = "unanswered", "it is heard, but does not hear this gateway";
    /// It belongs to another scheme: the two ends are configured differently.
    OtherScheme = "other_scheme", "it runs another scheme: give both gateways the same `scheme`";
    /// The two ends run the scheme in different modes.
    OtherMode = "other_mode", "it runs the scheme in another mode: give both gateways the same `mode`";
}
