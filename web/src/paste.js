// A block from a spreadsheet, into the table.

import { columnName } from "./plan.js";

// Lines of cells. A cell in quotation marks may hold tabs, line breaks and doubled quotation marks.
export function cellsOf(text) {
  const lines = [[]];
  const cell = /"((?:[^"]|"")*)"(?=[\t\n]|$)|([^\t\n]*)/y;
  const plain = text.replace(/\r\n?/g, "\n").replace(/\n$/, "");
  for (let at = 0; at <= plain.length; at += 1) {
    cell.lastIndex = at;
    const [found, quoted, bare] = cell.exec(plain);
    lines.at(-1).push((quoted === undefined ? bare : quoted.replaceAll('""', '"')).replace(/\s*\n\s*/g, " ").trim());
    at += found.length;
    if (plain[at] === "\n") lines.push([]);
  }
  return lines;
}

const isBlank = (line) => line.every((cell) => cell === "");

// Cells below and to the right of where the block is pasted, or a whole table if the block has a header.
export function pasteBlock(plan, row, column, text) {
  const lines = cellsOf(text);
  const width = Math.max(...lines.map((line) => line.findLastIndex((cell) => cell !== "") + 1));
  const header = lines[0].slice(0, width).map(columnName);
  if (header.includes("stratum") && header.includes("size")) return pasteTable(plan, header, lines.slice(1), width);
  const room = plan.columns.length - column;
  if (width > room)
    throw new Error(`The block is ${width} columns wide, but the table has room for only ${room} from here. Nothing was pasted. Add columns first, or paste the block with its header, which replaces the table.`);
  const rows = plan.rows.slice();
  lines.forEach((line, i) => {
    if (row + i >= plan.rows.length && isBlank(line)) return;
    const cells = rows[row + i]?.slice() ?? plan.columns.map(() => "");
    line.slice(0, room).forEach((cell, j) => (cells[column + j] = cell));
    if (row + i < plan.rows.length) rows[row + i] = cells;
    else rows.push(cells);
  });
  return { ...plan, rows };
}

function pasteTable(plan, columns, lines, width) {
  const filled = lines.filter((line) => !isBlank(line));
  const twice = columns.find((name, i) => columns.indexOf(name) !== i);
  const fault =
    columns.length < width || columns.includes("") ? "A column of the block has no name in its header"
    : twice !== undefined ? `The header of the block names ${twice} twice`
    : filled.length === 0 ? "The block has a header but no rows"
    : null;
  if (fault) throw new Error(`${fault}. Nothing was pasted.`);
  return { ...plan, columns, rows: filled.map((line) => columns.map((_, i) => line[i] ?? "")) };
}
