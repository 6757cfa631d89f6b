// A chart with its heading, its table, and its files.

import { html } from "htm/preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { hand } from "./files.js";
import { significant } from "./format.js";
import { BREAK, isTall, themed, withNamedData } from "./theme.js";

const drawing = () => import("./vega.js");
const SHOWN_ROWS = 500;

export function Chart({ name, spec, note, height, stale }) {
  const place = useRef(null);
  const width = useWidth(place);
  const dark = useDark();
  const drawn = useRef({ frame: null, view: null });
  useLayoutEffect(() => {
    if (!spec) clear(place.current, drawn.current);
    if (!spec || !width) return undefined;
    let current = true;
    draw(place.current, drawn.current, themed(spec, { width, height, dark }), dark, () => current);
    return () => (current = false);
  }, [spec, width, dark]);
  useEffect(() => () => drawn.current.view?.finalize(), []);
  const title = spec?.title?.text ?? "";
  return html`
    <figure class="chart card ${stale ? "stale" : ""}" aria-labelledby="chart-${name}">
      <figcaption>
        <h3 id="chart-${name}">${title || (note ? "" : "Drawing …")}</h3>
        <p class="soft">${note ?? spec?.title?.subtitle ?? ""}</p>
      </figcaption>
      <div role="img" aria-label=${title || "Chart"} aria-describedby="chart-${name}-words">
        <div class="drawing ${!spec ? "waiting" : isTall(spec) ? "tall" : ""}" ref=${place} aria-hidden="true"></div>
      </div>
      <p class="hidden" id="chart-${name}-words">${spec ? `${spec.description ?? ""} Its table follows.` : ""}</p>
      ${spec && html`<div class="chart-foot">
        <${ChartTable} spec=${spec} title=${title} />
        <span class="buttons">
          ${stale && html`<span class="before soft">previous plan</span>`}
          <button type="button" class="small" disabled=${stale} onClick=${() => save(spec, name, "svg")} aria-label=${`Save chart as SVG: ${title}`}>SVG</button>
          <button type="button" class="small" disabled=${stale} onClick=${() => save(spec, name, "png")} aria-label=${`Save chart as PNG: ${title}`}>PNG</button>
        </span>
      </div>`}
    </figure>`;
}

async function draw(element, drawn, spec, dark, isCurrent) {
  const { makeView } = await drawing();
  if (!isCurrent()) return;
  const { frame, datasets } = withNamedData(spec);
  const key = JSON.stringify(frame);
  if (drawn.view && drawn.frame === key) {
    for (const [name, rows] of Object.entries(datasets)) drawn.view.data(name, rows.map((row) => ({ ...row })));
    await drawn.view.resize().runAsync(); // labels may need more room
  } else {
    drawn.view?.finalize();
    drawn.frame = key;
    drawn.view = makeView({ ...frame, datasets }, { renderer: "canvas", container: element, hover: true });
    drawn.view.tooltip(showTooltip);
    await drawn.view.runAsync();
  }
  element.dataset.ink = dark ? "dark" : "light"; // printed light all the same
  element.dataset.drawn = String(Number(element.dataset.drawn ?? 0) + 1);
}

function clear(element, drawn) {
  drawn.view?.finalize();
  Object.assign(drawn, { frame: null, view: null });
  element.replaceChildren();
}

async function save(spec, name, kind) {
  const { toSvg, toPng } = await drawing();
  hand(await (kind === "svg" ? toSvg(spec) : toPng(spec)), `${name}.${kind}`);
}

// --- the table of a chart ---------------------------------------------------------------------

function ChartTable({ spec, title }) {
  const [open, setOpen] = useState(false);
  return html`<details class="chart-table" onToggle=${(event) => setOpen(event.currentTarget.open)}>
    <summary>Table<span class="hidden"> of the chart: ${title}</span></summary>
    ${open && html`<${Rows} ...${tableOf(spec)} title=${title} />`}
  </details>`;
}

function Rows({ header, rows, title }) {
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${`Table: ${title}`}>
    <table>
      <thead><tr>${header.map((cell) => html`<th scope="col">${cell}</th>`)}</tr></thead>
      <tbody>${rows.slice(0, SHOWN_ROWS).map((row) => html`<tr>${row.map((cell) => html`<td class=${typeof cell === "number" ? "number" : ""}>${typeof cell === "number" ? significant(cell, 5) : cell}</td>`)}</tr>`)}</tbody>
    </table>
    ${rows.length > SHOWN_ROWS && html`<p class="soft">${rows.length - SHOWN_ROWS} more rows are not shown.</p>`}
  </div>`;
}

export function tableOf(spec) {
  const layers = spec.layer ?? [spec];
  const main = layers.reduce((best, layer) => ((layer.data?.values.length ?? 0) > (best.data?.values.length ?? 0) ? layer : best));
  const rows = main.data?.values ?? [];
  const titles = new Map(Object.values(main.encoding ?? {}).filter((each) => each?.field && each.title).map((each) => [each.field, each.title]));
  const fields = Object.keys(rows[0] ?? {});
  return { header: fields.map((field) => titles.get(field) ?? field), rows: rows.map((row) => fields.map((field) => row[field])) };
}

// --- tooltip, width, dark ---------------------------------------------------------------------

function showTooltip(handler, event, item, value) {
  let box = document.getElementById("tooltip");
  if (!box) {
    box = document.createElement("div");
    box.id = "tooltip";
    box.setAttribute("aria-hidden", "true");
    document.body.append(box);
  }
  box.hidden = value === null || value === undefined || value === "";
  if (box.hidden) return;
  const entries = typeof value === "object" ? Object.entries(value) : [["", value]];
  const texts = Object.values(item?.datum ?? {}).filter((each) => typeof each === "string");
  box.replaceChildren(
    ...entries.map(([key, cell]) => {
      const line = document.createElement("div");
      const number = Number(String(cell).replaceAll(",", ""));
      const isText = cell === "" || !Number.isFinite(number) || texts.includes(cell); // a stratum may be called 007
      line.textContent = `${key ? `${key.replaceAll(BREAK, " ")}: ` : ""}${isText ? cell : significant(number, 5)}`;
      return line;
    }),
  );
  const room = document.documentElement.clientWidth - box.offsetWidth - 12;
  box.style.left = `${Math.min(event.pageX + 14, Math.max(room, 0))}px`;
  box.style.top = `${event.pageY + 14}px`;
}

function useWidth(place) {
  const [width, setWidth] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(([entry]) => setWidth(Math.floor(entry.contentRect.width)));
    observer.observe(place.current);
    return () => observer.disconnect();
  }, []);
  return width;
}

function useDark() {
  const query = matchMedia("(prefers-color-scheme: dark)");
  const [dark, setDark] = useState(query.matches);
  useEffect(() => {
    const follow = (event) => setDark(event.matches);
    query.addEventListener("change", follow);
    return () => query.removeEventListener("change", follow);
  }, []);
  return dark;
}
