"""The same rows through tool, C++, C, Python, R, PostgreSQL and DuckDB: one sample, one set of moments, the same laws. And one blob
everywhere: made in one language, inspected by the tool, merged in another.

    run.py TOOL C_PROGRAM CPP_PROGRAM DEVICE_PROGRAM [--duckdb LIBRARY EXTENSION] [--postgresql MODULE LIBRARY FOLDER]"""

import argparse
import contextlib
import json
import pathlib
import struct
import subprocess
import sys
import tempfile

import mixstream
import numpy
import pandas

sys.path.insert(0, str(pathlib.Path(__file__).parents[1]))
sys.path[1:1] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("duckdb", "postgresql")]
import blob  # noqa: E402
import cluster  # noqa: E402
import database  # noqa: E402

words = argparse.ArgumentParser()
for given in ("tool", "c", "cpp", "device"):
    words.add_argument(given)
words.add_argument("--duckdb", nargs=2)
words.add_argument("--postgresql", nargs=3)
GIVEN = words.parse_args()
TOOL = GIVEN.tool
DUCKDB = GIVEN.duckdb if GIVEN.duckdb and pathlib.Path(GIVEN.duckdb[0]).exists() else None
HERE = pathlib.Path(__file__).parent

SOLVE = {"k": 3, "polish": "off", "modes": "independent", "noise": "shared"}
N = 40000


def source_of(row):
    """The name that a stream has by its first row (lib/mixstream/rows/source.hpp)."""
    name, whole = 0, (1 << 64) - 1
    for value in row:
        name = (name + struct.unpack("<Q", struct.pack("<d", value))[0]) & whole
        name = ((name ^ name >> 30) * 0xBF58476D1CE4E5B9) & whole
        name = ((name ^ name >> 27) * 0x94D049BB133111EB) & whole
        name ^= name >> 31
    return name


def make_rows(seed=11):
    """The tool names its rows' source by the first of them, the others are told it: R can say no number beyond 10^15, so the first
    row is one whose name lies below."""
    random = numpy.random.default_rng(seed)
    x = random.standard_normal((N, 2))
    coefficients = numpy.array([[1.0, 2.0, 0.3], [-1.0, 0.5, 0.8], [4.0, -2.0, -0.2]])
    law = random.choice(3, N, p=[0.5, 0.3, 0.2])
    y = coefficients[law, 0] + (x * coefficients[law, 1:]).sum(axis=1) + 0.6 * random.standard_normal(N)
    rows = numpy.column_stack([x, y])
    while source_of(rows[0].tolist()) >= 10**15:
        rows[0, 2] = numpy.nextafter(rows[0, 2], numpy.inf)
    return rows


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
        self.folder, self.rows, self.source = pathlib.Path(folder), rows, source_of(rows[0].tolist())
        self.server = None
        (self.folder / "rows.f64").write_bytes(rows.tobytes())
        numpy.savetxt(self.folder / "rows.csv", rows, fmt="%.17g", delimiter=",", header="u,v,y", comments="")

    def state(self, name):
        return self.folder / f"{name}.mix"

    def program(self, name, command, numbered, *more):
        words = [*command, str(self.folder / "rows.f64"), "3", str(self.source) if numbered else "plain", str(self.state(name)), *more]
        return json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)

    def tool(self, name, *more):
        words = [TOOL, "fit", "-y", "y", "-x", "1,u,v", "-q", "--json", str(self.folder / "rows.csv"), "--save", str(self.state(name)), *more]
        for option, value in SOLVE.items():
            words += [f"--{option}" if option != "k" else "-k", str(value)]
        report = json.loads(subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout)
        moments = json.loads(subprocess.run([TOOL, "inspect", "--moments", "--json", str(self.state(name))], check=True,
                                            stdout=subprocess.PIPE, text=True).stdout)
        return {"cross": sum((degree["cross"] for degree in moments["moments"]), []), "report": report}

    def python(self, name, numbered, parts, **parameters):
        """In parts that are absorbed apart and merged."""
        models = []
        if numbered:
            parameters["options"] = {"source": self.source}
        for part in parts:
            model = mixstream.Mixstream(3, "1,u,v", polish="off", modes_kind="independent", noise="shared", **parameters)
            frame = self.rows[part]
            models.append(model.partial_fit(named(frame[:, :2]), frame[:, 2], row=part if numbered else None))
        for model in models[1:]:
            models[0].merge(model)
        self.state(name).write_bytes(models[0].to_bytes())
        cross = numpy.concatenate([models[0].moments(p)["cross"] for p in (1, 2, 3)])
        return {"cross": cross, "report": json.loads(models[0].report().json)}

    def options(self, numbered):
        return json.dumps({**SOLVE, "features": "u,v", "response": "y", "source": self.source if numbered else None})

    def duckdb(self, name, numbered, threads):
        """From CSV in one thread, or from Parquet in more."""
        with database.Database(*DUCKDB, threads=threads) as db:
            file = str(self.folder / "rows.csv")
            if threads > 1:
                csv, file = file, str(self.folder / "rows.parquet")
                db.sql(f"COPY (SELECT row_number() OVER () - 1 AS id, * FROM '{csv}') TO '{file}' (ROW_GROUP_SIZE 4096)")
            row = "id" if numbered else "NULL"
            db.sql(f"CREATE TABLE states AS SELECT mixstream_state(y, [u, v], NULL, {row}, '{self.options(numbered)}') AS state FROM '{file}'")
            self.state(name).write_bytes(db.blob("(SELECT state FROM states)"))
            cross = [db.sql(f"SELECT mixstream_moments(state, 'cross', {p})::JSON FROM states") for p in (1, 2, 3)]
            return {"cross": sum(map(json.loads, cross), []), "report": json.loads(db.sql("SELECT mixstream_fit(state) FROM states"))}

    def postgresql(self, name, numbered, workers):
        """From a table, in one process and so many workers."""
        if self.server is None:
            self.server = POSTGRESQL.server("rows")
            self.server.sql("CREATE TABLE rows (id bigint GENERATED ALWAYS AS IDENTITY (MINVALUE 0 START 0), u float8, v float8, y float8);"
                            f"\\copy rows (u, v, y) FROM '{self.folder / 'rows.csv'}' WITH (FORMAT csv, HEADER)\n"
                            "ANALYZE rows")
        make = (f"CREATE TABLE {name} AS SELECT mixstream_state(y, ARRAY[u, v], NULL, {'id' if numbered else 'NULL'}, "
                f"'{self.options(numbered)}') AS state FROM rows")
        plan = self.server.sql(f"ALTER TABLE rows SET (parallel_workers = {workers}); SET max_parallel_workers_per_gather = {workers}; "
                               f"EXPLAIN (ANALYZE, COSTS OFF) {make}")
        assert workers == 0 or f"Workers Launched: {workers}" in plan, plan
        self.state(name).write_bytes(bytes.fromhex(self.server.sql(f"SELECT encode(state::bytea, 'hex') FROM {name}")))
        cross = [self.server.sql(f"SELECT to_json(mixstream_moments(state, 'cross', {p})) FROM {name}") for p in (1, 2, 3)]
        return {"cross": sum(map(json.loads, cross), []), "report": json.loads(self.server.sql(f"SELECT mixstream_fit(state) FROM {name}"))}

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


def compare(passes, results, reference):
    exact, scales = cross_moments(passes.rows)
    for name, found in results.items():
        off = (numpy.abs(numpy.array(found["cross"]) - exact) / scales).max()
        to = laws(results[reference])
        difference = matched(laws(found), to) - to
        relative, in_errors = numpy.abs(difference / to).max(), numpy.abs(difference / errors(results[reference])).max()
        print(f"{name}: moments off by {off:.1e} of their scale, laws by {relative:.1e} and {in_errors:.1e} standard errors")
        assert off < 1e-10, f"{name}: moments"
        assert relative < 1e-8, f"{name}: laws"
        assert found["report"]["rows"] == N and found["report"]["status"] == "ok", found["report"]["status"]
        sample = passes.sample(name)
        assert len(sample) == 5001 and sample == passes.sample(reference), f"{name}: another sample than {reference}"


def inspected(file):
    return json.loads(subprocess.run([TOOL, "inspect", "--json", str(file)], check=True, stdout=subprocess.PIPE).stdout)


def solved(file):
    return json.loads(subprocess.run([TOOL, "refit", "--json", str(file)], check=True, stdout=subprocess.PIPE).stdout)


def check_python_to_r(passes, reference):
    print("one blob: made in Python, inspected by the tool, merged in R, solved by the tool")
    halves = [passes.state("left"), passes.state("right")]
    for half, part in zip(("left", "right"), numpy.array_split(numpy.arange(N), 2)):
        passes.python(half, True, [part])
    seen = inspected(halves[0])
    assert seen["rows"] == N // 2 and seen["features"] == ["1", "u", "v"] and seen["response"] == "y", seen
    passes.program("r", ["Rscript", str(HERE / "model.R")], True, *map(str, halves))
    found = solved(f"{passes.state('r')}.merged")
    difference = matched(laws({"report": found}), laws(reference)) / laws(reference) - 1
    print(f"merged in R: {found['rows']} rows, laws off by {numpy.abs(difference).max():.1e}")
    assert found["rows"] == N and numpy.abs(difference).max() < 1e-8


class Sql:
    """A table of states in one database or the other."""

    def __init__(self, server, db):
        self.server, self.db = server, db

    def text(self, statement):
        return self.server.sql(statement) if self.server else self.db.sql(statement)

    def bytes_of(self, expression, source):
        return bytes.fromhex(self.text(f"SELECT {f'encode({expression}::bytea, {chr(39)}hex{chr(39)})' if self.server else f'hex({expression})'} FROM {source}"))

    def value(self, content):
        return f"'\\x{content.hex()}'::bytea::mixstream" if self.server else f"unhex('{content.hex()}')"

    def list(self, *columns):
        return f"ARRAY[{', '.join(columns)}]" if self.server else f"[{', '.join(columns)}]"


def check_sql_to_python(passes, sql):
    """docs/examples/device.c sends a state with its name around it; SQL takes what is inside."""
    print("one blob: made in SQL, inspected by the tool, merged with one from a device, solved in Python")
    random = numpy.random.default_rng(4)
    t = random.uniform(-2.0, 2.0, 6000)
    y = numpy.where(random.random(6000) < 0.4, 1 + 2 * t, -1 - t) + 0.2 * random.standard_normal(6000)
    pairs = [f"{a!r} {b!r}" for a, b in zip(t.tolist(), y.tolist())]
    subprocess.run([GIVEN.device, "pump", "1", "2000", str(passes.folder)], input="\n".join(pairs[4000:]), text=True, check=True)
    device = blob.state_of_message((passes.folder / "pump-1-1").read_bytes())
    values = ", ".join(f"({pair.replace(' ', ', ')})" for pair in pairs[:4000])
    options = json.dumps({"features": ["t"], "sample": 1000, "modes": "independent", "noise": "shared", "polish": "off"})
    sql.text(f"CREATE TABLE made AS SELECT mixstream_state(y, {sql.list('t')}, NULL, NULL, '{options}') AS state FROM (VALUES {values}) AS v (t, y)")
    mine = passes.folder / "sql.mix"
    mine.write_bytes(sql.bytes_of("state", "made"))
    assert inspected(mine)["rows"] == 4000 and inspected(mine)["features"] == ["1", "t"], inspected(mine)
    both = passes.folder / "both.mix"
    both.write_bytes(sql.bytes_of("mixstream_merge(state)", f"(SELECT state FROM made UNION ALL SELECT {sql.value(device)}) AS two"))
    in_python = mixstream.Mixstream.from_bytes(both.read_bytes())
    report = json.loads(in_python.report().json)
    found, by_tool = laws({"report": report}), laws({"report": solved(both)})
    off = numpy.abs(matched(found, numpy.array([[1.0, 2.0], [-1.0, -1.0]])) - [[1.0, 2.0], [-1.0, -1.0]]).max()
    print(f"solved in Python: {report['status']}, {in_python.rows_} rows, laws off the tool's by {numpy.abs(found - by_tool).max():.1e}, "
          f"off what made the rows by {off:.3f}")
    assert in_python.rows_ == 6000 and report["status"] == "ok" and numpy.abs(found - by_tool).max() < 1e-8 and off < 0.05


def check_same_rows(passes):
    r = ["Rscript", str(HERE / "model.R")]
    everything = numpy.arange(N)
    shuffled = numpy.array_split(numpy.random.default_rng(5).permutation(N), 3)

    print("with their numbers; Python has them shuffled in three parts that merge, DuckDB in four threads, PostgreSQL in three processes")
    tool = passes.tool("tool")
    assert blob.State(passes.state("tool").read_bytes()).source == passes.source
    numbered = {"tool": tool, "cpp": passes.program("cpp", [GIVEN.cpp], True), "c": passes.program("c", [GIVEN.c], True),
                "python": passes.python("python", True, shuffled), "r": passes.program("r", r, True)}
    if DUCKDB:
        numbered["duckdb"] = passes.duckdb("duckdb", True, 4)
    if POSTGRESQL:
        numbered["postgresql"] = passes.postgresql("postgresql", True, 2)
    compare(passes, numbered, "tool")

    print("without numbers, in their order or shared out: what a row holds is its number")
    plain = {"tool": passes.tool("tool", "--unordered"), "threads": passes.tool("threads", "--unordered", "--threads", "2"),
             "cpp": passes.program("cpp", [GIVEN.cpp], False), "c": passes.program("c", [GIVEN.c], False),
             "python": passes.python("python", False, [everything]), "shuffled": passes.python("shuffled", False, shuffled),
             "r": passes.program("r", r, False)}
    if DUCKDB:
        plain.update({f"duckdb_{n}": passes.duckdb(f"duckdb_{n}", False, n) for n in (1, 4)})
    if POSTGRESQL:
        plain.update({f"postgresql_{n}": passes.postgresql(f"postgresql_{n}", False, n) for n in (0, 1, 2, 4)})
    compare(passes, plain, "tool")
    return tool


def main():
    global POSTGRESQL
    with contextlib.ExitStack() as held:
        folder = held.enter_context(tempfile.TemporaryDirectory(prefix="mixstream-same-"))
        pathlib.Path(folder).chmod(0o755)
        POSTGRESQL = held.enter_context(cluster.Cluster(*GIVEN.postgresql)) if GIVEN.postgresql else None
        passes = Passes(folder, make_rows())
        reference = check_same_rows(passes)
        check_python_to_r(passes, reference)
        if POSTGRESQL:
            check_sql_to_python(passes, Sql(passes.server, None))
        if DUCKDB:
            with database.Database(*DUCKDB) as db:
                check_sql_to_python(passes, Sql(None, db))


main()
