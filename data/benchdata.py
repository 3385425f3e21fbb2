"""Cards of the benchmark files that development measures on; the files are never bundled."""

from __future__ import annotations

from .cards import Card

MACR_SIDE = "world-true; the benchmark itself rewards the counterfactual answer"


def _card(name: str, what: str, licence: str, gold: str = "world-true", as_of: str = "") -> Card:
    return Card(name, what=what, gold=gold, version="selection", licence=licence, as_of=as_of)


_NONE = "none in the repository"
CARDS = {
    card.name: card
    for card in (
        _card(
            "ramdocs",
            "RAMDocs: ambiguous questions with mixed documents.",
            "MIT",
            "world-true; several answers are right for different readings",
            "2025-04-17",
        ),
        _card("faithfulrag_squad", "SQuAD passages and their counterfactual rewriting.", _NONE),
        _card("faithfulrag_musique", "MuSiQue passages and their counterfactual rewriting.", _NONE),
        _card(
            "conflictnq", "One real and five fake passages; answers are sentences.", "Apache-2.0"
        ),
        _card(
            "rgb_en_fact",
            "RGB counterfactual robustness, English.",
            "CC BY-NC-SA 4.0",
            as_of="2023-09-04",
        ),
        _card(
            "rgb_zh_fact",
            "RGB counterfactual robustness, Chinese.",
            "CC BY-NC-SA 4.0",
            as_of="2023-09-04",
        ),
        _card(
            "mquake_cf",
            "MQuAKE-CF: short statements before and after an edit.",
            "MIT (MQuAKE)",
            "world-true, before the edit; MACR and the benchmark reward the edited answer",
            "2023-05-24",
        ),
        _card(
            "mquake_t_joined",
            "MQuAKE-T: one correct statement a row.",
            "MIT (MQuAKE)",
            "world-true after the update",
            "2023-04-30",
        ),
        _card("coconflictqa", "A gold passage and a model's passage for its wrong answer.", _NONE),
        _card("dynamicqa", "Sentences with the true and an exchanged entity.", _NONE),
        _card(
            "faitheval_counterfactual",
            "Science questions with a counterfactual context.",
            _NONE,
            "counterfactual: what the context says",
        ),
        _card(
            "conflictqa_strategyqa_chatgpt",
            "Yes/no questions with memory and counter-memory.",
            "Apache-2.0",
        ),
        _card(
            "conflicts_dragged",
            "CONFLICTS: search queries with web documents and a conflict type.",
            _NONE,
            "world-true single reference, or none",
            "2025-12-31",
        ),
        _card("poisonedrag", "Five adversarial passages a question, no clean one.", "MIT"),
        _card(
            "realtimeqa",
            "News questions of 2022 with a snippet that may not answer them.",
            _NONE,
            'what the snippet supports, else "I don\'t know"',
            "2022-12-31",
        ),
        _card(
            "conflictbank",
            "ConflictBank: default, misinformation, temporal and semantic evidence.",
            "CC BY-SA 4.0",
            as_of="2024-08-22",
        ),
        _card("confiqa", "ConFiQA-QA: the README's example.", _NONE, MACR_SIDE, "2024-12-20"),
        _card(
            "ragchecker_examples", "RAGChecker's example.", "Apache-2.0", "long reference answer"
        ),
        _card(
            "ragchecker_meta_eval",
            "Questions with references, no contexts.",
            "Apache-2.0",
            "long reference answer",
        ),
        _card(
            "longfact",
            "LongFact prompts; carries a canary: never train on it.",
            "CC BY 4.0",
            "none",
            "2024-03-27",
        ),
        _card(
            "factscore_labeled",
            "Biographies with labelled facts, no contexts.",
            "MIT",
            "world-true labels per fact",
            "2023-12-31",
        ),
    )
}
