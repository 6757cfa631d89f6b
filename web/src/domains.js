// Groups to report besides the whole: columns of the table, each with the precision that its groups must reach, if any.
// As text, for addresses and files: region:0.05se,sex

export function domainsOf(text) {
  if (text === "") return [];
  return text.split(",").map((part) => {
    const [name, target = ""] = part.split(":");
    return { name: decodeURIComponent(name), target: decodeURIComponent(target) };
  });
}

export function domainsText(domains) {
  return domains.map(({ name, target }) => [name, ...(target === "" ? [] : [target])].map((text) => encodeURIComponent(text.toWellFormed())).join(":")).join(",");
}

// The API's own, as text.
export function readDomains(given) {
  return domainsText(Object.entries(given).map(([name, target]) => ({ name, target: target === null ? "" : String(target) })));
}

// A number without a kind is of the kind of the goal; the server refuses it where the goal has none.
export const mayHaveTargets = (question) => ["target_se", "target_margin", "budget"].includes(question);

export function sentDomains({ domains, question }) {
  const sent = new Map();
  for (const { name, target } of domainsOf(domains)) {
    sent.set(name, target.trim() !== "" && mayHaveTargets(question) ? target.trim() : null);
  }
  return sent;
}
