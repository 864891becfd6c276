//! A controller whose hooks are methods of a Python object.

use super::Definition;
use super::failure;
use super::sample::{self, AckEvent, AckSample, LostSegment, RateSample};
use super::sock::{Sock, whole};
use airtcp_core::Rng;
use airtcp_tcp::congestion::{self, CaEvent, CaState, Controller, TcpSock};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt;

macro_rules! hooks {
    ($($hook:ident = $name:literal,)+) => {
        /// A method that a class may define.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Hook { $($hook,)+ }

        /// All of them, in the order of their numbers.
        pub(super) const HOOKS: &[Hook] = &[$(Hook::$hook,)+];

        impl Hook {
            pub(super) fn name(self) -> &'static str {
                match self { $(Hook::$hook => $name,)+ }
            }
        }
    };
}

hooks! {
    Init = "init",
    Release = "release",
    Ssthresh = "ssthresh",
    SsthreshAfterMark = "ssthresh_after_mark",
    CongAvoid = "cong_avoid",
    CongControl = "cong_control",
    PktsAcked = "pkts_acked",
    SetState = "set_state",
    CwndEvent = "cwnd_event",
    InAckEvent = "in_ack_event",
    SegmentLost = "segment_lost",
    UndoCwnd = "undo_cwnd",
    MinTsoSegs = "min_tso_segs",
    GetInfo = "get_info",
}

/// One connection's controller.
pub(super) struct PythonController {
    definition: &'static Definition,
    /// The bound methods, at the numbers of their hooks.
    methods: Vec<Option<Py<PyAny>>>,
    /// What hooks are given: a copy of the connection, which is copied back behind each.
    sock: Option<Py<Sock>>,
}

impl PythonController {
    pub(super) fn new(py: Python<'_>, definition: &'static Definition, instance: &Bound<'_, PyAny>) -> PyResult<Self> {
        let method = |hook: &Hook| match definition.hooks.contains(hook) {
            true => instance.getattr(hook.name()).map(|method| Some(method.unbind())),
            false => Ok(None),
        };
        let methods = HOOKS.iter().map(method).collect::<PyResult<_>>()?;
        // Any stream will do: each hook has that of its connection.
        let sock = Sock::of(TcpSock::new(Rng::derive(0, definition.slug)));
        Ok(PythonController { definition, methods, sock: Some(Py::new(py, sock)?) })
    }

    /// One that is never called.
    pub(super) fn silent(definition: &'static Definition) -> Self {
        PythonController { definition, methods: HOOKS.iter().map(|_| None).collect(), sock: None }
    }

    fn has(&self, hook: Hook) -> bool {
        self.definition.hooks.contains(&hook)
    }

    /// Calls `hook`, if the class defines it, and reads what it returned. None also once something failed,
    /// or outside of a run.
    fn call<T>(
        &self,
        hook: Hook,
        sk: &mut TcpSock,
        call: impl for<'py> FnOnce(&Bound<'py, PyAny>, &Bound<'py, Sock>) -> PyResult<T>,
    ) -> Option<T> {
        let (method, sock) = (self.methods[hook as usize].as_ref()?, self.sock.as_ref()?);
        if !failure::may_call() {
            return None;
        }
        Python::attach(|py| {
            let sock = sock.bind(py);
            sock.borrow_mut().put(sk);
            match call(method.bind(py), sock) {
                Ok(value) => {
                    sock.borrow().get(sk);
                    Some(value)
                }
                Err(error) => {
                    let seconds = sk.tcp_mstamp.as_nanos() as f64 / 1e9;
                    let (slug, hook) = (self.definition.slug, hook.name());
                    failure::note(format!("'{slug}' failed in {hook}() at {seconds} s"), error);
                    None
                }
            }
        })
    }

    /// Calls a hook whose answer is nothing.
    fn tell(&self, hook: Hook, sk: &mut TcpSock) {
        self.call(hook, sk, |method, sock| method.call1((sock,)).map(drop));
    }

    /// The same with something more than the connection.
    fn tell_of<A: for<'py> IntoPyObject<'py>>(&self, hook: Hook, sk: &mut TcpSock, more: A) {
        self.call(hook, sk, |method, sock| method.call1((sock, more)).map(drop));
    }

    /// Calls a hook that answers with a number of segments.
    fn ask(&self, hook: Hook, sk: &mut TcpSock) -> Option<u32> {
        self.call(hook, sk, |method, sock| {
            let answer = method.call1((sock,))?;
            whole(&answer, || format!("what {}() returns", hook.name()), 1, u32::MAX.into())
                .map(|segments| segments as u32)
        })
    }

    fn counted(&self, py: Python<'_>, method: &Py<PyAny>) -> PyResult<Vec<u64>> {
        let answer = method.bind(py).call0()?;
        let counters = answer.cast::<PyDict>()?;
        let names = &self.definition.counters;
        if counters.len() != names.len() {
            return Err(PyValueError::new_err(format!(
                "it has to tell the same counters each time: {}",
                names.join(", ")
            )));
        }
        let value = |name: &&'static str| {
            let value =
                counters.get_item(*name)?.ok_or_else(|| PyValueError::new_err(format!("'{name}' is missing")))?;
            whole(&value, || format!("the counter '{name}'"), 0, u64::MAX)
        };
        names.iter().map(value).collect()
    }
}

impl Controller for PythonController {
    fn init(&mut self, sk: &mut TcpSock) {
        self.tell(Hook::Init, sk);
    }

    fn release(&mut self, sk: &mut TcpSock) {
        self.tell(Hook::Release, sk);
    }

    fn ssthresh(&mut self, sk: &mut TcpSock) -> u32 {
        // Half, where the run is about to end.
        self.ask(Hook::Ssthresh, sk).unwrap_or_else(|| (sk.snd_cwnd >> 1).max(2))
    }

    fn ssthresh_after_mark(&mut self, sk: &mut TcpSock) -> u32 {
        self.ask(Hook::SsthreshAfterMark, sk).unwrap_or_else(|| self.ssthresh(sk))
    }

    fn cong_avoid(&mut self, sk: &mut TcpSock, acked: u32) {
        self.tell_of(Hook::CongAvoid, sk, acked);
    }

    fn has_cong_control(&self) -> bool {
        self.has(Hook::CongControl)
    }

    fn cong_control(&mut self, sk: &mut TcpSock, sample: &congestion::RateSample) {
        self.tell_of(Hook::CongControl, sk, RateSample(*sample));
    }

    fn pkts_acked(&mut self, sk: &mut TcpSock, sample: &congestion::AckSample) {
        self.tell_of(Hook::PktsAcked, sk, AckSample(*sample));
    }

    fn set_state(&mut self, sk: &mut TcpSock, new: CaState) {
        self.tell_of(Hook::SetState, sk, sample::CaState::of(new));
    }

    fn cwnd_event(&mut self, sk: &mut TcpSock, event: CaEvent) {
        self.tell_of(Hook::CwndEvent, sk, sample::CaEvent::of(event));
    }

    fn in_ack_event(&mut self, sk: &mut TcpSock, event: congestion::AckEvent) {
        self.tell_of(Hook::InAckEvent, sk, AckEvent(event));
    }

    fn wants_losses(&self) -> bool {
        self.has(Hook::SegmentLost)
    }

    fn segment_lost(&mut self, sk: &mut TcpSock, lost: &congestion::LostSegment) {
        self.tell_of(Hook::SegmentLost, sk, LostSegment(*lost));
    }

    fn needs_ecn(&self) -> bool {
        self.definition.needs_ecn
    }

    fn answers_marks(&self) -> bool {
        self.definition.answers_marks
    }

    fn undo_cwnd(&mut self, sk: &mut TcpSock) -> u32 {
        self.ask(Hook::UndoCwnd, sk).unwrap_or_else(|| sk.snd_cwnd.max(sk.prior_cwnd))
    }

    fn min_tso_segs(&mut self, sk: &mut TcpSock) -> u32 {
        self.ask(Hook::MinTsoSegs, sk).unwrap_or(2)
    }

    fn sndbuf_expand(&self) -> u32 {
        self.definition.sndbuf_expand
    }

    fn get_info(&self, see: &mut dyn FnMut(&'static str, u64)) {
        let names = &self.definition.counters;
        let method = self.methods[Hook::GetInfo as usize].as_ref().filter(|_| failure::may_call());
        let counted = method.and_then(|method| {
            let counted = Python::attach(|py| self.counted(py, method));
            counted
                .map_err(|error| failure::note(format!("'{}' failed in get_info()", self.definition.slug), error))
                .ok()
        });
        let counted = counted.unwrap_or_else(|| vec![0; names.len()]);
        names.iter().zip(counted).for_each(|(name, value)| see(name, value));
    }
}

impl fmt::Debug for PythonController {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (Python)", self.definition.slug)
    }
}
