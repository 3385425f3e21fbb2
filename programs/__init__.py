"""DSPy programs: MACR, ArbGraph, and the baselines of both."""

from .arbgraph import ArbGraph
from .arbitration import Arbitration, arbitrate, eliminate
from .assessment import Gate
from .base import Program
from .baselines.astute import Astute
from .baselines.ckplug import CKPlugAnswer
from .baselines.cot import ChainOfThought
from .baselines.critic import Critic
from .baselines.fire import Fire
from .baselines.instructrag import InstructRAG
from .baselines.madam import Madam
from .baselines.mcts_rag import MCTSRAG
from .baselines.react import ReAct
from .baselines.truthfulrag import TruthfulRAG
from .direct import Direct
from .evidence_graph import EvidenceGraph
from .icl import InContext
from .macr import MACR
from .macr_paper import PaperMACR
from .observer import Observer
from .pair_mining import mine_pairs
from .rag import StandardRAG
from .rules import Rule, RuleBase, starter_rules
from .settings import ArbSettings
from .vote import Vote

PROGRAMS: dict[str, type[Program]] = {
    p.name: p
    for p in (
        *(ArbGraph, Direct, InContext, MACR, PaperMACR, StandardRAG, Vote),
        *(Astute, CKPlugAnswer, InstructRAG, Madam, TruthfulRAG),
        *(ChainOfThought, Critic, Fire, MCTSRAG, ReAct),
    )
}
"""Programs by the name that the command line takes."""

__all__ = [
    "MACR",
    "MCTSRAG",
    "PROGRAMS",
    "ArbGraph",
    "ArbSettings",
    "Arbitration",
    "Astute",
    "CKPlugAnswer",
    "ChainOfThought",
    "Critic",
    "Direct",
    "EvidenceGraph",
    "Fire",
    "Gate",
    "InContext",
    "InstructRAG",
    "Madam",
    "Observer",
    "PaperMACR",
    "Program",
    "ReAct",
    "Rule",
    "RuleBase",
    "StandardRAG",
    "TruthfulRAG",
    "Vote",
    "arbitrate",
    "eliminate",
    "mine_pairs",
    "starter_rules",
]
