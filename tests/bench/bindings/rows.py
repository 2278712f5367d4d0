"""partial_fit beside SGDRegressor.partial_fit; writes the rows for R and the databases.  rows.py FOLDER"""

import json
import sys
import time

import mixstream
import numpy
import pandas
from sklearn.linear_model import SGDRegressor

N, D, PART = 1_000_000, 4, 50_000
random = numpy.random.default_rng(1)
x = random.standard_normal((N, D))
y = numpy.where(random.random(N) < 0.5, x.sum(axis=1), 1 - x[:, 0]) + 0.3 * random.standard_normal(N)
numpy.column_stack([x, y]).tofile(sys.argv[1] + "/rows.f64")
pandas.DataFrame(numpy.column_stack([x, y]), columns=["a", "b", "c", "d", "y"]).to_csv(sys.argv[1] + "/rows.csv", index_label="id")


def rate(make):
    seconds = []
    for _ in range(3):
        model, begin = make(), time.process_time()
        for first in range(0, N, PART):
            model.partial_fit(x[first:first + PART], y[first:first + PART])
        seconds.append(time.process_time() - begin)
    return N / min(seconds)


def ours(polish):
    return lambda: mixstream.Mixstream(k=2, modes_kind="independent", noise="shared", polish=polish)


rival = rate(SGDRegressor)
for polish in ("off", "scoring"):
    own = rate(ours(polish))
    print(json.dumps({"name": f"Python partial_fit, polish {polish}, beside SGDRegressor.partial_fit", "rows_per_s": round(own),
                      "rival_rows_per_s": round(rival), "ratio": round(own / rival, 3)}), flush=True)
