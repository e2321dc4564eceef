"""Uses pages of formwright explore in headless Chromium, as a reader would: explore.py FOLDER [PICTURES]

FOLDER has pages, and expected.json: for each page what formwright run gives for some input. Tokens are typed, the slider is moved, gates and numbers are
clicked, the band is broken and mended, addresses are shared, pictures are saved. Nothing may be logged, asked for or wider than the window.
"""

import base64
import json
import sys
import tempfile
import time
import xml.etree.ElementTree as xml
from pathlib import Path

from look import LOOK, VIEWS, Chromium

# What a page has set, and all that it says.
TEXT = "document.body.innerText"
STATUS = "document.getElementById('status').className"


class Page:
    """A page in the browser."""

    def __init__(self, browser, path):
        self.browser, self.path = browser, path
        self.asked = []

    def open(self, address=""):
        self.browser.open("about:blank")
        self.browser.open(self.path.as_uri() + address)
        self.asked += self.browser.events
        assert self.value("document.documentElement.dataset.ready") == "yes", f"{self.path.name}{address}: it did not start"

    def value(self, script):
        answer = self.browser.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, f"{self.path.name}: {script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def click(self, selector):
        find = f"document.querySelector({json.dumps(selector)})"
        self.value(f"{find}.scrollIntoView({{block: 'center', inline: 'center'}})")
        box = self.value(f"(({{x, y, width, height}}) => ({{x: x + width / 2, y: y + height / 2}}))({find}.getBoundingClientRect())")
        for kind in ("mousePressed", "mouseReleased"):
            self.browser.ask("Input.dispatchMouseEvent", type=kind, button="left", clickCount=1, **box)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            codes = {"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "Enter": 13, " ": 32}
            text = {"text": "\r"} if key == "Enter" and kind == "keyDown" else {}
            self.browser.ask("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=codes[key], **text)

    def type(self, selector, text):
        self.click(selector)
        self.value(f"document.querySelector({json.dumps(selector)}).select()")
        self.browser.ask("Input.insertText", text=text)

    def choose(self, name, value):
        self.value(f"(s => {{ s.value = {json.dumps(value)}; s.dispatchEvent(new Event('change')) }})(document.getElementById('{name}'))")

    def outputs(self):
        return [float(text) for text in self.value("[...document.querySelectorAll('#answer td.output')].map(cell => cell.textContent)")]

    def until(self, script):
        for _ in range(600):
            if self.value(script):
                return
            time.sleep(0.1)
        raise AssertionError(f"{self.path.name}: never {script}")


def look(page, pictures):
    """Light and dark, narrow and wide."""
    for scheme, width in VIEWS:
        page.browser.ask("Emulation.setEmulatedMedia", media="screen", features=[{"name": "prefers-color-scheme", "value": scheme}])
        page.browser.ask("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        for place in (0, 1, 2):
            page.open(f"#place={place}")
            seen = page.value(LOOK)
            where = f"{page.path.name}, {scheme}, {width} wide, place {place}"
            assert seen["wider"] <= 0, f"{where}: {seen['wider']} wider than the window"
            assert not seen["out"], f"{where}: labels outside of their pictures: {seen['out'][:5]}"
        if pictures:
            clip = {"x": 0, "y": 0, "width": width, "height": min(seen["height"], 12000), "scale": 1}
            shot = page.browser.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)["data"]
            (pictures / f"{page.path.stem}-{scheme}-{width}.png").write_bytes(base64.b64decode(shot))
    page.browser.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)


def named(page):
    """Whatever can be reached has a name for those who do not see it."""
    nodes = page.browser.ask("Accessibility.getFullAXTree")["nodes"]
    can = [n for n in nodes if not n.get("ignored") and any(p["name"] == "focusable" and p["value"].get("value") for p in n.get("properties", []))]
    roles = [n["role"]["value"] for n in can if not n.get("name", {}).get("value") and n["role"]["value"] != "RootWebArea"]
    assert len(can) > 10 and not roles, f"{page.path.name}: without a name: {roles}"


def edit(page, expected):
    """What is typed is run, and gives what formwright run gives."""
    page.open()
    before = page.outputs()
    for i, token in enumerate(expected["x"]):
        for c, entry in enumerate(token):
            page.type(f"#x-{i}-{c}", entry)
    found, wanted = page.outputs(), sum(expected["y"], [])
    assert found == wanted, f"{page.path.name}: {found}, and run gives {wanted}"
    assert found != before
    assert page.value(STATUS) == expected["status"], page.value("document.getElementById('status').innerText")
    # Numbers at the ends of the format are run as well, and nothing is claimed there.
    for extreme in ("1e300", "-1e39", "1e-320", "-0", "-7/2"):
        page.type("#x-0-0", extreme)
    assert page.value(STATUS) in ("none", "changed")
    page.type("#x-0-0", expected["x"][0][0])
    assert page.outputs() == found
    # What is no number is said to be none, and what was computed stays.
    page.type("#x-0-0", "1/")
    assert page.value("document.getElementById('x-0-0').getAttribute('aria-invalid')") == "true" and page.outputs() == found
    assert "number is missing" in page.value("document.getElementById('wrong').textContent")


def scrub(page, expected):
    """The slider goes through the layers by key; the numbers are those of the trace."""
    x = ";".join(",".join(token) for token in expected["x"])
    page.open(f"#x={x}")
    page.value("document.getElementById('place').focus()")
    page.press("Home")
    cells = "[...document.querySelectorAll('#stream td.number')].map(cell => Number(cell.textContent.replaceAll('−', '-')))"
    for place, state in enumerate(expected["trace"]):
        # Register by register there, token by token here.
        wanted = [token[r] for r in range(len(state[0])) for token in state]
        for found, number in zip(page.value(cells), wanted, strict=True):
            assert abs(found - number) <= 1e-5 * abs(number), f"{page.path.name}, place {place}: {found}, and the trace has {number}"
        assert f"{place} of " in page.value("document.getElementById('where').textContent")
        page.press("ArrowRight")


def anatomy(page, gate):
    """A gate by mouse and by key, its weights, a number and who wrote it."""
    page.open("#place=0")
    heading = "document.querySelector('#layer h3')?.textContent"
    page.click(f"#gate-{gate}")
    assert page.value(heading).startswith(f"{gate} = "), page.value(heading)
    assert page.value("document.querySelectorAll('#equation button.weight').length") >= 2
    page.value(f"document.getElementById('gate-{gate}').focus()")
    page.press("Enter")
    assert not page.value(heading).startswith(f"{gate} = ")
    page.click("button.cell.changed")
    assert page.value("document.querySelectorAll('#wrote li').length") >= 2 and page.value("document.querySelectorAll('#read li').length") >= 1
    # By arrow keys to the next token.
    at = page.value("document.activeElement.id")
    page.press("ArrowRight")
    register, token = at.split("-")[1:]
    assert page.value("document.activeElement.id") == f"cell-{register}-{int(token) + 1}"


def breaks(page, knob, x):
    """The band is left when a knob is turned, and not when sums change their order."""
    page.open()
    plain = page.outputs()
    page.choose("order", "right")
    assert page.value(STATUS) == "in" and "every order" in page.value("document.getElementById('status').innerText")
    assert page.outputs() != plain or "scale" in knob
    if "scale" in knob:
        page.value(f"(s => {{ s.value = {knob['scale']}; s.dispatchEvent(new Event('input')) }})(document.getElementById('scale'))")
    else:
        page.choose("format", knob["format"])
    page.click("#worst")
    page.until("/this is the worst/.test(document.getElementById('searched').textContent)")
    assert page.value(STATUS) == "out" and "the network as it was compiled" in page.value("document.getElementById('status').innerText")
    page.click("#example")
    page.click("#mend")
    assert page.value(STATUS) == "in" and page.outputs() == plain
    page.open(f"#place=1&x={x}")
    plain = page.outputs()
    page.click("#equation li:last-child button.weight")
    page.click("#up")
    assert "one step up".replace("one", "1") in page.value("document.getElementById('value').textContent")
    assert page.value(STATUS) == "in" and "no longer the network" in page.value("document.getElementById('status').innerText")
    for _ in range(128):
        page.click("#far-up")
    assert page.value(STATUS) == "out", page.value("document.getElementById('status').innerText")
    page.click("#nudges button")
    assert page.value(STATUS) == "in" and page.outputs() == plain


def worst(page, bound):
    """The search finds more than the example has, and no more than is proved."""
    error = "compare(current(), input()).error"
    page.open()
    before = page.value(error)
    page.click("#worst")
    page.until("/this is the worst/.test(document.getElementById('searched').textContent)")
    assert before < page.value(error) <= bound, page.value(error)
    assert page.value(STATUS) == "in"


def share(page, expected):
    """What an address holds comes back; what makes no sense in it does nothing."""
    x = ";".join(",".join(token) for token in expected["x"])
    page.open(f"#x={x}&place=1&cell=0,1&scale=3&format=tf32&order=pairs&w=embed.weight:0:-3")
    page.value("document.getElementById('place').focus()")
    page.press("ArrowLeft")
    address, text = page.value("location.hash"), page.value(TEXT)
    assert "place=0" in address and "w=embed.weight:0:-3" in address, address
    page.open(address)
    assert page.value(TEXT) == text
    page.open()
    plain = page.value(TEXT)
    for hostile in ("x=", "x=<img>", "x=1;;", "x=NaN", "place=1e9", "place=-1", "cell=99999,0", "w=__proto__:0:1", "w=embed.weight:9999999:1", "format=__proto__", "%", "gate=<b>", "order=constructor"):
        page.open(f"#{hostile}")
        assert page.value(TEXT) == plain, hostile


def export(page, folder):
    """A picture is saved as a file that stands by itself."""
    page.open()
    page.browser.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))
    for name in ("answer", "flow"):
        page.click(f"#save-{name}")
        file = folder / f"{name}.svg"
        for _ in range(100):
            if file.is_file() and file.stat().st_size:
                break
            time.sleep(0.1)
        svg = xml.parse(file).getroot()
        assert svg.tag.endswith("}svg") and len(svg.findall(".//{*}text")) > 3
        assert all("class" not in element.attrib for element in svg.iter())
        file.unlink()


def use(browser, path, expected, pictures, scratch):
    """All of it, for one page."""
    page = Page(browser, path)
    look(page, pictures)
    named(page)
    edit(page, expected)
    if "trace" in expected:
        scrub(page, expected)
    share(page, expected)
    if "gate" in expected:
        anatomy(page, expected["gate"])
    if expected.get("breaks"):
        breaks(page, expected["breaks"], ";".join(",".join(token) for token in expected["x"]))
        worst(page, expected["bound"])
        export(page, scratch)
    for event in page.asked + browser.events:
        method, what = event.get("method"), event.get("params", {})
        assert method not in ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"), f"{path.name}: {what}"
        if method == "Network.requestWillBeSent":
            asked = what["request"]["url"].split("#")[0]
            assert asked in (page.path.as_uri(), "about:blank") or asked.startswith("blob:"), f"{path.name}: asks for {asked}"


def main():
    folder = Path(sys.argv[1]).resolve()
    pictures = Path(sys.argv[2]).resolve() if len(sys.argv) > 2 else None
    models = json.loads((folder / "expected.json").read_text())
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Chromium(profile)
        browser.ask("Accessibility.enable")
        browser.ask("Emulation.setDeviceMetricsOverride", width=1280, height=900, deviceScaleFactor=1, mobile=False)
        try:
            for name, expected in models.items():
                use(browser, folder / f"{name}.html", expected, pictures, Path(profile))
        finally:
            browser.quit()
    print(f"{len(models)} pages used")


if __name__ == "__main__":
    main()
