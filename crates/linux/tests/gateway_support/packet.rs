//! Packets made by hand: sent and seen below IP, so that the kernel can neither help nor object.

use super::{Net, RECEIVER, SENDER, Stopwatch};
use airtcp_linux::sys::netns::NetNs;
use socket2::{SockFilter, SockRef};
use std::ffi::CString;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// A packet socket on one device of one host.
pub struct Tap {
    fd: OwnedFd,
    index: i32,
    next_hop: [u8; 6],
}

impl Tap {
    /// Opens `device` of `host`; what is sent goes to the hardware address of the other end of
    /// the cable, a device of the same name on `neighbour`.
    pub fn open(net: &Net, host: &str, device: &str, neighbour: &str) -> Tap {
        Tap::open_to(net, host, device, (neighbour, device))
    }

    /// The same, where the other end has another name.
    pub fn open_to(net: &Net, host: &str, device: &str, (neighbour, its): (&str, &str)) -> Tap {
        let mac = net.exec(neighbour, &format!("cat /sys/class/net/{its}/address"));
        let mut next_hop = [0; 6];
        for (byte, hex) in next_hop.iter_mut().zip(mac.trim().split(':')) {
            *byte = u8::from_str_radix(hex, 16).unwrap();
        }
        let name = CString::new(device).unwrap();
        let (fd, index) = NetNs::open(&net.ns(host)).unwrap().run(move || open_here(&name)).unwrap();
        Tap { fd, index, next_hop }
    }

    /// Puts an IP packet on the cable.
    pub fn send(&self, packet: &[u8]) {
        // SAFETY: sockaddr_ll is plain data; the address and the packet live through the call.
        let sent = unsafe {
            let mut address: libc::sockaddr_ll = std::mem::zeroed();
            address.sll_family = libc::AF_PACKET as u16;
            let kind = if packet[0] >> 4 == 6 { 0x86dd_u16 } else { 0x0800 };
            address.sll_protocol = kind.to_be();
            address.sll_ifindex = self.index;
            address.sll_halen = 6;
            address.sll_addr[..6].copy_from_slice(&self.next_hop);
            libc::sendto(
                self.fd.as_raw_fd(),
                packet.as_ptr().cast(),
                packet.len(),
                0,
                (&raw const address).cast(),
                size_of::<libc::sockaddr_ll>() as u32,
            )
        };
        assert_eq!(sent, packet.len() as isize, "{}", std::io::Error::last_os_error());
    }

    /// The next IP packet that comes in within `patience`.
    pub fn receive(&self, patience: Duration) -> Option<Vec<u8>> {
        self.next(patience, false)
    }

    /// The next IP packet that leaves through the device within `patience`.
    pub fn leaving(&self, patience: Duration) -> Option<Vec<u8>> {
        self.next(patience, true)
    }

    fn next(&self, patience: Duration, is_leaving: bool) -> Option<Vec<u8>> {
        let waiting = Stopwatch::start();
        loop {
            let left = patience.saturating_sub(waiting.elapsed());
            let mut poll = libc::pollfd { fd: self.fd.as_raw_fd(), events: libc::POLLIN, revents: 0 };
            // SAFETY: one valid pollfd.
            let ready = unsafe { libc::poll(&raw mut poll, 1, left.as_millis() as i32 + 1) };
            if ready <= 0 {
                return None;
            }
            let mut buffer = vec![0u8; 65_536];
            // SAFETY: the buffer and the address are valid for writes of the sizes given.
            let (length, kind) = unsafe {
                let mut address: libc::sockaddr_ll = std::mem::zeroed();
                let mut size = size_of::<libc::sockaddr_ll>() as u32;
                let length = libc::recvfrom(
                    self.fd.as_raw_fd(),
                    buffer.as_mut_ptr().cast(),
                    buffer.len(),
                    0,
                    (&raw mut address).cast(),
                    &raw mut size,
                );
                (length, address.sll_pkttype)
            };
            if length > 0 && (kind == libc::PACKET_OUTGOING) == is_leaving {
                buffer.truncate(length as usize);
                return Some(buffer);
            }
        }
    }
}

/// Counts the IPv4 packets that come in at one device of one host, and keeps none.
pub struct Counter(OwnedFd);

impl Counter {
    /// Counts from now on.
    pub fn open(net: &Net, host: &str, device: &str) -> Counter {
        Counter::of_protocol(net, host, device, libc::ETH_P_IP)
    }

    fn of_protocol(net: &Net, host: &str, device: &str, protocol: libc::c_int) -> Counter {
        let name = CString::new(device).unwrap();
        let open = move || {
            let (fd, _) = open_protocol(&name, protocol);
            // The smallest buffer there is: a packet that finds it full is counted all the same.
            let size: libc::c_int = 0;
            // SAFETY: the option takes an int, which lives through the call.
            let result = unsafe {
                libc::setsockopt(
                    fd.as_raw_fd(),
                    libc::SOL_SOCKET,
                    libc::SO_RCVBUF,
                    (&raw const size).cast(),
                    size_of::<libc::c_int>() as u32,
                )
            };
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
            fd
        };
        Counter(NetNs::open(&net.ns(host)).unwrap().run(open).unwrap())
    }

    /// Counts packets longer than this, in IP bytes: those that leave there, too, and those that come in and are taken by a
    /// program.
    pub fn of_longer(net: &Net, host: &str, device: &str, than: u32) -> Counter {
        let counter = Counter::of_protocol(net, host, device, libc::ETH_P_ALL);
        let [load_length, jump_if_greater, give] =
            [libc::BPF_LD | libc::BPF_LEN, libc::BPF_JMP | libc::BPF_JGT, libc::BPF_RET];
        let filter = [
            SockFilter::new(load_length as u16, 0, 0, 0),
            SockFilter::new(jump_if_greater as u16, 0, 1, than),
            SockFilter::new(give as u16, 0, 0, u32::MAX),
            SockFilter::new(give as u16, 0, 0, 0),
        ];
        SockRef::from(&counter.0).attach_filter(&filter).unwrap();
        // Those that came before the filter.
        counter.arrived();
        counter
    }

    /// Packets since the last call.
    pub fn arrived(&self) -> u64 {
        // SAFETY: tpacket_stats is plain data, and the kernel writes at most its size.
        unsafe {
            let mut stats: libc::tpacket_stats = std::mem::zeroed();
            let mut size = size_of::<libc::tpacket_stats>() as u32;
            let fd = self.0.as_raw_fd();
            let to = (&raw mut stats).cast();
            let result = libc::getsockopt(fd, libc::SOL_PACKET, libc::PACKET_STATISTICS, to, &raw mut size);
            assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
            u64::from(stats.tp_packets)
        }
    }
}

fn open_here(name: &CString) -> (OwnedFd, i32) {
    open_protocol(name, libc::ETH_P_ALL)
}

fn open_protocol(name: &CString, protocol: libc::c_int) -> (OwnedFd, i32) {
    // SAFETY: plain system calls on a name that lives through them and a socket made here.
    unsafe {
        let index = libc::if_nametoindex(name.as_ptr()) as i32;
        assert!(index > 0, "no device {name:?}");
        let everything = (protocol as u16).to_be();
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM, i32::from(everything));
        assert!(fd >= 0, "{}", std::io::Error::last_os_error());
        let mut address: libc::sockaddr_ll = std::mem::zeroed();
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = everything;
        address.sll_ifindex = index;
        let size = size_of::<libc::sockaddr_ll>() as u32;
        assert_eq!(libc::bind(fd, (&raw const address).cast(), size), 0);
        (OwnedFd::from_raw_fd(fd), index)
    }
}

fn octets(address: &str) -> Vec<u8> {
    match address.parse::<std::net::IpAddr>().unwrap() {
        std::net::IpAddr::V4(address) => address.octets().into(),
        std::net::IpAddr::V6(address) => address.octets().into(),
    }
}

/// An IPv4 packet; `fragment` is the field with flags and offset.
pub fn ipv4(forward: bool, protocol: u8, fragment: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let (source, destination) = if forward { (SENDER, RECEIVER) } else { (RECEIVER, SENDER) };
    let header_len = 20 + options.len();
    let mut packet = vec![0x40 | (header_len / 4) as u8, 0x28];
    packet.extend(((header_len + payload.len()) as u16).to_be_bytes());
    packet.extend([0xbe, 0xef]);
    packet.extend(fragment.to_be_bytes());
    packet.extend([64, protocol, 0, 0]);
    packet.extend(octets(source.0));
    packet.extend(octets(destination.0));
    packet.extend(options);
    let mut sum: u32 = packet.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    packet[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    packet.extend(payload);
    packet
}

/// An IPv6 packet whose `payload` begins with the header `next`.
pub fn ipv6(forward: bool, next: u8, payload: &[u8]) -> Vec<u8> {
    let (source, destination) = if forward { (SENDER, RECEIVER) } else { (RECEIVER, SENDER) };
    let mut packet = vec![0x62, 0x81, 0x23, 0x45];
    packet.extend((payload.len() as u16).to_be_bytes());
    packet.extend([next, 64]);
    packet.extend(octets(source.1));
    packet.extend(octets(destination.1));
    packet.extend(payload);
    packet
}

/// The hop limit, and the packet without what a router may change.
pub fn without_router_changes(packet: &[u8]) -> (u8, Vec<u8>) {
    let mut rest = packet.to_vec();
    if packet[0] >> 4 == 6 {
        rest[7] = 0;
        return (packet[7], rest);
    }
    rest[8] = 0;
    rest[10] = 0;
    rest[11] = 0;
    (packet[8], rest)
}
