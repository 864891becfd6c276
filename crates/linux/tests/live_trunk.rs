//! A trunk between two gateways when its other end is not there.

mod gateway_support;

use gateway_support::trunk::{config, is_open};
use gateway_support::{Gateway, Net, can_run};
use std::time::Duration;

/// The silence after which the other end counts as gone, and two beats.
const NOTICED: Duration = Duration::from_millis(1_400);

fn trunk(net: &Net, host: &str, fail: &str) -> Gateway {
    net.gateway_with(host, config(net, host, &[("fail", fail)], false), "")
}

#[test]
fn a_trunk_whose_far_end_dies_lets_packets_pass_or_stops_them_as_the_file_says_and_goes_on_with_a_new_one() {
    if !can_run() {
        return;
    }
    let net = Net::new();
    net.meet();
    for (fail, passes) in [("open", true), ("closed", false)] {
        let (mut near, mut far) = (trunk(&net, "a", fail), trunk(&net, "b", "open"));
        near.wait_for("open", is_open);
        far.wait_for("open", is_open);
        assert!(net.ping(), "{fail}: through the trunk");
        far.kill_dash_nine();
        std::thread::sleep(NOTICED);
        let status = near.status().unwrap();
        assert_eq!((status.gauges["trunk_open"], status.diverting), (0, !passes), "{fail}");
        assert!(status.peer_state.is_some_and(|state| !state.up && !state.why.is_empty()), "{fail}");
        assert_eq!(net.ping(), passes, "{fail}");

        let mut far = trunk(&net, "b", "open");
        far.wait_for("open", is_open);
        near.wait_for("open again", is_open);
        assert!(net.ping(), "{fail}: through the trunk again");
        let status = near.status().unwrap();
        assert!(status.conserved && status.broken.is_none() && status.restarts == 0, "{status:?}");
        assert!(status.events["tunnelled_packets"] >= 2, "{:?}", status.events);
        near.stop();
        far.stop();
    }
}
