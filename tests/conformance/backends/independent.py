"""A partitioner of its own, in the standard library alone: what a vendor's executable may look like.

Reads a GraphDef in text form and a list of offloadable operators, and groups device operators greedily, in an order
of dependence, wherever no cycle results. It claims just that. Nothing of the suite or the reference is imported.
"""

import json
import re
import sys

TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[A-Za-z_][\w.]*|[-+]?[\d.]+(?:[eE][-+]?\d+)?|[{}:\[\],<>;]|#[^\n]*|\s+')


class Refused(Exception):
    """Input this backend does not take."""

    def __init__(self, code, subject, message):
        super().__init__(message)
        self.body = {"code": code, "subject": subject, "message": message}


def parse(text):
    """Fields of one message in text form: name -> list of texts and of nested messages."""
    tokens = [token for token in TOKEN.findall(text) if not token.isspace() and not token.startswith("#")]
    message, rest = fields(tokens, 0)
    if rest != len(tokens):
        raise ValueError("unbalanced braces")
    return message


def fields(tokens, at):
    message = {}
    while at < len(tokens) and tokens[at] != "}":
        name = tokens[at]
        at += 1
        if tokens[at] == ":":
            at += 1
        if tokens[at] == "{":
            value, at = fields(tokens, at + 1)
            if at == len(tokens):
                raise ValueError("a brace is not closed")
        else:
            value = tokens[at].strip('"')
        message.setdefault(name, []).append(value)
        at += 1
    return message, at


def read_nodes(path):
    """(name, op, names of the nodes it reads, kept on the host by a scope) of every node."""
    try:
        with open(path, encoding="utf-8") as stream:
            message = parse(stream.read())
    except OSError as error:
        raise Refused("GRAPH_FILE", path, str(error)) from None
    except (ValueError, IndexError) as error:
        raise Refused("GRAPH_FORMAT", path, str(error)) from None
    nodes = []
    for node in message.get("node", []):
        inputs = [text.lstrip("^").split(":")[0] for text in node.get("input", [])]
        kept = any(
            attr["key"] == ["_without_npu_compile"] and attr["value"][0].get("b") == ["true"]
            for attr in node.get("attr", [])
        )
        nodes.append((node["name"][0], node["op"][0], inputs, kept))
    return nodes


def sort(nodes):
    """Nodes so that each comes after those it reads."""
    by_name = {node[0]: node for node in nodes}
    done, order = set(), []
    for start in nodes:
        stack = [(start[0], iter(start[2]))]
        while stack:
            name, inputs = stack[-1]
            following = next((one for one in inputs if one not in done and one in by_name), None)
            if name in done:
                stack.pop()
            elif following is None:
                done.add(name)
                order.append(by_name[name])
                stack.pop()
            else:
                if any(following == entry[0] for entry in stack):
                    raise Refused("GRAPH_CYCLE", following, "the graph has a cycle")
                stack.append((following, iter(by_name[following][2])))
    return order


def partition(params):
    """Groups level by level: the level of a node counts the changes of side on the longest way to it."""
    if params.get("policy", "documented") != "documented":
        return {"unsupported": {"feature": "policy." + params["policy"]}}
    offloadable, mixed = params["op_list"], params["values"].get("mix_compile_mode") is True
    device, level, groups = {}, {}, {}
    for name, op, inputs, kept in sort(read_nodes(params["graph"])):
        entry = offloadable.get(op)
        device[name] = entry is not None and not (mixed and (kept or entry.get("isGray")))
        level[name] = 0
        for source in inputs:
            step = 1 if device[source] != device[name] else 0
            level[name] = max(level[name], level[source] + step)
        # Device operators stand on even levels, host operators on odd ones.
        if level[name] % 2 == (0 if not device[name] else 1):
            level[name] += 1
        if device[name]:
            groups.setdefault(level[name], []).append(name)
    if not mixed and len(groups) > 1:
        largest = max(groups.values(), key=len)
        device = {name: name in largest for name in device}
        groups = {0: largest}
    return {
        "ok": {
            "geops": [{"name": f"group {number}", "nodes": groups[number]} for number in sorted(groups)],
            "host": [{"node": name} for name in device if not device[name]],
        }
    }


def hello(params):
    if params.get("protocol") != 1:
        return {"error": {"message": "only protocol 1 is spoken"}}
    return {
        "ok": {
            "protocol": 1,
            "backend": {"name": "independent", "version": "1"},
            "capabilities": {
                "areas": ["mixed"],
                "editions": ["current", "legacy"],
                "features": ["partition", "op_list"],
            },
        }
    }


METHODS = {
    "hello": hello,
    "partition": partition,
    "reset": lambda params: {"ok": {}},
    "shutdown": lambda params: {"ok": {}},
}


def answer(line):
    identifier = None
    try:
        request = json.loads(line)
        identifier = request["id"]
        method = METHODS.get(request["method"])
        if method is None:
            return identifier, {"unsupported": {"feature": request["method"]}}, False
        return identifier, method(request["params"]), request["method"] == "shutdown"
    except Refused as refusal:
        return identifier, {"rejected": refusal.body}, False
    except (ValueError, KeyError, TypeError) as error:
        return identifier, {"error": {"message": f"{type(error).__name__}: {error}"}}, False


def main():
    for line in sys.stdin:
        if line.strip():
            identifier, body, last = answer(line)
            sys.stdout.write(json.dumps(dict(body, id=identifier)) + "\n")
            sys.stdout.flush()
            if last:
                return


if __name__ == "__main__":
    main()
