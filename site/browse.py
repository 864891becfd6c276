"""Opens every page of the built site in a headless Chromium, light and dark, as wide as a telephone and as a desk's screen.

A fault is a complaint on the console, a request out, a page wider than the window, a picture that is not drawn, or text
without contrast. The DevTools protocol goes over two pipes, messages of JSON with a zero byte behind each.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

NAMES = ["chromium", "chromium-browser", "google-chrome"]
WIDTHS = [375, 1280]
PATIENCE = 60

# What a page looks like now: a list of sentences about what is wrong.
LOOK = (Path(__file__).parents[1] / "crates/experiment/tests/browser/look.js").read_text()

# How many pages the search found, after five seconds at most.
HITS = """new Promise(done => {
  const ask = left => {
    const hits = document.querySelectorAll('#search-results li').length;
    hits || !left ? done(hits) : setTimeout(ask, 100, left - 1);
  };
  ask(50);
})"""


class Browser:
    def __init__(self, program):
        self.profile = tempfile.TemporaryDirectory()
        options = ["--headless", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions"]
        options += ["--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"]
        # It reads commands from descriptor 3 and answers on 4.
        pipes = ["sh", "-c", 'exec "$0" "$@" 3<&0 4>&1 </dev/null >/dev/null']
        self.process = subprocess.Popen(
            [*pipes, program, *options, f"--user-data-dir={self.profile.name}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.rest, self.events, self.session, self.number = b"", [], None, 0
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.process.stdin.write(json.dumps(message).encode() + b"\0")
        self.process.stdin.flush()
        while True:
            answer = self.next()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']}")
                return answer["result"]

    def next(self):
        signal.alarm(PATIENCE)
        while b"\0" not in self.rest:
            more = os.read(self.process.stdout.fileno(), 1 << 20)
            if not more:
                raise SystemExit("the browser is gone")
            self.rest += more
        signal.alarm(0)
        message, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(message)
        if "method" in message:
            self.events.append(message)
        return message

    def open(self, address):
        self.events.clear()
        self.call("Page.navigate", url=address)
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            self.next()

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{result['exceptionDetails']}")
        return result["result"].get("value")

    def look(self, width, scheme):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        return [f"{width} px, {scheme}: {fault}" for fault in self.value(LOOK)]

    def complaints(self):
        for event in self.events:
            told = event.get("params", {})
            kind = {"Runtime.consoleAPICalled": told.get("type"), "Log.entryAdded": told.get("entry", {}).get("level")}
            if event["method"] == "Runtime.exceptionThrown" or kind.get(event["method"]) in ("error", "warning", "assert"):
                yield f"console: {json.dumps(told)[:300]}"
            address = told.get("request", {}).get("url", "") if event["method"] == "Network.requestWillBeSent" else ""
            if address and urlsplit(address).scheme not in ("file", "data"):
                yield f"asks elsewhere for {address}"

    def close(self):
        # Killed, it would leave processes that go on writing to its profile.
        self.process.stdin.write(json.dumps({"id": 0, "method": "Browser.close"}).encode() + b"\0")
        self.process.stdin.close()
        try:
            self.process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.profile.cleanup()


def find():
    """The browser to use, as the tests of reports find it."""
    return os.environ.get("AIRTCP_BROWSER") or next(filter(None, map(shutil.which, NAMES)), None)


def faults_of(browser, page):
    """What is wrong with a page. A report is looked at by a test of its own."""
    browser.open(page.as_uri())
    looks = [(width, scheme) for width in WIDTHS for scheme in ("light", "dark") if page.name != "report.html"]
    return [fault for look in looks for fault in browser.look(*look)] + list(browser.complaints())


def main(site):
    program = find()
    if not program:
        print("site: skipped: no Chromium; scripts/setup test installs one")
        sys.exit(77)
    browser = Browser(program)
    paths = [path for path in sorted(site.rglob("*.html")) if path.relative_to(site).parts[0] != "api"]
    faults = [f"{path.relative_to(site)}: {fault}" for path in paths for fault in faults_of(browser, path)]
    browser.open(f"{(site / 'search.html').as_uri()}?q=gateway")
    if not browser.value(HITS):
        faults.append("search.html: finds nothing about gateways")
    faults += [f"search.html: {fault}" for fault in browser.complaints()]
    browser.close()
    print("\n".join(faults), end="\n" if faults else "")
    print(f"site: {len(paths)} pages in {Path(program).name}, {len(faults)} faults")
    sys.exit(bool(faults))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
