"""Draw the charts of the documentation; ``make figures`` runs it."""

from pathlib import Path

import dpstrata as dps
from dpstrata.report.charts import noise_chart

IMAGES = Path(__file__).parent / "images"
CHARTS = {
    "noise-real": dps.Answers(0, 1),
    "noise-binary": dps.Answers(0, 1, 1),
    "noise-grid": dps.Answers(0, 10, 1),
}

if __name__ == "__main__":
    IMAGES.mkdir(exist_ok=True)
    for name, answers in CHARTS.items():
        noise_chart(answers).save(IMAGES / f"{name}.svg")
