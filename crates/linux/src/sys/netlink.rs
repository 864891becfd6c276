//! Questions to the kernel about routes and neighbours, and news of changed rules (netlink; RFC 3549).

use super::process::set_nonblocking;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

/// Bytes of a message's header (`struct nlmsghdr`).
const HEADER: usize = 16;
/// Bytes of `struct rtmsg` and of `struct ndmsg`.
const BODY: usize = 12;

/// Where a packet goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hop {
    /// The interface that it leaves through.
    pub interface: u32,
    /// The next router's address, or the destination's own.
    pub address: IpAddr,
}

/// A socket for questions.
pub struct Questions(OwnedFd);

impl Questions {
    /// A socket in the namespace of the calling thread.
    ///
    /// # Errors
    /// The system's words.
    pub fn open() -> io::Result<Questions> {
        socket(libc::NETLINK_ROUTE).map(Questions)
    }

    /// Where a packet of this machine to `target` would go.
    ///
    /// # Errors
    /// ENETUNREACH or EHOSTUNREACH: nowhere.
    pub fn next_hop(&self, target: IpAddr) -> io::Result<Hop> {
        let mut body = [0; BODY];
        body[0] = family(target);
        body[1] = 8 * octets(target).len() as u8;
        let answer = self.ask(libc::RTM_GETROUTE, &body, libc::RTA_DST, target)?;
        let interface = answer.attribute(libc::RTA_OIF).and_then(|bytes| bytes.try_into().ok());
        let interface = interface.map(u32::from_ne_bytes).ok_or(io::ErrorKind::HostUnreachable)?;
        // A next router of the other family comes as RTA_VIA: its family in two bytes, then the address.
        let via = answer.attribute(libc::RTA_VIA).and_then(|bytes| address(bytes.get(2..)?));
        let gateway = answer.attribute(libc::RTA_GATEWAY).and_then(address);
        Ok(Hop { interface, address: gateway.or(via).unwrap_or(target) })
    }

    /// The hardware address of a neighbour; `None` while it is not known, or has none.
    ///
    /// # Errors
    /// Another trouble than that.
    pub fn hardware_address(&self, hop: Hop) -> io::Result<Option<[u8; 6]>> {
        let mut body = [0; BODY];
        body[0] = family(hop.address);
        body[4..8].copy_from_slice(&hop.interface.to_ne_bytes());
        match self.ask(libc::RTM_GETNEIGH, &body, libc::NDA_DST, hop.address) {
            Ok(answer) => Ok(answer.attribute(libc::NDA_LLADDR).and_then(|bytes| bytes.try_into().ok())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn ask(&self, kind: u16, body: &[u8; BODY], attribute: u16, address: IpAddr) -> io::Result<Answer> {
        let octets = octets(address);
        let length = HEADER + BODY + 4 + octets.len();
        let mut message = Vec::with_capacity(length);
        message.extend((length as u32).to_ne_bytes());
        message.extend(kind.to_ne_bytes());
        message.extend((libc::NLM_F_REQUEST as u16).to_ne_bytes());
        message.extend([0; 8]);
        message.extend(body);
        message.extend((4 + octets.len() as u16).to_ne_bytes());
        message.extend(attribute.to_ne_bytes());
        message.extend(octets);
        // SAFETY: the message is valid for reads of its length. Without an address it goes to the kernel.
        let sent = unsafe { libc::send(self.0.as_raw_fd(), message.as_ptr().cast(), message.len(), 0) };
        super::check_len(sent)?;
        let mut buffer = [0; 4096];
        // The kernel has answered before `send` returns.
        let length = receive(self.0.as_fd(), &mut buffer)?;
        Answer::read(&buffer[..length])
    }
}

/// News of changes to packet filters (nftables) and to routing rules.
pub struct RuleNews([OwnedFd; 2]);

impl RuleNews {
    /// Hears of changes in the namespace of the calling thread from now on.
    ///
    /// # Errors
    /// The system's words.
    pub fn open() -> io::Result<RuleNews> {
        let filter = socket(libc::NETLINK_NETFILTER)?;
        join(filter.as_fd(), libc::NFNLGRP_NFTABLES as u32)?;
        let rules = socket(libc::NETLINK_ROUTE)?;
        join(rules.as_fd(), libc::RTNLGRP_IPV4_RULE)?;
        join(rules.as_fd(), libc::RTNLGRP_IPV6_RULE)?;
        Ok(RuleNews([filter, rules]))
    }

    /// True if something changed since the last call.
    pub fn arrived(&self) -> bool {
        let mut buffer = [0; 4096];
        let mut any = false;
        for fd in &self.0 {
            // One that missed news (ENOBUFS) has news.
            while receive(fd.as_fd(), &mut buffer)
                .map_or_else(|error| error.kind() != io::ErrorKind::WouldBlock, |_| true)
            {
                any = true;
            }
        }
        any
    }
}

fn socket(protocol: libc::c_int) -> io::Result<OwnedFd> {
    // SAFETY: takes three integers; −1 says that it failed.
    let fd = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, protocol) };
    // SAFETY: the descriptor was just made and belongs to nobody else.
    let fd = unsafe { OwnedFd::from_raw_fd(super::check(fd)?) };
    set_nonblocking(fd.as_fd())?;
    // SAFETY: sockaddr_nl is plain data for which all-zero bytes are valid: the kernel chooses the address.
    let mut address: libc::sockaddr_nl = unsafe { std::mem::zeroed() };
    address.nl_family = libc::AF_NETLINK as libc::sa_family_t;
    let size = size_of::<libc::sockaddr_nl>() as libc::socklen_t;
    // SAFETY: the address lives through the call. A socket without one hears no news.
    super::check(unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), size) })?;
    Ok(fd)
}

fn join(fd: BorrowedFd<'_>, group: u32) -> io::Result<()> {
    let size = size_of::<u32>() as libc::socklen_t;
    let option = libc::NETLINK_ADD_MEMBERSHIP;
    // SAFETY: the option takes an integer, which lives through the call.
    let result =
        unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_NETLINK, option, (&raw const group).cast(), size) };
    super::check(result).map(drop)
}

fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the buffer is valid for writes of its length.
    let received = unsafe { libc::recv(fd.as_raw_fd(), buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    super::check_len(received)
}

/// The attributes of an answer.
struct Answer(Vec<(u16, Vec<u8>)>);

impl Answer {
    fn read(datagram: &[u8]) -> io::Result<Answer> {
        let short = || io::Error::from(io::ErrorKind::UnexpectedEof);
        let (header, rest) = datagram.split_first_chunk::<HEADER>().ok_or_else(short)?;
        if u16::from_ne_bytes([header[4], header[5]]) == libc::NLMSG_ERROR as u16 {
            let (code, _) = rest.split_first_chunk().ok_or_else(short)?;
            return Err(io::Error::from_raw_os_error(-i32::from_ne_bytes(*code)));
        }
        let mut rest = rest.get(BODY..).ok_or_else(short)?;
        let mut attributes = Vec::new();
        while let Some((head, _)) = rest.split_first_chunk::<4>() {
            let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
            let Some(value) = rest.get(4..length) else { break };
            attributes.push((u16::from_ne_bytes([head[2], head[3]]), value.to_vec()));
            rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        }
        Ok(Answer(attributes))
    }

    fn attribute(&self, kind: u16) -> Option<&[u8]> {
        self.0.iter().find(|(found, _)| *found == kind).map(|(_, value)| value.as_slice())
    }
}

fn family(address: IpAddr) -> u8 {
    if address.is_ipv4() { libc::AF_INET as u8 } else { libc::AF_INET6 as u8 }
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

fn address(bytes: &[u8]) -> Option<IpAddr> {
    match bytes.len() {
        4 => Some(Ipv4Addr::from(<[u8; 4]>::try_from(bytes).ok()?).into()),
        16 => Some(Ipv6Addr::from(<[u8; 16]>::try_from(bytes).ok()?).into()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_way_to_this_machine_is_loopback() {
        let questions = Questions::open().unwrap();
        let here = IpAddr::from([127, 0, 0, 1]);
        let hop = questions.next_hop(here).unwrap();
        assert_eq!(hop, Hop { interface: crate::sys::interface::index("lo").unwrap(), address: here });
        assert_eq!(questions.hardware_address(hop).unwrap(), None);
    }

    #[test]
    fn an_answer_that_is_cut_short_is_no_answer() {
        assert!(Answer::read(&[0; HEADER - 1]).is_err());
        assert!(Answer::read(&[0; HEADER + BODY]).is_ok_and(|answer| answer.0.is_empty()));
        let mut endless = vec![0; HEADER + BODY];
        endless.extend([0; 8]);
        assert!(Answer::read(&endless).is_ok());
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
