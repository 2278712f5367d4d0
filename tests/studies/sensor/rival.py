#!/usr/bin/python3
"""statsmodels' MarkovRegression: rival.py FILE LAWS SEED

FILE holds (u, v, y) as doubles, row by row. Seed 1 takes the package's own start, others one around it.
Prints {"laws":[...]}, law after law; exit 77 where the package is missing.
"""
import json
import sys
import warnings

try:
    import numpy as np
    from statsmodels.tsa.regime_switching.markov_regression import MarkovRegression
except ImportError:
    sys.exit(77)


def main():
    file, laws, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter('ignore')
    u, v, y = np.fromfile(file).reshape(-1, 3).T
    model = MarkovRegression(y, k_regimes=laws, trend='c', exog=np.column_stack([u, v]), switching_exog=True,
                             switching_variance=False)
    start = model.start_params
    if seed > 1:
        where = [i for i, name in enumerate(model.param_names) if not name.startswith(('p[', 'sigma'))]
        start[where] += np.random.default_rng(seed).standard_normal(len(where))
    fit = model.fit(start_params=start, disp=False)
    found = dict(zip(model.param_names, fit.params))
    print(json.dumps({'laws': [found[f'{name}[{h}]'] for h in range(laws) for name in ('const', 'x1', 'x2')]}))


main()
