"""Monte Carlo tree search on plain records: selection, expansion, back-up; no model, no state.

A tree is a tuple of nodes, the root first; every function returns a new one. Whoever searches keeps
what the nodes stand for in a list of its own, by the same numbers.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias


@dataclass(frozen=True)
class Node:
    """One state of the search.

    Attributes:
        parent: Number of its parent; None for the root.
        depth: Steps from the root.
        visits: Values backed up through it.
        total: Their sum, each in [0, 1].
        closed: Whether nothing below it, nor itself, is to be expanded any more.
    """

    parent: int | None = None
    depth: int = 0
    visits: int = 0
    total: float = 0.0
    closed: bool = False

    @property
    def mean(self) -> float | None:
        """Mean value in [0, 1]; None when nothing was backed up."""
        return self.total / self.visits if self.visits else None


Tree: TypeAlias = tuple[Node, ...]
ROOT: Tree = (Node(),)


def children(tree: Tree, at: int) -> list[int]:
    """Numbers of the children of a node, in order of insertion."""
    return [n for n, node in enumerate(tree) if node.parent == at]


def path(tree: Tree, at: int) -> list[int]:
    """Numbers from the root to a node."""
    found = [at]
    while (parent := tree[found[-1]].parent) is not None:
        found.append(parent)
    return found[::-1]


def uct(node: Node, parent_visits: int, exploration: float) -> float:
    """Upper confidence bound of a node: its mean, and more the less it was visited.

    Args:
        node: A child.
        parent_visits: N, visits of its parent, at least those of the child.
        exploration: c >= 0.

    Returns:
        Q + c·√(ln N / n); infinity for a node that was never visited.

    Example:
        >>> uct(Node(visits=1, total=0.5), 1, 1.4)
        0.5
    """
    if node.mean is None:
        return math.inf
    return node.mean + exploration * math.sqrt(math.log(max(1, parent_visits)) / node.visits)


def select(tree: Tree, exploration: float, rng: random.Random) -> int | None:
    """The open leaf that UCT leads to from the root; equal bounds are drawn by ``rng``.

    Returns:
        Its number; None when the whole tree is closed.
    """
    at = 0
    while not tree[at].closed:
        below = [n for n in children(tree, at) if not tree[n].closed]
        if not below:
            return at
        bounds = [uct(tree[n], tree[at].visits, exploration) for n in below]
        at = rng.choice([n for n, bound in zip(below, bounds, strict=True) if bound == max(bounds)])
    return None


def expand(tree: Tree, at: int, closed: Sequence[bool]) -> Tree:
    """The tree with new children of a leaf, at its end; a leaf without any is closed.

    Args:
        tree: The tree.
        at: Number of an open leaf.
        closed: For each child whether it is the end of a search.
    """
    depth = tree[at].depth + 1
    grown = (*tree, *(Node(parent=at, depth=depth, closed=end) for end in closed))
    return _closed_up(grown, at) if all(closed) else grown


def close(tree: Tree, at: int) -> Tree:
    """The tree with a leaf that is not to be expanded."""
    closed = _with(tree, at, replace(tree[at], closed=True))
    parent = tree[at].parent
    return closed if parent is None else _closed_up(closed, parent)


def back_up(tree: Tree, at: int, value: float) -> Tree:
    """The tree with a value added to a node and to all above it.

    Args:
        tree: The tree.
        at: Number of the node that the value belongs to.
        value: In [0, 1].
    """
    for n in path(tree, at):
        node = tree[n]
        tree = _with(tree, n, replace(node, visits=node.visits + 1, total=node.total + value))
    return tree


def best(tree: Tree, values: Sequence[float | None]) -> int:
    """The node whose own value is highest; the first of equal ones, the root when none has any.

    Args:
        tree: The tree.
        values: For each node the value that it was given itself, or None.
    """
    valued = [(value, -n) for n, value in enumerate(values[: len(tree)]) if value is not None]
    return -max(valued)[1] if valued else 0


def _closed_up(tree: Tree, at: int) -> Tree:
    """Close a node whose children are all closed, and so on towards the root."""
    current: int | None = at
    while current is not None and all(tree[n].closed for n in children(tree, current)):
        tree = _with(tree, current, replace(tree[current], closed=True))
        current = tree[current].parent
    return tree


def _with(tree: Tree, at: int, node: Node) -> Tree:
    return (*tree[:at], node, *tree[at + 1 :])
