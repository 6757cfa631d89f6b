// Randomises a row of answers on the respondent's own device, exactly as dpstrata.randomize does: in whole numbers,
// from bytes that nobody can predict. Given the same bytes, both make the same row.

const random = (size) => crypto.getRandomValues(new Uint8Array(size));

// A whole number from 0 to number − 1, all equally likely: the highest bits of the fewest bytes that can hold one;
// again if it is too large.
export function below(number, source = random) {
  const bits = number > 1n ? (number - 1n).toString(2).length : 0;
  const size = (bits + 7) >> 3;
  for (;;) {
    let drawn = 0n;
    for (const byte of source(size)) drawn = (drawn << 8n) | BigInt(byte);
    drawn >>= BigInt(8 * size - bits);
    if (drawn < number) return drawn;
  }
}

const DECIMAL = /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/;

// A decimal number as a fraction of whole numbers, exactly as it is written.
function fraction(number) {
  const [, sign, whole, part = "", power = 0] = DECIMAL.exec(number);
  const shift = BigInt(power) - BigInt(part.length);
  const digits = BigInt(sign + whole + part);
  return shift < 0n ? [digits, 10n ** -shift] : [digits * 10n ** shift, 1n];
}

const divisor = (a, b) => (b ? divisor(b, a % b) : a);

// The level of a number: one of the two next to it, up or down at random, so that its expectation stays.
function levelOf({ lower, upper, values }, answer, source) {
  const [[n, d], [ln, ld], [un, ud]] = [answer, lower, upper].map((each) => fraction(String(Number(each))));
  const top = (n * ld - ln * d) * ud * BigInt(values.length - 1);
  const bottom = (un * ld - ln * ud) * d;
  const rest = top % bottom;
  if (!rest) return Number(top / bottom);
  const common = divisor(bottom, rest);
  return Number(top / bottom) + (below(bottom / common, source) < rest / common);
}

// The position of an answer among the levels of its question; numbers between two levels at random.
function placeOf(question, answer, source) {
  const { name, kind, lower, upper, values } = question;
  const number = DECIMAL.test(answer) ? Number(answer) : NaN;
  let place = -1;
  if (kind === "number") {
    if (number >= Number(lower) && number <= Number(upper)) place = levelOf(question, answer, source);
  } else if (kind === "scale") place = values.findIndex((value) => Number(value) === number);
  else place = values.indexOf(String(answer ?? "") || "no answer"); // as a blank is called, where there may be one
  if (place < 0) throw new RangeError(`question ${name}: this answer cannot be given`);
  return place;
}

// The levels of the questions of a row, from its number: the first question counts most.
export function placesOf(form, cell) {
  const places = [];
  for (const { values } of [...form.questions].reverse()) {
    places.unshift(cell % values.length);
    cell = Math.floor(cell / values.length);
  }
  return places;
}

// The cell to send, for the answers to all questions of a form by their names. Each call spends the budget of one
// person: call it once, and send nothing else.
export function noiseRow(kit, form, odds, answers, source = random) {
  const { questions, cells } = kit.forms[form];
  let cell = 0;
  for (const question of questions) {
    cell = cell * question.values.length + placeOf(question, answers[question.name], source);
  }
  const kept = BigInt(kit.odds[odds]);
  const cases = kept + BigInt(cells) * BigInt(kit.denominator);
  return below(cases, source) < kept ? cell : Number(below(BigInt(cells), source));
}
