//! QUIC from one namespace to the other: quinn's protocol on both ends, checked byte by byte.
//!
//! `quinn-proto` has no I/O, so a thread for each end drives it over a UDP socket of its namespace ([`end`]) as the threads
//! of a TCP flow drive theirs; `quinn-udp` carries ECN. A runtime for tasks would be more code to build and would send
//! batches (GSO); as with the testbed's TCP each packet leaves by itself. Everything else is as quinn has it: its
//! controllers and pacing, its search for the MTU, its timers. The receive window alone is the flow's, so that it is no
//! tighter than TCP's over a long path.

mod end;
mod receiver;
mod security;
mod sender;

use super::combine::combine;
use super::flow::{FlowSpec, Progress, TrafficError, since};
use super::result::{FlowResult, Outcome};
use airtcp_core::{Duration, Instant};
use quinn_proto::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn_proto::{MtuDiscoveryConfig, TransportConfig, VarInt};
use std::sync::Arc;

/// Runs the flow to its end.
pub(in crate::traffic) fn run(
    receive_window: u64,
    spec: &FlowSpec,
    origin: Instant,
    progress: &Progress,
) -> Result<FlowResult, TrafficError> {
    let transport = Arc::new(transport(receive_window, spec)?);
    let ends = security::configurations(&transport);
    let (client, server) =
        ends.map_err(|error| TrafficError::Quic { flow: spec.name.clone(), message: error.to_string() })?;
    let failed = |action| move |source| TrafficError::Socket { flow: spec.name.clone(), action, source };
    let receiver = end::End::listen(spec, server).map_err(failed("listen"))?;
    let to = receiver.address().map_err(failed("read the listening port"))?;
    let opened_at = since(origin);
    let sender = end::End::connect(spec, client, to).map_err(failed("open the sender's socket"))?;
    let (sent, received) = std::thread::scope(|scope| {
        let receiving = std::thread::Builder::new().name("airtcp-receiver".into()).stack_size(spec.carrier.stack());
        let receiving = receiving.spawn_scoped(scope, || receiver::receive(receiver, spec, origin, progress));
        let receiving = receiving.map_err(failed("start a thread"))?;
        let sent = sender::send(sender, spec, origin, progress);
        Ok((sent, receiving.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))))
    })?;
    let connected_at = sent.connected_at;
    let result = combine(spec, progress, connected_at.unwrap_or(Duration::ZERO), sent.sent, received);
    let outcome = match (connected_at, result.outcome) {
        (None, Outcome::Broken(words)) => Outcome::NotConnected(words),
        (_, outcome) => outcome,
    };
    Ok(FlowResult { opened_at: Some(opened_at), connected_at, outcome, ..result })
}

fn transport(receive_window: u64, spec: &FlowSpec) -> Result<TransportConfig, TrafficError> {
    let controller: Arc<dyn ControllerFactory + Send + Sync> = match spec.controller.as_str() {
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        "reno" => Arc::new(NewRenoConfig::default()),
        other => return Err(TrafficError::NotOfQuic { flow: spec.name.clone(), controller: other.into() }),
    };
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller);
    transport.mtu_discovery_config(Some(MtuDiscoveryConfig::default()));
    transport.stream_receive_window(VarInt::from_u64(receive_window).unwrap_or(VarInt::MAX));
    transport.send_window(receive_window);
    Ok(transport)
}
