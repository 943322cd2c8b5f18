"""What the adapter does not take."""


class Refused(Exception):
    """The adapter does not take the input. Which code it stands for is known only if the adapter says so."""

    def __init__(self, error, names=()):
        text = f"{type(error).__name__}: {error}"[:2000]
        super().__init__(text)
        code, subject = getattr(error, "code", None), getattr(error, "subject", None)
        told = isinstance(code, str) and isinstance(subject, str)
        named = [name for name in names if name in text]
        guess = "OPTION_TYPE" if isinstance(error, TypeError) else "OPTION_VALUE"
        self.body = {
            "code": code if told else guess,
            "message": text,
            "subject": subject if told else (named[0] if len(named) == 1 else ""),
        }
        if not told:
            self.body["unseen"] = ["code", "subject", "message"]


class AdapterTold(Refused):
    """A refusal of which the body is known."""

    def __init__(self, body):
        Exception.__init__(self, body["message"])
        self.body = body
