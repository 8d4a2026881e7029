# Licensed under the Apache License, Version 2.0; see LICENSE.

"""What is measured: a Scenario each, in the files of this directory. A new
one stands in SCENARIOS below; nothing else has to know it."""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Metric:
    """A column of the table."""
    key: str
    label: str
    form: str = '.1f'
    ratio: bool = True  # shown as a ratio to the base peer, too


@dataclasses.dataclass(frozen=True)
class Target:
    """`most` is a ratio to the base peer or, where `absolute`, a value."""
    peers: tuple  # names without /driver
    key: str
    most: float
    absolute: bool = False


@dataclasses.dataclass(frozen=True)
class Scenario:
    name: str  # on the command line
    title: str
    metrics: list
    targets: list
    prepare: typing.Callable  # (backend): once
    measure: typing.Callable  # (server, options) -> {key: number}
    fresh: bool = False       # every measurement on a server started anew
    most_rounds: int = 1000   # for those that take long


from . import bodies, requests  # noqa: E402 (they need the classes)

SCENARIOS = [requests.SMALL, requests.LARGE, bodies.DOWN, bodies.UP]
