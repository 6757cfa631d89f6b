// What can be chosen from a list, and what it is called.

export const CHOICES = {
  mechanism: [
    ["best", "the most precise that fits"],
    ["laplace", "Laplace"],
    ["staircase", "staircase"],
    ["piecewise", "piecewise"],
    ["tulap", "truncated-uniform-Laplace"],
    ["discrete_laplace", "discrete Laplace (grid)"],
    ["randomized_response", "randomized response (two values)"],
    ["gaussian", "Gaussian (needs delta)"],
  ],
  objective: [
    ["mean", "the population mean"],
    ["trace", "every stratum's mean alike"],
    ["unit_free", "every stratum relative to its spread"],
    ["custom", "own coefficients"],
  ],
  trust: [
    ["local", "nobody: noise comes first"],
    ["curator", "a trusted curator"],
  ],
};
