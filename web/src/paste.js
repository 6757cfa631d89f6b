// A block from a spreadsheet, into the table.

import { hasHeader, isKnown, tidied, withoutTitles } from "./mapping.js";
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
const widthOf = (lines) => Math.max(...lines.map((line) => line.findLastIndex((cell) => cell !== "") + 1));

// What follows from pasting cells at a place: { plan }; { known }, a table that replaces the one there is; or { table },
// with headers of its own, to be asked about. A block with a header replaces the table, and so does any block that is
// pasted over an untouched example.
export function pasteBlock(plan, row, column, text) {
  return pasteLines(plan, row, column, withoutTitles(cellsOf(text)));
}

// What follows from pasting a whole table, wherever that was; its cells may be set apart as in a CSV file.
export function pasteWhole(text) {
  const mark = text.includes("\t") ? "\t" : text.includes(";") ? ";" : ",";
  const lines = withoutTitles(cellsOf(text.replace(/"(?:[^"]|"")*"|[,;]/g, (found) => (found === mark ? "\t" : found))));
  const width = widthOf(lines);
  if (width > 3 && !hasHeader(lines) && !isKnown(lines[0])) return { table: foreign([lines[0].map((_, i) => `column ${i + 1}`), ...lines], width) };
  const empty = { columns: ["stratum", "size", "sd"].slice(0, Math.max(width, 2)), rows: [], from: { example: true } };
  return pasteLines(empty, 0, 0, lines);
}

function pasteLines(plan, row, column, lines) {
  const width = widthOf(lines);
  const header = lines[0].slice(0, width);
  if (isKnown(header)) return { known: tableOf(header.map(columnName), lines.slice(1), width) };
  if (hasHeader(lines)) return { table: foreign(lines, width) };
  const room = plan.columns.length - column;
  if (width > room)
    throw new Error(`The block is ${width} columns wide, but the table has room for only ${room} from here. Nothing was pasted. Add columns first, or paste the block with its header, which replaces the table.`);
  if (row === 0 && isUntouched(plan)) return { known: { columns: plan.columns, rows: withCells([], plan.columns, 0, column, lines, true) } };
  return { plan: { ...plan, rows: withCells(plan.rows.slice(), plan.columns, row, column, lines, false) } };
}

const isUntouched = ({ from }) => Boolean(from?.example && !from.edited);

// Rows with a block of cells in them; below their end new rows follow, if need be with names.
function withCells(rows, columns, row, column, lines, named) {
  const there = rows.length;
  lines.forEach((line, i) => {
    if (row + i >= there && isBlank(line)) return;
    const cells = rows[row + i]?.slice() ?? columns.map((name) => (named && column > 0 && name === "stratum" ? `stratum ${rows.length + 1}` : ""));
    line.slice(0, columns.length - column).forEach((cell, j) => (cells[column + j] = cell));
    if (row + i < there) rows[row + i] = cells;
    else rows.push(cells);
  });
  return rows;
}

function foreign(lines, width) {
  const [columns, ...rows] = lines.map((line) => Array.from({ length: width }, (_, i) => line[i] ?? ""));
  return { name: "the pasted table", ...tidied(columns, rows) };
}

function tableOf(columns, lines, width) {
  const filled = lines.filter((line) => !isBlank(line));
  const twice = columns.find((name, i) => columns.indexOf(name) !== i);
  const fault =
    columns.length < width || columns.includes("") ? "A column of the block has no name in its header"
    : twice !== undefined ? `The header of the block names ${twice} twice`
    : filled.length === 0 ? "The block has a header but no rows"
    : null;
  if (fault) throw new Error(`${fault}. Nothing was pasted.`);
  return { columns, rows: filled.map((line) => columns.map((_, i) => line[i] ?? "")) };
}
