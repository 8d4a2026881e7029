# Licensed under the Apache License, Version 2.0; see LICENSE.

"""One body of 1 GB, down or up: no proxy may grow with it, whether it streams
the body or keeps it in a temporary file."""

import os
import time

from lab import LabError, MemoryWatch, get, put

from . import Metric, Scenario, Target

SIZE = 1 << 30

METRICS = [Metric('rate', 'MB/s', '.0f'),
           Metric('cpu', 'CPU ms/GB', '.0f'),
           Metric('growth', 'grows KiB', '.0f', ratio=False)]
TARGETS = [Target(('module', 'module-unbuffered'), 'growth', 2048,
                  absolute=True)]


def prepare(backend):
    backend.huge = backend.add_file('huge', SIZE)
    disk = os.statvfs(backend.lab.root)
    if disk.f_bavail * disk.f_frsize < 2 * SIZE:
        raise LabError(f'2 GB are needed on the disk of {backend.lab.root} '
                       '(TMPDIR chooses another one)')


def transfer(server, move):
    """Moves a body, which `move` does and counts."""
    cpu = server.process.cpu_seconds()
    began = time.monotonic()
    with MemoryWatch(server.process) as watch:
        status, moved = move()
    took = time.monotonic() - began
    if status != 200 or moved != SIZE:
        raise LabError(f'status {status} after {moved} of {SIZE} bytes')
    return {'rate': SIZE / (1 << 20) / took,
            'cpu': (server.process.cpu_seconds() - cpu) * 1000,
            'growth': watch.pss}


def download(server, _):
    return transfer(server, lambda: get(server.port, '/huge'))


def upload(server, _):
    def move():
        status, text = put(server.port, '/up/huge', server.backend.huge)
        return status, int(text) if text.isdigit() else 0
    return transfer(server, move)


DOWN = Scenario(name='down', title='one response of 1 GB', metrics=METRICS,
                targets=TARGETS, prepare=prepare, measure=download,
                fresh=True, most_rounds=3)

UP = Scenario(name='up', title='one request of 1 GB', metrics=METRICS,
              targets=TARGETS, prepare=prepare, measure=upload, fresh=True,
              most_rounds=3)
