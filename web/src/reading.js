// Numbers as people write them in a spreadsheet: a whole column tells what its commas mean.

const SEPARATORS = [",", "[ \\u00a0\\u202f]", "['’]"];
const PEOPLE = new Set(["size", "min", "max"]);
const SHARES = new Set(["proportion", "response_rate"]);

// The cells of a column of numbers in plain notation, if all of them read alike; else as they are.
export function plainNumbers(cells, column) {
  const bare = cells.map((cell) => cell.trim());
  const given = bare.filter((cell) => cell !== "");
  const all = (pattern) => given.every((cell) => pattern.test(cell));
  if (!given.length || all(/^[\d.]*$/) && !(PEOPLE.has(column) && isGrouped(given, "\\."))) return cells;
  if (SHARES.has(column) && all(/^\d+([.,]\d+)?\s*%$/)) return bare.map((cell) => cell && String(Number((parseFloat(cell.replace(",", ".")) / 100).toPrecision(12))));
  for (const mark of PEOPLE.has(column) ? [...SEPARATORS, "\\."] : SEPARATORS)
    if (isGrouped(given, mark) && !given.some((cell) => /^0[,.]/.test(cell)) && !SHARES.has(column)) return bare.map((cell) => cell.replace(new RegExp(mark, "g"), ""));
  if (!PEOPLE.has(column) && all(/^\d*(,\d+)?$/) && !given.every((cell) => /^[1-9]\d{0,2}(,\d{3})?$/.test(cell))) return bare.map((cell) => cell.replace(",", "."));
  return cells;
}

// Whether thousands are set apart in every number that has them, and in one at least.
function isGrouped(given, mark) {
  const grouped = new RegExp(`^\\d{1,3}(${mark}\\d{3})+${mark === "," ? "(\\.\\d+)?" : ""}$`);
  return given.some((cell) => grouped.test(cell)) && given.every((cell) => grouped.test(cell) || /^\d{1,3}$/.test(cell));
}

// Whether a cell is a number in any notation.
export const looksNumeric = (cell) => /^[+-]?\d[\d.,'’ \u00a0\u202f]*%?$|^[+-]?[.,]\d+%?$|^\d+(\.\d+)?e[+-]?\d+$/i.test(cell.trim());
