"""Opens pages in headless Chromium and looks at them: look.py FOLDER [PICTURES]

Every *.html of the folder is opened in light and dark, narrow and wide, and for print. It must be well-formed, ask nobody for anything, log nothing,
not be wider than the window, and have no label outside of its picture. PICTURES, if named, gets screenshots. Python's own library only: Chromium is
spoken to by its DevTools protocol, through a pipe.
"""

import base64
import fcntl
import json
import os
import shutil
import signal
import sys
import tempfile
from html.parser import HTMLParser
from pathlib import Path

VOID = {"meta", "br", "hr", "img", "input", "link", "col"}
FORBIDDEN = {"script", "link", "iframe", "object", "embed", "form", "img", "base"}
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-debugging-pipe",
]  # fmt: skip
# A4 within the page's margins.
PAPER = 688
VIEWS = [("light", 1280), ("light", 360), ("dark", 1280), ("dark", 360)]

# How much wider than the window the page is, its colours, and the labels that stick out of their pictures.
LOOK = """(() => {
  const page = document.documentElement, out = [];
  for (const svg of document.querySelectorAll('svg')) {
    const frame = svg.getBoundingClientRect();
    for (const label of svg.querySelectorAll('text')) {
      const at = label.getBoundingClientRect();
      if (at.left < frame.left - 1 || at.right > frame.right + 1 || at.top < frame.top - 1 || at.bottom > frame.bottom + 1)
        out.push(label.textContent);
    }
  }
  const style = getComputedStyle(document.body);
  return {wider: page.scrollWidth - page.clientWidth, height: page.scrollHeight, paper: style.backgroundColor, ink: style.color, out};
})()"""


class Shape(HTMLParser):
    """Refuses what is not closed, what is closed twice, and what could act or load."""

    def __init__(self):
        super().__init__()
        self.open, self.ids = [], set()

    def handle_starttag(self, tag, attributes):
        assert tag not in FORBIDDEN, f"<{tag}>"
        for name, value in attributes:
            assert not name.startswith("on") and name not in ("src", "href", "srcset"), f"{name}={value}"
            if name == "id":
                assert value not in self.ids, f"two of #{value}"
                self.ids.add(value)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open.pop() == tag, f"</{tag}> at {self.getpos()}"


class Chromium:
    """One browser for all pages."""

    def __init__(self, profile):
        command = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
        assert command, "no report is looked at without Chromium: apt-get install chromium, or name it in CHROMIUM"
        there, self.to = os.pipe()
        self.back, here = os.pipe()
        # Out of the way of the places that Chromium reads and writes.
        reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in (there, here))
        silence = [(os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        ends = [(os.POSIX_SPAWN_DUP2, reads, 3), (os.POSIX_SPAWN_DUP2, writes, 4)]
        arguments = [command, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        self.process = os.posix_spawn(command, arguments, os.environ, file_actions=silence + ends)
        for end in (there, here, reads, writes):
            os.close(end)
        self.number, self.buffer, self.events = 0, b"", []
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self.ask(f"{domain}.enable")

    def receive(self):
        while b"\0" not in self.buffer:
            part = os.read(self.back, 1 << 20)
            assert part, "Chromium has gone away"
            self.buffer += part
        message, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(message)

    def ask(self, method, **parameters):
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def open(self, url):
        """Opens a page and gives what happened until it was there."""
        self.events = []
        self.ask("Page.navigate", url=url)
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.receive())

    def quit(self):
        os.kill(self.process, signal.SIGTERM)
        os.waitpid(self.process, 0)

    def look(self):
        return self.ask("Runtime.evaluate", expression=LOOK, returnByValue=True)["result"]["value"]


def look(browser, page, pictures):
    """Fails if a page is not as it should be."""
    shape = Shape()
    shape.feed(page.read_text(encoding="utf-8"))
    shape.close()
    assert not shape.open, shape.open
    papers = set()
    for scheme, width in VIEWS:
        browser.ask("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": scheme}])
        browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        browser.open(page.as_uri())
        seen = browser.look()
        where = f"{page.name}, {scheme}, {width} wide"
        assert seen["wider"] <= 0, f"{where}: {seen['wider']} wider than the window"
        assert not seen["out"], f"{where}: labels outside of their pictures: {seen['out'][:5]}"
        papers.add((scheme, seen["paper"], seen["ink"]))
        if pictures:
            clip = {"x": 0, "y": 0, "width": width, "height": min(seen["height"], 12000), "scale": 1}
            shot = browser.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
            (pictures / f"{page.stem}-{scheme}-{width}.png").write_bytes(base64.b64decode(shot))
        for event in browser.events:
            method, what = event.get("method"), event.get("params", {})
            assert method not in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"), f"{where}: {what}"
            if method == "Network.requestWillBeSent":
                assert what["request"]["url"] == page.as_uri(), f"{where}: asks for {what['request']['url']}"
    assert len(papers) == 2, f"{page.name}: one scheme is as the other: {papers}"
    browser.ask("Emulation.setEmulatedMedia", media="print", features=[{"name": "prefers-color-scheme", "value": "dark"}])
    browser.ask("Emulation.setDeviceMetricsOverride", width=PAPER, height=1000, deviceScaleFactor=1, mobile=False)
    printed = browser.look()
    assert printed["paper"] == "rgb(255, 255, 255)", f"{page.name}: printed on something else than white"
    assert printed["wider"] <= 0, f"{page.name}: {printed['wider']} wider than a sheet of paper"
    browser.ask("Emulation.clearDeviceMetricsOverride")
    browser.ask("Emulation.setEmulatedMedia", media="")
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=True)["data"])
    assert pdf.startswith(b"%PDF"), page.name
    if pictures:
        (pictures / f"{page.stem}.pdf").write_bytes(pdf)


def main():
    folder = Path(sys.argv[1]).resolve()
    pictures = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    pages = sorted(folder.glob("*.html"))
    assert pages, f"no pages in {folder}"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(profile)
        try:
            for page in pages:
                look(browser, page, pictures)
        finally:
            browser.quit()
    print(f"{len(pages)} pages looked at")


if __name__ == "__main__":
    main()
