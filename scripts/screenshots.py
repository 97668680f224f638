"""The pictures of the README, taken of the real page with the real model: `make screenshots`."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path

from PIL import Image
from playwright.sync_api import FloatRect, Locator, Page, sync_playwright

IMAGES = Path("docs/images")
WIDTH, HEIGHT = 1440, 1000
START_SECONDS, RUN_SECONDS = 120, 900

FRAME_SECONDS = 0.2
FRAMES = 90
ANIMATION_WIDTH = 800


def main() -> None:
    """Start the app, run the first example, and photograph it."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with app() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDTH, "height": HEIGHT}, color_scheme="light")
        page.goto(address)
        page.get_by_role("button", name="Start", exact=True).click(timeout=START_SECONDS * 1000)
        page.wait_for_selector(".specviz[data-phase=finished]", timeout=RUN_SECONDS * 1000)
        run = page.locator(".specviz")
        run.locator("[data-action=end]").click()
        photograph(page, run, "live-light.png")
        page.emulate_media(color_scheme="dark")
        photograph(page, run, "live-dark.png")
        page.emulate_media(color_scheme="light")
        run.locator('.stream .token[data-kind="rejected"]').last.click()
        run.locator(".dice").screenshot(path=IMAGES / "dice.png")
        page.keyboard.press("Escape")
        film(page, run)
        browser.close()


@contextmanager
def app() -> Iterator[str]:
    """The app, served for as long as the pictures take; gives its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "app.py", f"--server.port={port}"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        wait_until_healthy(address)
        yield address
    finally:
        server.terminate()
        server.wait()


def wait_until_healthy(address: str) -> None:
    """Return once the app answers for itself."""
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{address}/healthz") as answer:
                if json.load(answer).get("status") == "ok":
                    return
        except (OSError, ValueError):
            pass  # not up yet
        time.sleep(0.3)
    sys.exit(f"The app did not come up within {START_SECONDS} s.")


def photograph(page: Page, run: Locator, name: str) -> None:
    """Save what is seen with the run at the top."""
    run.evaluate("node => { node.style.scrollMarginTop = '5rem'; node.scrollIntoView(); }")
    page.mouse.move(0, 0)
    page.wait_for_timeout(800)
    page.screenshot(path=IMAGES / name)


def film(page: Page, run: Locator) -> None:
    """Play the run from its start, and save controls and text as an animation."""
    run.locator("[data-action=start]").click()
    run.locator(".speed select").select_option("1")
    run.locator("[data-action=toggle]").click()
    boxes = [run.locator(part).bounding_box() for part in (".controls", ".lanes")]
    top, bottom = (box for box in boxes if box)
    clip: FloatRect = {**top, "height": bottom["y"] + bottom["height"] - top["y"]}
    frames = []
    for _ in range(FRAMES):
        began = time.monotonic()
        frames.append(frame(page.screenshot(clip=clip)))
        time.sleep(max(0.0, FRAME_SECONDS - (time.monotonic() - began)))
    palette = side_by_side(frames[:: FRAMES // 4]).quantize()
    first, *rest = (
        picture.quantize(palette=palette, dither=Image.Dither.NONE) for picture in frames
    )
    first.save(
        IMAGES / "live.gif",
        save_all=True,
        append_images=rest,
        duration=int(FRAME_SECONDS * 1000),
        loop=0,
        optimize=True,
    )


def frame(picture: bytes) -> Image.Image:
    """A screenshot at the animation's size."""
    image = Image.open(BytesIO(picture)).convert("RGB")
    return image.resize((ANIMATION_WIDTH, image.height * ANIMATION_WIDTH // image.width))


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    """One picture of several, for a palette that suits them all."""
    width, height = pictures[0].size
    joined = Image.new("RGB", (width * len(pictures), height))
    for index, picture in enumerate(pictures):
        joined.paste(picture, (index * width, 0))
    return joined


if __name__ == "__main__":
    main()
