"""What the tests of mixstream-mpi share: jobs of many processes, data, and comparison of fits."""
import json
import math
import os
import pathlib
import random
import subprocess
import sys

PATIENCE = 300.0  # seconds; far more than any step takes, also on a busy machine

MIXSTREAM = sys.argv.pop(1)
MPI = sys.argv.pop(1)

ENVIRONMENT = dict(os.environ, OMPI_MCA_btl_vader_single_copy_mechanism="none", OMPI_MCA_rmaps_base_oversubscribe="1",
                   OMPI_MCA_mpi_yield_when_idle="1", OMPI_MCA_btl="self,vader", OMPI_ALLOW_RUN_AS_ROOT="1",
                   OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OPENBLAS_NUM_THREADS="1")


def command(ranks, *words):
    return ["mpirun", "--oversubscribe", "-n", str(ranks), MPI, "fit", *map(str, words)]


def job(ranks, *words):
    """A finished job of so many processes."""
    return subprocess.run(command(ranks, *words), capture_output=True, text=True, timeout=PATIENCE, env=ENVIRONMENT,
                          stdin=subprocess.DEVNULL)


def single(*words):
    """The same by the stream tool."""
    return subprocess.run([MIXSTREAM, "fit", *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)


def fits(done):
    """The fits that a finished run printed, without their times."""
    found = [json.loads(line) for line in done.stdout.splitlines()]
    for fit in found:
        del fit["seconds"]
    return found


def simulate(path, rows, seed, laws=2, words=()):
    """A CSV file of rows with the columns t and y; the laws are the same for every seed."""
    coefficients = {2: "1,1,0,-1,1,1", 3: "1,1,0,-1,1,1,3,-2,1"}[laws]
    with open(path, "w") as out:
        subprocess.run([MIXSTREAM, "simulate", "-x", "1,t,t^3", "-k", str(laws), "--coefficients", coefficients, "-n", str(rows),
                        "--noise", "0.04", "--seed", str(seed), *words], stdout=out, check=True, timeout=PATIENCE)
    return pathlib.Path(path)


def simulate_in_order(path, rows, seed, sensors):
    """A CSV file of rows of so many sensors in turn, with the columns sensor, u and y, whose laws last for 50 rows of a sensor."""
    with open(path, "w") as out:
        subprocess.run([MIXSTREAM, "simulate", "-x", "1,u", "-k", "2", "--coefficients", "1,1,-1,1", "-n", str(rows), "--noise", "0.25",
                        "--stay", "0.98", "--wander", "0.9", "--sensors", str(sensors), "--seed", str(seed)], stdout=out, check=True,
                       timeout=PATIENCE)
    return pathlib.Path(path)


def as_ndjson(source, path):
    names, *lines = source.read_text().splitlines()
    names = names.split(",")
    with open(path, "w") as out:
        for line in lines:
            out.write("{" + ",".join(f'"{name}":{value}' for name, value in zip(names, line.split(","))) + "}\n")
    return pathlib.Path(path)


def numbers(value, place=""):
    """Every number of a fit, by its place; and everything else."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from numbers(inner, f"{place}.{name}")
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from numbers(inner, f"{place}[{number}]")
    else:
        yield place, value


def farthest(one, two, tolerance):
    """The first place where two fits differ by more than the tolerance, relative to the larger or to 1; or None."""
    ours, theirs = dict(numbers(one)), dict(numbers(two))
    if ours.keys() != theirs.keys():
        return ours.keys() ^ theirs.keys()
    for place, a in ours.items():
        b = theirs[place]
        if isinstance(a, float) and isinstance(b, float):
            if abs(a - b) > tolerance * max(1.0, abs(a), abs(b)):
                return place, a, b
        elif a != b:
            return place, a, b
    return None


def deviations(fit, truth):
    """How far the laws of one fit are from those of another, in standard errors of the second."""
    worst = 0.0
    for ours, theirs in zip(fit["components"], truth["components"]):
        worst = max(worst, abs(ours["weight"] - theirs["weight"]) / theirs["weight_se"])
        for a, b, error in zip(ours["coefficients"], theirs["coefficients"], theirs["coefficients_se"]):
            worst = max(worst, abs(a - b) / error)
        worst = max(worst, abs(ours["noise_variance"] - theirs["noise_variance"]) / theirs["noise_variance_se"])
    assert math.isfinite(worst)
    return worst


def awkward_csv(rows, seed):
    """Rows with a text column of quoted newlines, delimiters and quotes, LF and CRLF, comments, blank lines, some rows
    refused, no newline at the end. The bytes, and how many rows are accepted and refused."""
    generator = random.Random(seed)
    texts = ['plain', '"a,b"', '"two\nlines"', '"1,2,3\r\n4,5,6"', '"he said ""no""\n"', '""', '"\n\n"', '"#\n"',
             'a"quote"', '"long ' + "x\n" * 40 + '"']
    lines, accepted, refused = ["note,t,y"], 0, 0
    for _ in range(rows):
        t = generator.uniform(-1, 1)
        y = generator.choice((1, -1)) * (1 + t) + generator.gauss(0, 0.2)
        kind = generator.random()
        if kind < 0.02:
            lines.append(generator.choice(("# a comment with \"", "", "  ")))
        elif kind < 0.03:
            lines.append(generator.choice(("x,1", "x,a,2", "\"q\"z,1,2")))
            refused += 1
        else:
            lines.append(f"{generator.choice(texts)},{t!r},{y!r}")
            accepted += 1
    lines.append(f'"last\n",{0.5!r},{1.5!r}')
    text = "".join(line + generator.choice(("\n", "\r\n")) for line in lines).rstrip("\r\n")
    return text.encode(), accepted + 1, refused
