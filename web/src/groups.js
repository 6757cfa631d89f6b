// What the groups of columns get, besides the whole.

import { html } from "htm/preact";
import { count, percent, significant } from "./format.js";

const SHOWN = 100;

export function Groups({ domains, stale }) {
  const relative = domains.some((row) => row.cv !== null);
  return html`<section class="groups card ${stale ? "stale" : ""}" aria-labelledby="groups-heading">
    <h2 id="groups-heading">Groups</h2>
    <div class="scroll" tabindex="0" role="region" aria-label="Precision of groups"><table class="figures">
      <thead><tr><th scope="col">Column</th><th scope="col">Group</th><th scope="col" class="number">People invited</th><th scope="col" class="number">Standard error</th>${relative && html`<th scope="col" class="number">CV</th>`}<th scope="col" class="number">Target</th></tr></thead>
      <tbody>${domains.slice(0, SHOWN).map((row) => html`<tr><td>${row.column}</td><th scope="row">${row.group}</th><td class="number">${count(row.sample_size)}</td>
        <td class="number">${significant(row.standard_error, 3)}</td>${relative && html`<td class="number">${row.cv === null ? "" : percent(row.cv)}</td>`}<td class="number">${row.target === null ? "" : significant(row.target, 3)}</td></tr>`)}</tbody>
    </table></div>
    ${domains.length > SHOWN && html`<p class="soft">${count(domains.length - SHOWN)} more groups are not shown.</p>`}
  </section>`;
}
