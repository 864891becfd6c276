//! What is said through a router in a test: connections and datagrams from inside, from a guest, from outside.

use super::wire::{ACK, Place, SYN, Seen, is_rejection, read, tcp, udp};
use crate::gateway_support::Net;
use crate::gateway_support::packet::Tap;
use std::net::IpAddr;
use std::time::Duration;

/// How long a packet may take; what takes longer did not pass.
const PATIENCE: Duration = Duration::from_millis(60);

/// Where packets are sent and seen: inside, guest, outside.
pub struct Taps {
    inside: Tap,
    guest: Tap,
    outside: Tap,
    inside6: [IpAddr; 2],
    guest6: [IpAddr; 2],
    outside6: [IpAddr; 2],
    /// Of router a on the air.
    router6: [IpAddr; 2],
}

/// What became of one packet: how it arrived, or whether somebody rejected it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Source and target address as it arrived, whether its ports were kept, hops left.
    Arrived {
        from: IpAddr,
        to: IpAddr,
        ports_kept: bool,
        hops: u8,
    },
    Rejected,
    Lost,
}

/// One conversation: each packet's name and fate.
pub type Story = Vec<(&'static str, Fate)>;

impl Taps {
    /// Hosts that only exist here: `.77` inside, at the guest's and outside, with routes and neighbours set.
    pub fn open(net: &Net) -> Taps {
        net.join("s", "guest", 1, "a", "guest", 2, 9);
        let address = |host: &str, device: &str| {
            net.exec(host, &format!("cat /sys/class/net/{device}/address")).trim().to_owned()
        };
        for (router, device, network, host) in [("a", "wire", 1, "s"), ("a", "guest", 9, "s"), ("b", "lan", 3, "r")] {
            let hardware = address(host, device);
            for ip in [format!("10.{network}.0.77"), format!("fd0{network}::77")] {
                net.exec(router, &format!("ip neigh replace {ip} lladdr {hardware} dev {device} nud permanent"));
            }
        }
        // Nor do the hosts that exist check on each other again, seconds later, when counters count it.
        for host in ["s", "a", "b", "r"] {
            for line in net.exec(host, "ip neigh show").lines().filter(|line| line.contains(" lladdr ")) {
                let known: Vec<&str> = line.split_whitespace().take(5).collect();
                net.exec(host, &format!("ip neigh replace {} nud permanent", known.join(" ")));
            }
        }
        for router in ["a", "b"] {
            // Or a rejection may be left out because of those before it.
            net.exec(router, "sysctl -q -w net.ipv4.icmp_ratelimit=0 net.ipv6.icmp.ratelimit=0");
        }
        net.exec("b", "ip route add 10.9.0.0/24 via 10.2.0.1");
        net.exec("b", "ip -6 route add fd09::/64 via fd02::1");
        let of = |network: u8, host: u16| -> [IpAddr; 2] {
            [format!("10.{network}.0.{host}").parse().unwrap(), format!("fd0{network}::{host}").parse().unwrap()]
        };
        Taps {
            inside: Tap::open(net, "s", "wire", "a"),
            guest: Tap::open(net, "s", "guest", "a"),
            outside: Tap::open(net, "r", "lan", "b"),
            inside6: of(1, 77),
            guest6: of(9, 77),
            outside6: of(3, 77),
            router6: of(2, 1),
        }
    }

    /// Everything that is said, over IPv4 or IPv6. `turn` keeps connections of different conversations apart.
    pub fn talk(&self, ipv6: bool, turn: u16) -> Story {
        let family = usize::from(ipv6);
        let [inside, guest, outside, router] =
            [self.inside6, self.guest6, self.outside6, self.router6].map(|addresses| addresses[family]);
        let port = |service: u16| 10_000 + turn * 16 + service;
        let mut story = Story::new();
        let said = &mut story;
        self.connection(
            said,
            ["out: SYN", "out: SYN-ACK", "out: data", "out: reply"],
            (&self.inside, &self.outside),
            [(inside, port(0)), (outside, 80)],
        );
        self.connection(
            said,
            ["guest: SYN", "guest: SYN-ACK", "guest: data", "guest: reply"],
            (&self.guest, &self.outside),
            [(guest, port(1)), (outside, 80)],
        );
        self.connection(
            said,
            ["in: SYN", "in: SYN-ACK", "in: data", "in: reply"],
            (&self.outside, &self.inside),
            [(outside, port(2)), (inside, 22)],
        );
        self.connection(
            said,
            ["DNAT: SYN", "DNAT: SYN-ACK", "DNAT: data", "DNAT: reply"],
            (&self.outside, &self.inside),
            [(outside, port(3)), (router, 8080)],
        );
        self.datagrams(
            said,
            ["out: query", "out: answer"],
            (&self.inside, &self.outside),
            [(inside, port(4)), (outside, 53)],
        );
        self.datagrams(
            said,
            ["in: query", "in: answer"],
            (&self.outside, &self.inside),
            [(outside, port(5)), (inside, 53)],
        );
        story
    }

    /// A connection from the first place to the second, as far as it gets.
    fn connection(
        &self,
        story: &mut Story,
        names: [&'static str; 4],
        (near, far): (&Tap, &Tap),
        [from, to]: [Place; 2],
    ) {
        let number = u32::from(from.1) << 12;
        let syn = tcp(from, to, SYN, [number, 0], 0);
        let Some(seen) = pass(story, names[0], (near, far), &syn, number, [from, to]) else { return };
        // The answer goes to whoever seems to have asked.
        let (there, back) = (seen.to, seen.from);
        let reply = |flags, numbers, payload| tcp(there, back, flags, numbers, payload);
        let synack = reply(SYN | ACK, [number + 500, number + 1], 0);
        let Some(_) = pass(story, names[1], (far, near), &synack, number + 500, [to, from]) else { return };
        let data = tcp(from, to, ACK, [number + 1, number + 501], 100);
        let Some(_) = pass(story, names[2], (near, far), &data, number + 1, [from, to]) else { return };
        pass(story, names[3], (far, near), &reply(ACK, [number + 501, number + 101], 700), number + 501, [to, from]);
    }

    /// A datagram and its answer.
    fn datagrams(
        &self,
        story: &mut Story,
        names: [&'static str; 2],
        (near, far): (&Tap, &Tap),
        [from, to]: [Place; 2],
    ) {
        let number = u32::from(from.1) << 12;
        let query = udp(from, to, number);
        let Some(seen) = pass(story, names[0], (near, far), &query, number, [from, to]) else { return };
        pass(story, names[1], (far, near), &udp(seen.to, seen.from, number + 1), number + 1, [to, from]);
    }
}

/// Sends a packet and notes its fate; how it arrived.
fn pass(
    story: &mut Story,
    name: &'static str,
    (from, to): (&Tap, &Tap),
    packet: &[u8],
    number: u32,
    places: [Place; 2],
) -> Option<Seen> {
    from.send(packet);
    let started = crate::gateway_support::Stopwatch::start();
    let mut seen = None;
    while seen.is_none() && started.elapsed() < PATIENCE {
        let Some(packet) = to.receive(PATIENCE.saturating_sub(started.elapsed())) else { break };
        seen = read(&packet).filter(|seen| seen.number == number);
    }
    let rejections = || std::iter::from_fn(|| from.receive(Duration::ZERO)).any(|packet| is_rejection(&packet));
    let fate = match &seen {
        Some(seen) => {
            assert!(seen.is_intact, "{name} arrived damaged: {seen:?}");
            let ports_kept = [seen.from.1, seen.to.1] == places.map(|place| place.1);
            Fate::Arrived { from: seen.from.0, to: seen.to.0, ports_kept, hops: seen.hops }
        }
        None if rejections() => Fate::Rejected,
        None => Fate::Lost,
    };
    story.push((name, fate));
    seen
}
