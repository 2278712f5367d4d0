"""Golden files of doubts: scores of extensions row by row, and tests, of the numpy reference (doubts.py).

    python3 tests/golden/doubts_reference.py FOLDER_OF_THE_REFERENCE     writes tests/golden/doubts/*.txt
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import doubts  # noqa: E402
from gated import Spec, evaluate  # noqa: E402

here = pathlib.Path(__file__).parent / 'doubts'
here.mkdir(exist_ok=True)
BASE = ((0, 0), (1, 0), (0, 1))
NAMES = {(1, 0): 'u', (0, 1): 'v', (2, 0): 'u^2', (0, 2): 'v^2', (1, 1): 'u*v'}


def write(name, shape, lists):
    with open(here / f'{name}.txt', 'w') as file:
        print('shape', *shape, file=file)
        for key, values in lists.items():
            print(key, *(repr(float(v)) for v in np.ravel(values)), file=file)


def one(name, seed, n, student, per_law):
    rng = np.random.default_rng(seed)
    spec = Spec(3, BASE, student=student, per_law=per_law)
    raw = np.round(rng.uniform(-1, 1, (n, 2)), 6)
    raw -= raw.mean(0)
    beta = np.array([[1, 2, -1], [-1.5, -1, 2], [.5, -2, -2.]])
    law = rng.choice(3, n, p=[.4, .35, .25])
    x = np.column_stack([np.ones(n), raw])
    noise = rng.standard_t(5, n) if student else rng.standard_normal(n)
    y = np.round((x * beta[law]).sum(1) + .5 * noise * np.exp(.2 * raw[:, 0]) + .2 * raw[:, 1] ** 2, 6)
    sizes = [np.log(.26), np.log(.24), np.log(.27)] if per_law else [np.log(.25)]
    theta = np.concatenate([(beta + .03).ravel(), [np.log(.4 / .25), np.log(.35 / .25)], sizes,
                            [np.log(5.)] if student else []])
    q = evaluate(spec, theta, raw, y)
    m, groups, _ = doubts.extension_scores(spec, q, raw, None)
    sums = doubts.doubts_at(spec, theta, raw, y)
    tests = sums.tests()
    column = lambda kind, a=(): m @ groups[kind, a].T
    lists = dict(features=x, responses=y, theta=theta, influence=q.r * q.psi / q.s, gate_u=column('gate', (1, 0)),
                 spread_v=column('spread', (0, 1)), skewed=column('skewed noise'), persistence=column('modes persist'),
                 memory=column('noise persists'))
    if not per_law:
        lists['unequal'] = column('noise per law')
    if not student:
        lists['tails'] = column('tails')
    for (kind, a), test in tests.items():
        if sum(a) < 3 and not (kind == 'gate' and sum(a) == 2) and not (kind == 'spread' and a == (1, 1)) and not (kind == 'tails' and student):
            key = 'test:' + kind.replace(' ', '_') + (':' + NAMES[a] if a else '')
            lists[key] = [test['T'], test['dim'], test['p']]
    write(name, (3, 3, n, 'per_component' if per_law else 'shared'), lists)


one('gaussian', 7, 600, False, False)
one('student', 8, 600, True, True)
