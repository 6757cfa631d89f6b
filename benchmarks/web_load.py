"""The planner under load and under one slider: ``make load``.

Starts a server of its own, and ends it. 50 clients move sliders for half a minute: no error, no answer mixed
up with another's, memory growth under 10% after warm-up, throughput at least 0.8 of one client's alone. Then,
in Chromium, the time from a slider to the headline and the chart. Ends with status 1 if any of the first four
does not hold.
"""

import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))

from browser import ARGUMENTS, NAMES
from sliders import move_sliders

CLIENTS, SECONDS, ALONE, WARM_UP = 50, 30, 10, 8
MOVES = 30
MOVE = """(share) => new Promise((resolve) => {
  const slider = document.querySelector('input[type="range"][data-name="epsilon"]');
  const headline = document.querySelector("#headline"), drawing = document.querySelector(".drawing");
  const said = headline.textContent, drawn = drawing.dataset.drawn;
  const begun = performance.now();
  let told = null;
  const look = () => {
    if (told === null && headline.textContent !== said) told = performance.now() - begun;
    if (told !== null && drawing.dataset.drawn !== drawn)
      return requestAnimationFrame(() => resolve([told, performance.now() - begun]));
    return performance.now() - begun > 10000 ? resolve(null) : setTimeout(look, 1);
  };
  slider.value = share;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
  look();
})"""


@contextmanager
def serving():
    """Serve the planner as a user would, and stop it."""
    command = [sys.executable, "-m", "dpstrata", "serve", "--no-browser", "--port", "0"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield re.search(r"http://\S+/", process.stdout.readline()).group(), process.pid
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(20)


def memory(pid):
    """Return the bytes that the server and its workers have to themselves."""
    processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return sum(process.memory_full_info().uss for process in processes)


def measure_load():
    """Print the four figures, and return whether all hold."""
    with serving() as (address, pid):
        move_sliders(address, clients=CLIENTS, seconds=WARM_UP)
        alone = move_sliders(address, clients=1, seconds=ALONE)
        before = memory(pid)
        crowd = move_sliders(address, clients=CLIENTS, seconds=SECONDS)
        growth = memory(pid) / before - 1
    ratio = crowd.rate / alone.rate
    print(
        f"{CLIENTS} clients for {crowd.seconds:.0f} s: {crowd.answers:,} answers, {len(crowd.faults)} faults"
    )
    for fault in crowd.faults[:5]:
        print(f"  {fault}")
    print(f"throughput: {crowd.rate:.0f}/s, one client {alone.rate:.0f}/s, ratio {ratio:.2f} (at least 0.8)")
    print(f"memory: {before / 2**20:.0f} MB after warm-up, growth {growth:+.1%} (below 10%)")
    return not crowd.faults and not alone.faults and ratio >= 0.8 and growth < 0.1


def measure_page():
    """Print how long the page takes from a slider to the headline and the chart."""
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if path is None:
        sys.exit("There is no Chromium to measure the page with: apt-get install chromium.")
    from playwright.sync_api import sync_playwright

    with serving() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        for strata in (4, 50, 10_000):
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            rows = ";".join(
                f"s{i},{1000 + 17 * i % 9000},{0.05 + i % 9 / 20:.2f}" for i in range(min(strata, 200))
            )
            page.goto(f"{address}#total={20 * strata}&epsilon=1&strata=stratum,size,sd;{rows}&end")
            if strata > 200:
                table = "\n".join(
                    f"s{i},{1000 + 17 * i % 9000},{0.05 + i % 9 / 20:.2f}" for i in range(strata)
                )
                file = {
                    "name": "s.csv",
                    "mimeType": "text/csv",
                    "buffer": f"stratum,size,sd\n{table}".encode(),
                }
                page.locator(".strata input[type=file]").set_input_files(file)
                page.locator("#headline", has_text=f"{strata:,} strata").wait_for()
            page.locator("[data-drawn]").nth(4).wait_for()
            page.wait_for_timeout(1000)
            times = [page.evaluate(MOVE, 0.3 + 0.4 * (i * 0.618 % 1)) for i in range(MOVES)]
            told, drawn = (statistics.median(time[at] for time in times) for at in (0, 1))
            worst = sorted(time[1] for time in times)[int(0.9 * MOVES)]
            print(
                f"{strata:,} strata: headline after {told:.0f} ms, chart after {drawn:.0f} ms "
                f"(9 of 10 in {worst:.0f} ms)"
            )
            page.close()
        browser.close()


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    held = measure_load()
    measure_page()
    sys.exit(0 if held else 1)
