// What is said about the last thing done: in the part of the page it was done in, or at the top, scrolled to.

import { html } from "htm/preact";
import { useEffect, useRef } from "preact/hooks";

export const AT_TOP = "top";

export function Notice({ notice, place = AT_TOP, onClose }) {
  const shown = useRef(null);
  const here = notice && (notice.place ?? AT_TOP) === place ? notice : null;
  useEffect(() => here && shown.current.scrollIntoView({ block: "nearest" }), [here]);
  if (!here) return null;
  return html`<p class="notice ${here.kind}" ref=${shown} role=${here.kind === "error" ? "alert" : "status"}><span>${here.text}</span>
    <button type="button" class="small quiet" aria-label="Close this note" onClick=${onClose}>×</button></p>`;
}
