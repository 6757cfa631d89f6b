// Files that are opened or dropped: a table, a plan file or a design document.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "./api.js";
import { isKnown, tidied } from "./mapping.js";
import { columnName, fromFile } from "./plan.js";
import { readQuestions } from "./questions.js";

// What a file holds: { plan }, { questions, said }, or { table } with { known } if its headers say what its columns are.
async function read(file) {
  const name = file.name;
  if (name.toLowerCase().endsWith(".json")) return { plan: { ...fromFile(await file.text()), from: { title: name } } };
  const answer = await send(`/api/table?name=${encodeURIComponent(name.toWellFormed())}`, { bytes: file });
  const { columns, strata, is_form: isForm } = await answer.json();
  if (isForm) return { ...(await readQuestions(file)), name };
  const length = Math.max(0, ...columns.map((each) => strata[each].length));
  const rows = Array.from({ length }, (_, row) => columns.map((each) => strata[each][row] ?? ""));
  if (!rows.length) throw new Error("This file has a header but no rows.");
  const known = columns.map(columnName);
  if (new Set(known).size < known.length) throw new Error("Two columns of this file have the same name.");
  return isKnown(columns) ? { known: { columns: known, rows }, name } : { table: { name, ...tidied(columns, rows) } };
}

// Takes files from buttons and from anywhere on the window; the newest wins.
export function useFiles(onFound, onProblem) {
  const [reading, setReading] = useState(null);
  const [over, setOver] = useState(false);
  const newest = useRef(null);
  const take = async (file) => {
    newest.current = file;
    setReading(file.name);
    try {
      const found = await read(file);
      if (newest.current === file) onFound(found);
    } catch (error) {
      if (newest.current === file) onProblem(error.message);
    } finally {
      if (newest.current === file) setReading(null);
    }
  };
  useEffect(() => {
    // Anywhere: a browser would leave the page to show a file that missed the table.
    const hasFile = (event) => event.dataTransfer?.types.includes("Files");
    const hover = (event) => hasFile(event) && (event.preventDefault(), setOver(true));
    const leave = (event) => event.relatedTarget === null && setOver(false);
    const drop = (event) => {
      setOver(false);
      if (!hasFile(event)) return;
      event.preventDefault();
      if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
    };
    const handlers = { dragover: hover, dragleave: leave, drop };
    for (const [name, handle] of Object.entries(handlers)) addEventListener(name, handle);
    return () => Object.entries(handlers).forEach(([name, handle]) => removeEventListener(name, handle));
  }, []);
  return { take, reading, over };
}
