//! What an operator should know of the rate.

/// See the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Advice {
    /// The bound is above what the link carries.
    CarriesLess,
    /// Nothing waits in the link although it is sent all that the bound allows.
    CarriesMore,
    /// Somebody else fills the link, so a share of it is taken, as TCP does.
    FilledByOthers,
}

impl Advice {
    /// One sentence.
    pub const fn sentence(self) -> &'static str {
        match self {
            Advice::CarriesLess => "the link carries less than the configured rate: sending what it carries",
            Advice::CarriesMore => "the link would carry more than the configured rate",
            Advice::FilledByOthers => {
                "packets wait in the link however little is sent, so somebody else fills it: taking a share of it as TCP does"
            }
        }
    }
}
