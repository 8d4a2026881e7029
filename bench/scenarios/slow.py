# Licensed under the Apache License, Version 2.0; see LICENSE.

"""Slow clients: they should hold neither the backend nor a thread. haproxy
has no disk buffering and is not asked unless --peers says so."""

import json
import os

from lab import LabError, get, read
from load import BusyWatch, Clients
from peers import BASE, Backend, Shape

from . import Metric, Scenario, Target

SHAPE = Shape(threads=25, connections=2000, status=True)
PEERS = (BASE, 'module/loop', 'nginx')

DOWNLOADS, DOWNLOAD, DOWN_RATE = 200, 2_000_000, 200_000
UPLOADS, UPLOAD, UP_RATE = 100, 200_000, 20_000
CUT = 14000  # ms; the ideal is 10 s for both

# As of a network: loopback would swallow a whole body.
NETWORK = {'mss': 1448, 'rcvbuf': 32768}

GETS = {'path': '/app/wait/0', 'close': 1, 'rounds': 100, 'pause': 80,
        'cut': CUT}
GETS_METRICS = [Metric('gets', 'GETs meanwhile', '.0f', ratio=False),
                Metric('get50', 'p50 ms', '.1f', ratio=False),
                Metric('get99', 'p99 ms', '.1f', ratio=False),
                Metric('busy', 'busy threads', '.1f', ratio=False)]
GETS_TARGETS = [Target(('module',), 'no_get', 0, absolute=True),
                Target(('module',), 'get99', 50, absolute=True)]


def room_on_disk(backend):
    disk = os.statvfs(backend.lab.root)
    if disk.f_bavail * disk.f_frsize < 2 * DOWNLOADS * DOWNLOAD:
        raise LabError(f'1 GB is needed on the disk of {backend.lab.root} '
                       '(TMPDIR chooses another one)')


def app_port(server):
    return int(server.backend.app.rsplit(':', 1)[1])


def meanwhile(server, number, **what):
    """The slow clients, with others that are not. Returns what the slow
    ones say, what the backend says, and metrics of the others."""
    get(app_port(server), '/reset')
    with BusyWatch(server, SHAPE) as busy:
        slow = Clients(server, connections=number, cut=CUT, **NETWORK, **what)
        others = Clients(server, **GETS).result()
        found = slow.result()
        stats = json.loads(read(app_port(server), '/stats', 5))
    server.tell(found)
    server.tell(others)
    return found, stats, {
        'gets': others['answered'],
        'no_get': GETS['rounds'] - others['answered'],
        # Nobody knows how long the others would have taken.
        'get50': others['p50'] if others['answered'] else None,
        'get99': others['p99'] if others['answered'] else None,
        'busy': busy.mean()}


def download(server, _):
    found, stats, metrics = meanwhile(
        server, DOWNLOADS, path=f'/app/bytes/{DOWNLOAD}', expect=DOWNLOAD,
        rate=DOWN_RATE)
    return {'free': (stats['ended'] if stats['served'] >= DOWNLOADS
                     else CUT / 1000),
            'served': stats['served'],
            'right': found['answered'],
            'not_right': DOWNLOADS - found['answered'],
            'seconds': found['seconds'],
            **metrics}


def upload(server, _):
    found, stats, metrics = meanwhile(
        server, UPLOADS, path='/app/upload', upload=UPLOAD, rate=UP_RATE)
    return {'mean': stats['held'] / (UPLOAD / UP_RATE),
            'peak': stats['peak'],
            'right': found['answered'],
            'not_right': UPLOADS - found['answered'] + stats['wrong'],
            'seconds': found['seconds'],
            **metrics}


DOWN = Scenario(
    name='slow-down',
    title=f'{DOWNLOADS} downloads of {DOWNLOAD / 1e6:.0f} MB at '
          f'{DOWN_RATE // 1000} kB/s, the backend serves '
          f'{Backend.APP_SLOTS} at a time; {SHAPE.threads} threads',
    metrics=[Metric('free', 'backend free s', '.1f', ratio=False),
             Metric('served', 'served', '.0f', ratio=False),
             Metric('right', 'right', '.0f', ratio=False),
             Metric('seconds', 'all s', '.1f', ratio=False),
             *GETS_METRICS],
    targets=[Target(('module',), 'free', 2, absolute=True),
             Target(('module',), 'not_right', 0, absolute=True),
             *GETS_TARGETS],
    prepare=room_on_disk,
    measure=download,
    fresh=True,
    most_rounds=1,
    shape=SHAPE,
    peers=PEERS)

UP = Scenario(
    name='slow-up',
    title=f'{UPLOADS} uploads of {UPLOAD // 1000} kB at '
          f'{UP_RATE // 1000} kB/s: backend connections held meanwhile; '
          f'{SHAPE.threads} threads',
    metrics=[Metric('mean', 'held, mean', '.2f', ratio=False),
             Metric('peak', 'peak', '.0f', ratio=False),
             Metric('right', 'right', '.0f', ratio=False),
             Metric('seconds', 'all s', '.1f', ratio=False),
             *GETS_METRICS],
    # The mean: at the end all of them are passed on at once.
    targets=[Target(('module',), 'mean', 0.5, absolute=True),
             Target(('module',), 'not_right', 0, absolute=True),
             *GETS_TARGETS],
    prepare=lambda backend: None,
    measure=upload,
    fresh=True,
    most_rounds=1,
    shape=SHAPE,
    peers=PEERS)
