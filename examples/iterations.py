"""A backend in Python, hosted by the suite's worker: how iterations and mixed computing go together.

    npu-conformance run --backend py:iterations:Backend      (in this folder)

It claims the area mixed with the method options alone, so that only those cases are asked.
"""


class Refused(Exception):
    """What the worker answers as ``rejected``: any exception with these three texts is."""

    def __init__(self, code, subject, message):
        super().__init__(message)
        self.code, self.subject, self.message = code, subject, message


#: Option: the type of its values, and its default.
OPTIONS = {"mix_compile_mode": (bool, False), "iterations_per_loop": (int, 1)}


class Backend:
    def hello(self, params):
        return {
            "protocol": 1,
            "backend": {"name": "iterations", "version": "1"},
            "capabilities": {"areas": ["mixed"], "editions": ["current"], "features": ["options"]},
        }

    def options(self, params):
        effective = {}
        for name, (kind, default) in OPTIONS.items():
            given = name in params["values"]
            value = params["values"].get(name, default)
            if isinstance(value, dict):  # {"field": "b" or "i", "value": ...}
                value = value["value"]
            if type(value) is not kind:
                raise Refused("OPTION_TYPE", name, f"{value!r} is no {kind.__name__}")
            effective[name] = {"value": value, "origin": "given" if given else "default"}
        if effective["mix_compile_mode"]["value"] and effective["iterations_per_loop"]["value"] != 1:
            raise Refused("OPTION_CONFLICT", "iterations_per_loop", "mixed computing needs 1")  # document 000
        return {"effective": effective, "warnings": []}
