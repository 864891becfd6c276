//! Whose memory is compared: that of one process. A daemon that went on as another program has other pages in memory than one that was
//! started, and a new worker fills its tables anew.

use crate::samples::{Gateway, Sample};

/// The worker is another process.
pub fn is_other_worker(before: &Gateway, after: &Gateway) -> bool {
    before.worker_pid != after.worker_pid
}

/// The daemon is another process or another program: it counts the workers anew that it has to replace.
pub fn is_other_daemon(before: &Gateway, after: &Gateway) -> bool {
    is_other_worker(before, after) && after.restarts <= before.restarts
}

/// Samples of a gateway in the second and in the last quarter of the longest life of a process of its.
pub fn quarters_of_longest<'a>(
    samples: &'a [Sample],
    name: &str,
    is_other: fn(&Gateway, &Gateway) -> bool,
) -> [Vec<&'a Gateway>; 2] {
    let all = samples.iter().flat_map(|sample| &sample.gateways).filter(|gateway| gateway.name == name);
    let mut lives: Vec<Vec<&Gateway>> = Vec::new();
    for gateway in all {
        match lives.last_mut().filter(|life| life.last().is_some_and(|before| !is_other(before, gateway))) {
            Some(life) => life.push(gateway),
            None => lives.push(vec![gateway]),
        }
    }
    let longest = lives.into_iter().max_by_key(Vec::len).unwrap_or_default();
    let quarter = |n: usize| longest[longest.len() * n / 4..longest.len() * (n + 1) / 4].to_vec();
    [quarter(1), quarter(3)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use airtcp_core::Duration;

    /// Samples of workers and of how often they were replaced, one after the other.
    fn samples(seen: &[(u32, u64)]) -> Vec<Sample> {
        let gateway = |(worker_pid, restarts)| Gateway {
            name: "hub".into(),
            worker_pid,
            supervisor: Default::default(),
            worker: Default::default(),
            kernel_objects: 0,
            flows: 0,
            memory_bytes: 0,
            restarts,
        };
        let sample = |seen| Sample {
            at: Duration::ZERO,
            gateways: vec![gateway(seen)],
            host: 0,
            ping_ms: None,
            pings_lost: 0,
            metrics_bytes: 0,
        };
        seen.iter().copied().map(sample).collect()
    }

    fn found(seen: &[(u32, u64)], is_other: fn(&Gateway, &Gateway) -> bool) -> [Vec<u32>; 2] {
        quarters_of_longest(&samples(seen), "hub", is_other)
            .map(|quarter| quarter.iter().map(|gateway| gateway.worker_pid).collect())
    }

    #[test]
    fn a_worker_lives_until_another_one_comes_and_a_daemon_until_it_counts_anew() {
        let seen = [(1, 0), (1, 0), (2, 1), (2, 1), (2, 1), (2, 1), (3, 2), (3, 2), (4, 0), (4, 0)];
        assert_eq!(found(&seen, is_other_worker), [vec![2], vec![2]]);
        assert_eq!(found(&seen, is_other_daemon), [vec![2, 2], vec![3, 3]]);
        assert!(found(&[], is_other_daemon).iter().all(Vec::is_empty));
    }
}
