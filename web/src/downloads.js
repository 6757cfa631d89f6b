// Files of the plan, and the code that gives the same design.

import { html } from "htm/preact";
import { useState } from "preact/hooks";
import { send } from "./api.js";
import { copyText, hand } from "./files.js";
import { toFile, toRequest } from "./plan.js";
import { FileButton } from "./table.js";

const FILES = [
  ["/api/report.html", "report.html", "Report", "one page to print and sign"],
  ["/api/design.json", "design.json", "Design document", "JSON, used by every later step"],
  ["/api/design.csv", "design.csv", "Table", "CSV, a row for each stratum"],
  ["/api/strata.csv", "strata.csv", "Strata file", "CSV, read by the code below"],
];
const QUESTIONS = ["/api/questions.csv", "questions.csv", "Questions", "CSV, read by the code below"];
const LANGUAGES = { python: "Python", command: "Command line" };

export function Downloads({ plan, result, ready, notice, onFile, onProblem }) {
  const [busy, setBusy] = useState(null);
  const get = async (path, name) => {
    setBusy(name);
    try {
      const answer = await send(path, { json: toRequest(plan) });
      hand(await answer.blob(), name);
    } catch (error) {
      onProblem(error.message);
    } finally {
      setBusy(null);
    }
  };
  return html`<section class="downloads card" aria-labelledby="downloads-heading">
    <h2 id="downloads-heading">Take it with you</h2>
    ${notice}
    <div class="files">
      ${(plan.questions ? [...FILES, QUESTIONS] : FILES).map(([path, name, title, words]) => html`<button type="button" class="file" disabled=${!ready || busy === name} aria-busy=${busy === name} onClick=${() => get(path, name)}>
        <strong>${title}</strong><span class="soft">${busy === name ? "preparing …" : words}</span></button>`)}
      <button type="button" class="file" onClick=${() => hand(new Blob([toFile(plan)], { type: "application/json" }), "plan.json")}>
        <strong>Plan file</strong><span class="soft">everything on this page, to open again later</span></button>
    </div>
    <p class="soft">Open a plan file or a design document with “Open a file” at the strata, or <${FileButton} label="open one here" accept=".json" onFile=${onFile} />. Charts have buttons of their own.</p>
    ${result?.code && html`<${Code} code=${result.code} stale=${!ready} />`}
  </section>`;
}

function Code({ code, stale }) {
  const [language, setLanguage] = useState("python");
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await copyText(code[language]);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return html`<div class="code ${stale ? "stale" : ""}">
    <div class="section-head">
      <h3>The same design by code</h3>
      <div class="buttons" role="group" aria-label="Language of the code">
        ${Object.entries(LANGUAGES).map(([key, title]) => html`<button type="button" class="small" aria-pressed=${String(key === language)} onClick=${() => setLanguage(key)}>${title}</button>`)}
        <button type="button" class="small" disabled=${stale} onClick=${copy}>Copy</button>
        <span class="soft" role="status">${copied ? "Copied" : ""}</span>
      </div>
    </div>
    <pre tabindex="0" aria-label=${`${LANGUAGES[language]} code`}><code data-language=${language}>${code[language]}</code></pre>
  </div>`;
}
