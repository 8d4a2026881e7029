# Licensed under the Apache License, Version 2.0; see LICENSE.

"""What is measured: a Scenario each, in the files of this directory. A new
one stands in SCENARIOS below; nothing else has to know it."""

import dataclasses
import typing

from peers import BASE, Shape


@dataclasses.dataclass(frozen=True)
class Metric:
    """A column of the table."""
    key: str
    label: str
    form: str = '.1f'
    ratio: bool = True  # shown as a ratio to the base peer, too


@dataclasses.dataclass(frozen=True)
class Target:
    """`most` is a ratio to another peer or, where `absolute`, a value."""
    peers: tuple  # names without /driver
    key: str
    most: float
    absolute: bool = False
    base: str = BASE


@dataclasses.dataclass(frozen=True, eq=False)
class Scenario:
    name: str  # on the command line
    title: str
    metrics: list
    targets: list
    prepare: typing.Callable  # (backend): once
    measure: typing.Callable  # (server, options) -> {key: number or None}
    fresh: bool = False       # every measurement on a server started anew
    most_rounds: int = 1000   # for those that take long
    shape: Shape = Shape()
    peers: tuple = ()         # unless --peers says which; (): all


# They need the classes.
from . import bodies, graceful, requests, slow, sockets, waiting  # noqa: E402

SCENARIOS = [requests.SMALL, requests.LARGE, requests.CLOSE, bodies.DOWN,
             bodies.UP, waiting.WAITING, slow.DOWN, slow.UP,
             graceful.GRACEFUL, sockets.SOCKETS]
