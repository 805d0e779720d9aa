"""A headless Chromium, driven over the pipe of its DevTools protocol: nothing but Python and the browser is needed."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")


def find_browser():
    """The program of a browser, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One browser, and in it one page at a time. Everything that the page says or asks for is kept in `events`."""

    def __init__(self, program):
        self._profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()
        arguments = [program, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-extensions",
                     "--disable-component-update", "--disable-background-networking", "--disable-dev-shm-usage",
                     "--hide-scrollbars", "--remote-debugging-pipe", f"--user-data-dir={self._profile.name}",
                     "about:blank"]
        # The browser reads commands from file 3 and writes to file 4.
        command = 'exec 3<&"$0" 4>&"$1"; shift; exec "$@"'
        self._process = subprocess.Popen(["bash", "-c", command, str(to_browser), str(from_browser), *arguments],
                                         pass_fds=(to_browser, from_browser), stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = None
        self.events = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.send(f"{domain}.enable")

    def close(self):
        self._session = None
        try:
            self.send("Browser.close", timeout=5)
            self._process.wait(timeout=5)
        except (subprocess.TimeoutExpired, RuntimeError, OSError):
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        os.close(self._in)
        self._profile.cleanup()

    def send(self, method, timeout=30, **parameters):
        """One command, and its answer."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        deadline = time.monotonic() + timeout
        while True:
            answer = self._receive(deadline)
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def _receive(self, deadline):
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._in], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise RuntimeError("the browser does not answer")
            data = os.read(self._in, 1 << 20)
            if not data:
                raise RuntimeError("the browser is gone")
            self._buffer += data
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def open(self, path, width=1300, height=900):
        """Opens a file and waits until it is loaded."""
        self.events.clear()
        self.resize(width, height)
        self.send("Page.navigate", url=pathlib.Path(path).resolve().as_uri())
        deadline = time.monotonic() + 30
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self._receive(deadline))

    def resize(self, width, height):
        self.send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def prefer(self, scheme, media=""):
        """A colour scheme, "light" or "dark", and a medium, such as "print"."""
        self.send("Emulation.setEmulatedMedia", media=media,
                  features=[{"name": "prefers-color-scheme", "value": scheme}])

    def run(self, script):
        """The value of an expression, or of the body of a function where it returns something."""
        if "return " in script:
            script = f"(() => {{{script}}})()"
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return result["result"].get("value")

    def press(self, key, code=0):
        for kind in ("rawKeyDown", "keyUp"):
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def point_at(self, x, y):
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def complaints(self):
        """Errors and warnings on the console, exceptions, and what the content security policy stopped."""
        found = []
        for event in self.events:
            method, parameters = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(parameters["exceptionDetails"].get("text", ""))
            if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(str(parameters["args"]))
            if method == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
            if method == "Audits.issueAdded" and "contentSecurityPolicy" in str(parameters):
                found.append(str(parameters["issue"]["details"]))
        return found

    def requests(self):
        """Addresses that the page asked for."""
        return [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]

    def print(self):
        """The page as PDF."""
        return base64.b64decode(self.send("Page.printToPDF", preferCSSPageSize=True, printBackground=False)["data"])

    def screenshot(self, path, full=True):
        data = self.send("Page.captureScreenshot", captureBeyondViewport=full)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))
