"""The report page in a real browser: page.py MIXSTREAM [--screenshots FOLDER]. Exit 77: there is no browser."""
import json
import math
import pathlib
import random
import re
import subprocess
import sys
import tempfile

import browser

TOOL = sys.argv[1]
MAP = "1,t,t^4,t^7"
EVIL_COLUMN = "<img src=x onerror=window.hacked=1>"
EVIL_GROUP = "</script><script>window.hacked=2</script>"


def run(*words, rows=b""):
    return subprocess.run([TOOL, *words], input=rows, stdout=subprocess.PIPE, check=True).stdout


def simulated_page(folder):
    """A page of a simulated stream, and the fit that the tool printed."""
    rows = run("simulate", "-k", "3", "-x", MAP, "-n", "40000", "--noise", "0.1", "--seed", "7")
    page = folder / "simulated.html"
    fit = run("fit", "-k", "3", "-y", "y", "-x", MAP, "-q", "--report", str(page), rows=rows)
    return page, json.loads(fit.splitlines()[-1])


def two_column_page(folder, group=None):
    """Two columns, the second with a hostile name, and if asked a group with a hostile value."""
    plain = run("simulate", "-k", "2", "-x", "1,u,v", "-n", "6000", "--noise", "0.05", "--seed", "3").decode().splitlines()
    lines = [f"u,{EVIL_COLUMN},y" + (",g" if group else "")]
    lines += [line + (f",{EVIL_GROUP if i % 3 else group}" if group else "") for i, line in enumerate(plain[1:])]
    page = folder / ("groups.html" if group else "columns.html")
    run("fit", "-k", "2", "-y", "y", "-q", "--every", "1000", *(["--group", "g"] if group else []), "--report", str(page),
        rows="\n".join(lines).encode())
    return page


def modes_page(folder):
    """A pump whose modes last, and the fit that the tool printed."""
    rows = run("simulate", "-k", "3", "-x", "1,u,v", "-n", "40000", "--stay", "0.99", "--wander", "0.99", "--noise", "0.09", "--seed", "7")
    page = folder / "modes.html"
    fit = run("fit", "-k", "3", "-y", "y", "-x", "1,u,v", "--modes", "persistent", "-q", "--report", str(page), rows=rows)
    return page, json.loads(fit.splitlines()[-1])


def gated_page(folder):
    """Two laws of the temperature; it chooses between them near 17 degrees."""
    draw = random.Random(4)
    lines = ["temperature,wind,y"]
    for _ in range(4000):
        temperature, wind = draw.uniform(0, 40), draw.gauss(0, 1)
        cold = draw.random() < 1 / (1 + math.exp(0.8 * (temperature - 17)))
        y = (10 - 0.2 * temperature if cold else 1 + 0.5 * temperature) + 0.3 * wind + draw.gauss(0, 0.5)
        lines.append(f"{temperature},{wind},{y}")
    page = folder / "gated.html"
    run("fit", "-k", "2", "-y", "y", "-x", "1,temperature,wind", "--modes", "gated", "--gate", "1,temperature", "-q", "--report", str(page),
        rows="\n".join(lines).encode())
    return page


# How many pixels of a plot's canvas are near each of the page's law colours, and how many have any ink.
PIXELS = """
const canvas = arguments[0] === null ? null : document.querySelectorAll(".plot canvas")[arguments[0]];
const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
const style = getComputedStyle(document.documentElement);
const wanted = [0, 1, 2].map((law) => style.getPropertyValue(`--law-${law}`).trim().match(/../g) &&
  [1, 3, 5].map((at) => parseInt(style.getPropertyValue(`--law-${law}`).trim().slice(at, at + 2), 16)));
const found = [0, 0, 0];
let inked = 0;
for (let i = 0; i < pixels.length; i += 4) {
  if (pixels[i + 3] === 0) continue;
  ++inked;
  wanted.forEach((rgb, law) => { if (rgb.every((value, c) => Math.abs(value - pixels[i + c]) < 12)) ++found[law]; });
}
return {inked, found};
"""


class ReportPage(browser.Reader):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        cls.page, cls.fit = simulated_page(folder)
        cls.modes, cls.persistent = modes_page(folder)
        cls.gated = gated_page(folder)
        cls.columns = two_column_page(folder)
        cls.groups = two_column_page(folder, group="west")
        super().setUpClass()

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        cls.folder.cleanup()

    def open(self, page):
        self.browser.prefer("light")
        self.browser.size(1200, 900)
        self.browser.open(page.as_uri())
        self.browser.run("localStorage.clear()")
        self.browser.console()
        self.browser.open(page.as_uri())

    def cells(self, caption):
        return self.browser.run("""
          const table = [...document.querySelectorAll("table")].find((one) => one.caption.textContent === arguments[0]);
          return [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent));""", caption)

    def test_no_page_complains_or_loads_anything(self):
        for page in (self.page, self.columns, self.groups, self.modes, self.gated):
            self.open(page)
            self.assertEqual([], self.browser.console())
            self.assertEqual([], self.browser.run("return performance.getEntriesByType('resource').map((one) => one.name)"))

    def test_every_plot_is_drawn_in_the_laws_colours(self):
        self.open(self.page)
        plots = self.browser.run("return document.querySelectorAll('.plot canvas').length")
        self.assertEqual(1 + 6 + 3, plots)  # data; weights, four coefficients, noise; residuals of three laws
        for plot in range(plots):
            ink = self.browser.run(PIXELS, plot)
            self.assertGreater(ink["inked"], 1000, f"plot {plot} is blank")
            if plot < 6:  # the noise is shared: its lines lie on each other
                self.assertGreater(min(ink["found"]), 100, f"plot {plot} lacks a law: {ink}")

    def test_the_table_has_the_numbers_of_the_fit(self):
        self.open(self.page)
        rows = self.cells("Fitted laws")
        self.assertEqual(["", "law 1", "law 2", "law 3"], rows[0])
        self.assertEqual(["weight", "constant", "t", "t4", "t7", "noise sd"], [row[0] for row in rows[1:]])
        for law, component in enumerate(self.fit["components"]):
            expected = [component["weight"], *component["coefficients"], component["noise_variance"] ** 0.5]
            errors = [component["weight_se"], *component["coefficients_se"]]
            for row, value in zip(rows[1:], expected, strict=True):
                number = row[law + 1].replace("\u2212", "-").split(" \u00b1 ")
                digits = len(number[0].partition(".")[2])
                self.assertAlmostEqual(value, float(number[0]), delta=0.51 * 10**-digits)
            for row, error in zip(rows[1:], errors):
                shown = float(row[law + 1].split(" \u00b1 ")[1])
                self.assertAlmostEqual(error, shown, delta=0.06 * error)

    def test_the_words_say_what_the_fit_says(self):
        self.open(self.page)
        text = self.browser.run("return document.querySelector('main').innerText")
        self.assertIn("40,000", text)
        self.assertIn(self.fit["words"][1:], text)
        for group in self.fit["identifiability"]["dependent_features"]:
            self.assertIn(" and ".join(group), text)

    def test_dark_and_light_follow_the_system_and_the_switch(self):
        self.open(self.page)
        look = "return [getComputedStyle(document.body).backgroundColor, document.querySelector('.plot canvas').toDataURL()]"
        light = self.browser.run(look)
        self.browser.prefer("dark")
        dark = self.browser.run(look)
        self.assertNotEqual(light[0], dark[0])
        self.assertNotEqual(light[1], dark[1])
        press = "document.querySelector(`.switch [data-theme=${arguments[0]}]`).click();" + look
        self.assertEqual(light[0], self.browser.run(press, "light")[0])
        self.browser.prefer("light")
        self.assertEqual(dark[0], self.browser.run(press, "dark")[0])
        self.browser.open(self.page.as_uri())
        self.assertEqual(dark[0], self.browser.run(look)[0], "the choice is remembered")

    def test_hostile_names_stay_text(self):
        for page in (self.columns, self.groups):
            self.open(page)
            found = self.browser.run("""return {hacked: window.hacked === undefined ? null : window.hacked,
              images: document.images.length, scripts: document.scripts.length, text: document.body.innerText}""")
            self.assertIsNone(found["hacked"])
            self.assertEqual(0, found["images"])
            self.assertEqual(3, found["scripts"])
            self.assertIn(EVIL_COLUMN, found["text"])
        options = self.browser.run("return [...document.querySelector('nav select').options].map((one) => one.text)")
        self.assertEqual([EVIL_GROUP, "west"], options)

    def test_another_group_and_another_column_can_be_chosen(self):
        self.open(self.groups)
        choose = """const select = document.querySelector(arguments[0]); select.selectedIndex = arguments[1];
          select.dispatchEvent(new Event("change")); return document.querySelector(arguments[2]).innerText"""
        self.assertIn("west:", self.browser.run(choose, "nav select", 1, ".subtitle"))
        self.assertIn("u = ", self.browser.run(choose, "main .controls select", 1, "figcaption"))
        self.assertGreater(self.browser.run(PIXELS, 0)["inked"], 1000)
        self.assertEqual([], self.browser.console())

    def test_a_law_can_be_hidden(self):
        self.open(self.page)
        before = self.browser.run(PIXELS, 0)["found"]
        self.browser.run("document.querySelectorAll('.legend button')[1].click()")
        after = self.browser.run(PIXELS, 0)["found"]
        self.assertEqual(0, after[1])
        self.assertGreater(before[1], 100)
        self.assertGreater(after[0], 100)

    def test_no_width_overflows(self):
        for page in (self.page, self.columns, self.groups, self.modes, self.gated):
            self.open(page)
            for width in (320, 390, 768, 1600):
                self.browser.size(width, 800, phone=width < 500)
                self.assertLessEqual(self.browser.run("return document.documentElement.scrollWidth"), width)
                wide = self.browser.run("""return [...document.querySelectorAll(".plot")].filter((plot) =>
                  plot.firstElementChild.offsetWidth > plot.clientWidth + 1).length""")
                self.assertEqual(0, wide)

    def test_everything_has_a_name_for_those_who_do_not_see_it(self):
        for page in (self.page, self.modes, self.gated):
            self.open(page)
            nameless = self.browser.run("""
              const short = (node) => (node.getAttribute("aria-label") || "").length < 40;
              return {plots: [...document.querySelectorAll(".plot, .strip, [role=img]")].filter(short).length,
                tables: [...document.querySelectorAll("table")].filter((table) => !table.caption || !table.querySelector("th[scope=col]")).length,
                mains: document.querySelectorAll("main").length, heads: document.querySelectorAll("h1").length}""")
            self.assertEqual({"plots": 0, "tables": 0, "mains": 1, "heads": 1}, nameless)

    def test_modes_are_drawn_as_the_fit_says(self):
        self.open(self.modes)
        # The strip's paths, as wide and high as they are: what each law has of the whole.
        areas = self.browser.run("""return [...document.querySelector(".strip svg").children].map((path) =>
          [...path.getAttribute("d").matchAll(/h([\\d.]+)v([\\d.]+)/g)].reduce((sum, [, wide, high]) => sum + wide * high / 1e5, 0))""")
        for area, seen in zip(areas, self.persistent["modes"]["seen_share"], strict=True):
            self.assertAlmostEqual(area, seen, delta=0.06)  # the strip begins with the polish
        shown = self.cells("Chance of the next row's mode")
        for i, row in enumerate(self.persistent["modes"]["transitions"]):
            for j, chance in enumerate(row):
                self.assertAlmostEqual(chance, float(shown[1 + i][1 + j].split(" \u00b1 ")[0]), delta=0.001)
        arrows = self.browser.run("return [...document.querySelectorAll('.diagram text:not(.node)')].map((one) => Number(one.textContent))")
        self.assertEqual(9, len(arrows))
        wanted = sorted(chance for row in self.persistent["modes"]["transitions"] for chance in row)
        for number, chance in zip(sorted(arrows), wanted):
            self.assertAlmostEqual(number, chance, delta=0.06 * chance)
        self.assertIn("lasts", self.browser.run("return document.querySelector('main').innerText"))

    def test_a_gate_is_drawn_over_the_column_that_it_looks_at(self):
        self.open(self.gated)
        self.assertIn("takes over above temperature 17", self.browser.run("return document.querySelector('main').innerText"))
        labels = self.browser.run("return [...document.querySelectorAll('.plot')].map((plot) => plot.getAttribute('aria-label')).filter((label) => label.startsWith('Weights of the laws over'))")
        self.assertEqual(1, sum("over temperature" in label for label in labels))
        self.assertEqual(0, sum("over wind" in label for label in labels))

    def test_paper_is_light_and_the_screen_is_as_before_afterwards(self):
        self.open(self.page)
        self.browser.prefer("dark")
        self.browser.run("addEventListener('beforeprint', () => { window.paper = getComputedStyle(document.documentElement).colorScheme; })")
        self.assertTrue(self.browser.pdf().startswith(b"%PDF"))
        self.assertEqual("light", self.browser.run("return window.paper"))
        self.assertEqual("dark", self.browser.run("return getComputedStyle(document.documentElement).colorScheme"))

    def test_without_scripts_the_report_is_there_as_text(self):
        text = re.search(r"<noscript>(.*)</noscript>", self.page.read_text(), re.S).group(1)
        self.assertIn("law 3", text)


def screenshots(folder):
    """The page as people see it."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as work, browser.Browser() as chromium:
        place = pathlib.Path(work)
        pages = {"simulated": simulated_page(place)[0], "columns": two_column_page(place), "modes": modes_page(place)[0], "gated": gated_page(place)}
        for name, page in pages.items():
            for scheme in ("light", "dark"):
                chromium.size(1200, 900)
                chromium.prefer(scheme)
                chromium.open(page.as_uri())
                chromium.screenshot(folder / f"{name}-{scheme}.png")
            chromium.prefer("light")
            chromium.size(390, 844, phone=True)
            chromium.screenshot(folder / f"{name}-phone.png")
            (folder / f"{name}.pdf").write_bytes(chromium.pdf())


browser.main(screenshots, programs=1)
