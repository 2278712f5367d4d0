#!/usr/bin/env python3
"""Writes golden files for moment refinement from the numpy reference.

usage: refinement_reference.py REFERENCE_FOLDER OUTPUT_FOLDER      (needs numpy and scipy)

One file a case: rows (the whole data; the sample is all of them or the first ones), a start, and what the
reference makes of them: parameters, J, degrees of freedom, standard errors, expected ratio. Rows are rounded
to four decimals first, where that keeps relations between features, so that files stay small.
"""
import sys
from pathlib import Path

CASES = [  # setting, k, rows, sample rows, seed, noise
    ('b2d4', 3, 600, 400, 11, 'shared'),
    ('b2d4', 2, 600, 400, 12, 'per_component'),
    ('line', 2, 600, 300, 13, 'per_component'),
    ('line', 3, 600, 300, 14, 'shared'),  # k > d
    ('gauss5', 3, 600, 500, 15, 'shared'),
    ('b1d4', 2, 400, 300, 16, 'shared'),  # t * t^7 = t^4 * t^4: instruments drop out
]


def case_text(reference, setting, k, rows, sample, seed, noise):
    np, model, moments, refinement, simulate = reference
    x, y, truth, constant, _ = simulate.simulate(setting, 2 if setting == 'line' else k, rows, seed)
    y = np.round(y, 4)
    if setting != 'b1d4':
        x = np.round(x, 4)
    state = moments.MomentState(x.shape[1], constant, reservoir_size=sample)
    state.absorb(x, y)
    state.reservoir.x, state.reservoir.y = x[:sample], y[:sample]
    rng = np.random.default_rng(seed)
    laws = truth.coefficients if len(truth.weights) == k else np.vstack([truth.coefficients, truth.coefficients[:1] + 1])
    variances = np.full(k, 0.15) if noise == 'shared' else np.linspace(0.1, 0.2, k)
    start = model.Mixture(np.full(k, 1 / k), laws + 0.05 * rng.standard_normal(laws.shape), variances)
    conditions = refinement.Conditions(state, k, noise)
    fit = refinement.fit_conditions(conditions, start)
    lines = [f'shape {x.shape[1]} {k} {rows} {sample} {-1 if constant is None else constant} {noise}']
    numbers = lambda name, values: lines.append(name + ' ' + ' '.join(repr(float(v)) for v in np.ravel(values)))
    numbers('features', x)
    numbers('responses', y)
    numbers('start_weights', start.weights)
    numbers('start_coefficients', start.coefficients)
    numbers('start_variances', start.variances)
    numbers('parameters', model.to_vector(fit.mixture, noise))
    numbers('standard_errors', fit.standard_errors)
    numbers('summary', [fit.distance, fit.dof, fit.expected_ratio])
    return '\n'.join(lines) + '\n', fit


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    import model
    import moments
    import refinement
    import simulate
    for setting, k, rows, sample, seed, noise in CASES:
        text, fit = case_text((np, model, moments, refinement, simulate), setting, k, rows, sample, seed, noise)
        path = Path(sys.argv[2]) / f'refinement-{setting}-k{k}-{noise}.txt'
        path.write_text(text)
        print(f'{path.name}: J {fit.distance:.4f} on {fit.dof}, expected ratio {fit.expected_ratio:.4f}, '
              f'{len(text)} bytes')


if __name__ == '__main__':
    main()
