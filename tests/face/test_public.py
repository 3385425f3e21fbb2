import subprocess
import sys

import referee


def test_every_public_name_can_be_imported():
    for name in referee.__all__:
        assert getattr(referee, name) is not None
    assert referee.__all__ == sorted(referee.__all__, key=lambda n: (not n.isupper(), n))


def test_names_of_the_contract():
    from referee import metrics, optimizers, programs

    for name in ("resolve", "aresolve", "MACR"):
        assert callable(getattr(referee, name))
    for name in ("EvidenceGraph", "arbitrate", "mine_pairs"):
        assert callable(getattr(programs, name))
    assert callable(optimizers.verify_rules)
    for name in ("exact_match", "rouge_l", "snne", "relevant_snne", "select_threshold"):
        assert callable(getattr(metrics, name))


def test_folders_are_attributes():
    assert referee.metrics.exact_match("Austin", ["austin"]) == 1.0


def test_importing_is_cheap():
    code = "import sys, referee; assert not {'dspy', 'numpy', 'torch'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
