# Licensed under the Apache License, Version 2.0; see LICENSE.

"""A closed loop: what a request costs (1 KB), what a byte costs (1 MB), and
what a connection of one request costs."""

from lab import LabError
from load import Clients, wrk

from peers import BASE

from . import Metric, Scenario, Target

CONNECTIONS = 32


def loop(server, path, options):
    before = server.process.cpu_seconds()
    load = wrk(server.port, path, CONNECTIONS, options.seconds)
    used = server.process.cpu_seconds() - before
    return {'cpu': used / load['requests'] * 1e6,
            'rate': load['requests'] / load['seconds'],
            'p99': load['p99']}


def connections(server, options):
    before = server.process.cpu_seconds()
    found = Clients(server, path='/app/wait/0', connections=CONNECTIONS,
                    close=1, rounds=0, until=options.seconds * 1000,
                    cut=options.seconds * 1000 + 5000).result()
    used = server.process.cpu_seconds() - before
    if found['failed'] or found['late']:
        raise LabError(f'not all was answered: {found}')
    return {'cpu': used / found['answered'] * 1e6,
            'rate': found['answered'] / found['seconds'],
            'p99': found['p99']}


SMALL = Scenario(
    name='small',
    title=f'responses of 1 KB, {CONNECTIONS} connections kept alive',
    metrics=[Metric('cpu', 'CPU us/request'),
             Metric('rate', 'requests/s', '.0f'),
             Metric('p99', 'p99 ms', '.2f')],
    targets=[Target(('module',), 'cpu', 0.85)],
    prepare=lambda backend: backend.add_file('small', 1 << 10),
    measure=lambda server, options: loop(server, '/small', options))

LARGE = Scenario(
    name='large',
    title=f'responses of 1 MB, {CONNECTIONS} connections kept alive',
    metrics=[Metric('cpu', 'CPU us/MB'),
             Metric('rate', 'MB/s', '.0f'),
             Metric('p99', 'p99 ms', '.0f')],
    targets=[Target(('module',), 'cpu', 0.5)],
    prepare=lambda backend: backend.add_file('large', 1 << 20),
    measure=lambda server, options: loop(server, '/large', options))

CLOSE = Scenario(
    name='close',
    title=f'a connection a request, {CONNECTIONS} at a time',
    metrics=[Metric('cpu', 'CPU us/connection'),
             Metric('rate', 'connections/s', '.0f'),
             Metric('p99', 'p99 ms', '.2f')],
    targets=[Target(('module',), 'cpu', 1.0),
             Target(('module',), 'p99', 1.0)],
    prepare=lambda backend: None,
    measure=connections,
    most_rounds=3,
    peers=(BASE, 'module/loop', 'module/sync', 'nginx', 'haproxy'))
