# Licensed under the Apache License, Version 2.0; see LICENSE.

"""WebSockets that are open all at once: what they cost in memory and time,
and that nothing is left of them."""

import os
import time

from lab import MemoryWatch
from load import BusyWatch, Clients, Sockets
from peers import BASE, Shape

from . import Metric, Scenario, Target

NUMBER = 5000
SECONDS = 10  # a frame each on every one
SHAPE = Shape(threads=25, connections=11000, status=True)
CUT = 16000  # ms
# Few, on a machine that has nothing else to do: what a frame takes longer.
FEW = {'connections': 50, 'frames': 100, 'pause': 50, 'cut': CUT}
GETS = {'path': '/app/wait/0', 'close': 1, 'rounds': 200, 'pause': 50,
        'cut': CUT}


def descriptors(process):
    found = 0
    for pid in process.members():
        try:
            found += len(os.listdir(f'/proc/{pid}/fd'))
        except OSError:
            pass
    return found


def echo_port(server):
    return int(server.backend.echo.rsplit(':', 1)[1])


def left_of(process, before):
    """Descriptors more than before, when that stays so for a second."""
    for _ in range(50):
        left = descriptors(process) - before
        if left <= 0:
            break
        time.sleep(0.1)
    return max(left, 0)


def crowd(server, **more):
    return Sockets(server, server.port, path='/ws/x', connections=NUMBER,
                   pause=1000, cut=CUT, **more)


def measure(server, _):
    direct = Sockets(server, echo_port(server), **FEW).result()
    # The first ones also make what a child makes once.
    proxied = Sockets(server, server.port, path='/ws/x', **FEW).result()
    before = descriptors(server.process)
    with MemoryWatch(server.process, 0.1) as memory, \
            BusyWatch(server, SHAPE) as busy:
        sockets = crowd(server, frames=SECONDS)
        time.sleep(2.5)  # they are open
        others = Clients(server, **GETS).result()
        found = sockets.result()
    server.tell(others)
    left = left_of(server.process, before)
    with MemoryWatch(server.process, 0.1) as again:
        second = crowd(server, frames=1).result()
    opened = max(found['opened'], 1)
    return {'missing': NUMBER * (SECONDS + 1) - found['echoes']
            - second['echoes'],
            'lost': sum(one[kind] for one in (found, second)
                        for kind in ('refused', 'lost', 'wrong')),
            'p50': found['p50'],
            'p99': found['p99'],
            'added': proxied['p99'] - direct['p99'],
            'rss': memory.rss / opened,
            'grown': max(0, again.before[1] + again.rss
                         - memory.before[1] - memory.rss) / opened,
            'left': left,
            'no_get': GETS['rounds'] - others['answered'],
            'get_max': others['max'] if others['answered'] else None,
            'busy': busy.mean()}


SOCKETS = Scenario(
    name='websockets',
    title=f'{NUMBER} WebSockets, a frame and its echo each second for '
          f'{SECONDS} s; {GETS["rounds"]} GETs meanwhile; {SHAPE.threads} '
          'threads',
    metrics=[Metric('missing', 'missing', '.0f', ratio=False),
             Metric('lost', 'lost', '.0f', ratio=False),
             Metric('p50', 'p50 ms', '.2f', ratio=False),
             Metric('p99', 'p99 ms', '.2f', ratio=False),
             Metric('added', 'added p99', '.2f', ratio=False),
             Metric('rss', 'Rss KiB/each', '.1f', ratio=False),
             Metric('grown', 'KiB more again', '.1f', ratio=False),
             Metric('left', 'fds left', '.0f', ratio=False),
             Metric('no_get', 'no GET', '.0f', ratio=False),
             Metric('get_max', 'GET max ms', '.1f', ratio=False),
             Metric('busy', 'busy threads', '.1f', ratio=False)],
    targets=[Target(('module',), 'missing', 0, absolute=True),
             Target(('module',), 'added', 2, absolute=True),
             Target(('module',), 'rss', 24, absolute=True),
             Target(('module',), 'grown', 1, absolute=True),
             Target(('module',), 'left', 5, absolute=True),
             Target(('module',), 'no_get', 0, absolute=True),
             Target(('module',), 'get_max', 50, absolute=True)],
    prepare=lambda backend: None,
    measure=measure,
    fresh=True,
    most_rounds=1,
    shape=SHAPE,
    # haproxy wants 22,000 descriptors for so many.
    peers=(BASE, 'module/loop', 'nginx'))
