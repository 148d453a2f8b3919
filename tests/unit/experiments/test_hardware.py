"""The description of the machine that is recorded beside results."""

from __future__ import annotations

import json
import os
import sys

from roster.experiments.hardware import machine


def test_the_machine() -> None:
    about = machine()
    assert json.loads(json.dumps(about)) == about
    assert about["cpu"]
    assert about["cores"] == os.cpu_count()
    assert about["cores_allowed"] <= about["cores"]
    assert about["python"] == sys.version.split()[0]
    assert about["memory"] > 2**28
