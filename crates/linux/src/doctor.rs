//! Check what this machine can do, and print how to fix what it cannot.

use crate::bpf;
use crate::finding::{Finding, Level};
use crate::gateway::inspect;
use crate::sys::sched;

/// Looks at the machine as a router: what gateways and good timing need.
pub fn examine_router() -> Vec<Finding> {
    let mut findings = inspect::machine();
    findings.extend(inspect::diversion(None));
    findings.push(realtime());
    findings
}

/// Looks at the whole machine: also at what live runs need.
pub fn examine() -> Vec<Finding> {
    let mut findings = examine_router();
    findings.extend(["ethtool", "iperf3"].into_iter().map(optional_tool));
    findings.push(controllers());
    findings.extend(bpf::PROGRAMS.iter().map(kernel_controller));
    findings
}

/// Real-time scheduling is asked for on a thread of its own, which then ends.
fn realtime() -> Finding {
    let asked = std::thread::spawn(|| sched::set_fifo(1)).join();
    match asked {
        Ok(Ok(())) => Finding::good("threads may run with real-time priority"),
        _ => Finding::warning(
            "threads may not run with real-time priority: packets may wait 3 to 5 ms more",
            "run as root, or give the process CAP_SYS_NICE",
        ),
    }
}

fn optional_tool(program: &str) -> Finding {
    let found = inspect::tool(program);
    match found.level {
        Level::Good => found,
        _ => Finding::warning(format!("{}; only live runs need it", found.what), found.fix),
    }
}

/// Live runs set the sender's congestion control; a fresh namespace allows what the root allows.
fn controllers() -> Finding {
    let path = "/proc/sys/net/ipv4/tcp_allowed_congestion_control";
    let allowed = std::fs::read_to_string(path).unwrap_or_default();
    let missing: Vec<&str> =
        ["cubic", "bbr"].into_iter().filter(|name| !allowed.split_whitespace().any(|word| word == *name)).collect();
    if missing.is_empty() {
        return Finding::good("CUBIC and BBR senders are allowed");
    }
    Finding::warning(
        format!("senders may not use {} (allowed: {})", missing.join(", "), allowed.trim()),
        format!(
            "live runs change it for their time; by hand: sysctl -w \
             net.ipv4.tcp_allowed_congestion_control='{} {}'",
            allowed.trim(),
            missing.join(" ")
        ),
    )
}

/// Controllers of ours that the kernel can run.
fn kernel_controller(program: &bpf::Program) -> Finding {
    match bpf::check(program) {
        Ok(()) => Finding::good(format!("'{0}' can be loaded into the kernel (airtcp cc load {0})", program.slug)),
        Err(why) => Finding::warning(
            format!("'{}' cannot be loaded into the kernel", program.slug),
            format!("{why}; everything else works without it"),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_not_good_says_what_to_do() {
        for finding in examine() {
            assert_eq!(finding.level == Level::Good, finding.fix.is_empty(), "{finding:?}");
        }
    }
}
