// Making parts of the page. Nothing is ever read as markup: text is text.

// An element with attributes, listeners (oninput: …) and children; what is null, undefined or false is left out.
export function h(tag, attributes, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (value != null && value !== false) node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child != null && child !== false));
  return node;
}

export const button = (text, press, kind) => h("button", { type: "button", class: kind, onclick: press }, text);

export const filled = (text, values) => text.replace(/\{(\w+)\}/g, (_, name) => values[name]);
