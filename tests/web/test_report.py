"""The report in a real browser: nothing serious in the way of anyone, and no page that is too wide."""

from browser import AXE

import dpstrata as dps
from extent import FULL


def test_the_report_can_be_read_by_everyone(browser, tmp_path):
    strata = dps.Strata(
        [7000, 8000, 9000, 10000],
        [0.283, 0.08, 0.0226, 0.0064],
        names=["north", "a much longer name of a stratum", "c", "d"],
        extra={"region": ["x", "x", "y", "y"]},
    )
    plan = dps.design(strata, epsilon=1, total=200, domains=["region"], local_epsilon_cap=5.8)
    dps.write_report(plan, tmp_path / "report.html")
    context = browser.new_context(viewport={"width": 320, "height": 900}, bypass_csp=True)
    try:
        page = context.new_page()
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto((tmp_path / "report.html").as_uri())
        page.evaluate(AXE)
        for width in (320, 390, 1000):
            page.set_viewport_size({"width": width, "height": 900})
            if FULL or width != 390:
                found = page.evaluate("axe.run({ resultTypes: ['violations'] })")["violations"]
                assert [(fault["id"], fault["impact"]) for fault in found] == [], width
            assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, width
        assert len(asked) == 1
    finally:
        context.close()
