# Licensed under the Apache License, Version 2.0; see LICENSE.

"""wrk, and what it says."""

import re
import subprocess

from lab import LabError, find_program

UNITS = {'us': 1e-3, 'ms': 1.0, 's': 1e3, 'm': 60e3, 'h': 3600e3}


def milliseconds(text):
    number, unit = re.fullmatch(r'([\d.]+)(\w+)', text).groups()
    return float(number) * UNITS[unit]


def wrk(port, path, connections, seconds):
    """A closed loop. Returns {'requests', 'seconds', 'p99'} (p99 in ms); any
    answer that is not a 2xx or 3xx, and any broken connection, is an error.
    """
    argv = [find_program('wrk', 'wrk'), '-t1', f'-c{connections}',
            f'-d{seconds}s', '--timeout', '10s', '--latency',
            f'http://127.0.0.1:{port}{path}']
    said = subprocess.run(argv, text=True, capture_output=True,
                          check=False).stdout
    bad = re.findall(r'Socket errors.*|Non-2xx.*', said)
    total = re.search(r'(\d+) requests in ([\d.]+\w+),', said)
    p99 = re.search(r'99%\s+(\S+)', said)
    if bad or not total or not p99 or int(total.group(1)) == 0:
        raise LabError(f'{path}: {"; ".join(bad) or said or "no answer"}')
    return {'requests': int(total.group(1)),
            'seconds': milliseconds(total.group(2)) / 1000,
            'p99': milliseconds(p99.group(1))}
