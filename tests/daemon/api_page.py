"""docs/reference/http.md says what the server does: api_page.py SERVE_FAKE SOURCE_ROOT"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import time
import unittest

from fake import PATIENCE, Fake

PROGRAM = sys.argv.pop(1)
ROOT = pathlib.Path(sys.argv.pop(1))
PAGE = (ROOT / "docs" / "reference" / "http.md").read_text()
RULES = ROOT / "docs" / "examples" / "alerts.yml"


def shape(value):
    """Names and kinds, without the numbers; a list is as its first entry."""
    if isinstance(value, dict):
        return {name: shape(entry) for name, entry in sorted(value.items())}
    if isinstance(value, list):
        return [shape(entry) for entry in value[:1]]
    return "number" if isinstance(value, (int, float)) and not isinstance(value, bool) else type(value).__name__


class ApiPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fake = Fake(PROGRAM, "--rows-per-second", 20000)
        cls.fake.say("change")
        end = time.monotonic() + PATIENCE
        while not cls.fake.json("api/v1/streams/pump")["alarms"]:
            assert time.monotonic() < end
            time.sleep(0.1)
        cls.metrics = cls.fake.get("/metrics")[2].decode()

    @classmethod
    def tearDownClass(cls):
        cls.fake.__exit__()

    def test_every_example_answers_as_it_is_written(self):
        examples = re.findall(r"^```\n\$ (curl .*)\n([^`]*)^```", PAGE, re.M)
        self.assertGreater(len(examples), 5)
        for command, answer in examples:
            command = command.replace("http://127.0.0.1:8471/", self.fake.url)
            done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=PATIENCE)
            self.assertEqual(shape(json.loads(answer)), shape(json.loads(done.stdout)), command)

    def test_every_address_of_the_table_is_there_and_takes_its_method(self):
        rows = re.findall(r"^\| (`/.*?) \| (GET|POST) \|", PAGE, re.M)
        self.assertEqual(14, len(rows))
        for addresses, method in rows:
            for address in re.findall(r"`(.*?)`", addresses):
                found = self.fake.get(address.replace("NAME", "pump"))[0]
                self.assertEqual(200 if method == "GET" else 405, found, address)

    def test_the_model_is_what_the_tool_prints(self):
        model = self.fake.json("api/v1/streams/pump/model")
        for name in ("schema", "rows", "components", "status", "j", "identifiability"):
            self.assertIn(name, model)

    def test_every_metric_is_in_the_table_with_its_labels(self):
        documented = {name: re.findall(r"`(\w+)`", labels) for name, labels in re.findall(r"^\| `(\w+)` \| (.*?) ?\| ", PAGE, re.M)}
        real = dict.fromkeys(re.findall(r"^# TYPE (\S+)", self.metrics, re.M))
        for name in real:
            sample = re.search(rf"^{name}(?:_bucket)?(?:{{(.*?)}})? ", self.metrics, re.M)
            real[name] = re.findall(r'(\w+)="', sample.group(1) or "") if sample else None
        self.assertEqual({name: labels for name, labels in real.items()}, documented)

    def test_the_alert_rules_are_sound_and_name_real_metrics(self):
        names = set(re.findall(r"\b(mixstream_\w+)", RULES.read_text()))
        self.assertEqual(set(), names - set(re.findall(r"^# TYPE (\S+)", self.metrics, re.M)))
        if shutil.which("promtool") is None:
            self.skipTest("there is no promtool")
        done = subprocess.run(["promtool", "check", "rules", RULES], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(0, done.returncode, done.stderr)

    def test_every_status_that_the_server_knows_is_in_the_table(self):
        known = set(re.findall(r"\{(\d+), \"", (ROOT / "apps" / "mixstreamd" / "web" / "response.cpp").read_text())) - {"200", "202"}
        self.assertEqual(known, set(re.findall(r"^\| (\d\d\d) \|", PAGE, re.M)))


if __name__ == "__main__":
    unittest.main(verbosity=2)
