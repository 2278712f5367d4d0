"""PostgreSQL servers for a test: each in a folder of its own, on a socket there, with the extension as it was
built. Nothing is installed into the system."""

import os
import pathlib
import pwd
import shutil
import subprocess
import tempfile


def pg_config(name):
    return pathlib.Path(subprocess.check_output(["pg_config", "--" + name], text=True).strip())


class Failed(Exception):
    """What psql said."""


class Programs:
    """A copy of PostgreSQL's tree that has the extension: programs look for their files beside themselves."""

    def __init__(self, folder, module, library, extension):
        self.folder = folder
        bin_folder, lib_folder, share_folder = (pg_config(n) for n in ("bindir", "pkglibdir", "sharedir"))
        self.bin = self._mirror(bin_folder)
        for name in ("postgres", "initdb", "pg_ctl"):
            shutil.copy(bin_folder / name, self.bin / name)
        self.lib = self._mirror(lib_folder)
        self.share = self._mirror(share_folder, leave_out=("extension",))
        self.extension = self._mirror(share_folder / "extension")
        for source in (bin_folder, lib_folder, share_folder, share_folder / "extension"):
            self._link(source)
        shutil.copy(module, self.lib / "mixstream.so")
        shutil.copy(library, self.lib / "libmixstream.so.0")
        for file in pathlib.Path(extension).glob("mixstream*"):
            if file.suffix in (".control", ".sql"):
                shutil.copy(file, self.extension / file.name)

    def _mirror(self, source, leave_out=()):
        place = self.folder / source.relative_to("/")
        place.mkdir(parents=True, exist_ok=True)
        return place

    def _link(self, source):
        place = self.folder / source.relative_to("/")
        for entry in source.iterdir():
            link = place / entry.name
            if not link.exists():
                link.symlink_to(entry)


def as_postgres(command, **keywords):
    """Root may not run a server; whoever else runs the test is the server's user."""
    if os.getuid() == 0:
        user = pwd.getpwnam("postgres")
        keywords.update(user=user.pw_uid, group=user.pw_gid, extra_groups=[])
    return subprocess.run(command, text=True, **keywords)


class Server:
    def __init__(self, programs, folder, limit_kib=None, starts=True):
        self.programs = programs
        self.folder = folder
        self.data = folder / "data"
        own = {name: value for name, value in os.environ.items() if not name.startswith("PG")}
        self.environment = {**own, "LD_LIBRARY_PATH": str(programs.lib), "OPENBLAS_NUM_THREADS": "1",
                            "LC_ALL": "C.UTF-8", "HOME": str(folder)}
        folder.mkdir(parents=True)
        if os.getuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        self._run([programs.bin / "initdb", "-D", self.data, "-A", "trust", "-U", "postgres", "--no-sync", "-E",
                   "UTF8"])
        with open(self.data / "postgresql.conf", "a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '{folder}'\nfsync = off\n"
                           "shared_buffers = 64MB\nmax_parallel_workers = 8\nmax_worker_processes = 12\n"
                           "parallel_setup_cost = 0\nparallel_tuple_cost = 0\nmin_parallel_table_scan_size = 0\n"
                           "jit = off\n")
        self.limit = [] if limit_kib is None else ["prlimit", f"--as={limit_kib * 1024}"]
        if starts:
            self.start()

    def _run(self, command, **keywords):
        done = as_postgres([str(part) for part in command], env=self.environment, cwd=self.folder,
                           stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **keywords)
        if done.returncode != 0:
            raise Failed(done.stdout)
        return done.stdout

    def start(self):
        self._run(self.limit + [self.programs.bin / "pg_ctl", "-D", self.data, "-w", "-t", "120", "-l",
                                self.folder / "log", "start"])

    def stop(self):
        self._run([self.programs.bin / "pg_ctl", "-D", self.data, "-m", "immediate", "stop"])

    def alone(self, statements, *before):
        """What one process without a server prints, which runs the statements one after the other, under another program
        such as valgrind. Errors do not end it."""
        return self._run([*before, self.programs.bin / "postgres", "--single", "-D", self.data, "postgres"],
                         input="\n".join(statements) + "\n")

    def connection(self, database="postgres"):
        return ["-X", "-q", "-h", str(self.folder), "-U", "postgres", "-d", database]

    def sql(self, text, database="postgres"):
        """What the statements print, unaligned; an error raises with code, message and hint."""
        done = subprocess.run(["psql", *self.connection(database), "-At", "-v", "ON_ERROR_STOP=1", "-v",
                               "VERBOSITY=verbose"], input=text, text=True, capture_output=True,
                              env=self.environment)
        if done.returncode != 0:
            raise Failed(done.stderr)
        return done.stdout.strip()

    def log(self):
        return (self.folder / "log").read_text()


class Cluster:
    """with Cluster(module, library, extension) as cluster: cluster.server("one").sql("SELECT 1")"""

    def __init__(self, module, library, extension):
        self.files = module, library, extension
        self.servers = []

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="mixstream-postgresql-"))
        self.folder.chmod(0o755)
        self.programs = Programs(self.folder / "programs", *self.files)
        return self

    def server(self, name, **keywords):
        self.servers.append(Server(self.programs, self.folder / name, **keywords))
        self.servers[-1].sql("CREATE EXTENSION mixstream")
        return self.servers[-1]

    def __exit__(self, *_):
        for server in self.servers:
            try:
                server.stop()
            except Failed:
                pass  # it is gone already
        shutil.rmtree(self.folder, ignore_errors=True)
