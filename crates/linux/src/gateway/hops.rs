//! The hops of a gateway, one to each peer: each with an element, two devices, a channel and accounts of its own. They share
//! the thread, which gives each a batch in turn, and the control socket. What one peer does, or does not, is no other's affair.

use super::control::{ControlChannel, ControlSocket};
use super::divert;
use super::letters::Mail;
use super::runtime::Runtime;
use super::share::Share;
use crate::device::DeviceGone;
use crate::sys::clock;
use crate::sys::poll::{PollSet, Slot};
use airtcp_core::{Duration, Legacy, Rate};
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, BorrowedFd};

/// Datagrams of the control socket before packets get their turn.
const DATAGRAMS: usize = 64;

/// What an estate calls the control socket.
pub fn control_name(listen: SocketAddr) -> String {
    format!("control {listen}")
}

/// All hops of a gateway.
pub struct Hops {
    hops: Vec<Runtime>,
    /// Those that may have more packets than were taken.
    more: Vec<bool>,
    /// Messages that came for each.
    mail: Vec<Mail>,
    control: Option<ControlSocket>,
    /// Of the link's rate, where the hops share it.
    share: Option<Share>,
}

/// Where the hops' descriptors are in a set.
pub struct Slots {
    /// One only of a hop that takes nothing that is to leave now.
    devices: Vec<(Slot, Option<Slot>)>,
    control: Option<Slot>,
}

impl Hops {
    /// The channels of all that have one belong to `control`.
    pub fn new(hops: Vec<Runtime>, control: Option<ControlSocket>) -> Hops {
        let mail = hops.iter().map(|_| Mail::default()).collect();
        Hops { more: vec![false; hops.len()], mail, hops, control, share: None }
    }

    /// The hops share a link of this rate, fairly. What waits for its turn takes so much memory of each at most.
    pub fn share(&mut self, rate: Rate, memory: u64) {
        self.hops.iter_mut().for_each(|hop| hop.wait_for_turns(Share::limit(rate, memory)));
        self.share = Some(Share::new(rate, self.hops.len()));
    }

    /// Each of them, in the order of the configuration.
    pub fn iter(&self) -> std::slice::Iter<'_, Runtime> {
        self.hops.iter()
    }

    /// The same, to be changed.
    pub fn iter_mut(&mut self) -> std::slice::IterMut<'_, Runtime> {
        self.hops.iter_mut()
    }

    /// Waits for packets and messages.
    pub fn add_to(&self, set: &mut PollSet) -> Slots {
        let mut add = |hop: &Runtime| {
            let [arrived, out] = hop.devices();
            let leaving = (!hop.is_changing()).then(|| set.add_readable(out.as_fd()));
            (set.add_readable(arrived.as_fd()), leaving)
        };
        let devices = self.hops.iter().map(&mut add).collect();
        // Reports are read with whatever is due.
        for air in self.hops.iter().filter_map(Runtime::air) {
            set.add_readable(air.as_fd());
        }
        let control = self.control.as_ref().map(|control| set.add_readable(control.as_fd()));
        Slots { devices, control }
    }

    /// Hands waiting control messages to the elements of their peers, a bounded number.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_control(&mut self) -> Result<(), DeviceGone> {
        let Some(control) = &mut self.control else { return Ok(()) };
        self.mail.iter_mut().for_each(Mail::clear);
        let mut channels: Vec<&mut ControlChannel> = self.hops.iter_mut().filter_map(Runtime::control_mut).collect();
        let mut budget = DATAGRAMS;
        while let Some((index, message)) = control.receive(clock::now(), &mut channels, &mut budget) {
            self.mail[index].push(message);
        }
        self.hops.iter_mut().zip(&self.mail).try_for_each(|(hop, mail)| hop.handle_messages(mail.messages()))
    }

    /// Does what is to be done after a wait: messages, a batch of packets of each hop that has any, and what is due.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_ready(&mut self, set: &PollSet, slots: &Slots) -> Result<(), DeviceGone> {
        if slots.control.is_some_and(|slot| set.is_ready(slot)) || self.has_messages() {
            self.handle_control()?;
        }
        for ((hop, more), (arrived, out)) in self.hops.iter_mut().zip(&mut self.more).zip(&slots.devices) {
            if *more || set.is_ready(*arrived) || out.is_some_and(|slot| set.is_ready(slot)) {
                *more = hop.handle_packets()?;
            }
        }
        self.handle_timeouts();
        Ok(())
    }

    /// Takes a batch of packets of each hop; true if more may wait.
    ///
    /// # Errors
    /// A device is gone.
    pub fn handle_packets(&mut self) -> Result<bool, DeviceGone> {
        for (hop, more) in self.hops.iter_mut().zip(&mut self.more) {
            *more = hop.handle_packets()?;
        }
        Ok(self.has_more())
    }

    /// Takes nothing more that is to leave: an heir will, and gets what is returned for each peer.
    pub fn close(&mut self) -> Vec<Legacy> {
        self.hops.iter_mut().map(Runtime::close).collect()
    }

    /// True if of any peer's packets what is to leave is not taken.
    pub fn is_changing(&self) -> bool {
        self.hops.iter().any(Runtime::is_changing)
    }

    /// What an heir goes on with: the devices and the socket.
    pub fn lend(&self, listen: Option<SocketAddr>) -> Vec<(String, BorrowedFd<'_>)> {
        let devices = self.hops.iter().flat_map(Runtime::devices);
        let devices = devices.map(|device| (divert::estate_name(device.name()), device.as_fd()));
        let control = listen.zip(self.control.as_ref());
        devices.chain(control.map(|(listen, control)| (control_name(listen), control.as_fd()))).collect()
    }

    /// True if packets may wait that were not taken yet, or messages that were not looked at.
    pub fn has_more(&self) -> bool {
        self.more.contains(&true) || self.has_messages()
    }

    fn has_messages(&self) -> bool {
        self.control.as_ref().is_some_and(ControlSocket::has_more)
    }

    /// Runs what is due.
    pub fn handle_timeouts(&mut self) {
        self.hops.iter_mut().for_each(Runtime::handle_timeouts);
        self.take_turns();
    }

    /// Lets go what the shared link has time for.
    fn take_turns(&mut self) {
        let Some(share) = &mut self.share else { return };
        let mut counts = vec![0; self.hops.len()];
        while let Some(peer) = share.next(clock::now(), |peer| self.hops[peer].waiting(counts[peer])) {
            counts[peer] += 1;
        }
        let turns = self.hops.iter_mut().zip(counts).filter(|(_, count)| *count > 0);
        turns.for_each(|(hop, count)| hop.release(count));
    }

    /// How many packets and messages wait for their turn on a shared link.
    fn waiting(&self) -> usize {
        self.hops.iter().map(Runtime::waiting_count).sum()
    }

    /// Lets go all that waits for its turn, at the end.
    pub fn release_all(&mut self) {
        self.hops.iter_mut().for_each(|hop| hop.release(usize::MAX));
    }

    /// How long until something is due; `None` for never.
    pub fn until_timeout(&self) -> Option<Duration> {
        let turn = self.share.as_ref().filter(|_| self.waiting() > 0);
        let turn = turn.map(|share| share.free_at().saturating_since(clock::now()));
        self.hops.iter().filter_map(Runtime::until_timeout).chain(turn).min()
    }

    /// Where the peers are, as far as is known.
    pub fn addresses(&self) -> Vec<Option<IpAddr>> {
        self.hops.iter().map(|hop| hop.control()?.address().map(|address| address.ip())).collect()
    }

    /// Packets that are held.
    pub fn held(&self) -> usize {
        let of_elements: usize = self.hops.iter().map(Runtime::held).sum();
        of_elements + self.waiting()
    }

    /// Datagrams that were no peer's, by reason.
    pub fn strangers(&self) -> impl Iterator<Item = u64> {
        let ignored = self.control.as_ref().map(ControlSocket::ignored).unwrap_or_default();
        ignored.into_iter()
    }
}
