#!/usr/bin/env python3
"""Opens reports of made-up histories in headless Chromium: light, dark and narrow. No section may be blank or wider than
the page, the console must stay silent, and the themes must differ.

    browser_test.py REPORT_SAMPLE_PAGE [FOLDER]     FOLDER keeps the pages and pictures
"""
import html
import json
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

SKIP = 77
SCALE = 0.5  # of the pictures, so that reading them is quick
SECTIONS = ["summary", "comparison", "progress", "trials", "rejections", "knobs", "plan", "timeline", "cost", "events",
            "reproduce"]


def find_chromium():
    for name in ("chromium", "chromium-browser", "google-chrome"):
        path = shutil.which(name)
        if path:
            return path
    return None


def chromium(browser, folder, url, extra, dark=False, width=1200, height=900):
    """Standard output, and what the console said."""
    profile = tempfile.mkdtemp(dir=folder)
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
               "--disable-background-networking", "--disable-component-update", "--disable-sync",
               "--disable-dev-shm-usage", "--hide-scrollbars", f"--force-device-scale-factor={SCALE}",
               f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0",
               f"--window-size={width},{height}",
               f"--blink-settings=preferredColorScheme={0 if dark else 1}", *extra, url]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=100, check=False)
    shutil.rmtree(profile, ignore_errors=True)
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode(errors="replace"), said


def read_png(path):
    """Width, height, bytes per pixel, rows."""
    with open(path, "rb") as stream:
        data = stream.read()
    assert data[:8] == b"\x89PNG\r\n\x1a\n", "no PNG"
    position, packed, header = 8, b"", None
    while position < len(data):
        size, kind = struct.unpack(">I4s", data[position:position + 8])
        chunk = data[position + 8:position + 8 + size]
        position += 12 + size
        if kind == b"IHDR":
            header = struct.unpack(">IIBBBBB", chunk)
        elif kind == b"IDAT":
            packed += chunk
    width, height, depth, color = header[:4]
    assert depth == 8 and header[6] == 0, "an unusual PNG"
    pixel = {0: 1, 2: 3, 4: 2, 6: 4}[color]
    raw, stride, rows, above = zlib.decompress(packed), width * pixel, [], bytearray(width * pixel)
    for y in range(height):
        start = y * (stride + 1)
        row = bytearray(raw[start + 1:start + 1 + stride])
        unfilter(raw[start], row, above, pixel)
        rows.append(row)
        above = row
    return width, height, pixel, rows


def unfilter(kind, row, above, pixel):
    if kind == 1:
        for i in range(pixel, len(row)):
            row[i] = (row[i] + row[i - pixel]) & 255
    elif kind == 2:
        row[:] = bytes((a + b) & 255 for a, b in zip(row, above))
    elif kind == 3:
        for i, value in enumerate(row):
            row[i] = (value + (((row[i - pixel] if i >= pixel else 0) + above[i]) >> 1)) & 255
    elif kind == 4:
        for i, value in enumerate(row):
            left, up = (row[i - pixel] if i >= pixel else 0), above[i]
            corner = above[i - pixel] if i >= pixel else 0
            guess = left + up - corner
            near = (abs(guess - left), abs(guess - up), abs(guess - corner))
            best = left if near[0] <= near[1] and near[0] <= near[2] else up if near[1] <= near[2] else corner
            row[i] = (value + best) & 255


def ink(picture, box):
    """The share of the box's pixels that differ from its most frequent colour, and how many colours it has."""
    _, height, pixel, rows = picture
    left, top, width, box_height = (round(SCALE * value) for value in box)
    colors = {}
    for y in range(top, min(top + box_height, height)):
        row = rows[y]
        for x in range(left, min(left + width, len(row) // pixel)):
            color = bytes(row[x * pixel:x * pixel + 3])
            colors[color] = colors.get(color, 0) + 1
    total = sum(colors.values())
    return (1 - max(colors.values()) / total if total else 0), len(colors)


def brightness(picture):
    _, _, pixel, rows = picture
    values = [sum(row[x * pixel:x * pixel + 3]) / 3 for row in rows[::40] for x in range(0, len(row) // pixel, 40)]
    return sum(values) / len(values)


class Checks:
    def __init__(self):
        self.failures = 0
        self.passed = 0

    def that(self, condition, what):
        if condition:
            self.passed += 1
        else:
            self.failures += 1
            print(f"FAILED: {what}")


def layout_of(browser, folder, url, width, checks, name):
    dom, said = chromium(browser, folder, url + "#layout", ["--dump-dom"], width=width)
    checks.that(not said, f"{name}: the console is silent, not: {said[:3]}")
    match = re.search(r'data-layout="([^"]*)"', dom)
    checks.that(match is not None, f"{name}: the script ran to its end")
    return json.loads(html.unescape(match.group(1))) if match else None


def check_page(browser, folder, page, themes, checks):
    url = "file://" + page
    name = os.path.basename(page)
    with open(page, encoding="utf-8") as stream:
        text = stream.read()
    checks.that(not re.search(r'(?:src|href)="(?!#)', text), f"{name}: refers to nothing outside")
    checks.that("http://" not in text and "https://" not in text, f"{name}: no address of the network")
    for theme in themes:
        width = 520 if theme == "narrow" else 1200
        layout = layout_of(browser, folder, url, width, checks, f"{name} {theme}")
        if layout is None:
            continue
        picture_path = page.replace(".html", f"-{theme}.png")
        _, said = chromium(browser, folder, url, [f"--screenshot={picture_path}"], dark=theme == "dark", width=width,
                           height=layout["height"])
        checks.that(not said, f"{name} {theme}: the console is silent, not: {said[:3]}")
        checks.that(os.path.exists(picture_path), f"{name} {theme}: a picture was taken")
        if not os.path.exists(picture_path):
            continue
        picture = read_png(picture_path)
        checks.that(layout["width"] <= width, f"{name} {theme}: {layout['width']} pixels wide on a page of {width}")
        for section in SECTIONS:
            box = layout["sections"].get(section)
            checks.that(box is not None, f"{name} {theme}: section {section} is there")
            if box is None:
                continue
            # Inside the card, below its head.
            share, colors = ink(picture, [box[0] + 8, box[1] + 58, box[2] - 16, box[3] - 66])
            checks.that(share > 0.004 and colors > 8,
                        f"{name} {theme}: section {section} is blank ({share:.4f} ink, {colors} colours)")
        if theme == "light":
            level = brightness(picture)
            checks.that(level > 200, f"{name}: the light page is light ({level:.0f})")
        elif theme == "dark":
            level = brightness(picture)
            checks.that(level < 70, f"{name}: the dark page is dark ({level:.0f})")


def main():
    browser = find_chromium()
    if browser is None:
        print("SKIPPED: no Chromium; install the Debian package 'chromium' to check reports in a browser")
        return SKIP
    folder = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="zomboss-report-")
    os.makedirs(folder, exist_ok=True)
    checks = Checks()
    try:
        subprocess.run([sys.argv[1], folder], check=True, timeout=100)
        # A page that is wrong must be seen to be wrong.
        broken = os.path.join(folder, "broken.html")
        with open(broken, "w", encoding="utf-8") as stream:
            stream.write("<!doctype html><script>undefined_function()</script><section id=x></section>")
        _, said = chromium(browser, folder, "file://" + broken, ["--dump-dom"])
        checks.that(said, "an error of a script shows in the console")
        empty = os.path.join(folder, "empty.png")
        chromium(browser, folder, "file://" + broken, [f"--screenshot={empty}"], width=600, height=400)
        checks.that(ink(read_png(empty), [0, 0, 600, 400]) == (0, 1), "an empty page has no ink")
        for page, themes in (("single.html", ("light", "dark", "narrow")), ("suite.html", ("light", "dark")),
                             ("plain.html", ("light",))):
            check_page(browser, folder, os.path.join(folder, page), themes, checks)
    finally:
        if len(sys.argv) <= 2:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{checks.passed} checks passed, {checks.failures} failed")
    return 1 if checks.failures else 0


if __name__ == "__main__":
    sys.exit(main())
