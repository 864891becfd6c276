//! A host and a server that know of no forwarder: connections are taken by TPROXY at a router, and both ends see each
//! other's address. The rules are those of docs/decoupling-socket.md.

mod row_support;

use airtcp_linux::forwarder::Status;
use airtcp_linux::gateway::command::is_installed;
use airtcp_linux::gateway::status;
use airtcp_linux::sys::clock;
use airtcp_linux::testbed::{Exec, Family, Program, Testbed, check_available};
use airtcp_test_support::skip;
use row_support::row;
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use std::time::Duration;

const DOCS: &str = include_str!("../../../docs/decoupling-socket.md");

struct Network {
    testbed: Testbed,
    directory: PathBuf,
    programs: Vec<Program>,
}

impl Network {
    /// host - a - b - server.
    fn up() -> Network {
        let lan = [("rate", "100Mbit"), ("delay", "1ms")];
        let air = [("rate", "20Mbit"), ("delay", "10ms"), ("loss", "1%")];
        let testbed = row(["host", "a", "b", "server"], [("lan0", &lan), ("air", &air), ("wan", &lan)]);
        let directory = std::env::temp_dir().join(format!("{}-transparent-{}", testbed.prefix(), std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        Network { testbed, directory, programs: Vec::new() }
    }

    /// The commands of the page, on a router.
    fn load_rules(&self, router: &str) {
        let block = DOCS.split("```sh\n").find(|block| block.contains("tproxy")).expect("the rules");
        let commands = block.split("```").next().expect("their end").to_owned();
        let mut program = self.testbed.start(router, &Exec::new("sh").args(["-ec", &commands])).expect("it starts");
        assert!(program.wait().expect("it ends").success(), "{commands}");
    }

    fn start(&mut self, router: &str, text: &str) {
        let file = self.directory.join(format!("{router}.toml"));
        std::fs::write(&file, text).expect("a file");
        let log = self.directory.join(format!("{router}.log"));
        let exec = Exec::new(env!("CARGO_BIN_EXE_airtcp")).arg("forward").arg(file).log(log);
        self.programs.push(self.testbed.start(router, &exec).expect("it starts"));
    }

    fn is_forwarding(&self, router: &str) -> bool {
        let answer = status::ask(&self.directory, router, "status").ok();
        let told = answer.and_then(|answer| serde_json::from_str::<Status>(&answer).ok());
        told.is_some_and(|status| status.state == "forwarding")
    }
}

impl Drop for Network {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

#[test]
fn live_connections_are_taken_by_tproxy_and_both_ends_see_each_others_address() {
    if let Err(reason) = check_available() {
        return skip(&reason.to_string());
    }
    if !is_installed("nft") {
        return skip("the program 'nft' is missing; install the package 'nftables'");
    }
    let mut network = Network::up();
    for router in ["a", "b"] {
        network.load_rules(router);
    }
    let key = network.directory.join("key");
    let mut file = std::fs::OpenOptions::new().create_new(true).write(true).mode(0o600).open(&key).expect("a key");
    file.write_all(b"a secret of this test alone").expect("a key");
    let address = |node: &str| network.testbed.address(node, Family::V4).expect("a node");
    let (host, server) = (address("host"), address("server"));
    let text = |own: &str, other: &str| {
        let [own_at, other_at] = [own, other].map(address);
        format!(
            "schema = 1\nname = \"{own}\"\nlisten = \"{own_at}:4792\"\npeer = \"{other_at}:4792\"\nkey = \"{}\"\n\
             run_directory = \"{}\"\n",
            key.display(),
            network.directory.display()
        )
    };
    let near = text("a", "b") + "[[forward]]\nlisten = \"0.0.0.0:8080\"\ntransparent = true\nkeep_source = true\n";
    let far = text("b", "a") + &format!("allow = [\"{server}:5000\"]\nkeep_source = true\n");
    network.start("a", &near);
    network.start("b", &far);
    let begun = clock::now();
    while !(network.is_forwarding("a") && network.is_forwarding("b")) {
        assert!(clock::now().saturating_since(begun).as_millis() < 20_000, "the forwarders do not find each other");
        std::thread::sleep(Duration::from_millis(20));
    }
    let to = SocketAddr::new(server, 5000);
    let on = |node: &str| network.testbed.namespace(node).expect("a node");
    let listener = on("server").run(|| TcpListener::bind(to)).and_then(|bound| bound).expect("it listens");
    let client = on("host").run(|| TcpStream::connect(to)).and_then(|connected| connected).expect("it connects");
    let (accepted, from) = listener.accept().expect("a connection");
    assert_eq!((from, accepted.local_addr().unwrap()), (client.local_addr().unwrap(), to));
    assert_eq!(from.ip(), host);
    for stream in [&client, &accepted] {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }
    let sent = vec![5; 300_000];
    let reader = std::thread::spawn(move || {
        let mut all = Vec::new();
        (&accepted).read_to_end(&mut all).map(|_| all)
    });
    (&client).write_all(&sent).unwrap();
    client.shutdown(Shutdown::Write).unwrap();
    assert!(reader.join().unwrap().expect("all of it") == sent);
    assert_eq!((&client).read(&mut [0]).expect("the end"), 0);
}
