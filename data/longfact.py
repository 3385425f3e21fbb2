"""LongFact: prompts for long answers on 38 topics, in ArbGraph's eight domains."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from .cards import Card
from .hub import Source, field
from .rows import Row

# The paper names the eight domains (Table 1) and not which topic is in which: this is ours.
DOMAINS = {
    "Science": (
        "astronomy",
        "biology",
        "chemistry",
        "geography",
        "mathematics",
        "physics",
        "prehistory",
        "psychology",
        "sociology",
    ),
    "Technology": (
        "architecture",
        "computer-science",
        "computer-security",
        "electrical-engineering",
        "machine-learning",
    ),
    "Medicine": ("clinical-knowledge", "medicine", "virology"),
    "Law": ("immigration-law", "international-law", "jurisprudence", "US-foreign-policy"),
    "Culture": ("moral-disputes", "movies", "music", "philosophy", "world-religions"),
    "Event": ("20th-century-events", "global-facts", "history"),
    "Communication": (
        "accounting",
        "business-ethics",
        "economics",
        "management",
        "marketing",
        "public-relations",
    ),
    "Lifestyle": ("celebrities", "gaming", "sports"),
}
TOPICS = {topic: domain for domain, topics in DOMAINS.items() for topic in topics}
KINDS = {
    "concepts": "longfact-concepts_gpt4_01-10-2024_noduplicates",
    "objects": "longfact-objects_gpt4_01-12-2024_noduplicates",
}


def convert(raw: Mapping[str, Any]) -> Row:
    """One prompt; no contexts and no facts (see `with_facts`). The canary stays behind."""
    stem = str(raw.get("file", "")).removesuffix(".jsonl")
    topic = stem.rpartition("_")[2]
    if topic not in TOPICS:
        raise InputError(
            f"{raw.get('file')!r} is not a file of LongFact: keep the published names."
        )
    return Row(
        id=f"{stem}-{raw['number']}",
        question=field(raw, "prompt"),
        documents=(),
        answers=(),
        dataset="longfact",
        domain=TOPICS[topic],
    )


SOURCE = Source(
    Card(
        "longfact",
        what="2,280 prompts for long factual answers, 38 topics, about concepts and objects.",
        gold="none is published: bring facts, or generate them once (with_facts, record_facts)",
        licence="CC BY 4.0 (prompts), Apache-2.0 (software)",
        as_of="2024-03-27",
    ),
    convert,
    revision="418c133f54f1ab49704983f0dde358054f51a6ed",
    files=tuple(
        "https://raw.githubusercontent.com/google-deepmind/long-form-factuality/{revision}/"
        f"longfact/{folder}/longfact-{kind}_{topic}.jsonl"
        for kind, folder in KINDS.items()
        for topic in sorted(TOPICS)
    ),
)
