#!/usr/bin/env python3
"""Writes golden files for the polish from the numpy reference.

usage: polish_reference.py REFERENCE_FOLDER OUTPUT_FOLDER      (needs numpy and scipy)

One file a case. A polish begins at `start` with `information`, warms its anchor on the first 96 rows, absorbs
two blocks of 128 and moves after each: `first`, `first_information`. Another begins at the same start with its
components in reverse, absorbs the last 128 rows and moves: `second`. `merged` is the second added to the first.
"""
import sys
from pathlib import Path
from types import SimpleNamespace

CASES = [('b2d4', 3, 21), ('line', 2, 22), ('gauss5', 2, 23)]
SAMPLE, BLOCK = 96, 128


def case_text(np, model, polish, simulate, setting, k, seed):
    rows = SAMPLE + 3 * BLOCK
    if setting == 'gauss5':
        simulate.SPECIAL['gauss5'] = ((0.6, 0.4), (0.1, 0.1))
    x, y, truth, _, noise = simulate.simulate(setting, k, rows, seed)
    x, y = np.round(x, 3), np.round(y, 3)
    rng = np.random.default_rng(seed)
    start = model.Mixture(truth.weights, truth.coefficients + 0.05 * rng.standard_normal(truth.coefficients.shape),
                          truth.variances * 1.2)
    scores = model.row_scores(start, x[:SAMPLE], y[:SAMPLE], noise)
    information = np.round(4 * scores.T @ scores + 2 * np.eye(scores.shape[1]), 6)
    first = polish.AnchoredPolish(SimpleNamespace(mixture=start, information=information), noise)
    first.warm_anchor(x[:SAMPLE], y[:SAMPLE])
    for begin in (SAMPLE, SAMPLE + BLOCK):
        first.absorb(x[begin:begin + BLOCK], y[begin:begin + BLOCK])
        first.move_anchor()
    second = polish.AnchoredPolish(SimpleNamespace(mixture=start.relabelled(range(k)[::-1]), information=information), noise)
    second.absorb(x[-BLOCK:], y[-BLOCK:])
    second.move_anchor()
    lines = [f'shape {x.shape[1]} {k} {rows} {noise}']
    numbers = lambda name, values: lines.append(name + ' ' + ' '.join(repr(float(v)) for v in np.ravel(values)))
    numbers('features', x)
    numbers('responses', y)
    numbers('start_weights', start.weights)
    numbers('start_coefficients', start.coefficients)
    numbers('start_variances', start.variances)
    numbers('information', information)
    numbers('first', model.to_vector(first.estimate(), noise))
    numbers('first_information', first.h)
    numbers('second', model.to_vector(second.estimate(), noise))
    first.merge(second)
    numbers('merged', model.to_vector(first.estimate(), noise))
    return '\n'.join(lines) + '\n'


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.path.insert(0, sys.argv[1])
    import numpy as np
    import model
    import polish
    import simulate
    for setting, k, seed in CASES:
        text = case_text(np, model, polish, simulate, setting, k, seed)
        Path(sys.argv[2], f'polish-{setting}-k{k}.txt').write_text(text)


if __name__ == '__main__':
    main()
