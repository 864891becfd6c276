//! `airtcp probe`: a hop between two boxes, measured without the traffic of others.

use super::observation;
use crate::Failure;
use crate::interrupt::Interrupt;
use crate::output::{self, say};
use airtcp_core::Duration;
use airtcp_linux::gateway::control::Secret;
use airtcp_linux::gateway::peers::CONTROL_PORT;
use airtcp_linux::observe::{self, Bounds};
use anyhow::{Context, anyhow};
use clap::Args;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// Of spaced probes, in bytes a second: a megabit.
const BYTES_PER_SECOND: u64 = 125_000;
/// How long a probing takes: shorter ones end with the trains.
const SHORTEST: Duration = Duration::from_secs(5);
const LONGEST: Duration = Duration::from_secs(60);

#[derive(Debug, Args)]
#[command(
    after_help = "A running gateway with the same key answers; without one, run `airtcp probe --listen --key FILE` there.\n\
    Bounds: 10 trains of 24 packets of 1228 bytes, a quarter of a second apart, then one such packet every 10 ms at most\n\
    (1 Mbit/s): 3.5 MB in 30 s, 7 MB in 60 s; answers have 84 bytes each."
)]
pub(crate) struct Arguments {
    /// Address of the other box, with a port if it is not 4791
    #[arg(required_unless_present = "listen", value_parser = address)]
    peer: Option<SocketAddr>,
    /// Answer probes of others until Ctrl-C, at this address or any
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, conflicts_with = "peer", value_parser = address,
        default_missing_value = "0.0.0.0")]
    listen: Option<SocketAddr>,
    /// File with the key of both boxes (airtcp key)
    #[arg(long, value_name = "FILE", required_unless_present = "insecure")]
    key: Option<PathBuf>,
    /// No key: whoever sends is answered
    #[arg(long, conflicts_with = "key")]
    insecure: bool,
    /// How long: 5s to 60s
    #[arg(long = "for", value_name = "DURATION", default_value = "30s", value_parser = observation::span)]
    time: Duration,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

fn address(text: &str) -> Result<SocketAddr, String> {
    let alone = text.parse::<IpAddr>().map(|address| SocketAddr::new(address, CONTROL_PORT));
    alone.or_else(|_| text.parse()).map_err(|_| {
        format!("'{text}' is not an address; write one, with a port if it is not {CONTROL_PORT}: 10.9.0.2 or [fd00::2]:{CONTROL_PORT}")
    })
}

pub(crate) fn run(arguments: &Arguments) -> Result<(), Failure> {
    let secret = arguments.key.as_deref().map(Secret::read).transpose().map_err(Failure::input)?;
    let interrupt = Interrupt::listen()?;
    let Some(peer) = arguments.peer else {
        let any = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), CONTROL_PORT);
        let listen = arguments.listen.unwrap_or(any);
        say!("airtcp: answering probes at {listen} until Ctrl-C");
        let answered = observe::answer(listen, secret.as_ref(), &interrupt.stop)
            .with_context(|| format!("nothing can be answered at {listen}; where a gateway runs, it answers itself"))?;
        output::print(&format!("{answered} probes answered"));
        return Ok(());
    };
    if arguments.time < SHORTEST || arguments.time > LONGEST {
        return Err(Failure::input(anyhow!(
            "a probing takes 5s to 60s, not {}: give --for a time in between",
            arguments.time
        )));
    }
    let bounds = Bounds { time: arguments.time, bytes_per_second: BYTES_PER_SECOND };
    if !arguments.json {
        say!("airtcp: probing {peer} for {}, at most {:.1} MB", arguments.time, bounds.bytes() as f64 / 1e6);
    }
    let seen = observe::probe(peer, secret.as_ref(), bounds, &interrupt.stop)?;
    if seen.evidence.hop.is_none() {
        let say = format!(
            "{peer} answers no probes: run `airtcp probe --listen` there with the same key, or a gateway, and let UDP to port {} in",
            peer.port()
        );
        return Err(Failure::Failed(anyhow!(say)));
    }
    observation::show(&seen, arguments.json);
    Ok(())
}
