"""The Grafana dashboard and the alert rules in docs/examples: sound by Grafana's own types, by promtool, and by the metrics that there
are.  dashboard.py SOURCE_ROOT GRAFANA_TYPES"""

import itertools
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT, TYPES = (pathlib.Path(word) for word in sys.argv[1:3])
del sys.argv[1:]
EXAMPLES = ROOT / "docs" / "examples"
HERE = ROOT / "tests" / "daemon"
BOARD = json.loads((EXAMPLES / "grafana.json").read_text())
PATIENCE = 120
STANDARD = {"job", "instance", "le"}  # labels that Prometheus adds, and those of buckets
TABLE = {name: set(re.findall(r"`(\w+)`", labels)) | STANDARD
         for name, labels in re.findall(r"^\| `(\w+)` \| (.*?) ?\| ", (ROOT / "docs" / "reference" / "http.md").read_text(), re.M)}


def metric(name):
    """The family of a sample's name."""
    return name if name in TABLE else re.sub(r"_(bucket|sum|count)$", "", name)


def promtool(*words):
    return subprocess.run(["promtool", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)


def queries():
    for panel in BOARD["panels"]:
        for target in panel["targets"]:
            yield panel, target


class Dashboard(unittest.TestCase):
    def test_every_query_asks_for_metrics_and_labels_that_there_are(self):
        for panel, target in queries():
            used = re.findall(r"\b((?:mixstream|process)_\w+)(?:\{(.*?)\})?", target["expr"])
            self.assertTrue(used, panel["title"])
            known = set.intersection(*(TABLE[metric(name)] for name, _ in used))
            for name, matchers in used:
                self.assertLessEqual(set(re.findall(r"(\w+)=", matchers)), TABLE[metric(name)], panel["title"])
            self.assertLessEqual(set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])), known, panel["title"])

    def test_every_query_is_one(self):
        rules = [{"record": f"query:{i}", "expr": re.sub(r"\$__rate_interval", "1m", target["expr"]).replace("$job", ".*").replace("$stream", ".*")}
                 for i, (_, target) in enumerate(queries())]
        self.assertGreater(len(rules), 15)
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "rules.yml"  # JSON is YAML
            path.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": rules}]}))
            done = promtool("check", "rules", path)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_every_variable_that_is_used_is_there(self):
        declared = {variable["name"] for variable in BOARD["templating"]["list"]}
        used = set(re.findall(r"\$\{?(\w+)", json.dumps(BOARD))) - {"__rate_interval", "__all"}
        self.assertEqual(declared, used)

    def test_panels_lie_side_by_side(self):
        ids = [panel["id"] for panel in BOARD["panels"]]
        self.assertEqual(len(ids), len(set(ids)))
        taken = {}
        for panel in BOARD["panels"]:
            self.assertTrue(panel["title"] and panel["description"])
            at = panel["gridPos"]
            for cell in itertools.product(range(at["x"], at["x"] + at["w"]), range(at["y"], at["y"] + at["h"])):
                self.assertLess(cell[0], 24, panel["title"])
                self.assertNotIn(cell, taken, f"{panel['title']} lies on {taken.get(cell)}")
                taken[cell] = panel["title"]

    def test_it_is_what_grafana_takes(self):
        if not (TYPES / "schema.d.ts").exists() or shutil.which("node") is None:
            self.skipTest("Grafana's types are not here: apps/setup test fetches them")
        text = 'import { dashboard, timeseries } from "./dashboard";\n' + f"dashboard({json.dumps(BOARD, indent=1)});\n"
        for panel in BOARD["panels"]:
            if panel["type"] == "timeseries":
                text += f"timeseries({json.dumps(panel['options'])}, {json.dumps(panel['fieldConfig']['defaults']['custom'])});\n"
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "board.ts").write_text(text)
            shutil.copy(HERE / "dashboard.ts", folder)
            shutil.copy(TYPES / "schema.d.ts", folder)
            done = subprocess.run(["node", TYPES / "typescript" / "lib" / "tsc.js", "--noEmit", "--strict", "--target", "es2022", "--module", "esnext",
                                   "--moduleResolution", "bundler", "--skipLibCheck", folder / "board.ts"], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(0, done.returncode, done.stdout)


class Alerts(unittest.TestCase):
    def test_rules_raise_what_they_say_and_nothing_else(self):
        done = promtool("test", "rules", HERE / "alerts_test.yml")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_every_rule_is_tested(self):
        rules = re.findall(r"- alert: (\w+)", (EXAMPLES / "alerts.yml").read_text())
        tests = (HERE / "alerts_test.yml").read_text()
        self.assertEqual([], [rule for rule in rules if not re.search(rf"alertname: {rule}\n", tests)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
