//! One golden test per kind of error: file, line, key and the nearest valid one.

use crate::common::{DEMO, demo_with, error_of_set, error_with, read};
use insta::assert_snapshot;

#[test]
fn an_unknown_key_of_a_link() {
    assert_snapshot!(error_with("delay = \"5ms\"", "dealy = \"5ms\""), @"demo.toml:23: unknown key 'dealy' in [links.air]; did you mean 'delay'? (airtcp show link)");
}

#[test]
fn an_unknown_key_of_the_file() {
    assert_snapshot!(error_with("duration", "durration"), @"demo.toml:4: unknown key 'durration' in the file; did you mean 'duration'? (airtcp show scenario)");
}

#[test]
fn an_unknown_key_of_a_flow() {
    assert_snapshot!(error_with("controller = \"cubic\"", "controler = \"cubic\""), @"demo.toml:35: unknown key 'controler' in [flows.bulk]; did you mean 'controller'? (airtcp show flow)");
}

#[test]
fn an_unknown_key_of_a_scheme() {
    assert_snapshot!(error_with("on = \"air\"", "on = \"air\"\nholt = \"50ms\""), @"demo.toml:40: unknown key 'holt' in [schemes.repair]; did you mean 'hold'? (airtcp show schemes)");
}

#[test]
fn an_unknown_key_of_a_node() {
    assert_snapshot!(error_with("a = {}", "a = { mtu = 1500 }"), @"demo.toml:11: unknown key 'mtu' in [nodes.a] (airtcp show scenario)");
}

#[test]
fn an_unknown_key_inside_a_table_of_a_link() {
    assert_snapshot!(error_with("limit = \"75kB\"", "limt = \"75kB\""), @"demo.toml:24: unknown key 'limt' in [links.air.queue]; did you mean 'limit'? (airtcp show link)");
}

#[test]
fn an_unknown_kind_of_queue() {
    assert_snapshot!(error_with("kind = \"droptail\"", "kind = \"doptail\""), @"demo.toml:24: bad value for 'queue' in [links.air]: 'doptail' is not a choice; did you mean 'droptail'? (airtcp show link)");
}

/// The error of the demo with `queue` at its bottleneck.
fn error_of_queue(queue: &str) -> String {
    error_with("{ kind = \"droptail\", limit = \"75kB\" }", queue)
}

#[test]
fn an_unknown_key_of_a_managed_queue() {
    assert_snapshot!(error_of_queue("{ kind = \"codel\", traget = \"5ms\" }"), @"demo.toml:24: unknown key 'traget' in [links.air.queue]; did you mean 'target'? (airtcp show link)");
}

#[test]
fn a_key_of_another_kind_of_queue() {
    assert_snapshot!(error_of_queue("{ kind = \"droptail\", ecn = true }"), @"demo.toml:24: unknown key 'ecn' in [links.air.queue] (airtcp show link)");
}

#[test]
fn an_almost_right_kind_of_queue() {
    assert_snapshot!(error_of_queue("{ kind = \"fq_codel\" }"), @"demo.toml:24: bad value for 'queue' in [links.air]: 'fq_codel' is not a choice; did you mean 'fq-codel'? (airtcp show link)");
}

#[test]
fn a_switch_of_a_queue_that_is_no_switch() {
    assert_snapshot!(error_of_queue("{ kind = \"red\", ecn = \"yes\" }"), @"demo.toml:24: bad value for 'queue' in [links.air]: bad value for 'ecn': 'yes' is not a valid value (provided string was not `true` or `false`); write boolean, true or false (airtcp show link)");
}

#[test]
fn thresholds_of_a_queue_in_the_wrong_order() {
    assert_snapshot!(error_of_queue("{ kind = \"red\", min = \"20packets\" }"), @"demo.toml:24: bad value for 'queue' in [links.air]: 'min' has to be no more than 'max'; three times 'min' is a good 'max' (airtcp show link)");
}

#[test]
fn a_target_of_a_queue_beyond_its_interval() {
    assert_snapshot!(error_of_queue("{ kind = \"fq-codel\", target = \"1s\" }"), @"demo.toml:24: bad value for 'queue' in [links.air]: 'target' has to be above zero and below 'interval', best at 5 to 10 % of it (airtcp show link)");
}

#[test]
fn an_unknown_key_of_a_varied_loss_stands_on_its_own_line() {
    assert_snapshot!(error_with("burst = 5", "brust = 5"), @"demo.toml:43: unknown key 'brust' in [links.air.loss]; did you mean 'burst'? (airtcp show link)");
}

#[test]
fn a_bad_unit() {
    assert_snapshot!(error_with("delay = \"5ms\"", "delay = \"5 parsecs\""), @r#"demo.toml:23: bad value for 'delay' in [links.air]: '5 parsecs' has no known unit; write for example "25ms"; units are ns, us, µs, ms, s, min (airtcp show link)"#);
}

#[test]
fn a_number_without_its_unit() {
    assert_snapshot!(error_with("rate = \"10Mbit\"", "rate = 10"), @r#"demo.toml:22: bad value for 'rate' in [links.air]: '10' has no known unit; write for example "10Mbit"; units are bit, kbit, Mbit, Gbit (airtcp show link)"#);
}

#[test]
fn a_value_of_the_wrong_kind() {
    assert_snapshot!(error_with("delay = \"5ms\"", "mtu = [1500]"), @"demo.toml:23: 'mtu' in [links.air] takes a value, not a list");
}

#[test]
fn a_table_where_a_value_belongs() {
    assert_snapshot!(error_with("duration = \"20s\"", "duration = { s = 20 }"), @r#"demo.toml:4: 'duration' in the file takes duration, "25ms", not a table"#);
}

#[test]
fn a_value_where_a_table_belongs() {
    assert_snapshot!(error_with("receiver = {}", "receiver = 4"), @"demo.toml:13: 'receiver' in [nodes] takes a table, not a number");
}

#[test]
fn a_missing_key() {
    assert_snapshot!(error_with("between = [\"a\", \"b\"]", ""), @r#"demo.toml:20: missing key 'between' in [links.air]; write for example between = ["a", "b"]"#);
}

#[test]
fn a_missing_key_of_the_file() {
    assert_snapshot!(error_with("duration = \"20s\"", ""), @r#"demo.toml:1: missing key 'duration' in the file; write for example duration = "20s""#);
}

#[test]
fn an_unknown_node() {
    assert_snapshot!(error_with("to = \"receiver\"", "to = \"reciever\""), @"demo.toml:34: there is no node 'reciever' (to in [flows.bulk]); did you mean 'receiver'?");
}

#[test]
fn an_unknown_node_of_a_link() {
    assert_snapshot!(error_with("[\"a\", \"b\"]", "[\"a\", \"x\"]"), @"demo.toml:21: there is no node 'x' (between in [links.air]); there are: sender, a, b, receiver");
}

#[test]
fn an_unknown_link() {
    assert_snapshot!(error_with("on = \"air\"", "on = \"aire\""), @"demo.toml:39: there is no link 'aire' (on in [schemes.repair]); did you mean 'wire'?");
}

#[test]
fn an_unknown_scheme() {
    assert_snapshot!(error_with("\"none\", \"gsnoop\"", "\"none\", \"gsnop\""), @"demo.toml:45: there is no scheme 'gsnop' (kind in [schemes.repair]); did you mean 'gsnoop'?");
}

#[test]
fn an_unknown_controller() {
    assert_snapshot!(error_with("[\"cubic\", \"bbr\"]", "[\"cubic\", \"cubik\"]"), @"demo.toml:44: there is no controller 'cubik' (controller in [flows.bulk]); did you mean 'cubic'?");
}

#[test]
fn an_unknown_flow_named_by_vary() {
    assert_snapshot!(error_with("flows.bulk.controller = [\"cubic\", \"bbr\"]", "flows.bluk.controller = [\"cubic\"]"), @"demo.toml:44: there is no flow 'bluk' (flows.bluk.controller in [vary]); did you mean 'bulk'?");
}

#[test]
fn a_scheme_on_no_link() {
    assert_snapshot!(error_with("on = \"air\"", ""), @r#"demo.toml:37: missing key 'on' in [schemes.repair]; write for example on = "air""#);
}

#[test]
fn a_link_from_a_node_to_itself() {
    assert_snapshot!(error_with("[\"a\", \"b\"]", "[\"a\", \"a\"]"), @"demo.toml:21: impossible topology: link 'air' leads from 'a' to itself");
}

#[test]
fn two_links_between_the_same_nodes() {
    assert_snapshot!(error_with("[\"b\", \"receiver\"]", "[\"b\", \"a\"]"), @"demo.toml:27: impossible topology: links 'air' and 'lan' are both between 'b' and 'a'");
}

#[test]
fn a_link_with_three_ends() {
    assert_snapshot!(error_with("[\"a\", \"b\"]", "[\"a\", \"b\", \"receiver\"]"), @r#"demo.toml:21: bad value for 'between' in [links.air]: it takes a list of two nodes, ["a", "b"] (airtcp show link)"#);
}

#[test]
fn a_flow_whose_ends_are_not_connected() {
    assert_snapshot!(error_with("[links.lan]\nbetween = [\"b\", \"receiver\"]", "[links.lan]\nbetween = [\"sender\", \"b\"]"), @"demo.toml:32: impossible topology: no links lead from 'sender' to 'receiver', the ends of flow 'bulk'");
}

#[test]
fn a_flow_from_a_node_to_itself() {
    assert_snapshot!(error_with("to = \"receiver\"", "to = \"sender\""), @"demo.toml:34: bad value for 'to' in [flows.bulk]: a flow ends at another node than it starts at (airtcp show flow)");
}

#[test]
fn two_schemes_on_one_link() {
    let second = "[schemes.again]\nkind = \"snoop\"\non = \"air\"\n\n[vary]";
    assert_snapshot!(error_with("[vary]", second), @"demo.toml:41: impossible topology: schemes 'repair' and 'again' are both on link 'air'; one fits");
}

#[test]
fn a_link_that_passes_nothing() {
    assert_snapshot!(error_with("rate = \"10Mbit\"", "rate = \"0bit\""), @"demo.toml:20: impossible topology: [links.air]: a rate of zero lets nothing pass; for a link that is down give it an outage");
}

#[test]
fn an_unknown_schema() {
    assert_snapshot!(error_with("schema = 1", "schema = 2"), @"demo.toml:2: schema 2 is not known here; this version reads 'schema = 1'");
}

#[test]
fn a_missing_schema() {
    assert_snapshot!(error_with("schema = 1", ""), @"demo.toml:1: missing key 'schema' in the file; write for example schema = 1");
}

#[test]
fn an_empty_vary() {
    let start = DEMO.find("[vary]").expect("the demo varies");
    let text = format!("{}[vary]\n", &DEMO[..start]);
    assert_snapshot!(read(&text, &[]).unwrap_err(), @"demo.toml:41: 'vary' in [vary] is empty: give it a list, or remove it");
}

#[test]
fn an_empty_list_in_vary() {
    assert_snapshot!(error_with("[\"none\", \"gsnoop\"]", "[]"), @"demo.toml:45: 'schemes.repair.kind' in [vary] is an empty list: there is nothing to run");
}

#[test]
fn a_single_value_in_vary() {
    assert_snapshot!(error_with("[\"none\", \"gsnoop\"]", "\"gsnoop\""), @"demo.toml:45: 'schemes.repair.kind' in [vary] needs a list of values, { linear = [from, to], steps = n } or { log = [from, to], steps = n }");
}

#[test]
fn the_same_value_twice_in_vary() {
    assert_snapshot!(error_with("[\"none\", \"gsnoop\"]", "[\"none\", \"none\"]"), @"demo.toml:45: 'schemes.repair.kind' in [vary] has 'none' twice; give the tables different labels, or remove one");
}

#[test]
fn a_range_with_one_end() {
    assert_snapshot!(error_with("[\"none\", \"gsnoop\"]", "{ linear = [1], steps = 3 }"), @r#"demo.toml:45: 'schemes.repair.kind' in [vary] needs two ends with a number each: linear = ["0ms", "40ms"]"#);
}

#[test]
fn a_logarithmic_range_from_zero() {
    assert_snapshot!(error_with("[\"none\", \"gsnoop\"]", "{ log = [\"0%\", \"5%\"], steps = 3 }"), @"demo.toml:45: 'schemes.repair.kind' in [vary] is logarithmic, so both ends have to be above zero");
}

#[test]
fn varying_what_holds_for_the_whole_file() {
    assert_snapshot!(error_with("[vary]", "[vary]\nruns = [1, 2]"), @"demo.toml:42: 'runs' in [vary] is the same in every cell; write it at the top of the file");
}

#[test]
fn no_time_left_to_measure() {
    assert_snapshot!(error_with("warmup = \"2s\"", "warmup = \"20s\""), @"demo.toml:4: bad value for 'duration' in the file: nothing is left to measure after a warm-up of 20s (airtcp show scenario)");
}

#[test]
fn no_runs() {
    assert_snapshot!(error_with("runs = 5", "runs = 0"), @"demo.toml:6: bad value for 'runs' in the file: 0 is out of range; from 1 to 100000 (airtcp show scenario)");
}

#[test]
fn text_that_is_not_toml() {
    assert_snapshot!(error_with("[links.air]", "[links.air"), @"demo.toml:20: not valid TOML: unclosed table, expected `]`");
}

#[test]
fn a_key_written_twice() {
    assert_snapshot!(error_with("delay = \"5ms\"", "delay = \"5ms\"\ndelay = \"6ms\""), @"demo.toml:24: not valid TOML: duplicate key");
}

#[test]
fn a_table_by_something_that_does_not_vary() {
    assert_snapshot!(error_with("columns = \"schemes.repair.kind\"", "columns = \"schemes.repiar.kind\""), @"demo.toml:49: there is no varied key 'schemes.repiar.kind' (columns in [[tables]]); did you mean 'schemes.repair.kind'?");
}

#[test]
fn a_table_of_an_unknown_measure() {
    assert_snapshot!(error_with("show = [\"goodput_bps\"", "show = [\"goodput_bsp\""), @"demo.toml:50: there is no measure 'goodput_bsp' (show in [[tables]]); did you mean 'goodput_bps'?");
}

#[test]
fn a_base_that_is_not_there() {
    assert_snapshot!(read("schema = 1\nbase = \"dmo.toml\"", &[]).unwrap_err(), @"demo.toml:2: base: 'dmo.toml' cannot be read: no such file");
}

#[test]
fn a_base_of_a_base() {
    assert_snapshot!(read("schema = 1\nbase = \"nested.toml\"", &[]).unwrap_err(), @"nested.toml:1: base: a base may not have a base itself; one level only");
}

#[test]
fn an_error_in_what_comes_from_the_base_names_the_base() {
    let text = "schema = 1\nbase = \"base.toml\"\n[flows.other]\nfrom = \"sender\"\nto = \"a\"\n[links.lan]\nbetween = [\"b\", \"x\"]\n";
    assert_snapshot!(read(text, &[]).unwrap_err(), @"demo.toml:7: there is no node 'x' (between in [links.lan]); there are: sender, a, b, receiver");
}

#[test]
fn a_set_of_an_unknown_key() {
    assert_snapshot!(error_of_set("links.air.los=5%"), @"--set links.air.los=5%: unknown key 'los' in [links.air]; did you mean 'loss'? (airtcp show link)");
}

#[test]
fn a_set_without_a_value() {
    assert_snapshot!(error_of_set("links.air.loss"), @"--set links.air.loss: write key=value, links.air.loss=5%");
}

#[test]
fn a_set_of_a_bad_value() {
    assert_snapshot!(error_of_set("links.air.loss=5 of 10"), @r#"--set links.air.loss=5 of 10: bad value for 'loss' in [links.air]: '5 of 10' has no known unit; write for example "2%" or "0.02"; units are % (airtcp show link)"#);
}

#[test]
fn a_set_inside_what_varies_as_a_whole() {
    let text = demo_with("schemes.repair.kind = [\"none\", \"gsnoop\"]", "schemes.repair = [{ kind = \"none\" }]");
    assert_snapshot!(read(&text, &["schemes.repair.kind=snoop"]).unwrap_err(), @"--set schemes.repair.kind=snoop: [vary] replaces 'schemes.repair' as a whole; set 'vary.schemes.repair' or 'schemes.repair' instead");
}

const FIGURE: &str = "\n[[figures]]\nname = \"over-loss\"\nx = \"links.air.loss\"\ny = \"of_ceiling\"\nlines = \"schemes.repair.kind\"\npanes = \"flows.bulk.controller\"\n";

fn error_with_figure(from: &str, to: &str) -> String {
    assert!(FIGURE.contains(from), "the figure does not contain '{from}'");
    read(&format!("{DEMO}{}", FIGURE.replacen(from, to, 1)), &[]).expect_err("an error").to_string()
}

#[test]
fn a_figure_that_leaves_out_what_varies() {
    assert_snapshot!(error_with_figure("panes = \"flows.bulk.controller\"", ""), @"demo.toml:52: figure 'over-loss' does not say where 'flows.bulk.controller' goes, which varies; name it as lines or panes, or give it one value");
}

#[test]
fn a_figure_that_names_a_key_twice() {
    assert_snapshot!(error_with_figure("schemes.repair.kind", "links.air.loss"), @"demo.toml:52: figure 'over-loss' names 'links.air.loss' twice; x, lines and panes are three different keys");
}

#[test]
fn a_figure_of_several_keys_at_one_place() {
    assert_snapshot!(error_with_figure("\"schemes.repair.kind\"", "[\"schemes.repair.kind\", \"links.air.loss\"]"), @r#"demo.toml:56: 'lines' in [[figures]] takes one varied key, "schemes.repair", not a list"#);
}

#[test]
fn a_figure_over_something_that_does_not_exist() {
    assert_snapshot!(error_with_figure("x = \"links.air.loss\"", "x = \"links.air.los\""), @"demo.toml:54: there is no varied key 'links.air.los' (x in [[figures]]); did you mean 'links.air.loss'?");
}

fn error_of_cases(cases: &str) -> String {
    error_with("schemes.repair.kind = [\"none\", \"gsnoop\"]", &format!("cases.who = {cases}"))
}

#[test]
fn a_case_without_a_label() {
    assert_snapshot!(error_of_cases("[{ flows.bulk.controller = \"reno\" }]"), @"demo.toml:45: 'cases.who' in [vary] has a case without a label");
}

#[test]
fn a_case_that_is_no_table() {
    assert_snapshot!(error_of_cases("[\"reno\"]"), @"demo.toml:45: 'cases.who' in [vary] takes tables, not text");
}

#[test]
fn cases_that_are_no_list() {
    assert_snapshot!(error_of_cases("\"reno\""), @"demo.toml:45: 'cases.who' in [vary] needs a list of tables, each with a label and what it sets");
}

#[test]
fn cases_without_a_name() {
    let cases = "cases = [{ label = \"a\" }]";
    assert_snapshot!(error_with("schemes.repair.kind = [\"none\", \"gsnoop\"]", cases), @r#"demo.toml:45: 'cases' in [vary] needs one name: cases.scheme = [{ label = "…", … }]"#);
}

#[test]
fn a_case_that_sets_what_holds_for_the_whole_file() {
    assert_snapshot!(error_of_cases("[{ label = \"a\", runs = 3 }]"), @"demo.toml:45: 'cases.who' in [vary] sets 'runs', which is the same in every cell; write it at the top of the file");
}

#[test]
fn a_case_of_an_unknown_flow() {
    assert_snapshot!(error_of_cases("[{ label = \"a\", flows.bluk.controller = \"reno\" }]"), @"demo.toml:45: there is no flow 'bluk' (flows.bluk.controller in [vary]); did you mean 'bulk'?");
}

#[test]
fn a_set_of_what_a_case_sets() {
    let text = demo_with(
        "schemes.repair.kind = [\"none\", \"gsnoop\"]",
        "cases.who = [{ label = \"a\", links.lan.delay = \"1ms\" }]",
    );
    assert_snapshot!(read(&text, &["links.lan.delay=2ms"]).unwrap_err(), @"--set links.lan.delay=2ms: 'vary.cases.who' sets it in one of its cases; set 'vary.cases.who' instead");
}

#[test]
fn defaults_of_what_has_none() {
    assert_snapshot!(error_with("[links.air]", "[defaults.nodes]\nx = 1\n\n[links.air]"), @"demo.toml:20: unknown key 'nodes' in [defaults] (airtcp show scenario)");
}

#[test]
fn an_unknown_key_among_the_defaults() {
    assert_snapshot!(error_with("[links.air]", "[defaults.flows]\ncontroler = \"reno\"\n\n[links.air]"), @"demo.toml:21: unknown key 'controler' in [flows.bulk]; did you mean 'controller'? (airtcp show flow)");
}

#[test]
fn a_flow_without_weight() {
    assert_snapshot!(error_of_set("flows.bulk.weight=0"), @"--set flows.bulk.weight=0: bad value for 'weight' in [flows.bulk]: a weight is 1 or more (airtcp show flow)");
}

#[test]
fn a_flow_whose_packets_do_not_pass_a_link() {
    assert_snapshot!(error_of_set("flows.bulk.mtu=9000"), @"--set flows.bulk.mtu=9000: bad value for 'mtu' in [flows.bulk]: packets of 9000 bytes do not pass 'wire' on their way, and hosts do not look for the longest that do; give the flow an MTU of 1500, or 'wire' one of 9000 (airtcp show flow)");
}

#[test]
fn a_flow_whose_packets_are_too_short_for_tcp() {
    assert_snapshot!(error_of_set("flows.bulk.mtu=103"), @"--set flows.bulk.mtu=103: bad value for 'mtu' in [flows.bulk]: packets of TCP over IPv4 have 104 bytes or more; use 1500 if in doubt (airtcp show flow)");
}

#[test]
fn a_receiver_without_a_buffer() {
    assert_snapshot!(error_of_set("flows.bulk.receive_buffer=0B"), @"--set flows.bulk.receive_buffer=0B: bad value for 'receive_buffer' in [flows.bulk]: with zero nothing is ever sent (airtcp show flow)");
}

#[test]
fn a_flow_that_starts_after_the_end() {
    assert_snapshot!(error_of_set("flows.bulk.start=20s"), @"--set flows.bulk.start=20s: bad value for 'start' in [flows.bulk]: a flow starts during the run, which ends after 20s; 20s is too late (airtcp show flow)");
}
