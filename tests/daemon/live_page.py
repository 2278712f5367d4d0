"""The live page in a real browser: live_page.py SERVE_FAKE MIXSTREAMD [--screenshots FOLDER]. Exit 77: there is no browser."""
import contextlib
import pathlib
import random
import socket
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "browser"))
import browser
from daemon import Daemon, free_port, place, wait_until
from fake import PATIENCE, Fake, secret

PROGRAM = sys.argv[1]
DAEMON = sys.argv[2]

# The real daemon's stream; the fake's is like it.
STREAM = """
[[stream]]
name = "pump"
socket = "127.0.0.1:{port}"
format = "csv"
columns = ["t", "y"]
features = "1,t,t^2"
response = "y"
k = 2
window = 40000
refit_rows = 5000
"""
BEFORE = ((0.5, 1.5, -1.0), (-0.8, -1.0, 0.6))
AFTER = ((1.4, -0.6, 0.9), (-0.8, -1.0, 0.6))


@contextlib.contextmanager
def real_daemon():
    """A mixstreamd, and a function that sends it rows of the given laws: 5000, waits for the fit of them, and so on."""
    with place() as (folder, started):
        port = free_port()
        daemon = Daemon(DAEMON, folder, STREAM.format(port=port))
        daemon.url = f"http://127.0.0.1:{daemon.http_port}/"
        started.append(daemon)
        daemon.start().wait_ready()
        numbers = random.Random(5)

        def line(laws):
            t = numbers.uniform(-1, 1)
            constant, slope, bend = laws[numbers.random() < 0.4]
            return b"%.6f,%.6f\n" % (t, constant + slope * t + bend * t * t + numbers.gauss(0, 0.14))

        def send(laws, count, pause=0.0):
            """In lots of 5,000 rows, each with its fit; so many seconds from lot to lot."""
            with socket.create_connection(("127.0.0.1", port)) as connection:
                for _ in range(0, count, 5000):
                    after = daemon.metric("mixstream_rows_folded_total", "pump") + 5000
                    connection.sendall(b"".join(line(laws) for _ in range(5000)))
                    wait_until(lambda: daemon.metric("mixstream_fit_rows", "pump") >= after, 60, what="the rows' fit")
                    time.sleep(pause)
        yield daemon, send


# The dashed lines of alarms: pixels of their colour in the plots over the stream.
ALARM_PIXELS = """
const colour = getComputedStyle(document.documentElement).getPropertyValue("--bad").trim();
const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
let found = 0;
for (const canvas of document.querySelectorAll(".grid canvas")) {
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  for (let i = 0; i < pixels.length; i += 4) {
    if (pixels[i + 3] > 200 && wanted.every((value, c) => Math.abs(value - pixels[i + c]) < 12)) ++found;
  }
}
return found;
"""
TEXT = "return document.querySelector(arguments[0])?.innerText ?? ''"


class Reader(browser.Reader):
    def open(self, fake, stream="pump"):
        self.browser.prefer("light")
        self.browser.size(1200, 900)
        self.browser.open("about:blank")
        self.browser.open(fake.url + f"#stream={stream}")
        self.browser.run("localStorage.clear()")
        self.browser.console()

    def text(self, selector):
        return self.browser.run(TEXT, selector)

    def eventually(self, holds, what):
        end = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), end, what)
            time.sleep(0.2)

    def see(self, words, selector="main"):
        self.eventually(lambda: words in self.text(selector), words)

    def tearDown(self):
        entries = [entry for entry in self.browser.console() if entry["level"] == "SEVERE" and "Failed to load resource" not in entry["message"]]
        self.assertEqual([], entries)


class OfTheDaemon(Reader):
    def test_a_change_of_regime_becomes_an_alarm_in_words_and_in_the_plots(self):
        with real_daemon() as (daemon, send):
            self.open(daemon)
            self.see("No fit yet")
            send(BEFORE, 60000)
            self.see("Fit accepted")
            self.see("No alarms.")
            self.eventually(lambda: self.browser.run("return document.querySelectorAll('.plot[data-drawn]').length") >= 7, "plots")
            self.assertEqual(0, self.browser.run(ALARM_PIXELS))
            send(AFTER, 20000)
            self.see("Drift", ".alarm-list")
            self.see("Alarm of pump", "[role=alert]")
            self.eventually(lambda: self.browser.run(ALARM_PIXELS) > 50, "dashed lines")
            send(AFTER, 60000)  # the window holds the new regime alone
            self.see("Fit accepted", ".verdict")
            self.see("1.4", ".card.fit")


def small_fake(*options):
    """Enough rows for fits, too few for the drift detector."""
    return Fake(PROGRAM, "--rows-before", 15000, *options)


class OfAnything(Reader):
    def test_a_change_of_regime_becomes_an_alarm_in_words_and_in_the_plots(self):
        with Fake(PROGRAM) as fake:
            self.open(fake)
            self.see("Fit accepted")
            self.see("No alarms.")
            self.eventually(lambda: self.browser.run("return document.querySelectorAll('.plot[data-drawn]').length") >= 7, "plots")
            self.assertEqual(0, self.browser.run(ALARM_PIXELS))
            rows = self.text("figures")
            fake.say("change")
            self.see("Recent rows disagree with the laws", ".alarm-list")
            self.see("Recent rows disagree with the laws", "[role=alert]")  # and is read out
            self.eventually(lambda: self.browser.run(ALARM_PIXELS) > 50, "dashed lines")
            self.assertIn("\u26a0", self.browser.run("return document.title"))
            self.assertIn("alarm", self.browser.run("return document.querySelector('.streams [aria-current]').textContent"))
            self.assertNotEqual(rows, self.text(".figures"))

    def test_what_the_reader_chose_lives_on_from_fit_to_fit(self):
        with small_fake("--rows-per-second", 10000) as fake:
            self.open(fake)
            self.see("Data and laws")
            self.browser.run("""
              const law = document.querySelector(".legend button");
              law.click();
              law.focus();
              document.querySelector("summary").click();
              scrollTo(0, 900);""")
            fits = "return Number(document.querySelector('.figures').innerText.match(/(\\d+) fits/)[1])"
            before = self.browser.run(fits)
            self.eventually(lambda: self.browser.run(fits) > before + 1, "a new fit")
            kept = self.browser.run("""return {hidden: document.querySelector(".legend button").getAttribute("aria-pressed"),
              focused: document.activeElement === document.querySelector(".legend button"),
              open: document.querySelector("details").open, at: scrollY}""")
            self.assertEqual({"hidden": "false", "focused": True, "open": True, "at": 900}, kept)

    def test_streams_are_chosen_by_links(self):
        with small_fake() as fake:
            self.open(fake, "valve")
            self.see("valve", "h1")
            self.see("Fit accepted")
            names = self.browser.run("return [...document.querySelectorAll('.streams a')].map((link) => link.textContent)")
            self.assertEqual(4, len(names))
            self.browser.run("document.querySelectorAll('.streams a')[2].click()")
            self.see("boiler", "h1")
            self.see("The broker mqtts://broker.plant:8883 has not answered", ".banners")
            self.see("No row has come yet")
            self.assertEqual(0, self.browser.run("return document.querySelectorAll('.legend').length"))
            self.browser.run("history.back()")
            self.see("valve", "h1")
            self.see("Data and laws")

    def test_the_fleet_says_who_departs_and_comes_in_pages(self):
        with small_fake() as fake:
            for width in (1200, 390):
                self.open(fake)
                self.browser.size(width, 900, phone=width < 500)
                self.see("1 to 25 of 60", ".fleet")
                self.see("pump-03", ".fleet dl")
                self.see("depart from the fleet", ".fleet dl")
                self.see("30 groups", ".fleet .modes-now")
                self.see("\u26a0 departs, silent", ".fleet table")
                self.assertNotIn("pump-26", self.text(".fleet table"))
                self.browser.run("document.querySelectorAll('.fleet .steps button')[1].click()")
                self.see("26 to 50 of 60", ".fleet")
                self.see("pump-26", ".fleet table")
                self.assertNotIn("pump-25", self.text(".fleet table"))
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), width)
            self.browser.run("document.querySelectorAll('.streams a')[1].click()")
            self.see("valve", "h1")
            self.eventually(lambda: self.text(".fleet") == "", "a stream of one model shows no fleet")

    def test_many_streams_come_in_pages_and_a_stream_of_another_page_can_be_opened(self):
        with small_fake("--more-streams", 120) as fake:
            self.open(fake)
            self.see("1 to 50 of 124 streams", ".streams")
            self.assertEqual(50, self.browser.run("return document.querySelectorAll('.streams a').length"))
            self.browser.run("document.querySelectorAll('.streams .steps button')[1].click()")
            self.see("51 to 100 of 124 streams", ".streams")
            self.see("more-60", ".streams")
            self.see("pump", "h1")
            self.browser.run("[...document.querySelectorAll('.streams a')].find((a) => a.textContent.includes('more-60')).click()")
            self.see("more-60", "h1")
            self.open(fake, "more-119")
            self.see("more-119", "h1")
            self.see("more-119", ".streams [aria-current]")

    def test_what_is_wrong_is_told_on_top(self):
        with small_fake() as fake:
            self.open(fake)
            self.see("Fit accepted")
            fake.say("stale")
            self.see("The last solve did not converge", ".banners")
            fake.say("ill")
            self.see("no space left on device", ".banners")
            fake.say("well")
            self.eventually(lambda: "no space left" not in self.text(".banners"), "well again")
            self.assertEqual("Live", self.text(".live"))
        self.see("The daemon has not answered since", ".banners")  # it has ended
        self.assertEqual("No answer", self.text(".live"))
        self.browser.console()

    def test_paused_the_page_stands_still(self):
        with small_fake("--rows-per-second", 5000) as fake:
            self.open(fake)
            self.see("rows a second", ".figures")
            self.browser.run("document.querySelector('.tools .quiet').click()")
            self.assertEqual("Paused", self.text(".live"))
            time.sleep(1.5)
            before = self.text(".figures")
            time.sleep(2.5)
            self.assertEqual(before, self.text(".figures"))
            self.browser.run("document.querySelector('.tools .quiet').click()")
            self.eventually(lambda: self.text(".figures") != before, "going on")

    def test_a_fit_can_be_asked_for(self):
        with small_fake() as fake:
            self.open(fake)
            self.see("Fit accepted")
            self.browser.run("document.querySelector('.actions button').click()")
            self.see("Asked for", ".actions")
            self.open(fake, "boiler")
            self.see("No fit yet")
            self.browser.run("document.querySelector('.actions button').click()")
            self.see("has no rows yet", ".actions")

    def test_the_page_asks_for_the_token(self):
        token = "0123456789abcdef0123456789abcdef"
        with tempfile.TemporaryDirectory() as folder, small_fake("--token-file", secret(folder, token)) as fake:
            self.open(fake)
            enter = """const input = document.querySelector("#token"); input.value = arguments[0]; input.form.requestSubmit()"""
            self.see("asks for its token", "#page")
            self.browser.run(enter, "wrong")
            self.see("That was not the token", "#page")
            self.browser.run(enter, token)
            self.see("Fit accepted")
            self.open(fake, "valve")  # the tab remembers
            self.see("Fit accepted")

    def test_narrow_and_wide_the_page_fits_and_everything_has_a_name(self):
        with small_fake() as fake:
            for stream in ("pump", "valve", "boiler", "furnace"):
                self.open(fake, stream)
                self.see(stream, "h1")
                self.see("Rows since the state began")
                for width in (320, 390, 768, 1600):
                    self.browser.size(width, 800, phone=width < 500)
                    self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), width)
                found = self.browser.run("""
                  const short = (node) => (node.getAttribute("aria-label") || "").length < 30;
                  const nameless = (node) => !(node.textContent.trim() || node.ariaLabel || node.labels?.length);
                  return {plots: [...document.querySelectorAll(".plot")].filter(short).length,
                    tables: [...document.querySelectorAll("table")].filter((table) => !table.caption || !table.querySelector("th[scope=col]")).length,
                    controls: [...document.querySelectorAll("a, button, select, input")].filter(nameless).length,
                    mains: document.querySelectorAll("main").length, heads: document.querySelectorAll("h1").length}""")
                self.assertEqual({"plots": 0, "tables": 0, "controls": 0, "mains": 1, "heads": 1}, found)

    def test_light_and_dark_follow_the_system_and_the_switch(self):
        with small_fake() as fake:
            self.open(fake)
            self.see("Fit accepted")
            scheme = "return getComputedStyle(document.documentElement).colorScheme"
            self.browser.prefer("dark")
            self.assertEqual("dark", self.browser.run(scheme))
            self.browser.run("document.querySelector('.switch [data-theme=light]').click()")
            self.assertEqual("light", self.browser.run(scheme))


def screenshots(folder):
    """The page as people see it; live-light.jpg and live-dark.jpg are in docs/images."""
    folder.mkdir(parents=True, exist_ok=True)
    with browser.Browser() as chromium:
        def shoot(url, name, scheme="light", size=(1200, 900), whole=True):
            chromium.prefer(scheme)
            chromium.size(*size, phone=size[0] < 500)
            chromium.open("about:blank")
            chromium.open(url)
            time.sleep(5)
            chromium.screenshot(folder / name, whole)
        with real_daemon() as (daemon, send):
            send(BEFORE, 100000)
            send(AFTER, 50000)
            flow = threading.Thread(target=send, args=(AFTER, 150000, 1.0))
            flow.start()
            shoot(daemon.url, "live-light.jpg", size=(1200, 2300), whole=False)
            shoot(daemon.url, "live-dark.jpg", "dark", size=(1200, 2300), whole=False)
            shoot(daemon.url, "daemon.png")
            shoot(daemon.url, "daemon-phone.png", "dark", size=(390, 844))
            flow.join()
        with Fake(PROGRAM, "--rows-per-second", 6000) as fake:
            for word in ("change", "ill", "stale"):
                fake.say(word)
            shoot(fake.url + "#stream=boiler", "boiler.png")
            shoot(fake.url + "#stream=furnace", "modes-light.png")
            shoot(fake.url + "#stream=furnace", "modes-phone.png", "dark", size=(390, 844))
            shoot(fake.url + "#stream=pump", "stale-phone.png", size=(390, 844), whole=False)


browser.main(screenshots, programs=2)
