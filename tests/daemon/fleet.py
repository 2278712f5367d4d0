"""A model for each pump of a stream, by the level of its topic.  fleet.py MIXSTREAMD [TEST...]"""

import json
import random
import subprocess
import sys
import urllib.error

from daemon import Broker, Daemon, check, place, row, wait_until
from subscriptions import alarm

PUMPS = """
[[stream]]
name = "{name}"
topic = "plant/+/rows"
features = "1,t"
response = "y"
k = 2
sample_rows = 1000
{more}
"""
GROUPED = 'group = "topic:2"\n'
USUAL = ((1.0, 2.0), (-1.0, 0.5))
OTHER = ((1.0, 2.0), (-0.7, 0.5))  # three noise sds from the usual one


def rows_of(numbers, count, start, laws=USUAL):
    return [{"t": round(t, 6), "y": round(y, 6), "seq": start + i, "time": start + i}
            for i, (t, y) in enumerate(row(numbers, laws) for _ in range(count))]


def publish(broker, pump, rows):
    """In messages of 50 rows each."""
    text = "".join(json.dumps(rows[at:at + 50]) + "\n" for at in range(0, len(rows), 50))
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", f"plant/{pump}/rows", "-l"], input=text, text=True, check=True)


def begin(program, folder, started, streams):
    broker = Broker(folder)
    daemon = Daemon(program, folder, streams, broker)
    started.extend([broker, daemon])
    daemon.start().wait_ready()
    return broker, daemon


def folded(daemon, stream="pumps"):
    return daemon.metric("mixstream_rows_folded_total", stream)


def models(daemon, query="", stream="pumps"):
    return json.loads(daemon.get(f"/api/v1/streams/{stream}/models{query}"))


def refit(daemon, stream):
    before = daemon.metric("mixstream_refits_total", stream)

    def asked():
        try:
            daemon.post(f"/api/v1/streams/{stream}/refit")
        except urllib.error.HTTPError as error:
            check(error.code == 429, error)
            return False
        return True
    wait_until(asked, 30, "a refit can be asked for")
    wait_until(lambda: daemon.metric("mixstream_refits_total", stream) > before, 60, "a fit")
    return json.loads(daemon.get(f"/api/v1/streams/{stream}/model"))


def looked(daemon):
    """All models, each looked at once at least since the daemon began."""
    refit(daemon, "pumps")

    def all_looked():
        fleet = models(daemon)["fleet"]
        return fleet["models"] and fleet["looked"] == fleet["models"]
    wait_until(all_looked, 60, "a look at every model")
    return models(daemon)["models"]


def laws(report):
    return [number for law in sorted([*one["coefficients"], one["weight"]] for one in report["components"]) for number in law]


def by_name(program):
    """Each pump has its laws, the merged ones are those of all rows, and kill -9 changes no model."""
    with place() as (folder, started):
        streams = PUMPS.format(name="pumps", more=GROUPED + "refit_interval = 0") + PUMPS.format(name="all", more="refit_interval = 0")
        broker, daemon = begin(program, folder, started, streams)
        numbers = random.Random(1)
        sent = 0
        for block, count in enumerate((300, 900, 400)):
            for pump in ("a", "b", "odd"):
                publish(broker, pump, rows_of(numbers, count, sum((0, 300, 1200)[:block + 1]), OTHER if pump == "odd" else USUAL))
                sent += count
            wait_until(lambda: folded(daemon) == folded(daemon, "all") == sent, 60, "the rows")
            daemon.kill()
            daemon.start().wait_ready()
            check(folded(daemon) == sent, f"{folded(daemon)} of {sent} rows after a crash")
        publish(broker, "new", rows_of(numbers, 50, 0))
        wait_until(lambda: folded(daemon) == folded(daemon, "all") == sent + 50, 60, "the rows")
        whole = refit(daemon, "all")
        merged = refit(daemon, "pumps")
        far = max(abs(one - other) for one, other in zip(laws(merged), laws(whole), strict=True))
        print(f"merged laws and those of all {whole['rows']} rows differ by {far:.1e}")
        check(merged["rows"] == whole["rows"] == sent + 50 and far < 1e-9, f"the merged laws differ by {far}")
        groups = looked(daemon)
        check([(group["name"], group["rows"], group["grown"]) for group in groups] ==
              [("a", 1600, True), ("b", 1600, True), ("new", 50, False), ("odd", 1600, True)], groups)
        for group in groups:
            if group["name"] == "new":
                continue
            truth = OTHER if group["name"] == "odd" else USUAL
            found = sorted(law["coefficients"] for law in group["laws"])
            check(all(abs(x - y) < 0.05 for one, other in zip(found, sorted(map(list, truth)), strict=True)
                      for x, y in zip(one, other, strict=True)), f"{group['name']}: {found}")
        daemon.kill()
        daemon.start().wait_ready()
        check(looked(daemon) == groups, "the same models after a crash")
        page = models(daemon, "?from=1&count=2")
        check([group["name"] for group in page["models"]] == ["b", "new"] and page["total"] == 4 and page["from"] == 1, page)
        for query, code in (("?from=x", 400), ("?sort=1", 400)):
            try:
                models(daemon, query)
                check(False, f"{query} is answered")
            except urllib.error.HTTPError as error:
                check(error.code == code, error)
        try:
            models(daemon, stream="all")
            check(False, "a stream of one model has no models")
        except urllib.error.HTTPError as error:
            check(error.code == 404 and "group" in error.read().decode(), error)
        check(daemon.metric("mixstream_models", "pumps") == 4, "four models are counted")
        daemon.terminate()
        before = groups
        daemon.start().wait_ready()
        check(looked(daemon) == before, "the same models from a snapshot")
        other = streams.replace('group = "topic:2"\n', "")
        daemon.terminate()
        daemon.write_config(other)
        daemon.start()
        check(daemon.process.wait(30) == 78 and "a model for each group" in daemon.log(), "another grouping is refused")


def told(program):
    """A pump that departs from the fleet is named, one that goes silent is named, and rows without a place are refused by name."""
    more = GROUPED + 'refit_interval = 0.3\nsilent_after = 3\nmost_models = 4\n'
    with place() as (folder, started):
        broker, daemon = begin(program, folder, started, PUMPS.format(name="pumps", more=more))
        numbers = random.Random(2)
        for pump in ("a", "b", "c"):
            publish(broker, pump, rows_of(numbers, 1500, 0))
        wait_until(lambda: folded(daemon) == 4500, 60, "the rows")
        publish(broker, "odd", rows_of(numbers, 600, 0, OTHER))
        words = wait_until(lambda: alarm(daemon, "model_departs", "pumps"), 60, "the departing pump is told")
        check("the fleet's: odd (law " in words, words)
        check("a (" not in words and "b (" not in words, f"no other is named: {words}")
        print(words)
        publish(broker, "fifth", rows_of(numbers, 10, 0))
        wait_until(lambda: "too_many_models" in alarm(daemon, "refused", "pumps"), 60, "a model too many is told")
        check("raise most_models" in alarm(daemon, "refused", "pumps"), "and what to do")
        silent = wait_until(lambda: alarm(daemon, "model_silent", "pumps"), 60, "silence is told")
        check("a (no row for" in silent, silent)
        publish(broker, "a", rows_of(numbers, 10, 1500))
        wait_until(lambda: "a (no row" not in alarm(daemon, "model_silent", "pumps"), 10, "who sends is not silent")
        daemon.kill()
        daemon.start().wait_ready()
        wait_until(lambda: "odd (" in alarm(daemon, "model_departs", "pumps"), 60, "the alarm comes back after a crash")
        check(models(daemon)["fleet"]["departing"]["names"] == ["odd"], models(daemon)["fleet"])


if __name__ == "__main__":
    mixstreamd, *wanted = sys.argv[1:]
    for test in (by_name, told):
        if not wanted or test.__name__ in wanted:
            test(mixstreamd)
            print(f"{test.__name__}: {test.__doc__}")
