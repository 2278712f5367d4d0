"""The daemon's HTTP server against clients of every kind: clients.py SERVE_FAKE"""
import contextlib
import json
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.request
import warnings

from fake import PATIENCE, Fake, answer, request, secret

PROGRAM = sys.argv.pop(1)


def refused(*options):
    """What the server says when it does not start."""
    done = subprocess.run([PROGRAM, "--rows-before", "0", *map(str, options)], input="", capture_output=True, text=True, timeout=PATIENCE)
    assert done.returncode == 1, done
    return done.stderr


class Requests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.fake = Fake(PROGRAM, "--rows-before", 12000)

    @classmethod
    def tearDownClass(cls):
        cls.fake.__exit__()

    def test_malformed_requests_are_refused_and_the_server_lives(self):
        host = b"Host: 127.0.0.1\r\n"
        for data, status in [
                (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400),
                (b"GET / HTTP/1.1\n\n", 400),
                (b"GET /\x00 HTTP/1.1\r\n" + host + b"\r\n", 400),
                (b"GET / HTTP/9.9\r\n" + host + b"\r\n", 505),
                (b"GET / HTTP/1.1\r\n\r\n", 400),
                (b"GET http://127.0.0.1/ HTTP/1.1\r\n" + host + b"\r\n", 400),
                (b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400),
                (b"GET /" + b"a" * 5000 + b" HTTP/1.1\r\n" + host + b"\r\n", 414),
                (b"GET / HTTP/1.1\r\n" + host + b"X: " + b"a" * 20000 + b"\r\n\r\n", 431),
                (request("POST", "/api/v1/streams/pump/refit", b"x" * 65537), 413),
                (request("POST", "/api/v1/streams/pump/refit", Transfer_Encoding="chunked") + b"0\r\n\r\n", 400),
                (b"POST /api/v1/streams/pump/refit HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
                (request("GET", "/../../etc/passwd"), 404),
                (request("GET", "/api/v1/streams/..%2f..%2fetc%2fpasswd/model"), 404),
                (request("GET", "/api/v1/streams/pump/../../../../etc/passwd"), 404),
                (request("BREW", "/metrics"), 405),
                (request("GET", "/", Host="evil.example"), 421),
                (request("POST", "/api/v1/streams/pump/refit", Origin="http://evil.example"), 403)]:
            found, headers, body = self.fake.raw(data)
            self.assertEqual(status, found, data[:60])
            self.assertEqual("application/json", headers["Content-Type"])
            self.assertTrue(json.loads(body)["text"], data[:60])
        self.assertEqual(200, self.fake.get("/healthz")[0])

    def test_smuggled_requests_are_never_answered(self):
        hidden = b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
        for start in (b"Content-Length: 5\r\nContent-Length: %d\r\n" % len(hidden),
                      b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(hidden),
                      b"Transfer-Encoding: chunked\r\n", b"Transfer-Encoding : chunked\r\n", b"Content-Length: 0x%x\r\n" % len(hidden),
                      b"Content-Length\r\n", b"Content-Length: \x0b5\r\n", b"X: a\r\n Content-Length: 5\r\n"):
            with self.fake.connect() as client:
                client.sendall(b"POST /api/v1/streams HTTP/1.1\r\nHost: 127.0.0.1\r\n" + start + b"\r\n0\r\n\r\n" + hidden)
                status, headers, _ = answer(client)
                self.assertIn(status, (400, 411), start)
                self.assertEqual("close", headers["Connection"])
                self.assertEqual(0, answer(client)[0], start)

    def test_a_connection_carries_many_requests_also_at_once(self):
        with self.fake.connect() as client:
            for _ in range(3):
                client.sendall(request("GET", "/healthz"))
                self.assertEqual(200, answer(client)[0])
            client.sendall(request("GET", "/healthz", Connection="close") )
            self.assertEqual("close", answer(client)[1]["Connection"])
            self.assertEqual(b"", client.recv(1))
        with self.fake.connect() as client:  # more than one turn of the loop answers
            client.sendall(request("GET", "/healthz") * 200 + request("GET", "/healthz", Connection="close"))
            data = b""
            while piece := client.recv(1 << 16):
                data += piece
            self.assertEqual(201, data.count(b"HTTP/1.1 200 OK\r\n"))

    def test_head_has_the_head_alone(self):
        with self.fake.connect() as client:
            client.sendall(request("HEAD", "/api/v1/streams", Connection="close"))
            status, headers, body = answer(client, head_only=True)
            self.assertEqual((200, b"", b""), (status, body, client.recv(1)))
            self.assertGreater(int(headers["Content-Length"]), 100)

    def test_a_client_that_waits_for_leave_gets_it(self):
        with self.fake.connect() as client:
            body = b'{"rows":[{"t":0.5}]}'
            head, _, _ = request("POST", "/api/v1/streams/pump/predict", body, Content_Type="application/json",
                                 Expect="100-continue").partition(b"\r\n\r\n")
            client.sendall(head + b"\r\n\r\n")
            self.assertEqual(b"HTTP/1.1 100 Continue\r\n\r\n", client.recv(100))
            client.sendall(body)
            self.assertEqual(200, answer(client)[0])

    def test_a_refused_body_does_not_take_the_answer_with_it(self):
        with self.fake.connect() as client:
            client.sendall(b"POST /api/v1/streams/pump/predict HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 3000000\r\n\r\n")
            with contextlib.suppress(OSError):
                client.sendall(b"x" * 3000000)
            self.assertEqual(413, answer(client)[0])

    def test_promtool_finds_nothing_to_complain_about(self):
        if shutil.which("promtool") is None:
            self.skipTest("there is no promtool")
        text = self.fake.get("/metrics")[2]
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, timeout=PATIENCE)
        self.assertEqual((0, b"", b""), (done.returncode, done.stdout, done.stderr))

    def test_the_page_may_run_and_load_its_own_parts_only(self):
        _, headers, body = self.fake.get("/")
        policy = headers["Content-Security-Policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertNotIn("unsafe", policy)
        self.assertNotIn(b"http://", body.replace(b"http://www.w3.org/2000/svg", b""))


class Slow(unittest.TestCase):
    def test_the_metrics_answer_while_200_clients_are_stuck(self):
        with Fake(PROGRAM, "--rows-before", 12000, "--request-ms", 20000) as fake, contextlib.ExitStack() as stuck:
            before = fake.get("/metrics")[2]
            clients = []
            for i in range(200):
                client = stuck.enter_context(fake.connect())
                client.setblocking(False)
                if i % 4 == 0:    # half a head
                    client.send(b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1\r\nX-A: ")
                elif i % 4 == 1:  # half a body
                    client.send(request("POST", "/api/v1/streams/pump/predict", b"{}" * 9000)[:-500])
                elif i % 4 == 2:  # asks for much and never reads
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                    client.send(request("GET", "/api/v1/streams/pump/data") * 40)
                clients.append(client)  # the rest says nothing at all
            times = []
            for turn in range(300):
                for client in clients[turn % 8::8]:  # they go on, a letter at a time
                    with contextlib.suppress(OSError):
                        client.send(b"A")
                start = time.monotonic()
                self.assertEqual(200, fake.get("/metrics")[0])
                times.append(time.monotonic() - start)
            self.assertLess(sorted(times)[int(0.99 * len(times))], 1.0)
            print(json.dumps({"stuck": len(clients), "requests": len(times), "median_ms": round(1e3 * sorted(times)[150], 2),
                              "p99_ms": round(1e3 * sorted(times)[297], 2), "most_ms": round(1e3 * max(times), 2)}))
            open_then = value(fake.get("/metrics")[2], "mixstream_http_connections")
            self.assertGreaterEqual(open_then, 190)  # they were really stuck, not turned away
            stuck.close()
            self.eventually(lambda: value(fake.get("/metrics")[2], "process_open_fds") <= value(before, "process_open_fds") + 1)

    def test_more_clients_than_there_is_room_for_do_not_keep_others_out(self):
        with Fake(PROGRAM, "--rows-before", 0, "--connections", 16) as fake, contextlib.ExitStack() as stuck:
            for _ in range(80):
                stuck.enter_context(fake.connect()).send(b"GET /metrics HTTP/1.1\r\n")
                self.assertEqual(200, fake.get("/healthz")[0])
            text = fake.get("/metrics")[2]
            self.assertLessEqual(value(text, "mixstream_http_connections"), 16)
            self.assertGreater(value(text, "mixstream_http_evicted_total"), 60)

    def test_who_is_too_slow_is_told_and_left(self):
        with Fake(PROGRAM, "--rows-before", 12000, "--request-ms", 300, "--idle-ms", 300) as fake:
            with fake.connect() as client:  # a letter at a time does not extend the time
                ended = threading.Event()
                def drip():
                    while not ended.wait(0.05):
                        with contextlib.suppress(OSError):
                            client.send(b"G")
                dripping = threading.Thread(target=drip)
                dripping.start()
                status, headers, _ = answer(client)
                ended.set()
                dripping.join()
                self.assertEqual((408, "close"), (status, headers["Connection"]))
            with fake.connect() as client:
                self.assertEqual(b"", client.recv(1))  # said nothing: closed without a word
            with fake.connect() as client:
                client.sendall(request("GET", "/healthz"))
                self.assertEqual(200, answer(client)[0])
                self.assertEqual(b"", client.recv(1))
            with fake.connect() as client:  # never reads
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
                client.sendall(request("GET", "/api/v1/streams/pump/data") * 40)
                self.eventually(lambda: value(fake.get("/metrics")[2], "mixstream_http_connections") == 1)

    def eventually(self, holds):
        end = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), end)
            time.sleep(0.05)


def value(metrics, name):
    return float(next(line for line in metrics.decode().splitlines() if line.startswith(name + " ")).split()[1])


class Doors(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def test_other_machines_need_a_token_and_a_certificate(self):
        token = secret(self.folder.name, "0123456789abcdef0123456789abcdef")
        self.assertIn("token_file", refused("--address", "0.0.0.0"))
        self.assertIn("certificate_file", refused("--address", "0.0.0.0", "--token-file", token))
        self.assertIn("token_file", refused("--address", "::"))
        self.assertIn("not an IP address", refused("--address", "localhost"))

    def test_a_token_that_others_can_read_or_guess_is_refused(self):
        token = "0123456789abcdef0123456789abcdef"
        self.assertIn("chmod 600", refused("--token-file", secret(self.folder.name, token, 0o640)))
        self.assertIn("at least 16", refused("--token-file", secret(self.folder.name, "short")))
        self.assertIn("empty", refused("--token-file", secret(self.folder.name, "\n")))
        self.assertIn("No such file", refused("--token-file", self.folder.name + "/none"))
        self.assertIn("regular", refused("--token-file", self.folder.name))
        for said in (refused("--token-file", secret(self.folder.name, token, 0o644)),):
            self.assertNotIn(token, said)

    def test_the_token_opens(self):
        token = "0123456789abcdef0123456789abcdef"
        with Fake(PROGRAM, "--rows-before", 0, "--token-file", secret(self.folder.name, token + "\n")) as fake:
            for path in ("/metrics", "/api/v1/streams", "/healthz", "/nothing"):
                status, headers, _ = fake.get(path)
                self.assertEqual(401, status)
                self.assertIn("Bearer", headers["WWW-Authenticate"])
                self.assertEqual(401, fake.get(path, Authorization="Bearer " + token[:-1] + "0")[0])
            self.assertEqual(200, fake.get("/metrics", Authorization="Bearer " + token)[0])
            self.assertEqual(200, fake.get("/")[0])  # the page, which asks for the token

    def test_a_port_in_use_is_named(self):
        with Fake(PROGRAM, "--rows-before", 0) as fake:
            self.assertIn(f"port {fake.port}", refused("--port", fake.port))

    def test_a_certificate_makes_it_https(self):
        folder = self.folder.name
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                        "-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", folder + "/key.pem",
                        "-out", folder + "/certificate.pem"], check=True, capture_output=True)
        secret(folder, pathlib.Path(folder, "key.pem").read_text(), 0o644, "open.pem")
        files = ("--certificate", folder + "/certificate.pem", "--key", folder + "/key.pem")
        self.assertIn("chmod 600", refused(*files[:3], folder + "/open.pem"))
        self.assertIn("belong together", refused(*files[:2]))
        self.assertIn("PEM", refused("--certificate", folder + "/key.pem", *files[2:]))
        self.assertIn("token_file", refused("--address", "0.0.0.0", *files))
        with Fake(PROGRAM, "--rows-before", 12000, *files) as fake:
            self.assertTrue(fake.url.startswith("https://"))
            trust = ssl.create_default_context(cafile=folder + "/certificate.pem")
            self.assertEqual(0, fake.get("/metrics")[0])  # without TLS
            halfway = [fake.connect() for _ in range(30)]
            for client in halfway:
                client.send(b"\x16\x03\x01\x02\x00\x01\x00")  # a greeting that never ends
            address = f"https://127.0.0.1:{fake.port}/"
            for path in ("metrics", "api/v1/streams/pump/data", ""):
                with urllib.request.urlopen(address + path, context=trust, timeout=PATIENCE) as reply:
                    self.assertEqual(int(reply.headers["Content-Length"]), len(reply.read()))
            for client in halfway:
                client.close()
            old = ssl.create_default_context(cafile=folder + "/certificate.pem")
            with warnings.catch_warnings(action="ignore"):
                old.maximum_version = ssl.TLSVersion.TLSv1_1
            with self.assertRaises(OSError):
                urllib.request.urlopen(address, context=old, timeout=PATIENCE)


if __name__ == "__main__":
    unittest.main(verbosity=2)
