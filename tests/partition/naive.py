"""Naive transcriptions of the rules of contraction, merging and full offload: slow, short, and the tests' oracle."""

from __future__ import annotations

import itertools


class CycleGraph:
    """A directed graph under contraction that answers reachability by plain search."""

    def __init__(self, count):
        self.out = {node: set() for node in range(count)}
        self.into = {node: set() for node in range(count)}

    def connect(self, a, b):
        self.out[a].add(b)
        self.into[b].add(a)

    def reaches(self, a, b):
        seen, pending = set(), [a]
        while pending:
            for node in self.out[pending.pop()]:
                if node == b:
                    return True
                if node not in seen:
                    seen.add(node)
                    pending.append(node)
        return False

    def contract(self, a, b, larger_keeps):
        """The index that is kept, or None where another path joins a and b."""
        self.out[a].discard(b)
        self.into[b].discard(a)
        if self.reaches(a, b):
            self.connect(a, b)
            return None
        if larger_keeps and len(self.out[b]) + len(self.into[b]) > len(self.out[a]) + len(self.into[a]):
            a, b = b, a
        for node in self.out.pop(b):
            self.into[node].discard(b)
            self.connect(a, node)
        for node in self.into.pop(b):
            self.out[node].discard(b)
            self.connect(node, a)
        return a


def contract(count, edges, candidate, flavour="tf1", untied=(), untried=(), marks=()):
    """(label of every node's cluster, the contracted graph); `marks` are what clusters must not share, by node."""
    graph = CycleGraph(count)
    for number, (a, b) in enumerate(edges):
        if number not in untied:
            graph.connect(a, b)
    label = list(range(count))
    changed = True
    while changed:
        changed = False
        for number, (tail, head) in enumerate(edges):
            if not (candidate[tail] and candidate[head]) or number in untried:
                continue
            a, b = label[tail], label[head]
            if a == b or b not in graph.out[a]:
                continue
            marked = [set().union(*(marks[i] for i in marks if label[i] == c)) for c in (a, b)] if marks else [set()]
            if set.intersection(*marked):
                continue
            kept = graph.contract(a, b, flavour == "tf2")
            if kept is not None:
                label = [kept if old in (a, b) else old for old in label]
                changed = True
    return label, graph


def merge_pairs(label, graph, candidate, by_size):
    """{cluster label: label of the cluster that absorbs it}, `by_size` giving the order of equal sizes."""
    clusters = sorted({label[node] for node in range(len(label)) if candidate[node]})
    apart = {
        (s, d): not graph.reaches(s, d) and not graph.reaches(d, s)
        for s, d in itertools.product(clusters, repeat=2)
        if s != d
    }
    lists = {}
    for s in clusters:
        lists[s] = []
        for d in clusters:
            if d != s and apart[s, d] and all(apart[d, other] for other in lists[s]):
                lists[s].append(d)
    absorbed, group = set(), {cluster: cluster for cluster in clusters}
    for s in by_size(clusters):
        if s in absorbed:
            continue
        absorbed.add(s)
        for t in lists[s]:
            if s in lists[t]:
                absorbed.add(t)
                group[t] = s
    return group


def keep_largest_group(label, graph, candidate, by_size):
    """The set of cluster labels that full offload keeps."""
    clusters = sorted({label[node] for node in range(len(label)) if candidate[node]})
    kept = []
    for s in by_size(clusters):
        if all(not graph.reaches(s, other) and not graph.reaches(other, s) for other in kept):
            kept.append(s)
    return set(kept)
