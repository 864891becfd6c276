//! What a daemon says to whoever keeps its log.

use std::fmt;

macro_rules! levels {
    ($($(#[$doc:meta])* $variant:ident = $label:literal, $priority:literal;)+) => {
        /// How much it matters.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Level { $($(#[$doc])* $variant,)+ }

        impl Level {
            /// Every level, the gravest first.
            pub const ALL: &[Level] = &[$(Level::$variant),+];

            /// Its name.
            pub const fn label(self) -> &'static str {
                match self { $(Level::$variant => $label,)+ }
            }

            /// Its number in syslog(3).
            pub const fn priority(self) -> u8 {
                match self { $(Level::$variant => $priority,)+ }
            }
        }
    };
}

levels! {
    /// The daemon cannot do its work.
    Error = "error", 3;
    /// Somebody should do something.
    Warning = "warning", 4;
    /// Something changed.
    Info = "info", 6;
}

macro_rules! events {
    ($($(#[$doc:meta])* $variant:ident = $label:literal;)+) => {
        /// What happened. The operators' page has a section for each.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum What { $($(#[$doc])* $variant,)+ }

        impl What {
            /// Everything that can happen.
            pub const ALL: &[What] = &[$(What::$variant),+];

            /// Its name in the log.
            pub const fn label(self) -> &'static str {
                match self { $(What::$variant => $label,)+ }
            }
        }
    };
}

events! {
    /// It works.
    Running = "running";
    /// It does not start, or cannot go on.
    Refused = "refused";
    /// It ends because it was told to.
    Ending = "ending";
    /// A worker is gone, and the next one starts soon.
    Restarting = "restarting";
    /// There is no such interface yet.
    Waiting = "waiting_for_link";
    /// Another file holds.
    Reloaded = "reloaded";
    /// Another file does not hold.
    ReloadRefused = "reload_refused";
    /// A new worker begins, for a reload.
    NewWorker = "new_worker";
    /// The process goes on as another program.
    NewProgram = "new_program";
    /// Another program does not take over.
    UpgradeRefused = "upgrade_refused";
    /// The other end answers.
    PeerUp = "peer_up";
    /// The other end is not in reach.
    PeerDown = "peer_down";
    /// What is configured does not fit the link.
    LinkMisfit = "link_misfit";
    /// It fits again.
    LinkFits = "link_fits";
    /// It runs with less than it should have.
    Limited = "limited";
    /// More of the same was not written.
    Omitted = "omitted";
}

/// A line of a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// How much it matters.
    pub level: Level,
    /// What happened.
    pub what: What,
    /// In words, on one line.
    pub text: String,
}

impl Notice {
    /// Something that an operator may want to know.
    pub fn info(what: What, text: impl Into<String>) -> Notice {
        Notice { level: Level::Info, what, text: text.into() }
    }

    /// Something that an operator should act on.
    pub fn warning(what: What, text: impl Into<String>) -> Notice {
        Notice { level: Level::Warning, what, text: text.into() }
    }

    /// Reads what [`fmt::Display`] wrote; `None` if it is something else.
    pub fn parse(line: &str) -> Option<Notice> {
        let mut words = line.splitn(3, ' ');
        let (level, what, text) = (words.next()?, words.next()?, words.next()?);
        let level = *Level::ALL.iter().find(|known| known.label() == level)?;
        let what = *What::ALL.iter().find(|known| known.label() == what)?;
        Some(Notice { level, what, text: text.to_owned() })
    }
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.level.label(), self.what.label(), self.text.replace('\n', " "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_worker_says_is_heard_as_it_was_meant() {
        let notice = Notice::warning(What::PeerDown, "the peer 10.9.0.2 is\nnot in reach: nothing is heard from it");
        let line = notice.to_string();
        assert_eq!(line, "warning peer_down the peer 10.9.0.2 is not in reach: nothing is heard from it");
        assert_eq!(Notice::parse(&line), Some(Notice { text: notice.text.replace('\n', " "), ..notice }));
        for strange in ["", "warning", "loud peer_down x", "warning nothing_known x"] {
            assert_eq!(Notice::parse(strange), None, "{strange}");
        }
    }
}
