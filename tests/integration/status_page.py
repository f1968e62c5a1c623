"""The status page in browsers: headless Chromium, whose document and pixels are read, and the text browsers w3m and lynx.

usage: status_page.py PROGRAM [--required]    PROGRAM is tests/programs/status_page

Ends with 77 (skipped) where no Chromium is installed, unless it is required; ./dev browser installs it.
"""

import contextlib
import html.parser
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import urllib.request
import zlib

PATIENCE_S = 120
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
WIDE, NARROW = (1280, 900), (420, 900)
LIGHT = {"background": (255, 255, 255), "bad": (0xC2, 0x1F, 0x2B), "ok": (0x1A, 0x7F, 0x37), "warn": (0x9A, 0x67, 0x00),
         "line": (0x09, 0x69, 0xDA)}
DARK = {"background": (0x0D, 0x11, 0x17), "bad": (0xFF, 0x7B, 0x72), "ok": (0x3F, 0xB9, 0x50), "warn": (0xD2, 0x99, 0x22),
        "line": (0x44, 0x93, 0xF8)}

if not CHROMIUM:
    print("skipped: there is no chromium; ./dev browser installs it")
    sys.exit(1 if "--required" in sys.argv else 77)


def must(condition, what):
    if not condition:
        sys.exit(f"status_page: {what}")


@contextlib.contextmanager
def page(*arguments):
    """Runs the program with a page of these informers, and gives its URL."""
    with subprocess.Popen([sys.argv[1], "0", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
        url = program.stdout.readline().strip()
        must(url.startswith("http://"), f"the program with {arguments} has no URL")
        try:
            yield url + "/"
        finally:
            program.stdin.close()
            must(program.wait(PATIENCE_S) == 0, f"the program with {arguments} ended with {program.returncode}")


def chromium(url, *options):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--no-first-run", "--disable-extensions", f"--user-data-dir={folder}", *options, url]
        return subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S).stdout.decode()


# --- the document ---


class Document(html.parser.HTMLParser):
    """What the document has: texts of elements by their id, and the rows of its tables as {label: text}."""

    EMPTY = {"meta", "link", "input", "br"}

    def __init__(self, text):
        super().__init__()
        self.open, self.texts, self.rows, self.charts, self.headings, self.title = [], {}, [], [], [], ""
        self.feed(text)
        must(not [name for name, _ in self.open], f"elements without an end: {self.open}")

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag in self.EMPTY:
            return
        self.open.append((tag, attributes))
        if tag == "tbody":
            self.rows.append({"class": attributes["class"]})
        if tag == "svg" and "aria-label" in attributes:
            self.charts.append(attributes["aria-label"])
        if attributes.get("role") == "img":
            must(attributes.get("aria-label"), "an image without a description")
        if tag == "th":
            must(attributes.get("scope") in ("row", "col"), "a header without a scope")

    def handle_endtag(self, tag):
        while self.open and self.open.pop()[0] != tag:
            pass

    def handle_data(self, data):
        for tag, attributes in self.open:
            if "id" in attributes:
                self.texts[attributes["id"]] = self.texts.get(attributes["id"], "") + data
            if tag == "title":
                self.title += data
            if tag == "h2":
                self.headings.append(data)
            label = "name" if (tag, attributes.get("scope")) == ("th", "row") else attributes.get("data-label") if tag == "td" else None
            if tag == "td" and not label:
                label = "details"
            if label and self.rows:
                self.rows[-1][label] = self.rows[-1].get(label, "") + data.replace("\xa0", " ")

    def row(self, name):
        found = [row for row in self.rows if row.get("name") == name]
        must(len(found) == 1, f"{len(found)} rows of {name}")
        return found[0]

    def informers(self):
        return [row for row in self.rows if "State" in row]


def read(url, *options):
    return Document(chromium(url, "--dump-dom", *options))


# --- pixels ---


def unfilter(kind, line, before, size):
    """Undoes a filter of PNG on a line (RFC 2083 §6)."""
    for i in range(len(line)):
        left, up, corner = line[i - size] if i >= size else 0, before[i], before[i - size] if i >= size else 0
        if kind == 1:
            line[i] = (line[i] + left) & 255
        elif kind == 2:
            line[i] = (line[i] + up) & 255
        elif kind == 3:
            line[i] = (line[i] + (left + up) // 2) & 255
        elif kind == 4:
            guess = left + up - corner
            distances = (abs(guess - left), abs(guess - up), abs(guess - corner))
            line[i] = (line[i] + (left, up, corner)[distances.index(min(distances))]) & 255
    return line


def pixels(url, size, *options):
    """Returns the lines of a screenshot, each a list of colours."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "page.png")
        chromium(url, f"--screenshot={path}", f"--window-size={size[0]},{size[1]}", *options)
        with open(path, "rb") as file:
            data = file.read()
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at:at + 8])
        if kind == b"IHDR":
            width, height, depth, colours, _, _, interlaced = struct.unpack(">IIBBBBB", data[at + 8:at + 8 + length])
        elif kind == b"IDAT":
            packed += data[at + 8:at + 8 + length]
        at += length + 12
    must((depth, interlaced) == (8, 0) and colours in (2, 6) and (width, height) == size, "another kind of screenshot")
    step, raw, lines, before = 3 if colours == 2 else 4, zlib.decompress(packed), [], None
    for y in range(height):
        begin = y * (width * step + 1)
        line = bytearray(raw[begin + 1:begin + 1 + width * step])
        before = unfilter(raw[begin], line, before or bytes(len(line)), step)
        lines.append([tuple(before[x:x + 3]) for x in range(0, len(before), step)])
    return lines


def check_pixels(url, scheme, size, drawn, *options):
    lines = pixels(url, size, *options)
    colours = {colour for line in lines for colour in line}
    for name in ("background", "line", "bad", "ok", "warn"):
        wanted = name in ("background", "line") or name in drawn
        must((scheme[name] in colours) == wanted, f"{size}, {options}: {name} is {'not ' if wanted else ''}drawn")
    # What is too wide would be drawn up to the edge.
    must(all(line[-4:] == [scheme["background"]] * 4 for line in lines), f"{size}: something is drawn at the right edge")


# --- the cases ---


def one_informer():
    with page("1") as url:
        shown = read(url)
        must(shown.title == "sample-controller", f"title: {shown.title}")
        must(shown.texts["verdict"] == "✔ Ready: 1 informer has synced", shown.texts["verdict"])
        must(shown.headings == ["Informers"] and len(shown.rows) == 1, f"other tables: {shown.headings}")
        row = shown.row("pods")
        must("watching" in row["State"] and int(row["Objects"].replace(",", "")) > 100 and "details" not in row, f"{row}")
        must(len(shown.charts) == 3 and all("over the last 15 minutes: now" in text for text in shown.charts), f"{shown.charts}")
        check_pixels(url, LIGHT, WIDE, {"ok"})
        check_pixels(url, DARK, WIDE, {"ok"}, "--blink-settings=preferredColorScheme=0")


def thirty_in_trouble():
    with page("30", "blocked", "failing", "lost", "busy") as url:
        shown = read(url)
        must(shown.title == "(2) sample-controller", f"title: {shown.title}")
        must(shown.texts["verdict"] == "✖ Not ready: 1 of 30 informers has not synced; 1 blocked, 1 backing off", shown.texts["verdict"])
        must(shown.headings == ["Leaders", "Queues", "Informers"], f"{shown.headings}")
        informers = shown.informers()
        must(len(informers) == 30 and informers[0]["name"] == "configmaps in billing" and informers[1]["name"] == "services in shop",
             "those in trouble are not first")
        must("blocked" in informers[0]["State"] and "forbidden: list configmaps in namespace billing" in informers[0]["details"], f"{informers[0]}")
        must("backing off" in informers[1]["State"] and "apiserver is shutting down (HTTP 503)" in informers[1]["details"] and
             "http error" in informers[1]["Relists"], f"{informers[1]}")
        lease = shown.row("sample-controller")
        must("has lost the Lease" in lease["This process"] and lease["Leader"] == "node-7_b41c", f"{lease}")
        must(any(text.startswith("led in ") for text in shown.charts), f"{shown.charts}")
        queue = shown.row("website")
        must(queue["Longest running"].startswith("! ") and queue["class"] == "warn" and int(queue["Reconciles"]) > 100, f"{queue}")
        for size in (WIDE, NARROW):
            check_pixels(url, LIGHT, size, {"ok", "bad", "warn"})
        check_pixels(url, DARK, NARROW, {"ok", "bad", "warn"}, "--blink-settings=preferredColorScheme=0")


def a_key_that_always_fails():
    with page("1", "busy", "poisoned") as url:
        shown = read(url)
        must(shown.title == "(1) sample-controller", f"title: {shown.title}")
        must(shown.texts["verdict"].endswith("; 1 controller failing"), shown.texts["verdict"])
        must(" process " in shown.texts["where"] and shown.texts["where"].endswith(", version v1.2.3"), shown.texts["where"])
        row = shown.rows[[row["class"] for row in shown.rows].index("bad")]
        must(row["Failing keys"].startswith("! ") and "times: the spec has no image" in row["details"], f"{row}")
        for size in (WIDE, NARROW):
            check_pixels(url, LIGHT, size, {"ok", "bad"})


def two_hundred():
    with page("200", "busy") as url:
        shown = read(url)
        must(shown.texts["verdict"] == "✔ Ready: 200 informers have synced", shown.texts["verdict"])
        must(len(shown.informers()) == 200 and "leads" in shown.row("sample-controller")["This process"], "other rows")
        check_pixels(url, LIGHT, WIDE, {"ok", "warn"})


def updates_in_place():
    """The script runs and gets the page again. Without it there are no controls, and the page reloads itself."""
    with page("1") as url:
        shown = read(url, "--virtual-time-budget=12000")
        must(shown.texts.get("updated", "").startswith("updated "), f"not updated: {shown.texts.get('updated')}")
        must(shown.texts["pause"] == "Pause", "no controls")
        with urllib.request.urlopen(url, timeout=PATIENCE_S) as response:
            plain = response.read().decode()
        must('<noscript><meta http-equiv="refresh" content="10"></noscript>' in plain and 'id="pause"' not in plain, "no reload without scripts")
        must("page.js" in plain and "http://" not in plain and "https://" not in plain, "the page loads from elsewhere")


def text_browsers():
    browsers = {"w3m": ["-dump", "-cols", "100"], "lynx": ["-dump", "-width=100"]}
    with page("30", "blocked", "lost") as url:
        for name, options in browsers.items():
            if not shutil.which(name):
                must("--required" not in sys.argv, f"there is no {name}")
                continue
            text = subprocess.run([name, *options, url], check=True, capture_output=True, timeout=PATIENCE_S).stdout.decode()
            for part in ("sample-controller", "Not ready: 1 of 30 informers", "forbidden: list configmaps in namespace billing", "node-7_b41c",
                         "deployments.apps in shop"):
                must(part in text, f"{name} does not show {part!r}, but:\n{text}")


for case in (one_informer, thirty_in_trouble, a_key_that_always_fails, two_hundred, updates_in_place, text_browsers):
    case()
    print("ok", case.__name__)
