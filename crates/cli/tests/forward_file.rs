//! Files of forwarders: what is read of them, and what is said of a wrong one.

use airtcp::forward_file::read;

const LEAST: &str = "schema = 1\npeer = \"10.9.0.2\"\nkey = \"link.key\"\n";

fn error(text: &str) -> String {
    read("edge.toml", text).expect_err("it is wrong").to_string()
}

#[test]
fn a_file_says_what_is_taken_and_what_may_be_opened() {
    let text = format!(
        "{LEAST}name = \"edge\"\nallow = [\"10.2.0.0/16:*\"]\nsilence = \"5s\"\n\n[[forward]]\nlisten = \"127.0.0.1:8080\"\n\
         to = \"server.example:80\"\n\n[[forward]]\nlisten = \"0.0.0.0:8081\"\ntransparent = true\nkeep_source = true\n\n\
         [decoupling]\nvmss = 3000\nshaper = true\n"
    );
    let config = read("edge.toml", &text).expect("it is right");
    assert_eq!((config.peer, config.listen), ("10.9.0.2:4792".parse().unwrap(), "0.0.0.0:4792".parse().unwrap()));
    assert_eq!((config.name.as_str(), config.allow.len(), config.silence.as_millis()), ("edge", 1, 5_000));
    let [named, transparent] = &config.forwards[..] else { panic!("two are taken") };
    assert!(named.to.is_some() && !named.keep_source && transparent.to.is_none() && transparent.keep_source);
    assert_eq!((config.reliable.circuit.vmss, config.reliable.circuit.shaper), (3000, true));
    // What the socket is unless the file says otherwise.
    assert!(config.reliable.data.one_copy);
}

#[test]
fn a_file_says_which_streams_are_taken_and_where_those_of_the_peer_may_go() {
    let text = format!(
        "{LEAST}allow_streams = [\"10.2.0.7:5004\"]\n\n[[stream]]\nlisten = \"127.0.0.1:5004\"\nto = \"camera.example:5004\"\n\n\
         [[stream]]\nlisten = \"/run/camera\"\nto = \"10.2.0.7:5004\"\n\n[streaming]\nvmss = 3000\n"
    );
    let config = read("edge.toml", &text).expect("it is right");
    let listens: Vec<String> = config.streams.iter().map(|stream| stream.listen.to_string()).collect();
    assert_eq!((listens, config.allow_streams.len()), (vec!["127.0.0.1:5004".into(), "/run/camera".into()], 1));
    assert_eq!((config.streaming.vmss, config.longest_datagram()), (3000, 1448));
}

#[test]
fn a_wrong_file_is_told_with_its_line_and_what_to_write() {
    let forward = "[[forward]]\nlisten = \"127.0.0.1:8080\"\n";
    for (text, line, words) in [
        (LEAST.to_owned(), 1, "add a table [[forward]] or [[stream]], or `allow` or `allow_streams`"),
        (format!("{LEAST}alow = []\n"), 4, "allow"),
        (format!("{LEAST}allow = [\"10.0.0.0/33:1\"]\n"), 4, "10.1.0.0/16:443"),
        (format!("{LEAST}{forward}"), 4, "to = \"server.example:80\""),
        (format!("{LEAST}{forward}to = \"server.example\"\n"), 6, "write a host and a port"),
        (format!("{LEAST}{forward}to = \"a:1\"\ntransparent = true\n"), 6, "leave out `to`"),
        (format!("{LEAST}{forward}to = \"a:1\"\n[decoupling]\nvmss = 3\n"), 8, "write 64 to 65495"),
        (format!("{LEAST}{forward}to = \"a:1\"\n[decoupling]\nvmms = 3000\n"), 8, "vmss"),
        (format!("{LEAST}[[stream]]\nlisten = \"camera\"\nto = \"a:1\"\n"), 5, "the path of a Unix socket"),
        (format!("{LEAST}[[stream]]\nlisten = \"/run/camera\"\n"), 4, "to = \"10.2.0.7:5004\""),
        (format!("{LEAST}allow_streams = [\"*:*\"]\n[streaming]\nvmss = 3\n"), 6, "write 64 to 65495"),
        ("schema = 1\nkey = \"k\"\n".into(), 1, "peer"),
        ("schema = 2\n".into(), 1, "schema"),
    ] {
        let said = error(&text);
        assert!(said.starts_with(&format!("edge.toml:{line}:")) && said.contains(words), "{text}\n{said}");
    }
}
