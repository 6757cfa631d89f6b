"""What ``dpstrata`` says without a command: the five steps of a survey."""

STEPS = {
    "Count the strata of your population.": "frame people.csv --id person --stratum region --out strata.csv",
    "Design it: how many people to invite, and what their devices do with the answers.": (
        "design strata.csv --questions questions.xlsx --epsilon 1 --device-epsilon 4 --release sums "
        "--at-most 600 --out design.json"
    ),
    "Draw the secret sample, and make everyone in it a link.": (
        "invite design.json people.csv --id person --stratum region --address https://survey.example.org"
    ),
    "Collect what the devices send.": "collect survey --public-host survey.example.org",
    "Close it, publish the sums, and write a report to sign.": "collect close survey --report results.html",
}


def first_steps() -> str:
    """Return the five steps, each in words and as a command that can be copied."""
    steps = [
        f"{number}. {words}\n   $ dpstrata {command}"
        for number, (words, command) in enumerate(STEPS.items(), start=1)
    ]
    return "\n".join(
        [
            "A whole private survey, in five commands:",
            "",
            *steps,
            "",
            "To plan in the browser instead: dpstrata serve. All commands: dpstrata --help.",
        ]
    )
