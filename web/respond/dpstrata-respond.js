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

// The sine of x/2⁶⁴, from 0 to 2, in units of 2⁻⁶⁴: in whole numbers, so that every device finds the same.
function sineOf(x) {
  const square = (x * x) >> 64n;
  let [sum, term, n] = [0n, x, 1n];
  for (; term; n += 2n) {
    sum += n % 4n === 1n ? term : -term;
    term = ((term * square) >> 64n) / ((n + 1n) * (n + 2n));
  }
  return sum;
}

// Where the levels of a question lie, from 0 at the lower end of its range to at(last) at the upper end: equally far
// apart, or the sines of equally distant angles.
function levelsOf(last, angle) {
  if (!angle) return { last, at: BigInt };
  const sine = (steps) => sineOf((BigInt(angle) * BigInt(steps)) / 2n);
  const end = sine(last);
  return { last, at: (k) => (2 * k > last ? end + sine(2 * k - last) : end - sine(last - 2 * k)) };
}

// Where an answer lies between the first and the last one that can be given, as a fraction.
function shareOf({ name, kind, lower, upper, values, points = values }, answer) {
  const number = DECIMAL.test(answer) ? Number(answer) : NaN;
  if (kind === "number" && number >= Number(lower) && number <= Number(upper)) {
    const [[n, d], [ln, ld], [un, ud]] = [number, Number(lower), Number(upper)].map((each) => fraction(String(each)));
    return [(n * ld - ln * d) * ud, (un * ld - ln * ud) * d];
  }
  const given = String(answer ?? "") || "no answer"; // as a blank is called, where there may be one
  const place = kind === "number" ? -1 : points.findIndex((value) => (kind === "scale" ? Number(value) === number : value === given));
  if (place < 0) throw new RangeError(`question ${name}: this answer cannot be given`);
  return [BigInt(place), BigInt(points.length - 1)];
}

// The level of a share: one of the two next to it, up or down at random, so that its expectation stays.
function levelOf([part, whole], { last, at }, source) {
  const top = part * at(last);
  let [low, high] = [0, last];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (at(middle) * whole <= top) low = middle;
    else high = middle;
  }
  if (at(high) * whole === top) return high;
  const rest = top - at(low) * whole;
  if (!rest) return low;
  const between = (at(high) - at(low)) * whole;
  const common = divisor(between, rest);
  return low + (below(between / common, source) < rest / common);
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

// What a cell of a form with one question stands for, in the units of its answers; it may lie outside their range.
export function readingOf({ questions: [question], draws }, odds, cell) {
  const { line, angle, stretch, end, read } = draws[odds];
  const half = cell >= line ? end * (2 * (cell - line) - 1) : stretch * Math.sin((angle / 2 ** 64) * (cell - (line - 1) / 2));
  const [lower, upper] = [question.lower, question.upper].map(Number);
  return lower + ((upper - lower) * (1 + (read ? read[cell] : half))) / 2;
}

// A cell of the line: those in the window of a level are likelier than the others, as the odds say. Now and then one of
// two ends is sent instead.
function drawNear(place, draw, kept, one, source) {
  const { line, window, starts, ends, last, angle } = draw;
  if (ends && below(one, source) < BigInt(ends)) {
    const { at } = levelsOf(last, angle);
    const upper = below(at(last), source) < at(place);
    return line + Number(upper === below(kept + 2n * one, source) < kept + one);
  }
  const inside = BigInt(window) * kept;
  const drawn = below(inside + BigInt(line) * one, source);
  const start = starts ? starts[place] : place;
  const number = drawn < inside ? start + Number(drawn / kept) : Number(below(BigInt(line), source));
  if (!starts) return number;
  const edges = new Set(starts.flatMap((each) => [each, each + window]));
  return [...edges].filter((edge) => edge <= number).length - 1;
}

// The cell to send, for the answers to all questions of a form by their names. Each call spends the budget of one
// person: call it once, and send nothing else.
export function noiseRow(kit, form, odds, answers, source = random) {
  const { questions, cells, draws } = kit.forms[form];
  const draw = draws ? draws[odds] : { line: cells, window: 1 };
  let place = 0;
  for (const question of questions) {
    const levels = levelsOf(draw.last ?? question.values.length - 1, draw.angle);
    place = place * question.values.length + levelOf(shareOf(question, answers[question.name]), levels, source);
  }
  return drawNear(place, draw, BigInt(kit.odds[odds]), BigInt(kit.denominator), source);
}
