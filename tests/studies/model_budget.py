"""What a smaller sample costs: error to the truth with a budget per model over the error with the usual sample, of the same streams.
model_budget.py MIXSTREAM [STREAMS]"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

TOOL = pathlib.Path(sys.argv[1]).resolve()
STREAMS = int(sys.argv[2]) if len(sys.argv) > 2 else 20
BUDGETS = (None, 600, 400, 330)  # KiB
ROWS = 20000


def run(folder, *words, text=""):
    return subprocess.run([str(TOOL), *words], cwd=folder, input=text, capture_output=True, text=True, check=True).stdout


def errors(folder, seed, k):
    """Of one stream with each budget: the error of all coefficients together, and the verdict."""
    rows = run(folder, "simulate", "-k", str(k), "-x", "1,a,b,c", "-n", str(ROWS), "--noise", "0.1", "--seed", str(seed), "--truth", "truth.json")
    for budget in BUDGETS:
        words = [] if budget is None else ["--model-memory", str(budget)]
        fit = run(folder, "fit", "-k", str(k), "-y", "y", "-x", "1,a,b,c", "-q", *words, text=rows)
        (pathlib.Path(folder) / "model.json").write_text(fit)
        compared = run(folder, "compare", "-m", "model.json", "--truth", "truth.json")
        yield float(compared.split("together, |B* - B|:")[1].split()[0]), json.loads(fit)["status"]


def main():
    with tempfile.TemporaryDirectory() as folder:
        for k in (2, 3):
            streams = [list(errors(folder, 1000 + seed, k)) for seed in range(STREAMS)]
            for i, budget in enumerate(BUDGETS):
                ratios = [stream[i][0] / stream[0][0] for stream in streams]
                good = sum(stream[i][1] == "ok" for stream in streams)
                print(f"k {k}, {budget or 'no'} budget: median {statistics.median(ratios):.3f}, largest {max(ratios):.3f}, ok {good} of {STREAMS}")


main()
