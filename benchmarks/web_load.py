"""The planner under load and under one slider: ``make load``.

Starts a server of its own, and ends it. 50 clients move sliders for half a minute: no error, no answer mixed
up with another's, memory growth under 10% after warm-up, throughput at least 0.8 of one client's alone. The
answer to a design of 1,000 strata takes at most as long as 40 designs of the library. Then, in Chromium, the
time from a slider to the headline and the chart: with 1,000 strata at most twice and with 10,000 at most five
times as long as with 50. Ends with status 1 if any of these does not hold.
"""

import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import psutil

import dpstrata as dps

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "web"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser import ARGUMENTS, NAMES
from sliders import move_sliders

CLIENTS, SECONDS, ALONE, WARM_UP = 50, 30, 10, 8
MOVES = 30
ANSWERS, LARGEST_ANSWER = 20, 40  # of 1,000 strata, in designs of the library
SLOWEST = {1_000: 2.0, 10_000: 5.0}  # as long as with 50 strata, from a slider to the chart
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


def make_columns(strata):
    """Make the strata that pages and designs are measured with."""
    return {
        "stratum": [f"s{i}" for i in range(strata)],
        "size": [1000 + 17 * i % 9000 for i in range(strata)],
        "sd": [round(0.05 + i % 9 / 20, 2) for i in range(strata)],
    }


def measure_answer():
    """Print how long the server takes for a design of 1,000 strata; return whether that is short enough."""
    columns, options = make_columns(1_000), {"epsilon": 1, "total": 20_000}
    strata = dps.Strata(names=columns["stratum"], sizes=columns["size"], sds=columns["sd"])
    body = json.dumps({"strata": columns, "options": options}).encode()
    ratios = []
    with serving() as (address, _):
        for _ in range(ANSWERS):
            request = Request(f"{address}api/design", body, {"content-type": "application/json"})
            begun = time.perf_counter()
            with urlopen(request) as reply:
                reply.read()
            answered = time.perf_counter()
            dps.design(strata, **options)
            ratios.append((answered - begun) / (time.perf_counter() - answered))
    ratio = statistics.median(ratios)
    print(f"1,000 strata: an answer takes {ratio:.1f} designs of the library (at most {LARGEST_ANSWER})")
    return ratio <= LARGEST_ANSWER


def open_page(browser, address, strata):
    """Open the page with so many strata, and wait until everything is drawn."""
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    page.goto(
        f"{address}#total={20 * strata}&epsilon=1&strata=stratum,size,sd;s0,1000000,0.05;s1,1000000,0.1&end"
    )
    page.locator("#headline").wait_for()
    rows = zip(*make_columns(strata).values(), strict=True)
    table = "\n".join(",".join(map(str, row)) for row in rows)
    file = {"name": "s.csv", "mimeType": "text/csv", "buffer": f"stratum,size,sd\n{table}".encode()}
    page.locator(".strata input[type=file]").set_input_files(file)
    page.locator('[data-row="3"][data-column="stratum"]').wait_for()
    page.locator("#headline", has_text=f"{20 * strata:,} interviews").wait_for()
    page.locator("[data-drawn]").nth(4).wait_for()
    page.wait_for_timeout(1000)
    return page


def measure_page():
    """Print how long the page takes from a slider to the chart; return whether many strata are quick enough.

    The pages take turns, so that a busy moment of the machine slows all of them.
    """
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if path is None:
        sys.exit("There is no Chromium to measure the page with: apt-get install chromium.")
    from playwright.sync_api import sync_playwright

    with serving() as (address, _), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        pages = {strata: open_page(browser, address, strata) for strata in (4, 50, *SLOWEST)}
        times = {strata: [] for strata in pages}
        for i in range(MOVES):
            for strata, page in pages.items():
                page.bring_to_front()
                times[strata].append(page.evaluate(MOVE, 0.3 + 0.4 * (i * 0.618 % 1)))
        browser.close()
    held, usual = True, statistics.median(drawn for _, drawn in times[50])
    for strata, each in times.items():
        told, drawn = (statistics.median(time[at] for time in each) for at in (0, 1))
        most = SLOWEST.get(strata)
        held &= most is None or drawn <= most * usual
        limit = f", {drawn / usual:.1f} times as long as with 50 (at most {most:g})" if most else ""
        print(f"{strata:,} strata: headline after {told:.0f} ms, chart after {drawn:.0f} ms{limit}")
    return held


if __name__ == "__main__":
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} before")
    held = [measure_load(), measure_answer(), measure_page()]
    sys.exit(0 if all(held) else 1)
