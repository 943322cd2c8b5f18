"""What the tests of rules share: resolutions of a surface, and what they refuse and warn of."""

from __future__ import annotations

from npu_reference.options import resolve

__all__ = ["codes", "legacy", "runconfig", "warned"]


def codes(resolution):
    return [(error.subject, error.code) for error in resolution.errors]


def warned(resolution):
    return [(warning.option, warning.code) for warning in resolution.warnings]


def runconfig(env=None, files=None, **values):
    return resolve(values, surface="runconfig", env=env, files=files or {})


def legacy(**values):
    return resolve(values, edition="legacy", files={})
