//! Both directions in one socket.

use super::ReliableSettings;
use super::sender::Sender;
use crate::papers::decoupling::{Circuit, CircuitEnd};
use crate::socket::{Socket, SocketSite};
use airtcp_core::{Event, Instant, Packet};
use airtcp_tcp::{Connection, Opening};
use alloc::vec::Vec;

/// One end of a data TCP that sends and receives: what it sends leaves through a circuit of its own, and the far end's
/// circuit ends here. Both ends drive it as any [`Socket`].
pub struct Duplex {
    sender: Sender,
    end: CircuitEnd,
    control_port: u16,
}

impl Duplex {
    /// The end that opens the data TCP.
    pub fn connect(settings: &ReliableSettings, site: &mut SocketSite<'_>, now: Instant) -> Duplex {
        let sender = Sender::new(settings, site, now);
        Duplex::of(settings, site, sender)
    }

    /// The end that answers `syn`; `None` if that is no SYN for it.
    pub fn accept(
        settings: &ReliableSettings,
        site: &mut SocketSite<'_>,
        syn: &Packet,
        now: Instant,
    ) -> Option<Duplex> {
        let opening = Opening { config: settings.data_config(&site.opening.config), ..site.opening.clone() };
        let data = Connection::accept(&opening, syn, now)?;
        let sender = Sender::over(settings, data, site, now);
        Some(Duplex::of(settings, site, sender))
    }

    fn of(settings: &ReliableSettings, site: &mut SocketSite<'_>, sender: Sender) -> Duplex {
        let (local, remote) = (site.opening.local.address, site.opening.remote.address);
        let circuit = settings.circuit.for_flow(site.flow);
        Duplex { sender, end: CircuitEnd::new(&circuit, local, remote, site.rng), control_port: circuit.port }
    }

    /// Takes a packet of the far end: of the data TCP, or of one of the control TCPs.
    pub fn handle_packet(&mut self, now: Instant, packet: &Packet) {
        if self.end.owns(packet) {
            self.end.handle_control(now, packet);
        } else {
            self.sender.handle_packet(now, packet);
        }
    }

    /// The next packet to send now; call again until there is none.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Packet> {
        self.sender.poll_transmit(now).or_else(|| self.end.poll_transmit(now))
    }

    /// The earliest deadline.
    pub fn poll_timeout(&self) -> Option<Instant> {
        self.sender.poll_timeout().into_iter().chain(self.end.poll_timeout()).min()
    }

    /// Acts on every deadline that has passed.
    pub fn handle_timeout(&mut self, now: Instant) {
        self.sender.handle_timeout(now);
        self.end.handle_timeout(now);
    }

    /// The data TCP.
    pub fn data(&self) -> &Connection {
        self.sender.data()
    }

    /// The data TCP: to read and write.
    pub fn data_mut(&mut self) -> &mut Connection {
        self.sender.data_mut()
    }

    /// The circuit that lets out what this end sends.
    pub fn circuit(&self) -> &Circuit {
        self.sender.circuit()
    }

    /// What the circuit counts, as the entry of the socket declares it.
    pub fn counts(&self) -> Vec<(Event, u64)> {
        self.sender.counts()
    }

    /// The port that control TCPs of both directions lead to; their own ports follow it.
    pub fn control_port(&self) -> u16 {
        self.control_port
    }

    /// What holds at any time.
    ///
    /// # Errors
    /// A sentence that names what is broken.
    pub fn check(&self) -> Result<(), &'static str> {
        self.sender.check()?;
        self.end.check()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::{ByteSize, Duration, Rng, SeqNum};
    use airtcp_tcp::{Config, Endpoint, Stream};
    use alloc::collections::VecDeque;
    use bytes::Bytes;

    fn opening(local: u8, remote: u8) -> Opening {
        let end = |last: u8| Endpoint { address: [192, 0, 2, last].into(), port: u16::from(last) };
        let config = Config {
            receive_buffer: ByteSize(256 << 10),
            send_buffer: Some(ByteSize(256 << 10)),
            ..Config::without_habits()
        };
        Opening {
            config,
            local: end(local),
            remote: end(remote),
            initial_sequence: SeqNum(u32::MAX - 3000),
            timestamp_offset: 0,
            source: Stream::Bytes,
        }
    }

    /// Each end writes so many `bytes` and reads the other's, over a path that loses every `loses`-th packet.
    fn exchange(bytes: usize, loses: u64) {
        let settings = ReliableSettings::default();
        let contents = [1u8, 2].map(|seed| (0..bytes).map(|at| (at * 7 / 5) as u8 ^ seed).collect::<Vec<u8>>());
        let mut rng = Rng::derive(1, "duplex");
        let (near, far) = (opening(1, 2), opening(2, 1));
        let mut now = Instant::from_nanos(1_000_000_000);
        let mut site = SocketSite { opening: &near, flow: 0, rng: &mut rng };
        let mut ends = [Some(Duplex::connect(&settings, &mut site, now)), None];
        let (mut written, mut read) = ([0; 2], [Vec::new(), Vec::new()]);
        let mut path: VecDeque<(Instant, usize, Packet)> = VecDeque::new();
        let mut sent = 0u64;
        while read.iter().any(|read| read.len() < bytes) && now < Instant::from_nanos(600_000_000_000) {
            for index in 0..2 {
                let Some(end) = &mut ends[index] else { continue };
                if end.poll_timeout().is_some_and(|due| due <= now) {
                    end.handle_timeout(now);
                }
                let rest = Bytes::copy_from_slice(&contents[index][written[index]..]);
                written[index] += end.data_mut().write(&rest);
                while let Some(chunk) = end.data_mut().read(u64::MAX) {
                    let airtcp_tcp::Chunk::Bytes(chunk) = chunk else { panic!("real bytes went in") };
                    read[index].extend(chunk);
                }
                while let Some(packet) = end.poll_transmit(now) {
                    sent += 1;
                    if loses == 0 || !sent.is_multiple_of(loses) {
                        path.push_back((now + Duration::from_millis(5), 1 - index, packet));
                    }
                }
                assert_eq!(end.check(), Ok(()));
            }
            now += Duration::from_millis(1);
            while let Some((_, to, packet)) = path.pop_front_if(|(at, ..)| *at <= now) {
                match &mut ends[to] {
                    Some(end) => end.handle_packet(now, &packet),
                    none => {
                        let mut site = SocketSite { opening: &far, flow: 0, rng: &mut rng };
                        *none = Duplex::accept(&settings, &mut site, &packet, now);
                    }
                }
            }
        }
        let [near, far] = read;
        assert!(near == contents[1] && far == contents[0], "{} and {} of {bytes} bytes", near.len(), far.len());
    }

    #[test]
    fn dec_30_bytes_arrive_as_they_were_written_in_both_directions_at_once() {
        exchange(300_000, 0);
    }

    #[test]
    fn dec_34_both_directions_are_repaired_where_every_twentieth_packet_is_lost() {
        exchange(100_000, 20);
    }
}
