//! What goes wrong on the air in both matrices of file transfers, simulated and live: a name, then settings of the link
//! as scenarios write them.

pub const IMPAIRMENTS: &[(&str, &[(&str, &str)])] = &[
    ("none", &[]),
    ("loss 1 %", &[("loss", "1%")]),
    ("loss 5 %", &[("loss", "5%")]),
    ("loss 10 %", &[("loss", "10%")]),
    ("loss 20 %", &[("loss", "20%")]),
    ("bursts, 2 %", &[("loss", "{ kind = \"gilbert-elliott\", mean = \"2%\", burst = 5 }")]),
    ("reordering", &[("reorder", "{ probability = \"5%\", delay = \"8ms\" }")]),
    ("duplication", &[("duplicate", "5%")]),
    ("corruption", &[("corrupt", "3%")]),
    ("outage 2 s", &[("loss", "1%"), ("outage", "{ start = \"0.5s\", duration = \"2s\" }")]),
    (
        "everything",
        &[
            ("loss", "3%"),
            ("reorder", "{ probability = \"2%\", delay = \"8ms\" }"),
            ("duplicate", "2%"),
            ("corrupt", "1%"),
            ("outage", "{ start = \"0.5s\", duration = \"2s\" }"),
        ],
    ),
];
