"""A page is spared axe only where axe has looked at everything on it."""

import pytest
from barriers import find_barriers

from extent import FULL

SOUND = """<html lang="en"><title>A page</title><style>.pale {{ color: #eee }}</style>
<main><h1>A page</h1><p>Text.</p><label>Name <input></label><img alt="a tree" src="data:,">{more}</main></html>"""


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ('<img src="data:,">', "image-alt"),
        ('<img alt="" src="data:,"><button></button>', "button-name"),
        ("<input>", "label"),
        ('<p class="pale">Text.</p>', "color-contrast"),
        ('<p style="color: #eee">Text.</p>', "color-contrast"),
        ('<div style="color: #eee"><p>Text.</p></div>', "color-contrast"),
        ('<p role="checkbox" tabindex="0">Text.</p>', "aria"),
    ],
)
def test_what_is_new_on_a_page_is_looked_at(browser, more, rule):
    page = browser.new_page()
    for _ in range(2):
        page.set_content(SOUND.format(more=""))
        assert find_barriers(page) == []
    for _ in range(2):  # what was found is not taken for seen
        page.set_content(SOUND.format(more=more))
        assert any(rule in found for found in find_barriers(page))
    page.close()


def test_a_page_of_known_elements_is_not_looked_at_again(browser):
    page = browser.new_page()
    page.set_content(SOUND.format(more=""))
    find_barriers(page)
    page.set_content(SOUND.format(more="<p>More text.</p>"))
    assert find_barriers(page) == []
    assert page.evaluate("'axe' in window") == FULL
    page.set_viewport_size({"width": 390, "height": 800})
    assert find_barriers(page) == []
    assert page.evaluate("'axe' in window")
    page.close()
