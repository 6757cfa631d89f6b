// What can be chosen from a list, and what it is called; what there is to choose comes from the library.

import OPTIONS from "./options.json";

const TITLES = {
  mechanism: {
    best: "the most precise that fits",
    sine: "sine",
    cells: "cells (scales of 3 to 21 points)",
    laplace: "Laplace",
    staircase: "staircase",
    piecewise: "piecewise",
    tulap: "truncated-uniform-Laplace",
    discrete_laplace: "discrete Laplace (grid)",
    randomized_response: "randomized response (two values)",
    category_response: "k-ary randomized response (categories)",
    gaussian: "Gaussian (needs delta)",
  },
  objective: {
    mean: "the population mean",
    trace: "every stratum's mean equally",
    unit_free: "every stratum relative to its spread",
    custom: "custom coefficients",
  },
  release: {
    microdata: "every noised answer",
    sums: "sums",
    mean: "one number",
  },
};

// In the order of the titles; what has none yet comes last, by its name.
export const CHOICES = Object.fromEntries(
  Object.entries(TITLES).map(([name, titles]) => {
    const known = OPTIONS[name].enum;
    const order = [...Object.keys(titles).filter((key) => known.includes(key)), ...known.filter((key) => !(key in titles))];
    return [name, order.map((key) => [key, titles[key] ?? key.replaceAll("_", " ")])];
  }),
);
