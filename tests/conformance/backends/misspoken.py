"""Workers that speak the protocol with one mistake each: ``python misspoken.py MISTAKE``. Standard library only."""

import json
import os
import signal
import sys
import threading

HELLO = {
    "protocol": 1,
    "backend": {"name": "misspoken", "version": "1"},
    "capabilities": {"areas": ["small"], "editions": ["current"], "features": []},
}


def answer(request, body):
    return {"id": request["id"], **body}


def hello(**more):
    return {"ok": {**HELLO, **more}}


def claims(**changes):
    return hello(capabilities={**HELLO["capabilities"], **changes})


def say(text, end="\n"):
    sys.stdout.write(text + end)
    sys.stdout.flush()


def python_form(request):
    say(str(answer(request, hello())))


def not_a_number(request):
    say(json.dumps(answer(request, hello(speed=float("nan")))))


def by_hand(request):
    say('{"id": 1, "ok": {"protocol": 1,}}')


def indented(request):
    say(json.dumps(answer(request, hello()), indent=1))


def another_encoding(request):
    whole = json.dumps(answer(request, hello(place="Zürich")), ensure_ascii=False)
    os.write(1, whole.encode("latin-1") + b"\n")


def talks_on_stdout(request):
    say("loading the driver")
    say(json.dumps(answer(request, hello())))


def no_areas(request):
    say(json.dumps(answer(request, hello(capabilities={"editions": ["current"], "features": []}))))


def features_are_a_text(request):
    say(json.dumps(answer(request, claims(features="options"))))


def another_version(request):
    say(json.dumps(answer(request, hello(protocol=2))))


def no_outcome(request):
    say(json.dumps({"id": request["id"]}))


def another_id(request):
    say(json.dumps({"id": request["id"] + 1, **hello()}))


def no_id(request):
    say(json.dumps(hello()))


def never_answers(request):
    threading.Event().wait()


def no_newline(request):
    say(json.dumps(answer(request, hello())), end="")
    threading.Event().wait()


def closes_stdout(request):
    os.close(1)
    threading.Event().wait()


def ends_at_once(request):
    os._exit(0)


def dies_of_a_signal(request):
    os.kill(os.getpid(), signal.SIGSEGV)


def error_of_its_own(request):
    say(json.dumps(answer(request, {"error": {"message": "no device"}})))


def raises(request):
    request["params"]["edition"]  # raised here


def honest(request, known=("hello", "reset", "shutdown")):
    method = request["method"]
    if method == "hello":
        body = hello()
    else:
        body = {"ok": {}} if method in known else {"unsupported": {"feature": method}}
    say(json.dumps(answer(request, body)))


def two_lines(request):
    honest(request)
    say(json.dumps({"note": "done"}))


def dies_of_nonsense(request):
    honest(request)


def knows_every_method(request):
    honest(request, known=(request["method"],))


class counts:
    asked = 0

    def __call__(self, request):
        self.asked += 1
        if request["method"] == "hello":
            say(json.dumps(answer(request, hello(asked=self.asked))))
        else:
            honest(request)


def overclaims(request):
    if request["method"] == "hello":
        say(json.dumps(answer(request, claims(features=["options"]))))
    else:
        honest(request)


def stays(request):
    honest(request)
    if request["method"] == "shutdown":
        threading.Event().wait()


def ends_badly(request):
    honest(request)
    if request["method"] == "shutdown":
        os._exit(7)


def strict_about_fields(request):
    if request["method"] == "hello":
        (_,) = request["params"]
    honest(request)


class Hosted:
    """For the suite's worker."""

    def hello(self, params):
        return {"share": 1 / 0}  # raised in a method


def main(name):
    mistake = globals()[name]
    mistake = mistake() if isinstance(mistake, type) else mistake
    for line in sys.stdin:
        try:
            request = json.loads(line)
        except ValueError as error:
            if name == "dies_of_nonsense":
                raise
            say(json.dumps({"id": None, "error": {"message": str(error)}}))
            continue
        mistake(request)
        if request["method"] == "shutdown":
            return


if __name__ == "__main__":
    main(sys.argv[1])
