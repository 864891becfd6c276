//! The service of the OpenWrt feed: what it makes of `/etc/config/airtcp` is a gateway file, and what it tells procd. OpenWrt's own
//! functions are stood in for by a few lines of shell: a UCI file is read as the shell commands that it looks like.

use airtcp_test_support::Scratch;
use std::path::Path;
use std::process::{Command, Output};

const SERVICE: &str = include_str!("../../../packaging/openwrt/airtcp/files/airtcp.init");
const CONFIG: &str = include_str!("../../../packaging/openwrt/airtcp/files/airtcp.config");
const MAKEFILE: &str = include_str!("../../../packaging/openwrt/airtcp/Makefile");

/// `config_load` and what belongs to it, and a procd that prints what it is told.
const OPENWRT: &str = r#"
config() { SECTION=$2; SECTIONS="$SECTIONS $1:$2"; }
option() { eval "CONFIG_${SECTION}_$1=\$2"; }
list() { eval "CONFIG_${SECTION}_$1=\"\${CONFIG_${SECTION}_$1:+\$CONFIG_${SECTION}_$1
}\$2\""; }
config_load() { . "$UCI/$1"; }
config_get() { eval "$1=\${CONFIG_$2_$3:-$4}"; }
config_get_bool() { config_get "$@"; eval "case \$$1 in 1|on|true|yes|enabled) $1=1 ;; *) $1=0 ;; esac"; }
config_list_foreach() {
    eval "LIST=\$CONFIG_$1_$2"
    printf '%s\n' "$LIST" | while read -r ITEM; do "$3" "$ITEM"; done
}
config_foreach() {
    for PAIR in $SECTIONS; do [ "${PAIR%%:*}" != "$2" ] || "$1" "${PAIR#*:}" "$3"; done
}
procd_open_instance() { echo "open $1"; }
procd_set_param() { echo "$*"; }
procd_close_instance() { echo close; }
procd_add_reload_trigger() { echo "trigger $1"; }
"#;

struct Router {
    scratch: Scratch,
}

impl Router {
    fn new(config: &str) -> Router {
        let scratch = Scratch::new("openwrt");
        std::fs::write(scratch.path().join("airtcp"), config).unwrap();
        Router { scratch }
    }

    /// What a function of the service prints.
    fn call(&self, function: &str) -> String {
        let files = format!("FILES={}", self.scratch.text());
        let service = SERVICE.replace("FILES=/var/etc/airtcp", &files);
        assert!(service.contains(&files));
        let script = format!("UCI={}\n{OPENWRT}\n{service}\n{function}", self.scratch.text());
        let output = Command::new("sh").args(["-e", "-c", &script]).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    fn file(&self, section: &str) -> String {
        std::fs::read_to_string(self.path(section)).unwrap()
    }

    fn path(&self, section: &str) -> String {
        format!("{}/{section}.toml", self.scratch.text())
    }

    /// The program's word on the file of a section.
    fn judge(&self, section: &str) -> Output {
        let words = ["gateway", &self.path(section), "--dry-run"];
        Command::new(env!("CARGO_BIN_EXE_airtcpd")).args(words).output().unwrap()
    }
}

#[test]
fn the_file_that_ships_starts_nothing_until_it_is_enabled_and_is_right_then() {
    assert_eq!(Router::new(CONFIG).call("start_service"), "");
    let enabled = CONFIG.replace("option enabled '0'", "option enabled '1'").replace("\n#\t", "\n\t");
    // A key belongs to the machine.
    let enabled = enabled.replace("option key '/etc/airtcp/link.key'", "option insecure '1'");
    let router = Router::new(&enabled);
    let told = router.call("start_service");
    let path = router.path("wlan0");
    let expected = [
        "open wlan0",
        &format!("command /usr/bin/airtcpd gateway {path}"),
        &format!("file {path}"),
        "reload_signal HUP",
        "respawn",
    ];
    assert_eq!(told.lines().take(5).collect::<Vec<_>>(), expected, "{told}");
    let toml = "schema = 1\nname = \"wlan0\"\nscheme = \"gsnoop\"\nlink = \"wlan0\"\npeer = \"192.0.2.1:4791\"\nrate = \"20Mbit\"\n\
                metrics = 9791\ninsecure = true\nnetworks = [\"10.1.0.0/16\", ]\n\n[gsnoop]\ntries = 4\n";
    assert_eq!(router.file("wlan0"), toml);
    let judged = router.judge("wlan0");
    // 1 is a machine without the link.
    assert!(judged.status.code().is_some_and(|code| code < 2), "{}", String::from_utf8_lossy(&judged.stderr));
}

#[test]
fn a_wrong_option_is_refused_with_its_name_and_quotes_stay_in_their_string() {
    let section = "config gateway 'hop'\n option scheme 'gsnoop'\n option link 'wlan0'\n option insecure '1'\n\
                   option peer '192.0.2.1:4791'\n option rate 'a\"b\\c'\n option metrics '10.1.0.1:9791'\n";
    let router = Router::new(section);
    router.call("start_service");
    let toml = router.file("hop");
    assert!(toml.contains("rate = \"a\\\"b\\\\c\"\n") && toml.contains("metrics = \"10.1.0.1:9791\"\n"), "{toml}");
    let judged = router.judge("hop");
    let said = String::from_utf8_lossy(&judged.stderr);
    assert!(judged.status.code() == Some(2) && said.contains("rate"), "{said}");
}

#[test]
fn a_section_with_a_file_runs_it_and_a_change_of_the_configuration_is_heard_of() {
    let router = Router::new("config forwarder 'trunk'\n option file '/etc/airtcp/trunk.toml'\n");
    assert!(router.call("start_service").contains("command /usr/bin/airtcpd forward /etc/airtcp/trunk.toml\n"));
    assert!(!Path::new(&router.path("trunk")).exists());
    assert_eq!(router.call("service_triggers"), "trigger airtcp\n");
}

#[test]
fn the_feed_has_the_version_of_the_program() {
    assert!(MAKEFILE.contains(&format!("PKG_VERSION:={}\n", env!("CARGO_PKG_VERSION"))));
}
