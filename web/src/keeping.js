// Undo, redo and the link of a plan.

import { html } from "htm/preact";
import { useEffect, useState } from "preact/hooks";
import { copyText } from "./files.js";
import { canRedo, canUndo, redo, undo } from "./history.js";

export function Keeping({ linked }) {
  const [copied, setCopied] = useState(false);
  useEffect(() => {
    const press = (event) => {
      if (!(event.ctrlKey || event.metaKey) || event.altKey || event.target.closest?.("textarea, .asking")) return;
      const key = event.key.toLowerCase();
      if (key !== "z" && key !== "y") return;
      event.preventDefault(); // the browser's own undo knows one field alone
      if (key === "y" || event.shiftKey) redo();
      else undo();
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, []);
  const copy = async () => {
    await copyText(location.href);
    setCopied(true);
    setTimeout(() => setCopied(false), 2000);
  };
  return html`<div class="keeping buttons">
    <button type="button" class="small" disabled=${!canUndo()} onClick=${undo} aria-keyshortcuts="Control+Z">Undo</button>
    <button type="button" class="small" disabled=${!canRedo()} onClick=${redo} aria-keyshortcuts="Control+Shift+Z">Redo</button>
    <button type="button" class="small" disabled=${!linked} onClick=${copy}>Copy link</button>
    <span class="soft" role="status">${copied ? "Link copied" : ""}</span>
  </div>`;
}
