"""Rows whose laws are known."""

import numpy
import pandas

COEFFICIENTS = numpy.array([[4, 3, 0.5], [2, 1, 1], [6, 0.5, -1]])
WEIGHTS = numpy.array([0.5, 0.3, 0.2])
NOISE = 0.2


def pump(n, seed=7):
    """flow and power; the true law of each row."""
    random = numpy.random.default_rng(seed)
    flow = random.uniform(-1, 1, n)
    law = random.choice(3, n, p=WEIGHTS)
    features = numpy.column_stack([numpy.ones(n), flow, flow**2])
    power = (features * COEFFICIENTS[law]).sum(axis=1) + NOISE * random.standard_normal(n)
    return pandas.DataFrame({"flow": flow, "power": power}), law


def matched(coefficients):
    """Which true law each law found is."""
    return [int(numpy.argmin(((COEFFICIENTS - one) ** 2).sum(axis=1))) for one in coefficients]
