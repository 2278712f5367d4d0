"""InfluxDB itself reads what the daemon says in its line protocol.  influx.py SERVE_FAKE INFLUXD"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.parse
import urllib.request

from daemon import check, free_port, wait_until
from fake import Fake

SETTINGS = """
reporting-disabled = true
bind-address = "127.0.0.1:{rpc}"
[meta]
  dir = "{folder}/meta"
[data]
  dir = "{folder}/data"
  wal-dir = "{folder}/wal"
[http]
  bind-address = "127.0.0.1:{port}"
"""


class Influx:
    def __init__(self, program, folder):
        self.url = f"http://127.0.0.1:{(port := free_port())}"
        path = os.path.join(folder, "influx.conf")
        pathlib.Path(path).write_text(SETTINGS.format(folder=folder, port=port, rpc=free_port()))
        with open(os.path.join(folder, "influx.log"), "w") as log:
            self.process = subprocess.Popen([program, "-config", path], stdout=log, stderr=log)

        def answers():
            try:
                return self.ask("SHOW DATABASES")
            except OSError:
                return None
        wait_until(answers, 60, "InfluxDB answers")
        self.ask("CREATE DATABASE plant")

    def ask(self, query, **more):
        data = urllib.parse.urlencode({"q": query, **more}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/query", data), timeout=20) as answer:
            return json.load(answer)

    def write(self, lines):
        """Raises where InfluxDB takes one of them for no line, or for a field of another type."""
        with urllib.request.urlopen(urllib.request.Request(self.url + "/write?db=plant", lines), timeout=20) as answer:
            check(answer.status == 204, f"{answer.status}")

    def series(self, query):
        """Dictionaries: tags and columns by name."""
        found = self.ask(query, db="plant", epoch="ns")["results"][0].get("series", [])
        return [{**one.get("tags", {}), **dict(zip(one["columns"], values))} for one in found for values in one["values"]]


def main():
    serve_fake, influxd = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as folder, Fake(serve_fake) as fake:
        wait_until(lambda: fake.json("api/v1/streams/pump")["fit"], 60, "a fit")
        influx = Influx(influxd, folder)
        try:
            status, headers, body = fake.get("/api/v1/influx")
            model = fake.json("api/v1/streams/pump/model")
            streams = {stream["name"]: stream for stream in fake.json("api/v1/streams")["streams"]}
            check(status == 200 and b"\n" in body, f"{status} {body}")
            influx.write(body)
            rows = {row["stream"]: row for row in influx.series("SELECT * FROM mixstream_stream GROUP BY stream")}
            check(set(rows) == set(streams), f"every stream: {set(rows)}")
            for name, row in rows.items():
                check(row["healthy"] == streams[name]["health"]["ok"] and 0 <= row["rows_folded"] <= streams[name]["rows"]["folded"], f"{name}: {row}")
                check(row["rows_in"] == row["rows_folded"] + row["rows_duplicate"] + row["rows_refused"], f"{name}: {row}")
            fits = influx.series("SELECT * FROM mixstream_fit WHERE stream = 'pump' GROUP BY stream, status")
            check(len(fits) == 1 and fits[0]["laws"] == len(model["components"]), f"{fits}")
            if fits[0]["rows"] == model["rows"]:  # no fit came between the two questions
                for h, law in enumerate(model["components"]):
                    found = influx.series(f"SELECT * FROM mixstream_law WHERE stream = 'pump' AND law = '{h + 1}'")
                    check(len(found) == 1 and found[0]["weight"] == law["weight"], f"law {h + 1}: {found}")
                    for feature, coefficient in zip(model["features"], law["coefficients"]):
                        found = influx.series(f"SELECT value FROM mixstream_coefficient WHERE stream = 'pump' AND law = '{h + 1}' AND feature = '{feature}'")
                        check(len(found) == 1 and found[0]["value"] == coefficient, f"law {h + 1}, {feature}: {found}")
                print("laws compared")
            count = influx.series("SELECT COUNT(value) FROM mixstream_coefficient WHERE stream = 'pump'")[0]["count"]
            check(count == len(model["components"]) * len(model["features"]), f"{count} coefficients")
        finally:
            influx.process.terminate()
            influx.process.wait(30)


main()
