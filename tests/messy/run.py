#!/usr/bin/env python3
"""Messy files as people have them: each fits with one obvious call, or gets an error whose advice, followed to the
letter, works.

    run.py MIXSTREAM [NAME...]

Every file holds rows of the same two laws, power = 3 + 0.5 flow and 20 - 0.1 flow, in another mess. `call` is what a
new user types; where `advice` is set, that call must fail, refuse rows or lose one, and its last lines must hold the
pattern, whose first group is what the test then adds to the call (or, for `replace`, types instead).
"""
import datetime
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
ROWS = 3000


def rows(seed=1):
    made = random.Random(seed)
    begin = datetime.datetime(2024, 5, 1)
    for i in range(ROWS):
        flow = made.uniform(5, 50)
        running = made.random() < 0.6
        power = (3 + 0.5 * flow if running else 20 - 0.1 * flow) + made.gauss(0, 0.3)
        yield {"i": i, "time": begin + datetime.timedelta(seconds=10 * i), "flow": flow, "power": power,
               "machine": made.choice("ABC"), "status": "run" if running else "idle"}


def plain(row, between=",", number="{:.4f}".format):
    return between.join([number(row["flow"]), number(row["power"])])


def table(header, line, end="\n"):
    return end.join([header, *(line(row) for row in rows())]) + end


def comma(number):
    return f"{number:.4f}".replace(".", ",")


def thousands(number):
    return f"{1000 * number:,.2f}"


def german(number):
    return thousands(number).translate(str.maketrans(",.", ".,"))


def stuck(row):
    held = {**row, "flow": 21.5, "power": 13.7}
    return plain(held if 500 <= row["i"] < 560 else row)


NUMBERS = random.Random(2)
MANY = [f"{NUMBERS.gauss(0, 1):.3f}" for _ in range(20000)]


def wide(row):
    """998 numbers that have nothing to do with anything."""
    begin = random.Random(row["i"]).randrange(len(MANY) - 998)
    return ",".join(MANY[begin:begin + 998])


def ordinary(row):
    return f"{row['time'].isoformat()}Z,{row['machine']},{row['flow']:.4f},{row['status']},{row['power']:.4f}"


FILES = {
    "semicolons and decimal commas": dict(text=table("flow;power", lambda r: plain(r, ";", comma)),
                                          advice=r"say (--decimal ,)"),
    "a line of units": dict(text=table("flow,power\nm3/h,kW", plain), note="holds units"),
    "ISO times, a machine and a status": dict(text=table("Time,machine,Flow (m3/h),status,Power kW", ordinary),
                                              note="left out: Time"),
    "odd names written as they stand": dict(text=table("Time,machine,Flow (m3/h),status,Power kW", ordinary),
                                            words=["-y", "Power kW", "-x", "1,Flow (m3/h)"]),
    "a name that is not quite right": dict(text=table("Time,machine,Flow (m3/h),status,Power kW", ordinary),
                                           words=["-y", "Power kW", "-x", "1,Flow"], replace_in_words="1,Flow",
                                           advice=r"did you mean '(`Flow \(m3/h\)`)'"),
    "a category": dict(text=table("Time,machine,Flow,status,Power", ordinary),
                       words=["-y", "Power", "-x", "1,Flow,machine"], note="category of 3 values"),
    "stuck stretches": dict(text=table("flow,power", stuck), status="approximate", says="power repeats its value"),
    "duplicate names": dict(text=table("value,value", plain), words=["-y", "value", "-x", "1,value"],
                            replace=r"write (\S+) for the first, (\S+) for the second"),
    "nested JSON": dict(text=table("", lambda r: json.dumps({"id": r["i"], "pump": {"flow": r["flow"], "power": r["power"]}})).lstrip(),
                        words=["-y", "pump.power", "-x", "1,pump.flow"]),
    "a thousand columns": dict(text=table(",".join(["flow", *(f"s{i}" for i in range(998)), "power"]),
                                          lambda r: plain(r, f",{wide(r)},")),
                               advice=r"such as (-y power -x 1,flow\S*);"),
    "trailing delimiters": dict(text=table("flow,power", lambda r: plain(r) + ",")),
    "trailing delimiters in the header too": dict(text=table("flow,power,", lambda r: plain(r) + ",")),
    "mixed line ends": dict(text=table("flow,power", lambda r: plain(r) + ("\r" if r["i"] % 3 else ""))),
    "UTF-16": dict(bytes=table("flow,power", plain).encode("utf-16"), shell=r"\((iconv [^|]*)\|"),
    "thousands with commas": dict(text=table("flow;power", lambda r: plain(r, ";", thousands)),
                                  advice=r"say (--thousands ,)"),
    "thousands with points, decimal commas": dict(text=table("flow;power", lambda r: plain(r, ";", german)),
                                                  advice=r"say (--decimal , --thousands \.)"),
    "thousands with blanks": dict(text=table("flow;power", lambda r: plain(r, ";", thousands).replace(",", " ")), advice=r"say (--thousands ' ')"),
    "percent signs": dict(text=table("flow,power", lambda r: f"{r['flow']:.3f} %,{r['power']:.4f}")),
    "a preamble": dict(text="Pump log\nStation 7, north\n\n" + table("flow,power", plain), note="header seems to be line 4"),
    "a preamble that looks like names": dict(text="made by,logger 3\nstation 7,north\n" + table("flow,power,x", lambda r: plain(r) + ",1"),
                                             words=["-y", "power", "-x", "1,flow"], note="header seems to be line 3"),
    "a preamble with the table's delimiter": dict(text="Telemetry export, Station 7\n\n" + table("time,flow,power\n,m3/h,kW", lambda r: f"{r['time'].isoformat()}Z," + plain(r)),
                                                  note="header seems to be line 3"),
    "a first row too long": dict(refused={"ragged": 1}, text=table("name,flow,power", lambda r: "pump," + plain(r) + ("" if r["i"] else ",7"))),
    "a first row of words": dict(refused={"missing_value": 1}, text=table("flow,power,state", lambda r: (plain(r) if r["i"] else "NA,NA") + ",run")),
    "irregular blanks": dict(text=table("  flow    power", lambda r: f"{r['flow']:12.4f}  {r['power']:9.4f}")),
    "names in a comment": dict(text="# written by np.savetxt\n" + table("# flow power", lambda r: plain(r, " "))),
    "#N/A in the first column": dict(text=table("flow,power", lambda r: plain(r) if r["i"] % 100 else f"#N/A,{r['power']:.4f}"),
                                     refused={"missing_value": ROWS // 100}),
    "comments between rows": dict(text=table("flow,power", lambda r: plain(r) if r["i"] % 100 else "# pause\n" + plain(r)),
                                  advice=r"say (--comment '#')"),
    "err for a missing value": dict(text=table("flow,power", lambda r: plain(r) if r["i"] % 50 else f"{r['flow']:.3f},err"),
                                    advice=r"say (--na-values 'err')"),
    "numbers with units": dict(text=table("flow,power", lambda r: f"{r['flow']:.3f} m/s,{r['power']:.4f}"),
                               shell=r"take the unit away: (sed [^|]*)\|"),
    "marks behind numbers": dict(text=table("flow,power", lambda r: f"{r['flow']:.3f}{'*' if r['i'] % 40 == 7 else ''},{r['power']:.4f}"),
                                 shell=r"take the unit away: (sed [^|]*)\|"),
    "signs of money": dict(text=table("flow,power", lambda r: f"{r['flow']:.3f},$ {r['power']:.4f}"),
                           shell=r"take the sign away: (sed [^|]*)\|"),
    "minus signs of print": dict(text=table("flow;power", lambda r: f"{r['flow'] - 30:.3f};{r['power']:.4f}".replace("-", "\u2212")),
                                 shell=r"its minus sign is no hyphen: (sed [^|]*)\|"),
    "exponents of Fortran": dict(text=table("  FLOW  POWER", lambda r: f"  {r['flow'] / 100:.6f}D+02  {r['power'] / 100:.6f}D+02"),
                                 shell=r"its exponent is written with a D: (sed [^|]*)\|"),
    "days with points": dict(text=table("Time;flow;power", lambda r: f"{r['time']:%d.%m.%Y %H:%M:%S};" + plain(r, ";")),
                             words=["-y", "power", "-x", "1,flow", "--time", "Time", "--half-life", "30d"]),
    "months first, twelve hours": dict(text=table("Time;flow;power", lambda r: f"{r['time']:%m/%d/%Y %I:%M:%S %p};" + plain(r, ";")),
                                       words=["-y", "power", "-x", "1,flow", "--time", "Time", "--half-life", "30d"]),
    "months first": dict(text=table("Time;flow;power", lambda r: f"{r['time']:%m/%d/%Y %H:%M:%S};" + plain(r, ";")),
                         words=["-y", "power", "-x", "1,flow", "--time", "Time", "--half-life", "30d"],
                         shell=r"where the month stands first, (sed [^|]*)\|"),
    "line ends of old Macs": dict(text=table("flow,power", plain, "\r"), shell=r"(tr [^|<]*< FILE) \|"),
    "names in Latin-1": dict(bytes=table("Temp (\u00b0C),power", plain).encode("latin-1"), shell=r"(iconv [^|]*)\|"),
    "a table of Markdown": dict(text=table("| flow | power |\n|-----:|------:|", lambda r: "| " + plain(r, " | ") + " |"),
                                note="line 2 holds units"),
    "a table of psql": dict(refused={"ragged": 2}, text=table("    flow |    power\n---------+---------", lambda r: plain(r, " | ", "{:8.4f}".format)) + f"({ROWS} rows)\n"),
    "a line of totals": dict(refused={"ragged": 1, "not_a_number": 1}, text=table("flow,power,note", lambda r: plain(r) + ",") + "Total,,18234.2\nEnd of report\n"),
    "sep= as for Excel": dict(text="sep=;\n" + table("flow;power", lambda r: plain(r, ";", comma)), advice=r"say (--decimal ,)",
                              note="header seems to be line 2"),
    "the header again each day": dict(refused={"not_a_number": 2}, text=table("flow,power", lambda r: plain(r) if r["i"] % 1000 else "flow,power\n" + plain(r))),
    "no header": dict(text=table("", plain).lstrip(), advice=r"say (--no-header)"),
    "quotes and a byte order mark": dict(text="\ufeff" + table('"flow","power"', lambda r: ",".join(f'"{r[k]:.4f}"' for k in ("flow", "power")))),
    "row names of R": dict(text=table("flow power", lambda r: f'"{r["i"]}" ' + plain(r, " ")),
                           note="c1 (numbers the rows)"),
    "row names of R, texts": dict(text=table('"state";"flow";"power"', lambda r: f'"row {r["i"]}";"{r["status"]}";' + plain(r, ";")),
                                  note="left out: c1"),
    "codes behind the response": dict(text=table("flow,power,law", lambda r: plain(r) + f",{r['i'] % 4}"), words=["-x", "1,flow"]),
}


def quoted(words):
    return " ".join("'" + str(word).replace("'", "'\\''") + "'" for word in words)


class Messy(unittest.TestCase):
    def run_words(self, command, folder):
        done = subprocess.run(["bash", "-o", "pipefail", "-c", command], cwd=folder, capture_output=True, text=True, timeout=60)
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        return done, lines[-1] if lines else None

    def judge(self, case, done, fit):
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(fit["status"], case.get("status", "ok"), fit["words"])
        self.assertIn(case.get("says", ""), fit["words"])
        allowed = case.get("refused", {})
        self.assertEqual({name: count for name, count in fit["refused"].items() if not name.startswith("missing")},
                         {name: count for name, count in allowed.items() if not name.startswith("missing")})
        for name, count in allowed.items():
            self.assertEqual(fit["refused"][name], count)
        self.assertGreater(fit["rows"], 0.95 * ROWS)
        slopes = sorted(c["coefficients"][1] for c in fit["components"])
        self.assertAlmostEqual(slopes[0], -0.1, delta=0.01)
        self.assertAlmostEqual(slopes[1], 0.5, delta=0.01)


def test_of(name, case):
    def test(self):
        with tempfile.TemporaryDirectory() as folder:
            data = case.get("bytes") or case["text"].encode()
            pathlib.Path(folder, "FILE").write_bytes(data)
            words = [TOOL, "fit", "-k", "2", "--seed", "3", *case.get("words", [])]
            done, fit = self.run_words(quoted(words) + " FILE", folder)
            if "note" in case:
                self.assertIn(case["note"], done.stderr)
            advice = case.get("advice") or case.get("shell") or case.get("replace")
            if advice:
                clean = done.returncode == 0 and fit and fit["rows"] == ROWS and not fit["refused"]
                self.assertFalse(clean, "the first call went well: nothing to advise")
                found = re.search(advice, done.stderr)
                self.assertTrue(found, done.stderr)
                call = quoted(words)
                if "shell" in case:
                    call = found.group(1) + " | " + call
                elif "replace_in_words" in case:
                    call = quoted([word if word != case["replace_in_words"] else "1," + found.group(1) for word in words]) + " FILE"
                elif "replace" in case:
                    call = quoted([TOOL, "fit", "-k", "2", "-y", found.group(2), "-x", "1," + found.group(1)]) + " FILE"
                else:
                    call = call + " " + found.group(1) + " " + quoted(case.get("then", [])) + " FILE"
                done, fit = self.run_words(call, folder)
            self.judge(case, done, fit)
    return test


names = sys.argv[2:]
for number, (name, case) in enumerate(FILES.items()):
    if not names or name in names:
        setattr(Messy, f"test_{number:02}_{re.sub(r'[^a-z0-9]+', '_', name.lower())}", test_of(name, case))
unittest.main(argv=sys.argv[:1], verbosity=2)
