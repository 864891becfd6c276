//! A host, two routers and a server in a row.

use airtcp_core::parameters::Parameters;
use airtcp_link::LinkSettings;
use airtcp_linux::emulator::EmulatorOptions;
use airtcp_linux::testbed::{LinkSpec, NodeSpec, Testbed, TestbedSpec};

/// The two nodes in the middle forward; each link leads to the next node and has its settings in both directions.
pub fn row(nodes: [&str; 4], links: [(&str, &[(&str, &str)]); 3]) -> Testbed {
    let settings = |keys: &[(&str, &str)]| {
        let mut settings = LinkSettings::default();
        keys.iter().for_each(|(key, value)| settings.set(key, &(*value).into()).expect("a setting"));
        settings
    };
    let links = links.iter().zip(nodes.windows(2));
    let spec = TestbedSpec {
        nodes: nodes.map(|name| NodeSpec { name: name.into(), forwards: nodes[1..3].contains(&name) }).into(),
        links: links
            .map(|((name, keys), ends)| LinkSpec::new(name, [ends[0], ends[1]], settings(keys), settings(keys)))
            .collect(),
        default_controller: "cubic".into(),
        emulator: EmulatorOptions::default(),
    };
    Testbed::up(spec).expect("a testbed")
}
