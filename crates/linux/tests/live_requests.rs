//! A workload on the kernel's TCP: requests begin when they are due, and every byte of an answer is the right one.

mod live_support;

use airtcp_core::Duration;
use airtcp_linux::testbed::Family;
use airtcp_linux::traffic::{RequestsResult, RequestsSpec, TrafficError, start_requests};
use live_support::{Path, turn};

const LENGTH: Duration = Duration::from_secs(4);

fn run(
    path: &Path,
    family: Family,
    impairment: &[(&str, &str)],
    change: impl FnOnce(&mut RequestsSpec),
) -> Result<RequestsResult, TrafficError> {
    let file = path.file(family, 1, 1, LENGTH);
    let mut spec = RequestsSpec {
        name: "web".into(),
        server: (file.from, file.source),
        client: (file.to, file.destination),
        controller: "cubic".into(),
        request: 400,
        // 250 a second, of up to 20 kB.
        arrivals: (0..500).map(|number| (Duration::from_millis(4 * number), 1 + number * 40)).collect(),
        connections: 100,
        receive_buffer: None,
        window: (Duration::ZERO, LENGTH),
        seed: 7,
    };
    change(&mut spec);
    let origin = path.restart(1, Some(impairment));
    start_requests(spec, origin)?.join()
}

#[test]
fn live_requests_are_answered_whole_whatever_the_link_loses() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    for family in Family::BOTH {
        let result = run(&path, family, &[], |_| ()).expect("sockets");
        let mut took = result.took.iter().map(|took| took.expect("an idle link loses nothing")).collect::<Vec<_>>();
        took.sort_unstable();
        // Two round trips of about 10 ms, and what the machine adds.
        assert!(took[0] >= Duration::from_millis(20) && took[250] < Duration::from_millis(60), "{}", took[250]);
        assert_eq!((result.window_bytes, result.damaged), ((0..500).map(|number| 1 + number * 40).sum(), None));
        assert!((1..=100).contains(&result.most_open), "{}", result.most_open);

        let lossy = run(&path, family, &[("loss", "2%")], |_| ()).expect("sockets");
        let answered = lossy.took.iter().flatten().count();
        assert!(answered >= 498 && lossy.damaged.is_none(), "{answered} of 500, {:?}", lossy.damaged);
    }
}

#[test]
fn live_a_request_waits_for_room_and_one_without_an_answer_says_so() {
    let Some(_turn) = turn() else { return };
    let path = Path::up(&[]);
    let one_at_a_time = run(&path, Family::V4, &[], |spec| {
        spec.connections = 1;
        spec.arrivals.truncate(20);
    });
    let one_at_a_time = one_at_a_time.expect("sockets");
    assert_eq!(one_at_a_time.most_open, 1);
    // The twentieth is due after 76 ms, and twenty take two round trips each.
    assert!(one_at_a_time.took[19].is_some_and(|took| took > Duration::from_millis(19 * 20 - 76)));

    let cut = run(&path, Family::V4, &[("loss", "0%, 100% from 1s")], |_| ()).expect("sockets");
    assert!(cut.took[..200].iter().all(Option::is_some) && cut.took[260..].iter().all(Option::is_none));

    let refused = run(&path, Family::V4, &[], |spec| spec.controller = "nothing".into());
    assert!(matches!(refused, Err(TrafficError::Controller { .. })));
}
