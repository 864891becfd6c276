//! What carries a flow in a live run: the kernel's TCP, or what stands in for a socket of the simulator.

use airtcp_core::parameters::{ParameterError, Parameters};
use airtcp_experiment::NotRun;
use airtcp_experiment::scenario::FlowSpec;
use airtcp_linux::traffic::{Carrier, Stream};
use airtcp_schemes::papers::decoupling;
use airtcp_schemes::papers::decoupling::datagrams::{DATAGRAM, STREAMING, StreamSettings};
use airtcp_schemes::socket::wireguard::WireguardSettings;
use airtcp_schemes::socket::{SocketChoice, quic, wireguard};

/// What carries `flow`.
pub(super) fn carrier(flow: &FlowSpec) -> Result<Carrier, NotRun> {
    let socket = &flow.socket;
    let found = match socket.entry.slug {
        slug if socket.is_tcp() || slug == decoupling::socket::ENTRY.slug => Ok(Some(Carrier::Tcp)),
        slug if slug == DATAGRAM.slug => stream(socket, StreamSettings::datagram()),
        slug if slug == STREAMING.slug => stream(socket, StreamSettings::streaming()),
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

/// Whether the kernel's TCP, or a stream, reaches the other host over a forwarder at each.
pub(super) fn is_forwarded(flow: &FlowSpec) -> bool {
    let slug = flow.socket.entry.slug;
    slug == decoupling::socket::ENTRY.slug || slug == STREAMING.slug
}

fn stream(socket: &SocketChoice, mut settings: StreamSettings) -> Result<Option<Carrier>, ParameterError> {
    read(socket, &mut settings)?;
    let source = settings.source;
    let pace = source.pace();
    Ok(Some(Carrier::Datagrams(Stream { pace, via: None, packet: source.packet, dscp: source.data_dscp })))
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
        let pace = Some(Pace::Every(Duration::from_millis(20)));
        let wanted = Stream { pace, via: None, packet: 200, dscp: 46 };
        assert_eq!(stream(&socket, StreamSettings::datagram()), Ok(Some(Carrier::Datagrams(wanted))));
        let wanted = Stream { pace: None, via: None, packet: 1000, dscp: 0 };
        let greedy = STREAMING.with([("packet", "1000")]).unwrap();
        assert_eq!(stream(&greedy, StreamSettings::streaming()), Ok(Some(Carrier::Datagrams(wanted))));
    }

    #[test]
    fn a_tunnel_has_the_mtu_of_the_file() {
        let socket = wireguard::ENTRY.with([("mtu", "1380")]).unwrap();
        assert_eq!(tunnel(&socket), Ok(Some(Carrier::Wireguard { mtu: 1380 })));
    }
}
