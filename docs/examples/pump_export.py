"""A week's export of two pumps as a plant's historian writes it: a preamble, a line of units, semicolons, decimal commas, thousands with
points, a byte order mark, CRLF, words for what is missing. For docs/tutorial.md:  pump_export.py > pump_export.csv"""

import datetime
import random
import sys

numbers = random.Random(2024)
time = datetime.datetime(2024, 3, 4, 6)
mode, flow = 0, 40.0
lines = ["Export of the historian", "Station: North; created 2024-03-11", "",
         "Time;Pump;Flow (m3/h);Inlet pressure (Pa);Power (kW);Status", ";;m3/h;Pa;kW;"]
for i in range(12000):
    time += datetime.timedelta(seconds=10 if numbers.random() < 0.999 else 310)
    mode = 1 - mode if numbers.random() < 1 / 300 else mode  # which nobody logs
    flow = max(5, min(90, flow + numbers.gauss(0, 2)))
    power = (3.1 + 0.21 * flow if mode == 0 else 11.5 + 0.08 * flow) + numbers.gauss(0, 0.35)
    pressure = round(101325 + numbers.gauss(0, 900))
    status = "running" if numbers.random() < 0.97 else "alarm 17"
    written = f"{power:.2f}".replace(".", ",") if numbers.random() > 0.004 else numbers.choice(["n/a", "---", ""])
    lines.append(f"{time:%Y-%m-%dT%H:%M:%S}+01:00;{'P1' if i % 2 else 'P2'};{f'{flow:.2f}'.replace('.', ',')};"
                 f"{f'{pressure:,}'.replace(',', '.')};{written};{status}")
sys.stdout.buffer.write(("\ufeff" + "\r\n".join(lines) + "\r\n").encode())
