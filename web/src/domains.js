// Groups to report besides the whole: columns of the table, each with the precision that its groups must reach, if any.
// As text, for addresses and files: region:0.05,sex

import { typed } from "./format.js";

export function domainsOf(text) {
  if (text === "") return [];
  return text.split(",").map((part) => {
    const [name, target = ""] = part.split(":");
    return { name: decodeURIComponent(name), target };
  });
}

export function domainsText(domains) {
  return domains.map(({ name, target }) => `${encodeURIComponent(name.toWellFormed())}${target === "" ? "" : `:${target.replace(/[,:]/g, ".")}`}`).join(",");
}

// The API's own, as text.
export function readDomains(given) {
  return domainsText(Object.entries(given).map(([name, target]) => ({ name, target: target === null ? "" : String(target) })));
}

export const mayHaveTargets = (question) => question === "target_se" || question === "target_margin";

export function sentDomains({ domains, question }) {
  const sent = new Map();
  for (const { name, target } of domainsOf(domains)) {
    const wanted = target.trim() !== "" && mayHaveTargets(question);
    if (wanted && !(typed(target) > 0)) throw { field: "domains", message: `A target for the groups of ${name} must be a number above 0, got ${JSON.stringify(target)}.` };
    sent.set(name, wanted ? typed(target) : null);
  }
  return sent;
}
