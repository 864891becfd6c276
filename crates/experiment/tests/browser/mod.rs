//! A headless Chromium that tells what went wrong on a page: the DevTools protocol over two pipes, messages of JSON
//! with a zero byte behind each. The process and its profile are gone when the value is.

use crate::common::Scratch;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// A browser that does not answer within this time is broken.
const PATIENCE: Duration = Duration::from_secs(60);

/// The browser to use: what `AIRTCP_BROWSER` names, or a Chromium in the path.
pub fn find() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("AIRTCP_BROWSER") {
        return Some(named.into());
    }
    let directories: Vec<PathBuf> = std::env::split_paths(&std::env::var_os("PATH")?).collect();
    let names = ["chromium", "chromium-browser", "google-chrome"];
    names
        .iter()
        .flat_map(|name| directories.iter().map(move |directory| directory.join(name)))
        .find(|path| path.exists())
}

pub struct Browser {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    events: Vec<Value>,
    session: Option<String>,
    last_id: u64,
    _profile: Scratch,
}

impl Browser {
    /// Starts a browser with an empty page. `name` is that of the test.
    pub fn start(program: &Path, name: &str) -> Browser {
        let profile = Scratch::new(&format!("browser-{name}"));
        // The browser reads commands from descriptor 3 and answers on 4; the shell puts our pipes there, and becomes
        // the browser, so that its process is the one we end.
        let mut process = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(program)
            .args(["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"])
            .args(["--disable-extensions", "--window-size=1280,2000"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("sh starts");
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let message = serde_json::from_slice(&message).expect("the browser speaks JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let mut browser =
            Browser { process, input, messages, events: Vec::new(), session: None, last_id: 0, _profile: profile };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let attached = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            browser.call(&format!("{domain}.enable"), json!({}));
        }
        browser
    }

    /// Sends a command and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last_id += 1;
        let mut message = json!({"id": self.last_id, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{message}\0").as_bytes()).expect("the browser listens");
        loop {
            let message = self.next();
            if message["id"] == self.last_id {
                assert!(message.get("error").is_none(), "{method}: {}", message["error"]);
                return message["result"].clone();
            }
        }
    }

    fn next(&mut self) -> Value {
        let message = self.messages.recv_timeout(PATIENCE).expect("the browser answers");
        if message.get("method").is_some() {
            self.events.push(message.clone());
        }
        message
    }

    /// Opens a file and waits until it is loaded.
    pub fn open(&mut self, page: &Path) {
        self.call("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            self.next();
        }
    }

    /// The value of an expression, awaited.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let result = self.call("Runtime.evaluate", parameters);
        assert!(result.get("exceptionDetails").is_none(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    /// Presses a key where the focus is.
    pub fn press(&mut self, key: &str) {
        for kind in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": kind, "key": key, "code": key}));
        }
    }

    /// Everything the page complained about: exceptions, and errors and warnings on the console.
    pub fn complaints(&self) -> Vec<String> {
        let is_bad = |event: &&Value| match event["method"].as_str() {
            Some("Runtime.exceptionThrown") => true,
            Some("Runtime.consoleAPICalled") => {
                ["error", "warning", "assert"].iter().any(|kind| event["params"]["type"] == *kind)
            }
            Some("Log.entryAdded") => {
                ["error", "warning"].iter().any(|level| event["params"]["entry"]["level"] == *level)
            }
            _ => false,
        };
        self.events.iter().filter(is_bad).map(|event| event["params"].to_string()).collect()
    }

    /// Addresses the page asked for; what is written into the page itself (`data:`) is none.
    pub fn requests(&self) -> Vec<String> {
        let sent = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        let urls = sent.filter_map(|event| event["params"]["request"]["url"].as_str());
        urls.filter(|url| !url.starts_with("data:")).map(str::to_owned).collect()
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.input.write_all(b"{\"id\":0,\"method\":\"Browser.close\"}\0");
        for _ in 0..50 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
