//! What carries a flow in a live run: the kernel's TCP, or what stands in for a socket of the simulator.

use airtcp_core::parameters::{ParameterError, Parameters};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::FlowSpec;
use airtcp_linux::traffic::{Carrier, Stream};
use airtcp_schemes::papers::decoupling;
use airtcp_schemes::papers::decoupling::datagrams::{DATAGRAM, StreamSettings};
use airtcp_schemes::socket::wireguard::WireguardSettings;
use airtcp_schemes::socket::{SocketChoice, quic, wireguard};

/// What carries `flow`.
pub(super) fn carrier(flow: &FlowSpec) -> Result<Carrier, NotRun> {
    let socket = &flow.socket;
    let found = match socket.entry.slug {
        _ if socket.is_tcp() || is_forwarded(flow) => Ok(Some(Carrier::Tcp)),
        slug if slug == DATAGRAM.slug => stream(socket),
        slug if slug == quic::ENTRY.slug => Ok(Some(Carrier::Quic { receive_window: flow.config.receive_buffer.0 })),
        slug if slug == wireguard::ENTRY.slug => tunnel(socket),
        _ => Ok(None),
    };
    let refused = |error: ParameterError| NotRun::Failed(format!("flow '{}': {error}", flow.name));
    found.map_err(refused)?.ok_or_else(|| {
        let sentence = format!("flow '{}' has a socket that live runs do not have; run it in the simulator", flow.name);
        NotRun::Skipped(sentence)
    })
}

/// Whether the kernel's TCP reaches the other host over a forwarder at each.
pub(super) fn is_forwarded(flow: &FlowSpec) -> bool {
    flow.socket.entry.slug == decoupling::socket::ENTRY.slug
}

fn stream(socket: &SocketChoice) -> Result<Option<Carrier>, ParameterError> {
    let mut settings = StreamSettings::datagram();
    read(socket, &mut settings)?;
    let source = settings.source;
    let carrier = |pace| Carrier::Datagrams(Stream { pace, packet: source.packet, dscp: source.data_dscp });
    Ok(source.pace().map(carrier))
}

fn tunnel(socket: &SocketChoice) -> Result<Option<Carrier>, ParameterError> {
    let mut settings = WireguardSettings::default();
    read(socket, &mut settings)?;
    Ok(Some(Carrier::Wireguard { mtu: settings.mtu }))
}

/// The socket's settings as what they are; a line in the table of sockets hides that.
fn read(socket: &SocketChoice, settings: &mut impl Parameters) -> Result<(), ParameterError> {
    let mut fields = socket.settings.fields().into_iter();
    fields.try_for_each(|field| settings.set(field.name, &field.value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;
    use airtcp_schemes::socket::datagram::Pace;

    #[test]
    fn a_stream_is_sent_live_as_the_file_says() {
        let socket = DATAGRAM.with([("every", "20ms"), ("packet", "200"), ("data_dscp", "46")]).unwrap();
        let wanted = Stream { pace: Pace::Every(Duration::from_millis(20)), packet: 200, dscp: 46 };
        assert_eq!(stream(&socket), Ok(Some(Carrier::Datagrams(wanted))));
    }

    #[test]
    fn a_tunnel_has_the_mtu_of_the_file() {
        let socket = wireguard::ENTRY.with([("mtu", "1380")]).unwrap();
        assert_eq!(tunnel(&socket), Ok(Some(Carrier::Wireguard { mtu: 1380 })));
    }
}
