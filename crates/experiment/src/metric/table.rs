//! How a table of metrics is written.

/// Declares a table of metrics with what they have in common, how runs combine and who the members are; then each with
/// what it means, name, title, unit, its own way to combine if it has one, and its value in one run:
///
/// ```text
/// TABLE: combine, members;
/// /// meaning
/// "name", "title", unit, combine => per_run;
/// ```
macro_rules! metrics {
    ($table:ident: $combine:expr, $members:expr; $(
        #[doc = $about:literal] $name:literal, $title:literal, $unit:expr $(, $own:expr)? => $per_run:expr;
    )+) => {
        pub(super) const $table: &[$crate::metric::Metric] = &[$($crate::metric::Metric {
            name: $name,
            title: $title,
            unit: $unit,
            about: $about.trim_ascii(),
            per_run: $per_run,
            combine: $crate::metric::table::metrics!(@first $($own,)? $combine),
            members: $members,
        },)+];
    };
    (@first $first:expr $(, $other:expr)?) => { $first };
}

pub(super) use metrics;
