"""The broker over TLS: a real mosquitto with certificates made here. Who cannot be believed is refused in words that say
what to do; name and password come from a file.  tls.py MIXSTREAMD"""

import json
import os
import random
import subprocess
import sys

from daemon import STREAM, Broker, Daemon, check, place, row, wait_until

PASSWORD = "correct-horse-battery"


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


class Authority:
    """Signs certificates, in a folder of its own."""

    def __init__(self, folder, name):
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.file = self.path("ca.pem")
        openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", f"/CN={name}", "-keyout", self.path("ca.key"), "-out", self.file)

    def path(self, name):
        return os.path.join(self.folder, name)

    def sign(self, name, alternative=None):
        """A certificate and its key, for a server with `alternative` or a client without."""
        certificate, key, request = (self.path(f"{name}.{end}") for end in ("pem", "key", "csr"))
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", f"/CN={name}",
                "-keyout", key, "-out", request)
        extension = self.path(f"{name}.ext")
        with open(extension, "w") as file:
            file.write(f"subjectAltName={alternative}\n" if alternative else "extendedKeyUsage=clientAuth\n")
        openssl("x509", "-req", "-in", request, "-CA", self.file, "-CAkey", self.path("ca.key"), "-CAcreateserial",
                "-days", "2", "-extfile", extension, "-out", certificate)
        os.chmod(key, 0o600)
        return certificate, key


def tls_broker(folder, authority, server, extra=""):
    certificate, key = server
    return Broker(folder, extra=f"cafile {authority.file}\ncertfile {certificate}\nkeyfile {key}\n{extra}")


def publish(broker, authority, count, *words):
    numbers = random.Random(1)
    lines = [json.dumps({"sensor": "a", "seq": i, **dict(zip("ty", row(numbers)))}) for i in range(count)]
    subprocess.run(["mosquitto_pub", "-h", "127.0.0.1", "-p", str(broker.port), "--cafile", authority.file, "-q", "1", "-t",
                    "plant/pump", "-l", *words], input="\n".join(lines) + "\n", text=True, check=True)


def daemon_with(program, folder, broker, **keys):
    keys = {"tls": "true", **{key: f'"{value}"' for key, value in keys.items()}}
    return Daemon(program, folder, STREAM, broker, mqtt="\n".join(f"{key} = {value}" for key, value in keys.items()))


def says(daemon, words):
    """It runs on, is not ready, and its alarm says why."""
    try:
        wait_until(lambda: words in daemon.stream("pump"), 30)
    except AssertionError:
        raise AssertionError(f"no alarm with '{words}': {daemon.log()[-1500:]} {daemon.stream('pump')}") from None
    check(not daemon.ready(), "not ready")
    check(daemon.process.poll() is None, "it runs on")
    check(words in daemon.log(), f"the log says so: {daemon.log()[-1500:]}")


def believes_the_right_authority(program):
    with place() as (folder, started):
        authority = Authority(folder, "plant")
        passwords, secret = os.path.join(folder, "passwords"), os.path.join(folder, "password")
        open(passwords, "w").close()
        subprocess.run(["mosquitto_passwd", "-b", passwords, "mixstream", PASSWORD], check=True)
        with open(secret, "w") as file:
            file.write(PASSWORD + "\n")
        os.chmod(passwords, 0o600)
        os.chmod(secret, 0o600)
        broker = tls_broker(folder, authority, authority.sign("broker", "IP:127.0.0.1"), f"password_file {passwords}\n")
        broker.change("allow_anonymous true", "allow_anonymous false")
        started.append(broker)
        keys = {"ca_file": authority.file, "username": "mixstream", "password_file": secret}
        daemon = daemon_with(program, folder, broker, **keys)
        started.append(daemon)
        daemon.start().wait_ready()
        publish(broker, authority, 200, "-u", "mixstream", "-P", PASSWORD)
        wait_until(lambda: daemon.metric("mixstream_rows_folded_total", "pump") == 200, what="200 rows over TLS")
        check(PASSWORD not in daemon.log(), "no secret in the log")
        check(daemon.terminate() == 0, "exit 0")
        with open(secret, "w") as file:
            file.write("wrong\n")
        daemon.start()
        wait_until(lambda: "uthori" in daemon.stream("pump"), 30, "a wrong password is told")
        check(not daemon.ready(), "not ready")


def refuses_who_cannot_be_believed(program):
    with place() as (folder, started):
        plant, other = Authority(folder, "plant"), Authority(folder, "other")
        broker = tls_broker(folder, plant, plant.sign("broker", "IP:127.0.0.1"))
        started.append(broker)
        daemon = daemon_with(program, folder, broker, ca_file=other.file)
        started.append(daemon)
        daemon.start()
        says(daemon, "signed by an authority of ca_file")
        check(daemon.metric("mixstream_rows_in_total", "pump") == 0, "no row")
        daemon.kill()

    with place() as (folder, started):
        plant = Authority(folder, "plant")
        broker = tls_broker(folder, plant, plant.sign("elsewhere", "DNS:elsewhere.example"))
        started.append(broker)
        daemon = daemon_with(program, folder, broker, ca_file=plant.file)
        started.append(daemon)
        daemon.start()
        says(daemon, "made out to the name in host")


def refuses_a_broker_without_tls(program):
    with place() as (folder, started):
        authority = Authority(folder, "plant")
        broker = Broker(folder)
        started.append(broker)
        daemon = daemon_with(program, folder, broker, ca_file=authority.file)
        started.append(daemon)
        daemon.start()
        says(daemon, "may not speak it at this port")


def shows_its_own_certificate(program):
    with place() as (folder, started):
        plant, other = Authority(folder, "plant"), Authority(folder, "other")
        broker = tls_broker(folder, plant, plant.sign("broker", "IP:127.0.0.1"), "require_certificate true\n")
        started.append(broker)
        certificate, key = plant.sign("mixstreamd")
        daemon = daemon_with(program, folder, broker, ca_file=plant.file, certificate_file=certificate, key_file=key)
        started.append(daemon)
        daemon.start().wait_ready()
        check(daemon.terminate() == 0, "exit 0")
        daemon = daemon_with(program, folder, broker, ca_file=plant.file)
        started.append(daemon)
        daemon.start()
        says(daemon, "may want a certificate of ours")
        daemon.kill()
        foreign, foreign_key = other.sign("mixstreamd")
        daemon = daemon_with(program, folder, broker, ca_file=plant.file, certificate_file=foreign, key_file=foreign_key)
        started.append(daemon)
        daemon.start()
        says(daemon, "may not believe our certificate_file")
        daemon.kill()

        def ends_with_78(words, **keys):
            refused = daemon_with(program, folder, broker, **keys)
            result = subprocess.run([program, "--config", refused.config], capture_output=True, text=True, timeout=60)
            check(result.returncode == 78 and words in result.stderr, f"{result.returncode}: {result.stderr}, not {words}")
        ends_with_78("holds no PEM certificate of an authority", ca_file=key)
        ends_with_78("No such file", ca_file=folder + "/none.pem")
        ends_with_78("does not belong to", ca_file=plant.file, certificate_file=certificate, key_file=other.sign("x")[1])
        os.chmod(key, 0o640)
        ends_with_78("chmod 600", ca_file=plant.file, certificate_file=certificate, key_file=key)


def main():
    for test in (believes_the_right_authority, refuses_who_cannot_be_believed, refuses_a_broker_without_tls,
                 shows_its_own_certificate):
        test(sys.argv[1])
        print("passed:", test.__name__, flush=True)


main()
