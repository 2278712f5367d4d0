"""Headless Chromium through chromedriver's own protocol: HTTP and JSON, nothing to install beside the two."""
import base64
import json
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]


def missing():
    """The programs that are not there."""
    return [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]


class Browser:
    """A browser with a profile of its own, gone when the block ends."""

    def __enter__(self):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.driver = subprocess.Popen(["chromedriver", f"--port={self.port}", "--silent"],
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.session = self._begin()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        try:
            if hasattr(self, "session"):
                self._ask("DELETE", "")
        except OSError:
            pass
        self.driver.terminate()
        self.driver.wait()
        self.profile.cleanup()

    def _begin(self):
        wanted = {"capabilities": {"alwaysMatch": {
            "browserName": "chrome", "goog:loggingPrefs": {"browser": "ALL"},
            "goog:chromeOptions": {"binary": shutil.which("chromium"),
                                   "args": [*FLAGS, f"--user-data-dir={self.profile.name}"]}}}}
        end = time.monotonic() + 60
        while True:
            try:
                return self._send("POST", f"http://127.0.0.1:{self.port}/session", wanted)["sessionId"]
            except urllib.error.HTTPError as error:
                raise RuntimeError(error.read().decode()) from error
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.2)

    @staticmethod
    def _send(method, address, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(address, data, {"Content-Type": "application/json"}, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))  # the driver is on this machine
        return json.load(opener.open(request, timeout=240))["value"]

    def _ask(self, method, path, body=None):
        try:
            return self._send(method, f"http://127.0.0.1:{self.port}/session/{self.session}{path}", body)
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()) from error

    def open(self, address):
        self._ask("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """The value of the script's `return`."""
        return self._ask("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def devtools(self, command, **parameters):
        return self._ask("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def console(self):
        """What the console got since the last call."""
        return self._ask("POST", "/se/log", {"type": "browser"})

    def size(self, width, height, phone=False):
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=2 if phone else 1,
                      mobile=phone)
        time.sleep(0.5)

    def prefer(self, scheme):
        self.devtools("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        time.sleep(0.3)

    def screenshot(self, path, whole=True):
        """The page as a PNG or, by its name, a JPEG; whole: down to its end."""
        kind = {"format": "jpeg", "quality": 70} if str(path).endswith(".jpg") else {"format": "png"}
        image = self.devtools("Page.captureScreenshot", captureBeyondViewport=whole, **kind)["data"]
        with open(path, "wb") as out:
            out.write(base64.b64decode(image))

    def pdf(self):
        return base64.b64decode(self.devtools("Page.printToPDF", printBackground=True)["data"])


class Reader(unittest.TestCase):
    """Somebody before a browser."""

    @classmethod
    def setUpClass(cls):
        cls.chromium = Browser()
        cls.browser = cls.chromium.__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.chromium.__exit__()


def main(screenshots, programs):
    """Runs the tests, or takes the screenshots with --screenshots FOLDER; so many arguments before are programs."""
    if missing():
        print("skipped: there is no", " and no ".join(missing()))
        sys.exit(77)
    if "--screenshots" in sys.argv:
        screenshots(pathlib.Path(sys.argv[sys.argv.index("--screenshots") + 1]))
    else:
        unittest.main(argv=sys.argv[:1] + sys.argv[1 + programs:], verbosity=2)
