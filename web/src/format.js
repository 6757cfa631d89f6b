// Numbers for the eye, the same everywhere on the page.

const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });

export function count(value) {
  return value === null || value === undefined ? "" : whole.format(value);
}

export function significant(value, digits = 4) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e6 || size < 1e-4) return String(Number(value.toPrecision(digits)));
  return new Intl.NumberFormat("en", { maximumSignificantDigits: digits }).format(value);
}

// The same number of digits in every row of a column.
export function even(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "";
  return new Intl.NumberFormat("en", { minimumSignificantDigits: digits, maximumSignificantDigits: digits }).format(value);
}

// A privacy budget, never rounded down.
export function budget(value, digits = 3) {
  if (value === null || value === undefined || !Number.isFinite(value) || value <= 0) return "";
  const unit = 10 ** (Math.floor(Math.log10(value)) + 1 - digits);
  return even(Math.ceil(value / unit - 1e-9) * unit, digits);
}

export function percent(value) {
  return new Intl.NumberFormat("en", { style: "percent", maximumFractionDigits: 1 }).format(value);
}

// What someone typed, as a number: 0.5, 0,5 and 1e-6 are all numbers; NaN where it is none.
export function typed(text) {
  const plain = String(text).trim();
  if (!/^[+-]?(\d+([.,]\d*)?|[.,]\d+)(e[+-]?\d+)?$/i.test(plain)) return NaN;
  return Number(plain.replace(",", "."));
}

// One to three digits, a comma and three more: a thousand to some readers, one to others.
export function isAmbiguous(text) {
  return /^[+-]?[1-9]\d{0,2},\d{3}$/.test(String(text).trim());
}

// A whole number whose thousands are set apart, without what sets them apart.
export function ungrouped(text) {
  const plain = String(text).trim();
  return /^\d{1,3}(([, \u00a0\u202f'’])\d{3})(\2\d{3})*$/.test(plain) ? plain.replace(/\D/g, "") : plain;
}

// A number that a slider gives, with no more digits than it deserves.
export function rounded(value) {
  return Number(value.toPrecision(3));
}
