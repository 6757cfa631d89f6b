"""What devices and office together lose, by enumeration of every sum that can be published of tiny populations.

Rows of several questions and whole designs are enumerated in test_published_again.py; here are devices of any kind,
with their laws written out, whose reports are read as whole numbers, added up and published k times with new noise.
Nothing here uses a formula of the library for what is lost, but to compare with it.
"""

import itertools
import math

import numpy as np
import pytest

from dpstrata.privacy.amplification import joint_losses, office_budgets
from dpstrata.privacy.mechanisms import get_mechanism, sine
from extent import beside, few
from laws import probabilities
from problems import answers_of

pytestmark = pytest.mark.slow

WIDTH = 8  # whole numbers from the lowest reading of a report to the highest


# --- devices: a law for each answer (rows) over reports (columns), and what every report is read as --------


def yes_no(E):
    flip = 1 / (1 + math.exp(E))
    return np.array([[1 - flip, flip], [flip, 1 - flip]]), np.array([0, WIDTH])


def row(E, cells=5):
    """K-ary response, each cell read as a number."""
    law = (np.ones((cells, cells)) + math.expm1(E) * np.eye(cells)) / (math.exp(E) + cells - 1)
    return law, np.rint(np.linspace(0, WIDTH, cells)).astype(int)


def cells_of_scale(E, points=3, half=0.21):
    """A window for each point of a scale; their ends cut [0, 1] into cells, of which the one that is drawn is sent."""
    middles = np.linspace(half + 0.02, 0.98 - half, points)
    cuts = np.unique(np.concatenate([[0, 1], middles - half, middles + half]).round(12))
    lengths, inner = np.diff(cuts), (cuts[1:] + cuts[:-1]) / 2
    weights = lengths * np.where(np.abs(inner - middles[:, None]) < half, math.exp(E), 1.0)
    return weights / weights.sum(axis=1, keepdims=True), np.rint(WIDTH * inner).astype(int)


def sine_cells(E):
    """As they are drawn, but with so few cells that they can be enumerated."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sine, "_WINDOW", 3)
        cells = sine.SineCells(E)
        law = np.array([probabilities(cells, k)[1] for k in range(cells.steps + 1)])
    read = cells.in_units(np.arange(law.shape[1])).astype(float)
    assert cells.informative == pytest.approx(informative(law), rel=1e-9)
    return law, np.rint((read - read.min()) / (read.max() - read.min()) * WIDTH).astype(int)


DEVICES = (yes_no, row, cells_of_scale, sine_cells)


def informative(law):
    """1 − Σ min P_x, from the law itself."""
    return 1 - law.min(axis=0).sum()


# --- the office's noise: probabilities of a number, but for a factor, where WIDTH costs e ------------------


def discrete_laplace(e, number):
    return np.exp(-e * np.abs(number) / WIDTH)


def staircase(e, number, upper=3):
    stairs, place = np.divmod(np.abs(number), WIDTH)
    return np.exp(-e * (stairs + (place >= upper)))


OFFICE = (discrete_laplace, staircase)


# --- enumeration ------------------------------------------------------------------------------------------


def sums(law, read, people):
    """Probabilities of the sum of reports, over whole numbers from 0, given everyone's answer."""
    mass = np.ones(1)
    for answer in people:
        mass = np.convolve(mass, np.bincount(read, weights=law[answer], minlength=WIDTH + 1))
    return mass


def true_loss(law, read, noise, e, *, people, times):
    """Largest log ratio of anything published if one of those who are asked answers differently."""
    most = people * WIDTH
    values = np.arange(-WIDTH, most + WIDTH + 1)  # beyond, all probabilities change by the same factor
    published = np.array(list(itertools.combinations_with_replacement(values, times)))
    chance = noise(e, published[:, :, None] - np.arange(most + 1)).prod(axis=1)
    worst, answers = 0.0, range(len(law))
    for others in itertools.combinations_with_replacement(answers, people - 1):
        worlds = np.array([chance @ sums(law, read, (mine, *others)) for mine in answers])
        worst = max(worst, float(np.log(worlds.max(axis=0) / worlds.min(axis=0)).max()))
    return worst


CASES = beside(DEVICES, OFFICE, (1, 2, 3), (0.3, 1.0, 2.5), (1.2, 2.5, 5.0), (1, 2, 3), times=few(12, of=108))


@pytest.mark.parametrize(("device", "noise", "times", "e", "E", "people"), CASES)
def test_both_layers_lose_no_more_than_is_counted(device, noise, times, e, E, people):
    law, read = device(E)
    assert np.log(law.max(axis=0) / law.min(axis=0)).max() == pytest.approx(E)
    counted = float(joint_losses(np.array([times * e]), E, informative(law))[0])
    assert true_loss(law, read, noise, e, people=people, times=times) <= counted + 1e-9


@pytest.mark.parametrize(("e", "E"), [(0.3, 1.2), (1.0, 2.5), (2.5, 5.0)])
@pytest.mark.parametrize("times", [1, 2, 3])
def test_the_formula_is_attained(times, e, E):
    """By yes or no at both ends, however often it is published; no smaller formula holds for all devices."""
    law, read = yes_no(E)
    loss = true_loss(law, read, discrete_laplace, e, people=1, times=times)
    counted = joint_losses(np.array([times * e]), E, informative(law))[0]
    assert loss == pytest.approx(counted, rel=1e-12)
    assert informative(law) == pytest.approx(
        get_mechanism("randomized_response", answers_of(1)).informative(E)
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("E", [1.2, 2.5, 5.0])
def test_the_credit_keeps_what_is_promised(device, E):
    """The office noises at the credited budget, and both layers lose no more than was asked for."""
    law, read = device(E)
    for budget in (0.2, 1.0):
        (e,) = office_budgets(np.array([budget]), E, informative(law))
        for noise, people in itertools.product(OFFICE, (1, 2, 3)):
            assert true_loss(law, read, noise, e, people=people, times=1) <= budget + 1e-9


def test_too_large_a_credit_is_noticed():
    law, read = yes_no(2.5)
    (e,) = office_budgets(np.array([1.0]), 2.5, 0.95 * informative(law))
    assert true_loss(law, read, discrete_laplace, e, people=1, times=1) > 1.01
