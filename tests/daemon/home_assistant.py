"""A Home Assistant of our own: it reads discovery as the real one does, renders the templates with the language that they are
written in, and shows what the daemon knows.  home_assistant.py MIXSTREAMD"""

import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import threading
import time

import jinja2
import jsonschema

from daemon import STREAM, Broker, Daemon, check, place, wait_until

HERE = pathlib.Path(__file__).parent
SCHEMA = json.loads((HERE / "home_assistant.schema.json").read_text())
STATUSES = HERE.parent.parent / "docs" / "reference" / "json.md"
TOPIC = re.compile(r"homeassistant/device/[a-zA-Z0-9_-]+/config")
TEMPLATES = jinja2.Environment(undefined=jinja2.StrictUndefined)
MODES = STREAM + 'modes = "persistent"\nrefit_interval = "0.2s"\n'
PLAIN = STREAM.replace('"pump"', '"valve"').replace("plant/pump", "plant/valve") + 'modes = "independent"\nnoise = "shared"\nrefit_interval = "1s"\n'
STREAMS = ("pump", "valve", "free")
AUTO = STREAM.replace('"pump"', '"free"').replace("plant/pump", "plant/free").replace("k = 2", 'k = "auto"\nlargest_k = 3')


class Home(threading.Thread):
    """Keeps the newest message of every topic."""

    def __init__(self, broker):
        super().__init__(daemon=True)
        self.latest = {}
        self.process = subprocess.Popen(["mosquitto_sub", "-p", str(broker.port), "-q", "1", "-v", "-t", "homeassistant/#", "-t", "mixstream/#"],
                                        stdout=subprocess.PIPE, text=True)
        self.start()

    def run(self):
        for line in self.process.stdout:
            topic, _, payload = line.rstrip("\n").partition(" ")
            self.latest[topic] = "" if payload == "(null)" else payload

    def device(self, stream):
        """The newest discovery of a stream, checked; nothing: there is none."""
        for topic, payload in list(self.latest.items()):
            if not topic.startswith("homeassistant/"):
                continue
            check(TOPIC.fullmatch(topic), f"Home Assistant does not listen at {topic}")
            if not payload:
                continue
            message = json.loads(payload)
            jsonschema.Draft7Validator(SCHEMA).validate(message)
            if message["device"]["name"].split()[-1] == stream:
                return message
        return None

    def shows(self, stream, entity):
        """What a person sees of an entity; "unavailable" as Home Assistant says it."""
        message = self.device(stream)
        place_of = message["availability"][0]
        if render(place_of["value_template"], self.latest.get(place_of["topic"], "{}")) != "online":
            return "unavailable"
        component = message["components"][entity]
        text = render(component["value_template"], self.latest.get(component.get("state_topic", message["state_topic"]), "null"))
        if component["platform"] == "binary_sensor":
            check(text in ("ON", "OFF"), text)
        if component.get("device_class") == "enum" and text != "None":
            check(text in component["options"], f"{text} is none of {component['options']}")
        return text


def render(template, payload):
    return TEMPLATES.from_string(template).render(value=payload, value_json=json.loads(payload))


def rows(numbers, count, laws, stay=40):
    """Rows of laws that last."""
    law, out = 0, []
    for _ in range(count):
        if numbers.random() < 1 / stay:
            law = 1 - law
        t = numbers.uniform(-1, 1)
        a, b = laws[law]
        out.append([round(t, 6), round(a + b * t + numbers.gauss(0, 0.1), 6)])
    return out


def publish(broker, lines, topic="plant/pump"):
    text = "".join(json.dumps({"rows": chunk}) + "\n" for chunk in lines)
    subprocess.run(["mosquitto_pub", "-p", str(broker.port), "-q", "1", "-t", topic, "-l"], input=text, text=True, check=True)


def chunks(values, size=100):
    return [values[i:i + size] for i in range(0, len(values), size)]


def drifts(broker, numbers, home):
    """Rows of other laws, until it shows."""
    publish(broker, chunks(rows(numbers, 2000, ((1.0, -2.0), (-1.0, 1.5)), 2)), "plant/valve")
    time.sleep(2)
    return home.shows("valve", "drift") == "ON"


def shows_what_the_daemon_knows(program):
    with place() as (folder, started):
        broker = Broker(folder)
        daemon = Daemon(program, folder, MODES + PLAIN + AUTO, broker, mqtt='home_assistant = "homeassistant"\nclient_id = "plant 7/a"')
        home = Home(broker)
        started.extend([broker, daemon, home])
        daemon.start().wait_ready()
        wait_until(lambda: all(home.device(stream) for stream in STREAMS), 20, "a device for each stream")
        identities = [component["unique_id"] for stream in STREAMS for component in home.device(stream)["components"].values()
                      if "unique_id" in component]
        check(len(set(identities)) == len(identities) > 18, f"{identities}")
        told = set(re.findall(r"`(\w+)`", re.search(r"^\| `status` \| text \|(.*)$", STATUSES.read_text(), re.M).group(1)))
        check(set(home.device("pump")["components"]["fit"]["options"]) == told, "every status is an option")
        wait_until(lambda: home.shows("pump", "connected") == "ON", 20, "rows can come")
        check(home.shows("pump", "mode") == "None" and home.shows("pump", "drift") == "OFF", "nothing is known yet")

        numbers = random.Random(3)
        publish(broker, chunks(rows(numbers, 20000, ((1.0, 2.0), (-1.0, 0.5)))))
        publish(broker, chunks(rows(numbers, 3000, ((1.0, 2.0), (-1.0, 0.5)), 2)), "plant/free")

        def model(stream):
            return json.loads(daemon.get(f"/api/v1/streams/{stream}/model"))
        wait_until(lambda: daemon.metric("mixstream_fit_rows", "pump") == 20000, 60, "a fit of all rows")

        def agrees():
            """Every entity is what the API says; the state follows a fit within a second."""
            fit = model("pump")
            now = fit["modes"]["now"]
            shown = [home.shows("pump", entity) for entity in ("fit", "mode", "mode_probability", "weight_1", "weight_2")]
            return shown == [fit["status"], str(now.index(max(now)) + 1),
                             *(str(round(100 * share, 1)) for share in (max(now), *(law["weight"] for law in fit["components"])))]
        wait_until(agrees, 20, "verdict, mode, its probability and weights")
        check("weight_3" not in home.device("pump")["components"], "k is 2")
        daemon.post("/api/v1/streams/free/refit")
        wait_until(lambda: home.shows("free", "fit") != "None", 60, "a fit")
        laws = len(model("free")["components"])
        wait_until(lambda: ["value_template" in home.device("free")["components"][f"weight_{h}"] for h in (1, 2, 3)] ==
                   [h <= laws for h in (1, 2, 3)], 10, "a weight for each law that was found, and for no other")

        publish(broker, chunks(rows(numbers, 20000, ((1.0, 2.0), (-1.0, 0.5)), 2)), "plant/valve")
        daemon.post("/api/v1/streams/valve/refit")
        wait_until(lambda: home.shows("valve", "fit") != "None", 60, "a fit")
        check(home.shows("valve", "drift") == "OFF" and home.shows("valve", "mode") == "None", "no drift yet, and no modes that last")
        wait_until(lambda: drifts(broker, numbers, home), 90, "the drift")
        wait_until(lambda: home.shows("valve", "alarm") == "ON", 10, "an alarm")
        words = [alarm["words"] for alarm in json.loads(home.latest["mixstream/valve/state"])["alarms"] if alarm["kind"] == "drift"]
        check(words and len(words[0]) > 20, f"its words are among the attributes: {words}")

        daemon.write_config(MODES)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not home.device("free") and home.latest["mixstream/free/state"] == "", 20, "a stream that is no more goes")
        check(home.device("pump"), "the other stays")
        check(daemon.terminate() == 0, "exit 0")
        wait_until(lambda: home.shows("pump", "mode") == "unavailable", 10, "gone for now")

        daemon.start().wait_ready()
        wait_until(lambda: home.shows("pump", "weight_1") != "None" and home.shows("pump", "mode") != "unavailable", 20, "and back")
        daemon.mqtt = daemon.mqtt.splitlines()[1]
        daemon.write_config(MODES)
        daemon.process.send_signal(signal.SIGHUP)
        wait_until(lambda: not home.device("pump"), 20, "nothing is left when it is switched off")


def forgetful_broker(program):
    """A broker that lost what it retained hears it again."""
    with place() as (folder, started):
        broker = Broker(folder)
        broker.change("persistence true", "persistence false")
        daemon = Daemon(program, folder, STREAM, broker, mqtt='home_assistant = "homeassistant"')
        started.extend([broker, daemon])
        daemon.start().wait_ready()
        broker.stop()
        broker.start()
        wait_until(daemon.ready, 30, "connected again")
        home = Home(broker)
        started.append(home)
        wait_until(lambda: home.device("pump") and home.shows("pump", "drift") == "OFF", 20, "the device")


def main():
    for test in (shows_what_the_daemon_knows, forgetful_broker):
        test(sys.argv[1])
        print("passed:", test.__name__, flush=True)


main()
