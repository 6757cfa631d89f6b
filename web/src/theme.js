// Charts on the page: the same definitions, with the page's own colours, width and heading.

const DARK = {
  "#0072B2": "#56b4e9",
  "#D55E00": "#f0894a",
  "#009E73": "#3cc9a0",
  "#CC79A7": "#e2a1c6",
  "#000000": "#ffffff",
  "#0B4F7D": "#5aaee0",
  "#E69F00": "#e8b04a",
  "#C9E3D7": "#3f6a58",
  "#4D4D4D": "#8d99a4",
  "#A9A9A9": "#77828c",
  "#333": "#c6d0d9",
  "#333333": "#c6d0d9",
  "#444": "#c6d0d9",
  "#e5e5e5": "#2f3841",
};

const INK = {
  light: { text: "#1d2730", soft: "#4a5763", line: "#c9d1d8", grid: "#e6eaee" },
  dark: { text: "#e8edf2", soft: "#b4c0cb", line: "#4a5661", grid: "#2b343d" },
};

const LETTER = 7; // pixels
export const BREAK = "␤"; // of lines in titles; Vega cannot read a real one where it makes tooltips of them
const SMALL_LETTER = 6.5; // on the average of a line
const KEY = 28; // pixels of a legend's symbol and the space around it
const EDGE = 8; // pixels at the right
const LOW = 360; // what is higher has a line for each stratum

export const isTall = ({ height }) => !(typeof height === "number" && height <= LOW);

export function themed(spec, { width, height, dark }) {
  const { room, limit } = roomFor(spec, width);
  const coloured = dark ? recoloured(spec) : spec;
  const { title, $schema, ...rest } = plainLegends(slantedNames(fittedAxes(coloured, room, limit), width));
  const ink = dark ? INK.dark : INK.light;
  const axis = {
    ...rest.config?.axis,
    labelColor: ink.soft,
    titleColor: ink.soft,
    domainColor: ink.line,
    tickColor: ink.line,
    gridColor: ink.grid,
    titleFontWeight: "normal",
    labelSeparation: 6, // pixels; figures that touch read as one
    labelLimit: limit,
  };
  const legend = {
    ...rest.config?.legend,
    orient: "top",
    title: null,
    labelColor: ink.text,
    columns: Math.max(1, Math.min(4, Math.floor(room / (SMALL_LETTER * longestKey(spec) + KEY)))),
    symbolSize: 140,
    offset: 8,
  };
  return {
    ...rest,
    width: Math.max(width, 200),
    height: height && !isTall(rest) ? height : rest.height,
    autosize: { type: "fit-x", contains: "padding" },
    padding: { left: 2, right: Math.max(EDGE, roomAfter(spec, room)), top: 4, bottom: 4 },
    background: "transparent",
    config: { ...rest.config, lineBreak: BREAK, background: "transparent", font: "system-ui, sans-serif", axis, legend },
  };
}

const encodingsOf = (spec) => (spec.layer ?? [spec]).map((layer) => [layer.encoding ?? {}, layer.data?.values ?? []]);
const longest = (texts) => Math.max(0, ...texts.map((text) => String(text).length));

// How wide the names beside the bars may be, and what they leave for the drawing.
function roomFor(spec, width) {
  const limit = Math.round(Math.min(200, 0.38 * width));
  const names = encodingsOf(spec).flatMap(([{ y }, rows]) => (y?.type === "nominal" ? rows.map((row) => row[y.field]) : []));
  return { limit, room: width - (names.length ? Math.min(LETTER * longest(names), limit) : 40) - 20 };
}

// What labels at the ends of bars need beyond the drawing: a label of w pixels at the share f of its width begins there,
// so that f (room - r) + w <= room holds for the space r.
function roomAfter(spec, room) {
  const labels = (spec.layer ?? []).filter(({ mark, encoding }) => mark.type === "text" && mark.align === "left" && encoding.x?.scale?.domain);
  const needs = labels.flatMap(({ mark, encoding: { x, text }, data }) =>
    data.values.map((row) => {
      const share = row[x.field] / x.scale.domain[1];
      return room - (room - (mark.dx ?? 0) - LETTER * String(row[text.field]).length) / share;
    }),
  );
  return Math.ceil(Math.max(0, ...needs.filter(Number.isFinite)));
}

function longestKey(spec) {
  return Math.max(1, ...encodingsOf(spec).map(([{ color }]) => longest(color?.scale?.domain ?? [])));
}

// Titles break into lines rather than leave the picture; names that are too long lose their middle, since
// those of one survey often begin alike.
function fittedAxes(spec, room, limit) {
  const letters = Math.floor(limit / LETTER);
  const head = Math.ceil((letters - 1) / 3);
  const cut = `length(datum.label) > ${letters} ? slice(datum.label, 0, ${head}) + "…" + slice(datum.label, ${1 + head - letters}) : datum.label`;
  const fit = (part) => {
    const { x, y } = part.encoding ?? {};
    const axes = {};
    if (typeof x?.title === "string") axes.x = { ...x, title: broken(x.title, room) };
    if (y?.type === "nominal") axes.y = { ...y, title: null, axis: { ...y.axis, labelExpr: cut, labelLimit: 1.3 * limit } };
    return part.encoding ? { ...part, encoding: { ...part.encoding, ...axes } } : part;
  };
  return spec.layer ? { ...spec, layer: spec.layer.map(fit) } : fit(spec);
}

function broken(text, room) {
  const lines = [""];
  for (const word of text.split(" ")) {
    const longer = lines.at(-1) ? `${lines.at(-1)} ${word}` : word;
    if (longer.length * SMALL_LETTER > room && lines.at(-1)) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return lines.join(BREAK);
}

// The heading of a chart says what its legend is about.
function plainLegends(part) {
  if (Array.isArray(part)) return part.map(plainLegends);
  if (!part || typeof part !== "object") return part;
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => {
      if (key === "values") return [key, value];
      if (["color", "strokeDash", "shape"].includes(key) && value?.field)
        return [key, { ...value, legend: value.legend === null ? null : { ...value.legend, title: null } }];
      return [key, plainLegends(value)];
    }),
  );
}

// Names below bars lean where they would run into each other.
function slantedNames(spec, width) {
  const main = spec.layer?.find((layer) => layer.encoding?.x?.type === "nominal") ?? spec;
  const x = main.encoding?.x;
  if (x?.type !== "nominal") return spec;
  const names = [...new Set((main.data?.values ?? []).map((row) => String(row[x.field])))];
  if (longest(names) * LETTER < (width - 60) / names.length) return spec;
  const axis = { ...x.axis, labelAngle: -40, labelAlign: "right" };
  const slanted = { ...main, encoding: { ...main.encoding, x: { ...x, axis } } };
  return main === spec ? slanted : { ...spec, layer: spec.layer.map((layer) => (layer === main ? slanted : layer)) };
}

function recoloured(part) {
  if (typeof part === "string") return DARK[part] ?? part;
  if (Array.isArray(part)) return part.length > 60 ? part : part.map(recoloured);
  if (part && typeof part === "object")
    return Object.fromEntries(Object.entries(part).map(([key, value]) => [key, key === "values" ? value : recoloured(value)]));
  return part;
}

// Takes the rows out of a definition, so that a chart whose rows alone changed need not be made again.
export function withNamedData(spec) {
  const datasets = {};
  const walk = (part) => {
    if (Array.isArray(part)) return part.map(walk);
    if (!part || typeof part !== "object") return part;
    return Object.fromEntries(
      Object.entries(part).map(([key, value]) => {
        if (key !== "data" || !Array.isArray(value?.values)) return [key, walk(value)];
        const name = `rows${Object.keys(datasets).length}`;
        datasets[name] = value.values;
        return [key, { name }];
      }),
    );
  };
  return { frame: walk(spec), datasets };
}
