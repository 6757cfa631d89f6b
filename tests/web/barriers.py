"""What keeps people from using a page, found by axe."""

from pathlib import Path

from extent import FULL

AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text(encoding="utf-8")

# The kinds of elements on a page: tag, classes, attributes and states, whether there is text and room to scroll, with
# the same of the two elements around. What axe says of an element depends on these, on its styles and on its width.
KINDS = """() => {
  const stated = /^(role|type|style|hidden|disabled|tabindex|aria-(hidden|live|busy|disabled|invalid|expanded|selected|checked|pressed|current|sort|multiselectable|orientation|haspopup))$/;
  const own = (element) => [
    element.tagName,
    ...[...element.classList].sort(),
    ...[...element.attributes]
      .filter((each) => each.name !== "class")
      .map((each) => each.name + (stated.test(each.name) ? "=" + each.value : each.value.trim() ? "+" : "-"))
      .sort(),
    element === document.activeElement,
    element.scrollHeight > element.clientHeight + 1 || element.scrollWidth > element.clientWidth + 1,
    [...element.childNodes].some((child) => child.nodeType === 3 && child.data.trim()),
    element.labels ? element.labels.length : -1,
  ].join(" ");
  const known = new Map();
  const kind = (element) => {
    if (!element) return "";
    if (!known.has(element)) known.set(element, own(element));
    return known.get(element);
  };
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const styles = [...document.styleSheets].map((sheet) => sheet.href || sheet.ownerNode.textContent.length);
  const around = [innerWidth, matchMedia("(prefers-color-scheme: dark)").matches, ...styles, new Set(ids).size === ids.length];
  return [
    around.join(" "),
    [...new Set([...document.querySelectorAll("*")].map((element) =>
      [element, element.parentElement, element.parentElement?.parentElement].map(kind).join(" < ")))],
  ];
}"""
_seen = {}  # kinds of elements that axe has looked at, by width, colours and styles


def find_barriers(page):
    """Return what axe calls serious or critical on a page.

    A page that shows only kinds of elements which axe has looked at in other visits is not looked at again, but by
    `make slow`.
    """
    around, kinds = page.evaluate(KINDS)
    seen = _seen.setdefault(around, set())
    if seen.issuperset(kinds) and not FULL:
        return []
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE)
    found = page.evaluate(
        "() => axe.run(document, {resultTypes: ['violations']}).then((run) => run.violations)"
    )
    serious = [
        f"{rule['id']}: {rule['help']}: {[node['html'][:120] for node in rule['nodes'][:3]]}"
        for rule in found
        if rule["impact"] in ("serious", "critical")
    ]
    if not serious:
        seen.update(kinds)
    return serious
