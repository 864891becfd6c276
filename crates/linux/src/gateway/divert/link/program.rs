//! The programs on their way into the kernel, by libbpf.

use airtcp_core::OwnSegments;
use libbpf_rs::{MapCore, MapFlags, MapHandle, MapInfo, Object, ObjectBuilder, OpenMap, PrintLevel};
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Compiled; empty where there was no clang.
const OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/divert.bpf.o"));

/// The map of hardware addresses.
const HEADERS: &str = "headers";

/// The programs in the kernel, at no link yet.
pub struct Program {
    object: Object,
    state: MapHandle,
    counters: MapHandle,
    neighbours: MapHandle,
    networks: MapHandle,
    owners: MapHandle,
    own_segments: MapHandle,
    headers: MapHandle,
}

impl Program {
    /// Loads them with `settings`, the bytes of their C structure, and with the `headers` that others kept, if there are any
    /// and they are of the same form.
    ///
    /// # Errors
    /// In the words of the loader or the kernel.
    pub fn load(settings: &[u8], headers: Option<BorrowedFd<'_>>) -> Result<Program, String> {
        if OBJECT.is_empty() {
            return Err("this airtcp was built without clang".into());
        }
        libbpf_rs::set_print(Some((PrintLevel::Warn, |_, words| tracing::debug!("{}", words.trim()))));
        // A copy, as libelf reads structures in place and memory from the allocator is aligned for any.
        let bytes = OBJECT.to_owned();
        let words = |error: libbpf_rs::Error| error.to_string();
        let mut open = ObjectBuilder::default().open_memory(&bytes).map_err(words)?;
        for mut map in open.maps_mut() {
            if map.name() == ".rodata.settings"
                && let Some(value) = map.initial_value_mut()
            {
                value[..settings.len()].copy_from_slice(settings);
            }
            if map.name() == HEADERS
                && let Some(kept) = headers.filter(|kept| has_form_of(*kept, &map))
            {
                map.reuse_fd(kept).map_err(words)?;
            }
        }
        let object = open.load().map_err(words)?;
        let map = |name: &str| {
            let found = object.maps().find(|map| map.name() == name);
            MapHandle::try_from(&found.expect("the file has it; a test loads it")).map_err(words)
        };
        let (state, counters) = (map(".bss.state")?, map(".bss.counters")?);
        let (neighbours, networks, owners) = (map("neighbours")?, map("networks")?, map("owners")?);
        let (own_segments, headers) = (map("own_segments")?, map(HEADERS)?);
        Ok(Program { object, state, counters, neighbours, networks, owners, own_segments, headers })
    }

    /// One of the programs.
    ///
    /// # Errors
    /// Too many open files.
    pub fn fd(&self, name: &str) -> io::Result<OwnedFd> {
        let mut programs = self.object.progs();
        let program = programs.find(|program| program.name() == name).expect("the file has it; a test loads it");
        program.as_fd().try_clone_to_owned()
    }

    /// Tells them their `state`, the bytes of their C structure.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn set_state(&self, state: &[u8]) -> io::Result<()> {
        self.state.update(&0u32.to_ne_bytes(), state, MapFlags::ANY).map_err(io::Error::other)
    }

    /// Packets to and from a hardware address are this peer's.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn set_neighbour(&self, address: [u8; 6], peer: u32) -> io::Result<()> {
        set(&self.neighbours, &neighbour_key(address), peer)
    }

    /// Packets to and from a hardware address are nobody's.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn forget_neighbour(&self, address: [u8; 6]) -> io::Result<()> {
        self.neighbours.delete(&neighbour_key(address)).map_err(io::Error::other)
    }

    /// What is behind a network, `struct network`, is this peer's.
    ///
    /// # Errors
    /// The kernel's words; too many networks.
    pub fn set_network(&self, network: &[u8; 24], peer: u32) -> io::Result<()> {
        set(&self.networks, network, peer)
    }

    /// A device is this peer's.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn set_owner(&self, device: u32, peer: u32) -> io::Result<()> {
        set(&self.owners, &device.to_ne_bytes(), peer)
    }

    /// These segments are for the gateway, from this peer.
    ///
    /// # Errors
    /// The kernel's words.
    pub fn set_own_segments(&self, own: &OwnSegments, peer: u32) -> io::Result<()> {
        let key = pair(own.local, own.remote);
        let value = [&peer.to_ne_bytes()[..], &own.port.to_ne_bytes(), &own.ports.to_ne_bytes()].concat();
        self.own_segments.update(&key, &value, MapFlags::ANY).map_err(io::Error::other)
    }

    /// Where they keep hardware addresses: `struct pair` to `struct header`.
    ///
    /// # Errors
    /// Too many open files.
    pub fn headers(&self) -> io::Result<MapHandle> {
        MapHandle::try_from(&self.headers).map_err(io::Error::other)
    }

    /// The same, for other programs to go on with.
    pub fn headers_fd(&self) -> BorrowedFd<'_> {
        self.headers.as_fd()
    }

    /// What they counted so far.
    pub fn counters(&self) -> Vec<u64> {
        let bytes = self.counters.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
        bytes.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    }
}

/// True if a map was made as this one would be.
fn has_form_of(kept: BorrowedFd<'_>, map: &OpenMap<'_>) -> bool {
    MapInfo::new(kept).is_ok_and(|kept| {
        let form = (kept.info.key_size, kept.info.value_size, kept.info.max_entries);
        kept.map_type() == map.map_type() && form == (map.key_size(), map.value_size(), map.max_entries())
    })
}

/// `struct pair` of the program, of no peer or the only one.
pub fn pair(near: IpAddr, far: IpAddr) -> [u8; 36] {
    let mut key = [0; 36];
    for (place, address) in [(0, near), (16, far)] {
        match address {
            IpAddr::V4(address) => key[place..place + 4].copy_from_slice(&address.octets()),
            IpAddr::V6(address) => key[place..place + 16].copy_from_slice(&address.octets()),
        }
    }
    key
}

fn set(map: &MapHandle, key: &[u8], peer: u32) -> io::Result<()> {
    map.update(key, &peer.to_ne_bytes(), MapFlags::ANY).map_err(io::Error::other)
}

fn neighbour_key([a, b, c, d, e, f]: [u8; 6]) -> [u8; 8] {
    [a, b, c, d, e, f, 0, 0]
}
