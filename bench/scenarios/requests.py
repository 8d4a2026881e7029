# Licensed under the Apache License, Version 2.0; see LICENSE.

"""A closed loop over kept connections: what a request costs (1 KB), and what
a byte costs (1 MB)."""

from load import wrk

from . import Metric, Scenario, Target

CONNECTIONS = 32


def loop(server, path, options):
    before = server.process.cpu_seconds()
    load = wrk(server.port, path, CONNECTIONS, options.seconds)
    used = server.process.cpu_seconds() - before
    return {'cpu': used / load['requests'] * 1e6,
            'rate': load['requests'] / load['seconds'],
            'p99': load['p99']}


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
