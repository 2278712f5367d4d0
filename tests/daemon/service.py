"""The unit is clean, well hardened, and says what a daemon with many streams and secrets needs.  service.py SYSTEMD_ANALYZE UNIT MIXSTREAMD"""

import os
import re
import subprocess
import sys
import tempfile

analyze, unit, program = sys.argv[1:]
program = os.path.abspath(program)
with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "mixstreamd.service")
    with open(unit) as file:
        text = re.sub(r"^ExecStart=\S+", "ExecStart=" + program, file.read(), flags=re.M)
    for key in ("LimitNOFILE=", "RuntimeDirectory=", "TimeoutStartSec=", "# LoadCredential=mqtt-password:"):
        assert re.search("^" + key + r"\S+", text, re.M), f"the unit lacks {key}"
    text = re.sub(r"^# LoadCredential=([\w-]+):\S+", r"LoadCredential=\1:/dev/null", text, flags=re.M)  # as who uncomments them
    with open(path, "w") as file:
        file.write(text.replace("man:mixstreamd(8) man:mixstreamd.toml(5)", "https://example.org"))  # not installed here
    result = subprocess.run([analyze, "verify", "--recursive-errors=no", path], capture_output=True, text=True)
    assert result.returncode == 0 and not result.stderr.strip(), result.stderr
    result = subprocess.run([analyze, "security", "--offline=true", path], capture_output=True, text=True)
    exposure = float(re.search(r"exposure level for mixstreamd.service: ([0-9.]+)", result.stdout).group(1))
    print("exposure", exposure)
    assert exposure < 2.0, result.stdout
