"""Every command of a page runs, in the order it stands there, in an empty folder, and prints what the page says up to its numbers.  run.py SOURCE_ROOT BUILD_ROOT

A block of indented lines whose first word is a program is commands; the block behind it is what they print, all of it or a stretch. What
never ends is ended after its first answer. Ports are exchanged for free ones."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

ROOT, BUILD = (pathlib.Path(word).resolve() for word in sys.argv[1:3])
# What sets the program up was done by whoever runs this test; the rest of such commands is run by the tests named in tests/run.
SET_UP = {"apps/demo", "tests/run", "apps/setup build", "meson setup build && ninja -C build apps/mixstream/mixstream",
          "export PATH=$PWD/build/apps/mixstream:$PATH MIXSTREAM=$PWD"}
PROGRAMS = ("mixstream ", "mixstreamd ", "head ", "tail ", "curl ", "mpirun ", "apps/", "tests/", "meson ", "export ", "python3 ",
            "for ")
GUIDES = ("docs/guide/stream-tool.md", "docs/guide/modes.md")  # that need neither broker nor compiler: those have tests of their own
RANKS = BUILD / "apps/mixstream-mpi/mixstream-mpi"
MPI = {"OMPI_MCA_btl_vader_single_copy_mechanism": "none", "OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_mpi_yield_when_idle": "1",
       "OMPI_MCA_btl": "self,vader", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OPENBLAS_NUM_THREADS": "1"}
REFUSED = {"mixstream fit pump_export.csv": 3}  # and their exit codes
# Files that the reader has of his own: a log cut in two, a state of each half, some days and some parts.
OWN = {
    "monday.csv": "for log in pump.csv rows.csv; do [ -e $log ] || continue; half=$(($(wc -l < $log) / 2)); head -$((half + 1)) $log > monday.csv; "
                  "(head -1 $log; tail -n +$((half + 2)) $log) > tuesday.csv; done",
    "day*.csv": "for day in 1 2; do mixstream simulate -k 2 -x 1,t -n 20000 --coefficients 0,1,3,-1 --seed $day > day$day.csv; done",
    "part*.csv": "for part in 1 2; do cp day$part.csv part$part.csv; done",
    "mon.mix": "for d in mon tue; do mixstream fit -k 3 -y power -x 1,flow,flow^2 -q ${d}*day.csv --save $d.mix > /dev/null; done",
}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def blocks(page):
    """(kind, text) of every heading and every indented block: commands, file, or output."""
    found, lines, prose = [], [], ""
    for line in page.read_text().splitlines() + ["end"]:
        if line.startswith("    "):
            lines.append(line[4:])
        elif lines and not line.strip():
            lines.append("")
        elif line.strip():
            if lines:
                found.extend(split("\n".join(lines).strip("\n"), prose))
            if line.startswith("#"):
                found.append(("heading", line))
            lines, prose = [], line
    return found


def split(text, prose):
    """Blocks between which only blank lines stand; a file's own blank lines part nothing."""
    if "`mixstreamd.toml`:" in prose:
        return [("file", text)]
    parts = []
    for part in re.split(r"\n\n+", text):
        if "#include" in part or "estimator" in part:
            continue
        parts.append(("commands" if part.startswith(PROGRAMS) else "output", part))
    return parts


def commands_of(block):
    """One at a time, continued lines joined, remarks left out."""
    for line in re.sub(r"\\\n\s*", "", block).splitlines():
        yield re.sub(r"\s+# .*$", "", line).strip()


def shape(text):
    """What is printed, without its numbers, the width of columns and the length of rules."""
    masked = re.sub(r"[-+]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?", "#", text)
    return [re.sub(r"\s+", " ", line).strip() for line in masked.splitlines() if line.strip()]


class Reader:
    """Who types the commands."""

    def __init__(self, folder):
        self.folder = folder
        self.ports = {"8471": free_port(), "7070": free_port()}
        self.environment = {**os.environ, **MPI, "PATH": f"{BUILD}/apps/mixstream:{BUILD}/apps/mixstreamd:{RANKS.parent}:{os.environ['PATH']}", "NO_COLOR": "1",
                            "MIXSTREAM": str(ROOT)}
        self.daemon = None
        self.ran = 0

    def exchange(self, text):
        for port, free in self.ports.items():
            text = text.replace(port, free)
        return text

    def bash(self, command, seconds=120):
        return subprocess.run(["bash", "-c", "set -o pipefail; " + command], cwd=self.folder, env=self.environment, capture_output=True,
                              text=True, timeout=seconds)

    def have_files_for(self, command):
        for name, way in OWN.items():
            if name in command and not (self.folder / name).exists():
                result = self.bash(way)
                assert result.returncode == 0, f"{way}: {result.stderr}"

    def endless(self, command, awaited):
        """Ended at its first answer."""
        process = subprocess.Popen(["bash", "-c", command], cwd=self.folder, env=self.environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, start_new_session=True)
        text, end = "", time.monotonic() + 60
        while awaited not in text:
            assert time.monotonic() < end and process.poll() is None, f"{command}: no answer: {text}"
            text += process.stdout.readline()
        return process, text

    def stop(self, process):
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def type(self, command):
        """What it printed."""
        if command in SET_UP:
            return ""
        command = self.exchange(command)
        self.have_files_for(command)
        self.ran += 1
        print("$", command[:150], flush=True)
        if " -f " in command.split("|")[0] and command.startswith("tail"):
            process, text = self.endless(command, '"status"')
            self.stop(process)
            return text
        if command.startswith("mixstreamd") and "--check-config" not in command:
            if self.daemon:
                self.stop(self.daemon)
            self.daemon, text = self.endless(command, "the page is at")
            return text
        if command.startswith("curl") or "/dev/tcp" in command:  # as soon as there is a fit, or somebody listens
            end = time.monotonic() + 60
            while True:
                result = self.bash(command)
                if result.returncode == 0 or time.monotonic() > end:
                    break
                time.sleep(0.5)
        else:
            result = self.bash(command)
        assert result.returncode == REFUSED.get(command, 0), f"{command}: exit {result.returncode}\n{result.stdout}{result.stderr}"
        return result.stdout + result.stderr

    def read(self, page):
        printed = ""
        for kind, text in blocks(page):
            if kind == "file":
                (self.folder / "mixstreamd.toml").write_text(self.exchange(text) + f"\n[http]\nport = {self.ports['8471']}\n")
            elif kind == "commands":
                printed = "".join(self.type(command) for command in commands_of(text))
            elif kind == "heading":
                printed = ""
            elif printed:
                self.compare(page.name, text, printed)

    def compare(self, page, said, printed):
        said, have = shape(said), shape(self.exchange(printed))
        for line in said:
            assert any(line in other for other in have), f"{page}: '{line}' is not printed, but\n" + "\n".join(have[:40])


def read_together(pages):
    """In one folder: what an earlier page made is there for a later one. How many commands ran."""
    with tempfile.TemporaryDirectory(prefix="mixstream-docs-") as folder:
        reader = Reader(pathlib.Path(folder))
        try:
            for page in pages:
                reader.read(ROOT / page)
        finally:
            if reader.daemon:
                reader.stop(reader.daemon)
    return reader.ran


def main():
    guides = GUIDES + (("docs/guide/scale-out.md",) if RANKS.exists() and shutil.which("mpirun") else ())
    ran = read_together(("docs/tutorial.md", "README.md")) + read_together(guides)
    print(ran, "commands")
    assert ran > 40, "too few: are the blocks still found?"


main()
