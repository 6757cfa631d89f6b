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
const LOW = 360; // what is higher has a line for each stratum

export function themed(spec, { width, height, dark }) {
  const { title, $schema, ...rest } = plainLegends(slantedNames(shortLabels(dark ? recoloured(spec) : spec, width), width));
  const ink = dark ? INK.dark : INK.light;
  const narrow = width < 380;
  const axis = {
    ...rest.config?.axis,
    labelColor: ink.soft,
    titleColor: ink.soft,
    domainColor: ink.line,
    tickColor: ink.line,
    gridColor: ink.grid,
    titleFontWeight: "normal",
    labelLimit: narrow ? 110 : 200,
  };
  const legend = {
    ...rest.config?.legend,
    orient: "top",
    title: null,
    labelColor: ink.text,
    columns: narrow ? 2 : 4,
    symbolSize: 140,
    offset: 8,
  };
  return {
    ...rest,
    width: Math.max(width, 200),
    height: height && typeof rest.height === "number" && rest.height <= LOW ? height : rest.height,
    autosize: { type: "fit-x", contains: "padding" },
    padding: { left: 2, right: 8, top: 4, bottom: 4 },
    background: "transparent",
    config: { ...rest.config, background: "transparent", font: "system-ui, sans-serif", axis, legend },
  };
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
  const longest = Math.max(...names.map((name) => name.length));
  if (longest * LETTER < (width - 60) / names.length) return spec;
  const axis = { ...x.axis, labelAngle: -40, labelAlign: "right" };
  const slanted = { ...main, encoding: { ...main.encoding, x: { ...x, axis } } };
  return main === spec ? slanted : { ...spec, layer: spec.layer.map((layer) => (layer === main ? slanted : layer)) };
}

function shortLabels(part, width) {
  if (width > 520) return part;
  if (Array.isArray(part)) return part.map((each) => shortLabels(each, width));
  if (!part || typeof part !== "object") return part;
  const short = (row) => (typeof row?.label === "string" ? { ...row, label: row.label.replace("standard error ", "") } : row);
  return Object.fromEntries(
    Object.entries(part).map(([key, value]) => [key, key === "values" ? value.map?.(short) ?? value : shortLabels(value, width)]),
  );
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
