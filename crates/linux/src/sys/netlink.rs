//! Questions to the kernel about routes and neighbours, and news of changed rules (netlink; RFC 3549).

use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
use netlink_packet_route::neighbour::{NeighbourAttribute, NeighbourMessage};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage as Message};
use netlink_sys::Socket;
use netlink_sys::protocols::{NETLINK_NETFILTER, NETLINK_ROUTE};
use std::io;
use std::net::IpAddr;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The interface that it leaves through.
    pub interface: u32,
    /// The next router's address, or the destination's own.
    pub address: IpAddr,
}

/// A socket for questions.
pub struct Questions(Socket);

impl Questions {
    /// A socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The system's words.
    pub fn open() -> io::Result<Questions> {
        socket(NETLINK_ROUTE, &[]).map(Questions)
    }

    /// Where a packet of this machine to `target` would go.
    ///
    /// # Errors
    /// ENETUNREACH or EHOSTUNREACH: nowhere.
    pub fn next_hop(&self, target: IpAddr) -> io::Result<Hop> {
        let mut question = RouteMessage::default();
        question.header.address_family = family(target);
        question.header.destination_prefix_length = if target.is_ipv4() { 32 } else { 128 };
        question.attributes.push(RouteAttribute::Destination(target.into()));
        let Message::NewRoute(route) = self.ask(Message::GetRoute(question))? else { return Err(unexpected()) };
        let (mut interface, mut address) = (None, target);
        for attribute in route.attributes {
            match attribute {
                RouteAttribute::Oif(index) => interface = Some(index),
                RouteAttribute::Gateway(RouteAddress::Inet(router)) => address = router.into(),
                RouteAttribute::Gateway(RouteAddress::Inet6(router)) => address = router.into(),
                // A next router of the other family.
                RouteAttribute::Via(RouteVia::Inet(router)) => address = router.into(),
                RouteAttribute::Via(RouteVia::Inet6(router)) => address = router.into(),
                _ => {}
            }
        }
        Ok(Hop { interface: interface.ok_or(io::ErrorKind::HostUnreachable)?, address })
    }

    /// The hardware address of a neighbour; `None` while it is not known, or has none.
    ///
    /// # Errors
    /// Another trouble than that.
    pub fn hardware_address(&self, hop: Hop) -> io::Result<Option<[u8; 6]>> {
        let mut question = NeighbourMessage::default();
        question.header.family = family(hop.address);
        question.header.ifindex = hop.interface;
        question.attributes.push(NeighbourAttribute::Destination(hop.address.into()));
        let neighbour = match self.ask(Message::GetNeighbour(question)) {
            Ok(Message::NewNeighbour(neighbour)) => neighbour,
            Ok(_) => return Err(unexpected()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        Ok(neighbour.attributes.into_iter().find_map(|attribute| match attribute {
            NeighbourAttribute::LinkLayerAddress(address) => address.try_into().ok(),
            _ => None,
        }))
    }

    fn ask(&self, question: Message) -> io::Result<Message> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        let mut message = NetlinkMessage::new(header, question.into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        // Without an address it goes to the kernel, which has answered before `send` returns.
        self.0.send(&bytes, 0)?;
        let mut buffer = [0; 4096];
        let length = self.0.recv(&mut &mut buffer[..], 0)?;
        let answer = NetlinkMessage::deserialize(&buffer[..length]).map_err(io::Error::other)?;
        match answer.payload {
            NetlinkPayload::InnerMessage(answer) => Ok(answer),
            NetlinkPayload::Error(error) => Err(error.to_io()),
            _ => Err(unexpected()),
        }
    }
}

/// News of changes to packet filters (nftables) and to routing rules.
pub struct RuleNews([Socket; 2]);

impl RuleNews {
    /// Hears of changes in the namespace of the calling thread from now on.
    ///
    /// # Errors
    /// The system's words.
    pub fn open() -> io::Result<RuleNews> {
        let filter = socket(NETLINK_NETFILTER, &[libc::NFNLGRP_NFTABLES as u32])?;
        let rules = socket(NETLINK_ROUTE, &[libc::RTNLGRP_IPV4_RULE, libc::RTNLGRP_IPV6_RULE])?;
        Ok(RuleNews([filter, rules]))
    }

    /// True if something changed since the last call.
    pub fn arrived(&self) -> bool {
        let mut any = false;
        for socket in &self.0 {
            loop {
                match socket.recv(&mut &mut [0; 4096][..], 0) {
                    Ok(_) => any = true,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    // One that missed news (ENOBUFS) has news.
                    Err(_) => {
                        any = true;
                        break;
                    }
                }
            }
        }
        any
    }
}

fn socket(protocol: isize, groups: &[u32]) -> io::Result<Socket> {
    let mut socket = Socket::new(protocol)?;
    socket.set_non_blocking(true)?;
    // One without an address hears no news.
    socket.bind_auto()?;
    groups.iter().try_for_each(|group| socket.add_membership(*group))?;
    Ok(socket)
}

fn family(address: IpAddr) -> AddressFamily {
    if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 }
}

fn unexpected() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "the kernel answered another question")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_machine_is_loopback() {
        if airtcp_test_support::skip_emulated("questions about routes") {
            return;
        }
        let questions = Questions::open().unwrap();
        let here = IpAddr::from([127, 0, 0, 1]);
        let hop = questions.next_hop(here).unwrap();
        assert_eq!(hop, Hop { interface: crate::sys::interface::index("lo").unwrap(), address: here });
        assert_eq!(questions.hardware_address(hop).unwrap(), None);
    }

    #[test]
    fn live_a_changed_rule_is_news_once() {
        if !crate::sys::process::has_net_admin() {
            return;
        }
        let namespace = crate::sys::netns::NetNs::unnamed().unwrap();
        let look = || {
            let news = RuleNews::open().unwrap();
            let before = news.arrived();
            let run = |line: &str| {
                let words: Vec<&str> = line.split(' ').collect();
                crate::gateway::command::output(&words).unwrap();
            };
            run("ip rule add priority 77 lookup main");
            let rule = [news.arrived(), news.arrived()];
            run("nft add table ip t");
            (before, rule, [news.arrived(), news.arrived()])
        };
        assert_eq!(namespace.run(look).unwrap(), (false, [true, false], [true, false]));
    }
}
