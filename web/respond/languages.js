// The languages that someone can choose from, and numbers in them.
import { WORDS } from "./words.js";

const RIGHT_TO_LEFT = new Set(["ar", "arc", "ckb", "dv", "fa", "he", "ks", "ps", "sd", "ug", "ur", "yi"]);
const primary = (tag) => tag.toLowerCase().split("-")[0];

// What a kit offers: its own languages, in the page's words if it has them and else in English. A questionnaire that
// does not say its language is shown with the page's words in any of theirs.
export function offered(kit) {
  const unnamed = kit.languages.length === 1 && !kit.languages[0].tag && !kit.languages[0].name;
  const languages = unnamed ? Object.keys(WORDS).map((tag) => ({ tag, place: 0, own: true })) : kit.languages;
  return languages.map(({ tag, name, place, own }, index) => {
    const spoken = primary(tag) in WORDS ? tag : "en";
    return {
      tag,
      place: place ?? index,
      spoken,
      words: WORDS[primary(spoken)],
      direction: RIGHT_TO_LEFT.has(primary(spoken)) ? "rtl" : "ltr",
      questions: own ? null : tag || null, // language of the questions' texts, if it is known
      name: (tag && nameOf(tag)) || name || WORDS[primary(spoken)].original,
    };
  });
}

function nameOf(tag) {
  try {
    return new Intl.DisplayNames([tag], { type: "language" }).of(tag);
  } catch {
    return "";
  }
}

// The first language of the browser that is offered, or else the first one.
export function preferred(languages) {
  for (const wish of navigator.languages ?? []) {
    const found =
      languages.find(({ tag }) => tag.toLowerCase() === wish.toLowerCase()) ??
      languages.find(({ tag }) => tag && primary(tag) === primary(wish));
    if (found) return found;
  }
  return languages[0];
}

const formatter = (tag) => new Intl.NumberFormat(tag || undefined, { maximumFractionDigits: 12 });

export const formatted = (number, { spoken }) => formatter(spoken).format(Number(number));

// A number as someone typed it, in digits that JavaScript reads; null for what is none, or could be two. Both signs
// can be decimal signs, but not where the other one is usual and three digits follow: 1,234 in English.
export function typed(text, { spoken }) {
  const digits = text
    .trim()
    .replace(/[٠-٩]/g, (digit) => digit.charCodeAt(0) - 0x660)
    .replace(/[۰-۹]/g, (digit) => digit.charCodeAt(0) - 0x6f0)
    .replace("−", "-")
    .replace("٫", ".");
  const match = /^([+-]?)(\d+)(?:([.,])(\d+))?$/.exec(digits);
  if (!match) return null;
  const [, sign, whole, point, part = ""] = match;
  const usual = formatter(spoken).format(1.5).includes(",") ? "," : ".";
  if (point && point !== usual && part.length === 3 && whole !== "0") return null;
  return `${sign === "-" ? "-" : ""}${whole}${part && `.${part}`}`;
}
