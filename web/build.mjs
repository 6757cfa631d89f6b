// Builds the planner's page into src/dpstrata/web/static and the respondents' page into src/dpstrata/collect/static: the
// same input gives the same bytes.
import { build } from "esbuild";
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import path from "node:path";
import { fileURLToPath } from "node:url";

const here = path.dirname(fileURLToPath(import.meta.url));
const out = await emptied("web");
const result = await build({
  absWorkingDir: here,
  entryPoints: { planner: "src/main.js", styles: "src/planner.css" },
  bundle: true,
  minify: true,
  format: "esm",
  splitting: true,
  target: "es2022",
  charset: "utf8",
  legalComments: "none",
  outdir: out,
  entryNames: "[name]",
  chunkNames: "part-[hash]",
  metafile: true,
});
await cp(path.join(out, "styles.css"), path.join(out, "planner.css"));
await rm(path.join(out, "styles.css"));
for (const file of ["index.html", "icon.svg"]) await cp(path.join(here, "src", file), path.join(out, file));
await writeFile(path.join(out, "SOURCES.txt"), await digest("src"));
await writeFile(path.join(out, "THIRD-PARTY.txt"), await licences(result.metafile));

// The respondents' page loads the randomiser as a file of its own: what is checked is what runs.
const respond = await emptied("collect");
await build({
  absWorkingDir: path.join(here, "respond"),
  entryPoints: ["page.js", "page.css", "dpstrata-respond.js", "dpstrata-surveyjs.js"],
  bundle: true,
  minify: true,
  format: "esm",
  target: "es2020",
  charset: "utf8",
  legalComments: "none",
  external: ["./dpstrata-respond.js"],
  outdir: respond,
});
for (const file of ["index.html", "icon.svg"]) await cp(path.join(here, "respond", file), path.join(respond, file));
await writeFile(path.join(respond, "SOURCES.txt"), await digest("respond"));

// The folder that a part of the package serves, without what an earlier build left there.
async function emptied(part) {
  const folder = path.resolve(here, `../src/dpstrata/${part}/static`);
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  return folder;
}

// What a page was built from, so that a test can tell without Node whether it is built anew.
async function digest(folder) {
  const files = ["build.mjs", "package-lock.json", "package.json"];
  for (const file of await readdir(path.join(here, folder))) files.push(`${folder}/${file}`);
  const lines = [];
  for (const file of files.sort()) {
    const content = await readFile(path.join(here, file));
    lines.push(`${createHash("sha256").update(content).digest("hex")}  web/${file}\n`);
  }
  return lines.join("");
}

// The licence of every package that has code in the bundle.
async function licences(metafile) {
  const used = new Set();
  for (const output of Object.values(metafile.outputs)) {
    for (const [input, { bytesInOutput }] of Object.entries(output.inputs)) {
      const match = input.match(/node_modules\/((?:@[^/]+\/)?[^/]+)\//);
      if (match && bytesInOutput > 0) used.add(match[1]);
    }
  }
  const parts = ["The files of the planner's page contain code of these packages.\n"];
  for (const name of [...used].sort()) {
    const folder = path.join(here, "node_modules", name);
    const about = JSON.parse(await readFile(path.join(folder, "package.json"), "utf8"));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (!file) throw new Error(`${name} has no licence file`);
    const text = (await readFile(path.join(folder, file), "utf8")).replaceAll("\r\n", "\n").trim();
    parts.push(`${"=".repeat(78)}\n${name} ${about.version} (${about.license})\n${"=".repeat(78)}\n\n${text}\n`);
  }
  return parts.join("\n");
}
