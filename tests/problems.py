"""Random problems, what their optimum must be, and the objective restated without any code of the library."""

from __future__ import annotations

import csv
import datetime
import ipaddress
import math
from collections.abc import Callable
from functools import lru_cache
from importlib import resources
from typing import Any

import mpmath
import numpy as np
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from dpstrata.allocation.form_terms import OneQuestion
from dpstrata.allocation.problem import Problem
from dpstrata.allocation.terms import Terms
from dpstrata.privacy.answer_space import AnswerSpace
from dpstrata.privacy.mechanisms import get_mechanism
from dpstrata.privacy.promises.epsilon import PureEpsilon
from dpstrata.survey.releases.microdata import Microdata
from dpstrata.survey.releases.sums import Sums

# Random problems for the tests, and the objective restated without any code of the library


MECHANISMS = (
    ("laplace", None),
    ("tulap", None),
    ("discrete_laplace", 1),
    ("discrete_laplace", 2),
    ("discrete_laplace", 7),
    ("discrete_laplace", 100),
    ("randomized_response", 1),
    ("staircase", None),
    ("piecewise", None),
    ("sine", None),
    ("cells", 2),
    ("cells", 4),
    ("cells", 20),
    ("category_response", ("a", "b")),
    ("category_response", ("a", "b", "c")),
    ("category_response", tuple("abcdefghijklmnopqrst")),
)
CASES = (  # every mechanism for numbers with answers that it protects, and the delta that it needs
    ("laplace", (0, 1), 0.0),
    ("tulap", (0, 1), 0.0),
    ("staircase", (0, 1), 0.0),
    ("piecewise", (0, 1), 0.0),
    ("sine", (0, 1), 0.0),
    ("cells", (0, 1, 0.25), 0.0),
    ("discrete_laplace", (0, 1, 0.25), 0.0),
    ("randomized_response", "yes_no", 0.0),
    ("gaussian", (0, 1), 1e-6),
)
# release: the variance of a stratum's mean from V, which is S² and the noise d of a device, the noise v of one draw,
# 1/m and 1/m², and the square of the factor g that takes the device's bias out
RELEASED: dict[str, Callable[..., Any]] = {
    "microdata": lambda V, v, once, twice, g2: (V + v) * once,
    "sums": lambda V, v, once, twice, g2: V * once + g2 * v * twice,
    "mean": lambda V, v, once, twice, g2: V * once,  # the figures have noise, the strata have none
}
OBJECTIVES = ("mean", "trace", "unit_free", "custom")
PAPER_SIZES = (7000, 8000, 9000, 10000)
PAPER_SDS = tuple(math.sqrt(0.08**i) for i in (1, 2, 3, 4))


def answers_of(steps: int | tuple[str, ...] | None = None, answer_range: float = 1.0) -> AnswerSpace:
    """Real answers, so many steps, or categories, whose shares have no other range than 1."""
    if isinstance(steps, tuple):
        return AnswerSpace(names=len(steps))
    return AnswerSpace(0.0, answer_range, None if steps is None else answer_range / steps)


def asked_of(steps: int | tuple[str, ...] | None = None) -> Any:
    """The shorthand of a question with these answers."""
    if isinstance(steps, tuple):
        return list(steps)
    return (0, 1) if steps is None else (0, 1, 1 / steps)


def is_additive(mechanism: str, steps: int | tuple[str, ...] | None) -> bool:
    return get_mechanism(mechanism, answers_of(steps)).additive


def make_problem(
    sizes: Any,
    sds: Any,
    *,
    epsilon: float = 1.0,
    total: int,
    mechanism: str = "laplace",
    steps: int | tuple[str, ...] | None = None,
    objective: Any = "mean",
    coefficients: Any = None,
    lower: Any = None,
    upper: Any = None,
    answer_range: float = 1.0,
    response_rates: Any = None,
    cap: float | None = None,
    release: str = "microdata",
    device_epsilon: float | None = None,
) -> Problem:
    """A problem as it is posed; ``mechanism`` is the devices' where they have a budget, else the only one."""
    sizes = np.asarray(sizes, dtype=np.int64)
    sds = np.asarray(sds, dtype=float)
    match objective:
        case "mean":
            coefficients = sizes / sizes.sum()
        case "trace":
            coefficients = np.ones(len(sizes))
        case "unit_free":
            coefficients = 1 / sds
    answers = answers_of(steps, answer_range)
    form = Microdata() if release == "microdata" else Sums()
    if device_epsilon is not None:
        form = Sums(device_epsilon, mechanism, answers)
        mechanism = form.office_mechanism(mechanism)
    assert form.name == release
    noise = get_mechanism(mechanism, answers)
    rates = None if response_rates is None else np.asarray(response_rates, dtype=float)
    weights = np.asarray(coefficients, dtype=float)
    asked = OneQuestion(sds, noise, form, device_epsilon)
    terms = Terms(
        sizes,
        asked.core(),
        weights,
        objective,
        PureEpsilon(epsilon),
        asked.noise(),
        asked.noise_power,
        response_rates=rates,
        cap=cap,
        units=sds if objective == "unit_free" else None,
    )
    lower = np.ones_like(sizes) if lower is None else np.asarray(lower, dtype=np.int64)
    upper = sizes if upper is None else np.asarray(upper, dtype=np.int64)
    return Problem(asked, terms, lower, upper, int(total))


def random_problem(
    rng: np.random.Generator, *, most_strata: int = 5, room: int = 12, beyond: bool = False
) -> Problem:
    """A small problem with all the awkwardness that users bring: ties, zeros, tiny and huge numbers.

    With ``beyond``, response rates, a cap, and sums with one layer of noise or two as well.
    """
    k = int(rng.integers(1, most_strata + 1))
    sizes = np.floor(10 ** rng.uniform(0, rng.choice([1, 2, 4, 8, 12]), k)).astype(np.int64)
    mechanism, steps = MECHANISMS[rng.integers(len(MECHANISMS))]
    sums = beyond and rng.random() < 0.5 and mechanism != "category_response"
    devices = sums and (rng.random() < 0.5 or not is_additive(mechanism, steps))
    objective = OBJECTIVES[rng.integers(len(OBJECTIVES))]
    sds = 10 ** rng.uniform(-3, -0.31, k)
    if objective != "unit_free":
        sds = np.where(rng.random(k) < 0.2, 0.0, sds)
    if rng.random() < 0.3:
        sizes[:] = sizes[0]
    if rng.random() < 0.3:
        sds[:] = sds[0]
    coefficients = np.where(rng.random(k) < 0.15, 0.0, rng.normal(size=k))
    if rng.random() < 0.3:
        lower = np.maximum(1, np.floor(sizes * rng.random(k)).astype(np.int64))
        upper = np.minimum(sizes, lower + room - 2)
    else:
        lower = np.minimum(rng.integers(1, 4, k), sizes)
        upper = np.minimum(sizes, lower + rng.integers(0, room, k))
    epsilon = float(10 ** rng.uniform(-6, 2))
    rates = cap = None
    if beyond:
        rates = rng.choice([1.0, 0.5, 0.7, float(rng.uniform(0.01, 1))], k) if rng.random() < 0.6 else None
        if rng.random() < 0.3 and rates is not None:
            rates[:] = rates[0]
        # somewhere among the budgets that occur, so that it binds for some people and not for others
        place = rng.integers(k)
        n = rng.uniform(lower[place], upper[place] + 1)
        odds = math.expm1(epsilon) * sizes[place] * (1 if rates is None else rates[place]) / n
        cap = min(math.log1p(odds) * float(rng.choice([1.0, rng.uniform(0.5, 1.5)])), 190.0)
    return make_problem(
        sizes,
        sds,
        epsilon=epsilon,
        total=int(rng.integers(lower.sum(), upper.sum() + 1)),
        mechanism=mechanism,
        steps=steps,
        objective=objective,
        coefficients=coefficients,
        lower=lower,
        upper=upper,
        answer_range=float(rng.choice([1.0, 0.3, 100.0])),
        response_rates=rates,
        cap=None if sums else cap,
        release="sums" if sums else "microdata",
        device_epsilon=float(10 ** rng.uniform(-6, 2)) if devices else None,
    )


def plain_variance(mechanism: str, e: Any, R: Any, K: int | tuple[str, ...] | None) -> Any:
    """Noise variance as the textbooks have it, in mpmath; K are the steps, or the categories."""
    mp = mpmath.mp
    if mechanism == "category_response":  # half the sum of the variances of the k debiased indicators
        k = len(K) if isinstance(K, tuple) else K
        keep, other = mp.exp(e) / (mp.exp(e) + k - 1), 1 / (mp.exp(e) + k - 1)
        of_its_own = keep * (k - 1) * other  # p(1 − p)
        return (of_its_own + (k - 1) * other * (1 - other)) / (keep - other) ** 2 / 2
    if mechanism == "laplace":
        return 2 * (R / e) ** 2
    if mechanism == "tulap":
        b = mp.exp(-e)
        return R**2 * (mp.mpf(1) / 12 + 2 * b / (1 - b) ** 2)
    if mechanism == "randomized_response":
        b = mp.exp(-e)
        return R**2 * b / (1 - b) ** 2
    if mechanism == "staircase":
        b, power = mp.exp(-e), mp.mpf(2) / 3
        return R**2 * (mp.mpf(2) ** -power * b**power * (1 + b) ** power + b) / (1 - b) ** 2
    if mechanism == "piecewise":
        return R**2 * mp.exp(e / 2) / (3 * (mp.exp(e / 2) - 1) ** 2)
    if mechanism == "sine":
        nu, a, q = plain_angles(e)
        y, tau = mp.expm1(e), a + nu
        waves = 2 * tau - mp.sin(2 * tau) + y * (2 * nu - mp.sin(2 * nu))
        return R**2 * (q * (y + 2) ** 2 + y * waves / (2 * mp.sin(2 * nu) * mp.sin(a) ** 2)) / (2 * y) ** 2
    if mechanism == "cells":
        return R**2 * plain_curve(mp.expm1(e), K)
    p = mp.exp(-e / K)
    return (R / K) ** 2 * 2 * p / (1 - p) ** 2


@lru_cache
def curve_rows(K: int) -> tuple[tuple[str, str], ...]:
    """The odds and curvatures of a scale of K steps, as they are written."""
    file = resources.files("dpstrata.privacy.mechanisms").joinpath("cells.csv")
    rows = csv.DictReader(line for line in file.read_text().splitlines() if not line.startswith("#"))
    return tuple((row["odds"], row["curvature"]) for row in rows if int(row["points"]) == K + 1)


def plain_curve(y: Any, K: int) -> Any:
    """What cells are planned with: half the second derivative of y²v runs straight between the odds."""
    mp = mpmath.mp
    with mp.extradps(120):  # for large y the sum is far smaller than its parts
        odds, curvatures = zip(*((mp.mpf(y), mp.mpf(c)) for y, c in curve_rows(K)), strict=True)
        whole = (mp.mpf(1.0003) + mp.mpf(1.0075) * y) / y**2 + curvatures[0]
        before = mp.mpf(0)
        for j, start in enumerate(odds):
            more = j + 1 < len(odds)
            slope = (curvatures[j + 1] - curvatures[j]) / (odds[j + 1] - start) if more else mp.mpf(0)
            whole += (slope - before) * max(y - start, 0) ** 3 / y**2 / 3
            before = slope
    return whole


def plain_angles(e: Any) -> tuple[Any, Any, Any]:
    """ν, a and q of sine noise in mpmath: a straight line on either side of the joint, where q reaches 0."""
    mp = mpmath.mp
    nu, a = mp.mpf(0.9011004607923701), mp.mpf(1.3378274627886779)
    y, joint = mp.expm1(e), mp.log1p((a + nu) / (mp.tan(nu) - nu))
    if e < joint:
        a -= mp.mpf(0.157) * (joint - e)
        return nu, a, 1 - y * mp.tan(nu) / (a + nu + nu * y)
    most, slope = nu, mp.mpf(0.205)
    start = mp.cbrt(3 * (a + most) / y)  # of y·ν³/3 = τ, which it is for small ν

    def excess(x: Any) -> Any:
        with mp.extraprec(int(-3 * mp.log(x, 2)) + 20):
            return y * (mp.tan(x) - x) - (a + slope * (x - most)) - x

    nu = mp.findroot(excess, min(start, most), tol=1e-90 if mp.dps > 50 else None)
    return nu, a + slope * (nu - most), mp.mpf(0)


def plain_term(problem: Problem, i: int, size: Any) -> Any:
    """a²(S² + v(ln(1 + cN/n)))/n of one stratum at a real size, in mpmath, or what another release has."""
    terms = problem.terms
    mp = mpmath.mp
    asked = problem.forms
    N, S = int(terms.sizes[i]), mp.mpf(float(asked.sds[i]))
    match terms.objective:
        case "mean":
            a = mp.mpf(N) / int(terms.sizes.sum())
        case "unit_free":
            a = 1 / S
        case _:
            a = mp.mpf(float(terms.coefficients[i]))
    r = mp.mpf(1 if terms.response_rates is None else float(terms.response_rates[i]))
    e = mp.log(1 + (mp.exp(mp.mpf(terms.promise.epsilon)) - 1) * r * N / size)
    if terms.cap is not None:
        e = min(e, mp.mpf(terms.cap))
    answers = asked.fitted.space
    R, K = mp.mpf(asked.fitted.answer_range), answers.steps or answers.values
    v = plain_variance(asked.fitted.name, e, R, K)
    d, g = plain_layers(asked.release, R, K)
    V, g2 = as_posed(S**2 + d, terms.variances[i]), as_posed(g**2, asked.release.stretch**2)
    once, twice = plain_inverses(r, size)
    return a**2 * RELEASED[asked.release.name](V, v, once, twice, g2)


def as_posed(exact: Any, posed: float) -> Any:
    """The double that a problem has for a number, which must be that number but for rounding."""
    assert abs(exact - mpmath.mpf(float(posed))) <= 1e-14 * exact
    return mpmath.mpf(float(posed))


def plain_layers(release: Any, R: Any, K: int | None) -> tuple[Any, Any]:
    """Noise variance of what a device sends, debiased, and by how many ranges it can move, in mpmath.

    The outermost reports of other mechanisms than randomized response are those of their whole-number samplers;
    ``tests/privacy`` has them.
    """
    mp, E = mpmath.mp, getattr(release, "device_epsilon", None)
    if E is None:
        return mp.mpf(0), mp.mpf(1)
    e = mp.mpf(E)
    if release.mechanism == "randomized_response":
        g = mp.coth(e / 2)
    else:
        g = mp.mpf(1 if release.device.additive else release.stretch)
    return plain_variance(release.mechanism, e, R, K), g


def plain_inverses(r: Any, n: Any) -> tuple[Any, Any]:
    """What is planned with for 1/m and 1/m², if m of n people answer, each with chance r."""
    u, q = r * n, 1 - r
    once = 1 / u + q / u**2 + (q + q**2) / u**3 + (2 * q + 8 * q**2 + 2 * q**3) / u**4
    last = mpmath.mpf(26) / 10 * (5 * q + 27 * q**2 + 18 * q**3)
    return once, 1 / u**2 + 3 * q / u**3 + (4 * q + 7 * q**2) / u**4 + last / u**5


def plain_objective(problem: Problem, sizes: Any) -> Any:
    """The sum of the terms, in mpmath."""
    return mpmath.fsum(
        plain_term(problem, i, mpmath.mpf(n)) for i, n in enumerate(np.asarray(sizes).tolist())
    )


# A certificate that signs itself, for servers on this machine


def self_signed(folder, *, password=None):
    """Write a certificate for 127.0.0.1 and its key, and return both paths."""
    key, name = (
        ec.generate_private_key(ec.SECP256R1()),
        x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")]),
    )
    today = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(today - datetime.timedelta(days=1))
        .not_valid_after(today + datetime.timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    locked = serialization.BestAvailableEncryption(password) if password else serialization.NoEncryption()
    pem = serialization.Encoding.PEM
    folder.mkdir(parents=True, exist_ok=True)
    paths = folder / "cert.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(pem))
    paths[1].write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, locked))
    return paths
