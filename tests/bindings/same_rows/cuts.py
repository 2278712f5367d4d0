"""How far laws move when the same rows are shared out otherwise: between workers of PostgreSQL, threads of DuckDB, parts that are merged.
cuts.py [CUTS]

Each cut deals pages of a hundred rows to two to seven parts of uneven size; the parts' states are merged and solved. One JSON object a
line: the largest shift of a coefficient from the fit of the uncut rows, in standard errors of that fit: median, ninth decile and largest
of all cuts of four data sets; and how many fits were ok."""

import json
import pathlib
import sys

import mixstream
import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import rows  # noqa: E402

CUTS = int(sys.argv[1]) if len(sys.argv) > 1 else 24
PAGE, ROWS, DATA_SETS = 100, 30_000, 4


def parts(random):
    shares = random.dirichlet(numpy.full(random.integers(2, 8), 0.4))
    owner = numpy.repeat(random.choice(len(shares), ROWS // PAGE, p=shares), PAGE)
    return [numpy.flatnonzero(owner == part) for part in range(len(shares)) if (owner == part).any()]


def two_features(seed):
    return rows.make(ROWS, seed=seed)


def pump(seed):
    """One feature far from zero, and noise that is a hundredth of the spread of y."""
    random = numpy.random.default_rng(seed)
    flow = 10 * random.random(ROWS)
    return flow[:, None], 2 + flow * numpy.where(random.random(ROWS) < 0.33, 3.0, 1.0) + 0.1 * random.standard_normal(ROWS)


def fit(x, y, shared_out, numbered, polish):
    models = [mixstream.Mixstream(2, polish=polish).partial_fit(x[part], y[part], row=part if numbered else None) for part in shared_out]
    for other in models[1:]:
        models[0].merge(other)
    return models[0].report()


def by_first_slope(report):
    """Coefficients and their errors, law after law: an order that no label decides."""
    laws = sorted(report.laws, key=lambda law: law["coefficients"][1])
    return [numpy.array([law[name] for law in laws]) for name in ("coefficients", "coefficients_se")]


def measure(make, numbered, polish):
    shifts, statuses = [], []
    for seed in range(DATA_SETS):
        x, y = make(seed)
        whole, errors = by_first_slope(fit(x, y, [numpy.arange(ROWS)], numbered, polish))
        random = numpy.random.default_rng(seed)
        for _ in range(CUTS):
            report = fit(x, y, parts(random), numbered, polish)
            shifts.append(float((abs(by_first_slope(report)[0] - whole) / errors).max()))
            statuses.append(report.status)
    middle, most, largest = numpy.quantile(shifts, [0.5, 0.9, 1.0])
    return {"rows": make.__name__, "row numbers": numbered, "polish": polish, "fits": len(shifts), "ok": statuses.count("ok"), "median": float(f"{middle:.2g}"),
            "ninth decile": float(f"{most:.2g}"), "largest": float(f"{largest:.2g}")}


for made in (two_features, pump):
    for given in (True, False):
        for polish in ("off", "scoring"):
            print(json.dumps(measure(made, given, polish)), flush=True)
