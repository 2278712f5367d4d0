"""The same rows through tool, C++, C, Python, R and DuckDB: one sample, one set of moments, the same laws. And one blob everywhere:
made in Python, inspected by the tool, merged in R.   run.py TOOL C_PROGRAM CPP_PROGRAM [DUCKDB_LIBRARY DUCKDB_EXTENSION]"""

import json
import pathlib
import subprocess
import sys
import tempfile

import mixstream
import numpy
import pandas

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path.insert(1, str(pathlib.Path(__file__).parents[1] / "duckdb"))
import blob  # noqa: E402
import database  # noqa: E402

TOOL, C_PROGRAM, CPP_PROGRAM = sys.argv[1:4]
DUCKDB = sys.argv[4:] if len(sys.argv) == 6 and pathlib.Path(sys.argv[4]).exists() else None
HERE = pathlib.Path(__file__).parent

SOLVE = {"k": 3, "polish": "off", "modes": "independent", "noise": "shared"}
N = 40000


def make_rows(seed=11):
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((N, 2)) * [1.0, 3.0] + [0.0, 5.0]
    coefficients = numpy.array([[1.0, 2.0, 0.3], [-1.0, 0.5, 0.8], [4.0, -2.0, -0.2]])
    law = random.choice(3, N, p=[0.5, 0.3, 0.2])
    y = coefficients[law, 0] + (x * coefficients[law, 1:]).sum(axis=1) + 0.3 * random.standard_normal(N)
    return numpy.column_stack([x, y])


def products(x, p):
    """Every product of p features once, times the root of how many orders it has; written without the library."""
    if p == 0:
        return [((), numpy.ones(len(x)))]
    return [(indices + (f,), value * x[:, f]) for indices, value in products(x, p - 1) for f in range(indices[-1] if indices else 0, 3)]


def cross_moments(rows):
    x, y = numpy.column_stack([numpy.ones(len(rows)), rows[:, :2]]), rows[:, 2]
    found, scales = [], []
    for p in (1, 2, 3):
        for indices, phi in products(x, p):
            counts = numpy.unique(indices, return_counts=True)[1]
            root = numpy.sqrt({1: 1, 2: 2, 3: 6}[p] / numpy.prod([{1: 1, 2: 2, 3: 6}[int(c)] for c in counts]))
            found.append(root * numpy.mean(phi * y**p))
            scales.append(root * numpy.mean(numpy.abs(phi * y**p)))
    return numpy.array(found), numpy.array(scales)


class Passes:
    def __init__(self, folder, rows):
        self.folder, self.rows = pathlib.Path(folder), rows
        (self.folder / "rows.f64").write_bytes(rows.tobytes())
        numpy.savetxt(self.folder / "rows.csv", rows, fmt="%.17g", delimiter=",", header="u,v,y", comments="")

    def state(self, name):
        return self.folder / f"{name}.mix"

    def program(self, name, command, numbered, *more):
        words = [*command, str(self.folder / "rows.f64"), "3", "numbered" if numbered else "plain", str(self.state(name)), *more]
        return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def tool(self):
        words = [TOOL, "fit", "-y", "y", "-x", "1,u,v", "-q", "--json", str(self.folder / "rows.csv"), "--save", str(self.state("tool"))]
        for name, value in SOLVE.items():
            words += [f"--{name}" if name != "k" else "-k", str(value)]
        report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
        moments = json.loads(subprocess.run([TOOL, "inspect", "--moments", "--json", str(self.state("tool"))], check=True,
                                            stdout=subprocess.PIPE, text=True).stdout)
        return {"cross": sum((degree["cross"] for degree in moments["moments"]), []), "report": report}

    def python(self, name, numbered, parts, **parameters):
        """In parts that are absorbed apart and merged."""
        models = []
        for part in parts:
            model = mixstream.Mixstream(3, "1,u,v", polish="off", modes_kind="independent", noise="shared", **parameters)
            frame = self.rows[part]
            models.append(model.partial_fit(named(frame[:, :2]), frame[:, 2], row=part if numbered else None))
        for model in models[1:]:
            models[0].merge(model)
        self.state(name).write_bytes(models[0].to_bytes())
        cross = numpy.concatenate([models[0].moments(p)["cross"] for p in (1, 2, 3)])
        return {"cross": cross, "report": json.loads(models[0].report().json)}

    def duckdb(self, name, numbered, threads):
        """From CSV in one thread, or from Parquet in several, each of which has parts."""
        with database.Database(*DUCKDB, threads=threads) as db:
            file = str(self.folder / "rows.csv")
            if threads > 1:
                db.sql(f"SET threads = 1; CREATE TABLE rows AS SELECT row_number() OVER () - 1 AS id, * FROM '{file}'; SET threads = {threads}")
                file = str(self.folder / "rows.parquet")
                db.sql(f"COPY rows TO '{file}' (ROW_GROUP_SIZE 4096)")
            options = json.dumps({**SOLVE, "features": "u,v", "response": "y"})
            row = "id" if numbered else "NULL"
            db.sql(f"CREATE TABLE states AS SELECT mixstream_state(y, [u, v], NULL, {row}, '{options}') AS state FROM '{file}'")
            self.state(name).write_bytes(db.blob("(SELECT state FROM states)"))
            cross = [db.sql(f"SELECT mixstream_moments(state, 'cross', {p})::JSON FROM states") for p in (1, 2, 3)]
            return {"cross": sum(map(json.loads, cross), []), "report": json.loads(db.sql("SELECT mixstream_fit(state) FROM states"))}

    def sample(self, name):
        """By the format's page, not by the library."""
        return sorted(blob.State(self.state(name).read_bytes()).sample().values())


def named(x):
    return pandas.DataFrame(x, columns=["u", "v"])


def laws(found):
    return numpy.array([law["coefficients"] for law in found["report"]["components"]])


def errors(found):
    return numpy.array([law["coefficients_se"] for law in found["report"]["components"]])


def matched(found, to):
    """Laws in the order of another fit's."""
    return numpy.array([min(found, key=lambda law: ((law - one) ** 2).sum()) for one in to])


def compare(passes, results, reference, same_sample):
    exact, scales = cross_moments(passes.rows)
    for name, found in results.items():
        off = (numpy.abs(numpy.array(found["cross"]) - exact) / scales).max()
        to = laws(results[reference])
        difference = matched(laws(found), to) - to
        relative, in_errors = numpy.abs(difference / to).max(), numpy.abs(difference / errors(results[reference])).max()
        print(f"{name}: moments off by {off:.1e} of their scale, laws by {relative:.1e} and {in_errors:.1e} standard errors")
        assert off < 1e-10, f"{name}: moments"
        assert (relative < 1e-8) if same_sample else (in_errors < 0.1), f"{name}: laws"
        assert found["report"]["rows"] == N
        if same_sample:
            sample = passes.sample(name)
            assert len(sample) == 5001 and sample == passes.sample(reference), f"{name}: another sample than {reference}"


def main():
    with tempfile.TemporaryDirectory(prefix="mixstream-same-") as folder:
        passes = Passes(folder, make_rows())
        r = ["Rscript", str(HERE / "model.R")]
        everything = numpy.arange(N)
        shuffled = numpy.array_split(numpy.random.default_rng(5).permutation(N), 3)

        print("in their order, without numbers of their own")
        plain = {"tool": passes.tool(), "cpp": passes.program("cpp", [CPP_PROGRAM], False),
                 "c": passes.program("c", [C_PROGRAM], False), "python": passes.python("python", False, [everything]),
                 "r": passes.program("r", r, False)}
        if DUCKDB:
            plain["duckdb"] = passes.duckdb("duckdb", False, 1)
        compare(passes, plain, "tool", same_sample=True)

        print("with their numbers; Python has them shuffled, in three parts that merge")
        numbered = {"cpp": passes.program("cpp", [CPP_PROGRAM], True), "c": passes.program("c", [C_PROGRAM], True),
                    "python": passes.python("python", True, shuffled), "r": passes.program("r", r, True)}
        if DUCKDB:
            numbered["duckdb"] = passes.duckdb("duckdb", True, 4)
        compare(passes, numbered, "c", same_sample=True)

        # Another sample moves laws by about one standard error where there is no polish; one that holds every row does not.
        print("without numbers, in their order and shuffled in three parts that merge; the sample holds every row")
        whole = {name: passes.python(name, False, parts, sample_rows=N) for name, parts in (("whole", [everything]), ("parts", shuffled))}
        compare(passes, whole, "whole", same_sample=False)

        print("one blob: made in Python, inspected by the tool, merged in R, solved by the tool")
        halves = [passes.state("left"), passes.state("right")]
        for half, part in zip(("left", "right"), numpy.array_split(everything, 2)):
            passes.python(half, True, [part])
        seen = json.loads(subprocess.run([TOOL, "inspect", "--json", str(halves[0])], check=True, stdout=subprocess.PIPE).stdout)
        assert seen["rows"] == N // 2 and seen["features"] == ["1", "u", "v"] and seen["response"] == "y", seen
        passes.program("r", r, True, *map(str, halves))
        merged = f"{passes.state('r')}.merged"
        solved = json.loads(subprocess.run([TOOL, "refit", "--json", merged], check=True, stdout=subprocess.PIPE).stdout)
        difference = matched(laws({"report": solved}), laws(numbered["c"])) / laws(numbered["c"]) - 1
        print(f"merged in R: {solved['rows']} rows, laws off by {numpy.abs(difference).max():.1e}")
        assert solved["rows"] == N and numpy.abs(difference).max() < 1e-8


main()
