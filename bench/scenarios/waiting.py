# Licensed under the Apache License, Version 2.0; see LICENSE.

"""Many requests that wait for a slow backend: what waits should cost memory
but no thread."""

from load import BusyWatch, Clients
from lab import MemoryWatch
from peers import BASE, Shape

from . import Metric, Scenario, Target

ROUNDS = 3
WAIT = 2  # seconds
SHAPE = Shape(threads=25, connections=9000, status=True)


def measure(server, options):
    number = options.in_flight
    ideal = ROUNDS * WAIT
    with MemoryWatch(server.process, 0.1) as memory, \
            BusyWatch(server, SHAPE) as busy:
        found = Clients(server, path=f'/app/wait/{WAIT * 1000}',
                        connections=number, rounds=ROUNDS,
                        cut=2 * ideal * 1000).result()
    server.tell(found)
    return {'answered': found['answered'],
            'missing': number * ROUNDS - found['answered'],
            'failed': found['failed'],
            'over': (found['seconds'] if not found['late'] else 2 * ideal)
            / ideal,
            'p50': found['p50'] / 1000,
            'p99': found['p99'] / 1000,
            'pss': memory.pss / number,
            'rss': memory.rss / number,
            'busy': busy.mean()}


WAITING = Scenario(
    name='waiting',
    title=f'--in-flight clients, {ROUNDS} requests each, that wait {WAIT} s '
          f'for the backend; {SHAPE.threads} threads',
    metrics=[Metric('answered', 'answered', '.0f'),
             Metric('missing', 'missing', '.0f', ratio=False),
             Metric('failed', 'failed', '.0f', ratio=False),
             Metric('over', 'time/ideal', '.2f', ratio=False),
             Metric('p50', 'p50 s', '.2f', ratio=False),
             Metric('p99', 'p99 s', '.2f', ratio=False),
             Metric('pss', 'Pss KiB/each', '.1f', ratio=False),
             Metric('rss', 'Rss KiB/each', '.1f', ratio=False),
             Metric('busy', 'busy threads', '.1f', ratio=False)],
    targets=[Target(('module',), 'missing', 0, absolute=True),
             Target(('module',), 'over', 1.2, absolute=True),
             Target(('module',), 'pss', 40, absolute=True)],
    prepare=lambda backend: None,
    measure=measure,
    fresh=True,
    most_rounds=1,
    shape=SHAPE,
    peers=(BASE, 'module/loop', 'nginx', 'haproxy'))
