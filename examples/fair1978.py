"""A sensitive survey from the frame to the estimate, compared with the truth; part of ``make demo``.

Fair (1978): 6,366 people, stratified by occupation, were asked "have you had an affair?". The draw and
the noise are real.
"""

import csv
import secrets
from collections import defaultdict
from pathlib import Path

import dpstrata as dps

FILE = Path(dps.__file__).parent / "examples" / "fair1978.csv"


def main() -> None:
    """Carry out every step once."""
    frame = dps.open_frame(FILE, id="person", stratum="occupation")
    strata = dps.frame_strata(frame)
    plan = dps.design(
        strata, epsilon=1, total=600, min_per_stratum=2, questions="yes_no", mechanism="randomized_response"
    )
    sample = dps.draw_sample(plan, frame, secrets.token_bytes(32))
    with open(FILE, newline="", encoding="utf-8") as rows:
        answers = {row["person"]: float(row["had_affair"]) for row in csv.DictReader(rows)}
    noised = defaultdict(list)
    for person, stratum in zip(sample.ids, sample.strata, strict=True):
        noised[stratum].append(dps.randomize(plan, stratum, answers[person]).value)
    names = [name for name, values in noised.items() for _ in values]
    found = dps.estimate_means(plan, names, [value for values in noised.values() for value in values])
    (result,) = found.whole
    truth = sum(answers.values()) / len(answers)
    people = f"{strata.population:,} people in {len(strata)} strata"
    print(f"Fair (1978): {people}; {plan.total} invited in a secret sample, epsilon = 1.")
    print(f"Estimated share: {result.estimate:.3f}, 95% interval {result.lower:.3f} to {result.upper:.3f}.")
    print(f"True share: {truth:.3f}. (The noise is real, so every run gives another estimate.)")


if __name__ == "__main__":
    main()
