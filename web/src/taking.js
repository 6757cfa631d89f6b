// Files that are opened or dropped: a table, a plan file or a design document.

import { useEffect, useRef, useState } from "preact/hooks";
import { send } from "./api.js";
import { columnName, fromColumns, fromFile } from "./plan.js";

// The plan that follows from the one there is, by a file.
async function readPlan(file) {
  if (file.name.toLowerCase().endsWith(".json")) {
    const plan = fromFile(await file.text());
    return () => plan;
  }
  const answer = await send(`/api/table?name=${encodeURIComponent(file.name.toWellFormed())}`, { bytes: file });
  const { strata } = await answer.json();
  const named = new Map(Object.entries(strata).map(([name, cells]) => [columnName(name), cells]));
  if (named.size < Object.keys(strata).length) throw new Error("Two columns of this file have the same name.");
  const table = fromColumns(Object.fromEntries(named));
  if (!table.rows.length) throw new Error("This file has a header but no rows.");
  return (current) => ({ ...table, options: current.options });
}

// Takes files from buttons and from anywhere on the window; the newest wins.
export function useFiles(onPlan, onProblem) {
  const [reading, setReading] = useState(null);
  const [over, setOver] = useState(false);
  const newest = useRef(null);
  const take = async (file) => {
    newest.current = file;
    setReading(file.name);
    try {
      const following = await readPlan(file);
      if (newest.current === file) onPlan(following);
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
