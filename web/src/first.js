// The first minute: that what is shown is an example, and how to plan one's own survey.

import { html } from "htm/preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { FileButton } from "./table.js";

export function First({ from, empty, onFile, onText, onEmpty }) {
  const [pasting, setPasting] = useState(false);
  if (!empty && !from?.example) return null;
  return html`<section class="first card ${empty ? "empty" : ""}" aria-label="Your own strata">
    ${empty
      ? html`<p class="headline-text">No strata yet</p><p class="note">A plan needs the groups of your population and how many people each has. Fill in the table below, or bring a table of your own.</p>`
      : html`<p><strong>${from.edited ? "Parts of this are an example:" : "This is an example:"}</strong> ${from.title}. ${from.edited ? "Rows that you did not change are still those of the example." : "Plan your own survey:"}</p>`}
    <div class="buttons">
      <button type="button" class=${empty ? "primary" : ""} aria-expanded=${String(pasting)} onClick=${() => setPasting(!pasting)}>Paste a table</button>
      <${FileButton} label="Open your file" onFile=${onFile} />
      ${!empty && html`<button type="button" onClick=${onEmpty}>Start empty</button>`}
    </div>
    ${pasting && html`<${Pasting} onText=${(text) => (setPasting(false), onText(text))} />`}
  </section>`;
}

function Pasting({ onText }) {
  const [text, setText] = useState("");
  const area = useRef(null);
  useEffect(() => area.current.focus(), []);
  const paste = (event) => {
    const block = event.clipboardData.getData("text/plain");
    if (text !== "" || !/[\t\n]/.test(block.trim())) return;
    event.preventDefault();
    onText(block);
  };
  return html`<div class="pasting"><label for="pasted">Copy the cells in your spreadsheet, headers included, and paste them here.</label>
    <textarea id="pasted" rows="4" ref=${area} value=${text} spellcheck=${false} onPaste=${paste} onInput=${(event) => setText(event.currentTarget.value)}></textarea>
    <div class="buttons"><button type="button" disabled=${text.trim() === ""} onClick=${() => onText(text)}>Use these cells</button></div></div>`;
}

// A table pasted where no field has the focus is meant for the plan.
export function usePastedTables(onText) {
  const latest = useRef(onText);
  latest.current = onText;
  useEffect(() => {
    const paste = (event) => {
      if (event.target.closest?.("input, textarea, select, [contenteditable]")) return;
      const block = event.clipboardData?.getData("text/plain") ?? "";
      if (/[\t\n]/.test(block.trim())) event.preventDefault(), latest.current(block);
    };
    document.addEventListener("paste", paste);
    return () => document.removeEventListener("paste", paste);
  }, []);
}
