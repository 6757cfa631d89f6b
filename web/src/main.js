import { html, render } from "htm/preact";
import { App } from "./app.js";

const place = document.getElementById("app");
place.textContent = "";
render(html`<${App} />`, place);
