//! A flow that runs: its threads, its handle, and its result put together.

use super::combine::combine;
use super::datagrams;
use super::establish::{Ends, establish};
use super::flow::{Carrier, FlowSpec, Progress, STACK, TrafficError, since};
#[cfg(feature = "quic")]
use super::quic;
use super::receiver;
use super::result::{FlowResult, Outcome};
use super::sender;
#[cfg(feature = "wireguard")]
use super::wireguard::Tunnel;
use airtcp_core::{Duration, Instant};
use std::sync::Arc;
use std::thread::JoinHandle;

/// A flow on its threads. Dropping it cancels it.
#[derive(Debug)]
pub struct RunningFlow {
    progress: Arc<Progress>,
    thread: Option<JoinHandle<Result<FlowResult, TrafficError>>>,
}

impl RunningFlow {
    /// How far it is.
    pub fn progress(&self) -> &Progress {
        &self.progress
    }

    /// True once [`join`](Self::join) would not wait.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Ends the flow soon.
    pub fn cancel(&self) {
        self.progress.cancel();
    }

    /// Waits for the end, at most until the flow's deadline.
    pub fn join(mut self) -> Result<FlowResult, TrafficError> {
        let thread = self.thread.take().expect("joined only once");
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for RunningFlow {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.progress.cancel();
            // A panic of the flow was for `join` to pass on; nobody asked.
            let _ = thread.join();
        }
    }
}

/// Starts a flow of the run that began at `origin` (CLOCK_MONOTONIC).
pub fn start(spec: FlowSpec, origin: Instant) -> Result<RunningFlow, TrafficError> {
    let progress = Arc::new(Progress::default());
    let shared = Arc::clone(&progress);
    let flow = spec.name.clone();
    let thread = std::thread::Builder::new()
        .name("airtcp-sender".into())
        .stack_size(spec.carrier.stack())
        .spawn(move || run(&spec, origin, &shared))
        .map_err(|source| TrafficError::Socket { flow, action: "start a thread", source })?;
    Ok(RunningFlow { progress, thread: Some(thread) })
}

fn run(spec: &FlowSpec, origin: Instant, progress: &Progress) -> Result<FlowResult, TrafficError> {
    while since(origin) < spec.start && !progress.is_cancelled() {
        let left = spec.start.saturating_sub(since(origin)).as_nanos().min(20_000_000);
        std::thread::sleep(std::time::Duration::from_nanos(left));
    }
    spec.take_priority()?;
    match &spec.carrier {
        Carrier::Tcp => over_tcp(spec, origin, progress),
        Carrier::Datagrams(stream) => datagrams::run(stream, spec, origin, progress),
        #[cfg(feature = "wireguard")]
        Carrier::Wireguard { mtu } => {
            let (tunnel, inside) = Tunnel::up(*mtu, spec)?;
            let result = over_tcp(&inside, origin, progress);
            let failed =
                |source| TrafficError::Socket { flow: spec.name.clone(), action: "keep the tunnel up", source };
            tunnel.down().map_err(failed).and(result)
        }
        #[cfg(not(feature = "wireguard"))]
        Carrier::Wireguard { .. } => {
            Err(TrafficError::NotBuilt { flow: spec.name.clone(), what: "WireGuard", feature: "wireguard" })
        }
        #[cfg(feature = "quic")]
        Carrier::Quic { receive_window } => quic::run(*receive_window, spec, origin, progress),
        #[cfg(not(feature = "quic"))]
        Carrier::Quic { .. } => Err(TrafficError::NotBuilt { flow: spec.name.clone(), what: "QUIC", feature: "quic" }),
    }
}

fn over_tcp(spec: &FlowSpec, origin: Instant, progress: &Progress) -> Result<FlowResult, TrafficError> {
    let Ends { client, server, opened_at } = match establish(spec, origin, progress)? {
        Ok(ends) => ends,
        Err(outcome) => return Ok(unconnected(spec, progress, outcome)),
    };
    let connected_at = since(origin);
    let (sent, received) = std::thread::scope(|scope| {
        let receiver = std::thread::Builder::new()
            .name("airtcp-receiver".into())
            .stack_size(STACK)
            .spawn_scoped(scope, || spec.take_priority().map(|()| receiver::receive(server, spec, origin, progress)));
        let receiver = receiver.map_err(|source| TrafficError::Socket {
            flow: spec.name.clone(),
            action: "start a thread",
            source,
        })?;
        let sent = sender::send(client, spec, origin, progress);
        let received = receiver.join().unwrap_or_else(|p| std::panic::resume_unwind(p));
        Ok((sent, received?))
    })?;
    Ok(FlowResult { opened_at: Some(opened_at), ..combine(spec, progress, connected_at, sent, received) })
}

fn unconnected(spec: &FlowSpec, progress: &Progress, outcome: Outcome) -> FlowResult {
    let (sent, received) = (sender::Sent::default(), receiver::Received::default());
    FlowResult { connected_at: None, outcome, ..combine(spec, progress, Duration::ZERO, sent, received) }
}
