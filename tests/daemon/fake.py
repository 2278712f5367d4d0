"""What the tests of the daemon's HTTP side share: a made-up daemon behind the real server, and raw requests."""
import json
import pathlib
import socket
import subprocess
import urllib.request

PATIENCE = 60.0  # seconds; far more than any step takes, also on a busy machine


class Fake:
    """A running serve-fake."""

    def __init__(self, program, *options):
        self.process = subprocess.Popen([program, *map(str, options)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        self.url = self.process.stdout.readline().strip()
        assert self.url, self.process.stderr.read()
        self.port = int(self.url.rstrip("/").rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()  # it ends at the end of its input
        self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()

    def say(self, word):
        self.process.stdin.write(word + "\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline().strip() == f"done {word}"

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)

    def get(self, path, **headers):
        """Status, headers and body of a plain request."""
        return self.raw(request("GET", path, **headers))

    def raw(self, data):
        """The first answer to these bytes."""
        with self.connect() as client:
            client.sendall(data)
            return answer(client)

    def json(self, path):
        with urllib.request.urlopen(self.url + path.lstrip("/"), timeout=PATIENCE) as reply:
            return json.load(reply)


def request(method, path, body=b"", **headers):
    """Bytes of a request; headers by name with _ for -."""
    lines = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    if body or method == "POST":
        lines["Content-Length"] = str(len(body))
    head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in lines.items()) + "\r\n"
    return head.encode() + body


def answer(client, head_only=False):
    """(status, headers, body) of the next answer; (0, {}, b"") when the server closed without one."""
    data = b""
    while b"\r\n\r\n" not in data:
        try:
            piece = client.recv(1 << 16)
        except ConnectionResetError:
            piece = b""
        if not piece:
            return 0, {}, data
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    while not head_only and len(body) < int(headers["Content-Length"]):
        piece = client.recv(1 << 16)
        if not piece:
            break
        body += piece
    return int(lines[0].split()[1]), headers, body


def secret(folder, text, mode=0o600, name="token"):
    path = pathlib.Path(folder) / name
    path.write_text(text)
    path.chmod(mode)
    return path
