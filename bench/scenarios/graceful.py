# Licensed under the Apache License, Version 2.0; see LICENSE.

"""Graceful restarts under load: nothing may be lost. httpd has slots for the
children that have to end; what it cannot avoid is that the next child is
started by a look around once a second."""

import os
import time

from load import Clients
from peers import BASE, Shape

from . import Metric, Scenario, Target

RESTARTS = 5
EVERY = 2  # seconds
CLIENTS = 50
WAIT = 300  # ms
STREAMS = 50
EVENTS, EVENT_SIZE, EVENT_MS = 110, 16, 100  # a stream of 11 s
CUT = 16000  # ms


def measure(server, _):
    streams = Clients(server, path=f'/app/events/{EVENTS}/{EVENT_MS}',
                      expect=EVENTS * EVENT_SIZE, connections=STREAMS,
                      cut=CUT)
    clients = Clients(server, path=f'/app/wait/{WAIT}', connections=CLIENTS,
                      rounds=0, until=RESTARTS * EVERY * 1000, cut=CUT)
    time.sleep(EVERY / 2)
    for _ in range(RESTARTS):
        os.kill(server.process.popen.pid, server.peer.graceful)
        time.sleep(EVERY)
    found = clients.result()
    kept = streams.result()
    server.tell(found)
    server.tell(kept)
    return {'answered': found['answered'],
            'failed': found['failed'],
            'late': found['late'],
            'dropped': found['dropped'],
            'reset': found['reset'],
            'p50': found['p50'] / 1000,
            'p99': found['p99'] / 1000,
            'max': found['max'] / 1000,
            'kept': kept['answered'],
            'not_kept': STREAMS - kept['answered']}


GRACEFUL = Scenario(
    name='graceful',
    title=f'{RESTARTS} graceful restarts in {RESTARTS * EVERY} s, {CLIENTS} '
          f'clients that wait {WAIT} ms for the backend, {STREAMS} event '
          'streams',
    metrics=[Metric('answered', 'answered', '.0f'),
             Metric('failed', 'failed', '.0f', ratio=False),
             Metric('dropped', 'dropped', '.0f', ratio=False),
             Metric('reset', 'reset', '.0f', ratio=False),
             Metric('late', 'late', '.0f', ratio=False),
             Metric('p50', 'p50 s', '.2f', ratio=False),
             Metric('p99', 'p99 s', '.2f', ratio=False),
             Metric('max', 'max s', '.2f', ratio=False),
             Metric('kept', 'streams kept', '.0f', ratio=False)],
    targets=[Target(('module',), 'failed', 0, absolute=True),
             Target(('module',), 'late', 0, absolute=True),
             Target(('module',), 'not_kept', 0, absolute=True)],
    prepare=lambda backend: None,
    measure=measure,
    fresh=True,
    most_rounds=1,
    shape=Shape(threads=25, slots=8, connections=2000),
    peers=(BASE, 'module/loop', 'nginx', 'haproxy'))
