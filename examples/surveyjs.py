"""A SurveyJS form whose answers are randomised on the respondent's device.

SurveyJS does not come with dpstrata. Install it where you like, then say where it is:

    npm install survey-core survey-js-ui
    python examples/surveyjs.py node_modules

Open the address that is printed. Everything is served from a folder that is removed when Ctrl-C stops it.
"""

import shutil
import sys
import tempfile
from contextlib import suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import dpstrata as dps

QUESTIONS = dps.Questionnaire(
    [
        dps.Question("smokes", "yes_no", blank=False, text="Do you smoke?"),
        dps.Question(
            "home", "category", blank=False, categories=["rent", "own", "other"], text="How do you live?"
        ),
        dps.Question("trust", "scale", lower=1, upper=5, text="How much do you trust your doctor?"),
        dps.Question("sleep", "number", lower=0, upper=12, text="How many hours do you sleep?"),
    ],
    language="en",
)
PAGE = Path(__file__).with_suffix(".html")
MODULES = Path(dps.__file__).parent / "collect" / "static"


def fill(folder: Path, packages: Path) -> None:
    """Put the page, the kit, the modules and SurveyJS into a folder."""
    plan = dps.design(
        dps.Strata([4000, 9000], names=["north", "south"]),
        questions=QUESTIONS, forms="one", epsilon=1, device_epsilon=4, release="sums", total=800,
    )  # fmt: skip
    dps.respondent_kit(plan, title="Health").save(folder / "kit.json")
    shutil.copy(PAGE, folder / "index.html")
    for name in ("dpstrata-respond.js", "dpstrata-surveyjs.js"):
        shutil.copy(MODULES / name, folder)
    for name in ("survey-core", "survey-js-ui"):
        shutil.copytree(packages / name, folder / "node_modules" / name)


def main() -> None:
    """Serve the form until it is interrupted."""
    if len(sys.argv) != 2 or not (Path(sys.argv[1]) / "survey-core").is_dir():
        sys.exit("Usage: python examples/surveyjs.py NODE_MODULES, the folder where survey-core is installed")
    with tempfile.TemporaryDirectory() as name:
        fill(Path(name), Path(sys.argv[1]))
        handler = partial(SimpleHTTPRequestHandler, directory=name)
        with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
            print(f"The form is at http://127.0.0.1:{server.server_port}/ (Ctrl-C stops it).", flush=True)
            with suppress(KeyboardInterrupt):
                server.serve_forever()


if __name__ == "__main__":
    main()
