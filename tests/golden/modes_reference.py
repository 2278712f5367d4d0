"""Golden files of rows in order: filter, scores and one whole pass of the numpy reference (markov.py).

    python3 tests/golden/modes_reference.py FOLDER_OF_THE_REFERENCE     writes tests/golden/modes/*.txt
"""
import pathlib
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
import markov  # noqa: E402

here = pathlib.Path(__file__).parent / 'modes'
here.mkdir(exist_ok=True)


def write(name, shape, **lists):
    with open(here / f'{name}.txt', 'w') as file:
        print('shape', *shape, file=file)
        for key, values in lists.items():
            print(key, *(repr(float(v)) for v in np.ravel(values)), file=file)


def one(name, seed, k, shared, n):
    rng = np.random.default_rng(seed)
    d = 2
    beta = np.round(2 * rng.standard_normal((k, d)), 3)
    a = np.full((k, k), 0.05 / (k - 1)) + np.eye(k) * (0.95 - 0.05 / (k - 1))
    x, y, _ = markov.simulate(rng, n, beta, a, 0.3)
    x, y = np.round(x, 4), np.round(y, 4)
    theta = markov.pack(beta + 0.05, 0.9 * a + 0.1 / k, np.full(k, 0.12), shared)
    gaps = rng.choice([1, 1, 1, 2, 3], 64)
    gaps[0] = 0
    short, (_, tangent) = markov.run_filter(theta, k, d, x[:64], y[:64], markov.fresh_filter(theta, k, d), gaps)
    polish = markov.stream(markov.MarkovPolish(theta, k, d), x, y, block=4096, first=1024)
    assert not hasattr(polish, 'fades')
    write(name, (d, k, n, 'shared' if shared else 'per_component'), features=x, responses=y, theta=theta, gaps=gaps,
          log_likelihood=short.log_likelihood, scores=short.scores, posterior=short.posterior[-1], tangent=tangent,
          passed=polish.theta, counts=polish.counts, covariance=polish.covariance())


one('three-shared', 3, 3, True, 3072)
one('two-own', 4, 2, False, 3072)
