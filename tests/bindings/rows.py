"""Rows of two hidden laws in two features, and what is held against each other: states and fits."""

import json

import numpy

LAWS = ((1.0, 2.0, -0.5), (-2.0, 0.5, 1.5))


def make(count, seed=5, dwell=None):
    """x (count x 2) and y; dwell: rows that a law lasts in the mean, None: chosen anew for each row."""
    generator = numpy.random.default_rng(seed)
    x = generator.normal(size=(count, 2)) + 0.3
    law = generator.random(count) < 0.4
    if dwell is not None:
        law = numpy.cumsum(generator.random(count) < 1.0 / dwell) % 2 == 0
    with_one = numpy.column_stack([numpy.ones(count), x])
    y = numpy.where(law, with_one @ LAWS[0], with_one @ LAWS[1]) + 0.3 * generator.normal(size=count)
    return x, y


def write_csv(path, x, y):
    with open(path, "w") as file:
        file.write("id,x1,x2,y\n")
        for i, (row, response) in enumerate(zip(x.tolist(), y.tolist())):
            file.write(f"{i},{row[0]!r},{row[1]!r},{response!r}\n")


def largest_moment_difference(one, two):
    """Of lists {degree: {sigma, cross, mean}}, each number in units of its scale."""
    largest = 0.0
    for degree in (1, 2, 3):
        sigma = numpy.array(one[degree]["sigma"])
        n = int(round(len(sigma.ravel()) ** 0.5))
        scale = numpy.sqrt(numpy.diag(sigma.reshape(n, n)))
        other = numpy.array(two[degree]["sigma"]).reshape(n, n)
        largest = max(largest, (abs(sigma.reshape(n, n) - other) / numpy.outer(scale, scale)).max())
        for name in ("cross", "mean"):
            a, b = numpy.array(one[degree][name]), numpy.array(two[degree][name])
            largest = max(largest, (abs(a - b) / (scale * max(1.0, abs(a).max()))).max())
    return largest


def laws(fit):
    """Coefficients, law after law, in an order that does not depend on labels."""
    fit = fit if isinstance(fit, dict) else json.loads(fit)
    return numpy.array(sorted(tuple(c["coefficients"]) for c in fit["components"]))


def errors(fit):
    fit = fit if isinstance(fit, dict) else json.loads(fit)
    return numpy.array([e for _, e in sorted((tuple(c["coefficients"]), tuple(c["coefficients_se"]))
                                             for c in fit["components"])])
