import json
import logging
from functools import partial

import dspy
import pytest
from dspy.teleprompt.gepa.gepa_utils import ScoreWithFeedback

from referee.errors import BackboneError, BudgetExceeded, InputError, ParseError
from referee.metrics import exact_match, rouge_l
from referee.metrics.as_dspy import answer_metric, fact_recall_metric, response_metric
from referee.metrics.judges import FactJudge, ResponseJudge
from referee.runtime import Answer, Verdict
from referee.runtime.scripted import prompt_of, scripted_lm

GOLD = dspy.Example(question="Which port?", answers=["Ostend", "Oostende"]).with_inputs("question")
READINGS = (
    Answer(text="Ghent", document_id="a"),
    Answer(text="Ostend", document_id="b"),
    Answer(text="", document_id="c", status="no answer"),
    Answer(text="Ostend", document_id=None),
)


def said(answer, status="ok", **fields):
    verdict = Verdict(answer=answer, status=status, **fields)
    return dspy.Prediction(answer=answer, verdict=verdict)


def feedback(metric, gold, pred):
    result = metric(gold, pred, [], "reader", [])
    assert isinstance(result, ScoreWithFeedback)
    return result


@pytest.mark.parametrize(("answer", "score"), [("Ostend", 1.0), ("ghent", 0.0), ("", 0.0)])
def test_the_form_follows_the_caller(answer, score):
    metric = answer_metric()
    assert metric(GOLD, said(answer)) == metric(GOLD, said(answer), None) == score
    assert isinstance(metric(GOLD, said(answer)), float)
    assert metric(GOLD, said(answer), []) is (score == 1)
    assert feedback(metric, GOLD, said(answer)).score == score
    assert metric(GOLD, said(answer), program_trace=[]) == score


def test_feedback_names_the_right_answer_and_who_states_it():
    text = feedback(answer_metric(), GOLD, said("Ghent", answers=READINGS)).feedback
    assert text == (
        "The answer 'Ghent' is wrong: right is 'Ostend' or 'Oostende'. Read from b, but not chosen."
    )
    assert feedback(answer_metric(), GOLD, said("")).feedback.startswith("There is no answer: ")
    assert feedback(answer_metric(), GOLD, said("ostend")).feedback.startswith("Right")


def test_other_measures_and_their_bar_for_demonstrations():
    metric = answer_metric(rouge_l, accept=0.5)
    assert metric(GOLD, said("port of Ostend")) == pytest.approx(0.5)
    assert metric(GOLD, said("port of Ostend"), []) is True
    assert metric(GOLD, said("the old port of Ostend"), []) is False
    strict = answer_metric(partial(exact_match, style="strict"))
    assert strict(GOLD, said("ostend")) == 0
    lone = dspy.Example(question="?", answers="Ostend").with_inputs("question")
    assert answer_metric()(lone, dspy.Prediction(answer="ostend")) == 1


@pytest.mark.parametrize(
    ("status", "error"),
    [("provider_error", BackboneError), ("parse_error", ParseError), ("budget", BudgetExceeded)],
)
def test_a_failed_run_raises_and_is_no_zero(status, error):
    failed = said("", status, notes=("The server is gone.",))
    for trace in (None, []):
        with pytest.raises(error, match=rf"{status}.*The server is gone"):
            answer_metric()(GOLD, failed, trace)
    assert "could not be scored" in feedback(answer_metric(), GOLD, failed).feedback


def test_a_missing_prediction_or_reference_is_named():
    with pytest.raises(BackboneError, match="no prediction"):
        answer_metric()(GOLD, None)
    with pytest.raises(InputError, match="no 'answers'"):
        answer_metric()(dspy.Example(question="?"), said("x"))
    with pytest.raises(InputError, match="no 'facts'"):
        fact_recall_metric()(GOLD, said("x"))


def test_an_abstention_is_wrong_but_scored():
    assert answer_metric()(GOLD, said("", "abstained", abstained=True)) == 0.0


FACTS = ["Lea builds boats.", "Lea lives in Ostend.", "Lea has two sons.", "Lea sails."]
LONG = dspy.Example(question="Who is Lea?", facts=FACTS, documents=["Lea builds boats in Ostend."])
LONG = LONG.with_inputs("question")


def judge_script(request):
    """States what shares its last word with the text; a document supports what it names."""
    prompt = prompt_of(request)
    if "Passage:" in prompt:
        return json.dumps({"facts": ["Lea makes boats.", "Lea owns a yard."]})
    items = json.loads(prompt[prompt.rindex("[{") :])
    before = prompt[: prompt.rindex("[{")].split("Reply with")[1]
    known = {i["number"]: i["text"].split()[-1].rstrip(".") in before for i in items}
    if "Facts:" in prompt:
        return json.dumps({"verdicts": [{"number": n, "stated": k} for n, k in known.items()]})
    labels = {True: "supported", False: "insufficient"}
    return json.dumps({"verdicts": [{"number": n, "label": labels[k]} for n, k in known.items()]})


def owned(judge, script=judge_script):
    judge.set_lm(scripted_lm(script, name="scripted/judge"))
    return judge


def report(text, status="ok"):
    class Report:
        def __init__(self):
            self.text, self.status = text, status

    return dspy.Prediction(answer="", report=Report())


def test_fact_recall_reads_reports_and_names_what_is_missing():
    metric = fact_recall_metric(owned(FactJudge()))
    pred = report("In Ostend she makes boats.")
    assert metric(LONG, pred) == 0.5
    assert metric(LONG, dspy.Prediction(answer="In Ostend she makes boats.")) == 0.5
    assert metric(LONG, pred, []) is True
    assert fact_recall_metric(owned(FactJudge()), accept=0.6)(LONG, pred, []) is False
    given = feedback(metric, LONG, pred)
    assert given.score == 0.5
    assert given.feedback == ("Facts that the text does not state: Lea has two sons. | Lea sails.")
    assert metric(LONG, report("")) == 0.0
    with pytest.raises(BudgetExceeded):
        metric(LONG, report("x", "budget"))


def test_a_failed_judge_raises_instead_of_scoring_what_is_left():
    def script(request):
        if "sails" in prompt_of(request):
            raise RuntimeError("gone")
        return judge_script(request)

    metric = fact_recall_metric(owned(FactJudge(per_request=1), script))
    with pytest.raises(BackboneError, match="1 of 4 facts unscored"):
        metric(LONG, report("In Ostend she makes boats."))
    assert "could not be scored" in feedback(metric, LONG, report("Boats.")).feedback


def test_measures_of_harm_are_turned_round():
    pred = report("Lea makes boats in her yard.")
    faithful = response_metric("faithfulness", owned(ResponseJudge()))
    silent = response_metric("unsupported", owned(ResponseJudge()))
    assert faithful(LONG, pred) == silent(LONG, pred) == 0.5
    text = feedback(faithful, LONG, pred).feedback
    assert "Claims on which the documents are silent: Lea owns a yard." in text
    assert "Facts that the text does not state: " in text
    with pytest.raises(InputError, match="measure is 'beauty'"):
        response_metric("beauty", owned(ResponseJudge()))(LONG, pred)


def test_nothing_to_measure_is_no_score():
    with pytest.raises(InputError, match="0 claims, 4 facts"):
        response_metric("faithfulness", owned(ResponseJudge()))(LONG, report(""))


def test_a_judge_leaves_no_trace_in_the_program():
    with dspy.context(trace=[]):
        fact_recall_metric(owned(FactJudge()))(LONG, report("Boats."), dspy.settings.trace)
        assert dspy.settings.trace == []


class Reader(dspy.Module):
    """Answers from its model; a question about a storm ends in a provider error."""

    def __init__(self):
        super().__init__()
        self.read = dspy.Predict("question -> answer")

    def forward(self, question):
        answer = self.read(question=question).answer
        return said(answer, "provider_error" if "storm" in question else "ok")


def examples(*questions):
    return [dspy.Example(question=q, answers=["Ostend"]).with_inputs("question") for q in questions]


def chat(request):
    answer = "Ghent" if "inland" in prompt_of(request) else "Ostend"
    return f"[[ ## answer ## ]]\n{answer}\n\n[[ ## completed ## ]]"


@pytest.fixture
def program():
    """A `Reader` with its model, and dspy's log out of the way."""
    level = logging.getLogger("dspy").level
    logging.getLogger("dspy").setLevel(logging.CRITICAL)
    with dspy.context(lm=scripted_lm(chat), adapter=dspy.ChatAdapter()):
        yield Reader()
    logging.getLogger("dspy").setLevel(level)


def test_evaluate_tells_a_failed_row_from_a_wrong_one(program):
    rows = examples("By the sea?", "An inland one?", "In a storm?")
    result = dspy.Evaluate(devset=rows, metric=answer_metric(), num_threads=1)(program)
    assert [score for *_, score in result.results] == [1.0, 0.0, 0.0]
    assert [pred.get("answer") for _, pred, _ in result.results] == ["Ostend", "Ghent", None]
    stopped = dspy.Evaluate(devset=rows, metric=answer_metric(), num_threads=1, max_errors=1)
    with pytest.raises(Exception, match="cancelled due to errors"):
        stopped(program)


def test_bootstrapping_keeps_right_runs_only(program):
    rows = examples("In a storm?", "An inland one?", "By the sea?")
    optimizer = dspy.BootstrapFewShot(metric=answer_metric(), max_labeled_demos=0)
    compiled = optimizer.compile(program, trainset=rows)
    assert [demo.question for demo in compiled.read.demos] == ["By the sea?"]


def test_gepa_reflects_on_our_feedback(program):
    seen = []

    def reflect(request):
        seen.append(prompt_of(request))
        return json.dumps({"new_instruction": "Answer with a port."})

    rows = examples("In a storm?", "An inland one?", "By the sea?")
    lm = scripted_lm(reflect, name="scripted/reflection")
    optimizer = dspy.GEPA(
        metric=answer_metric(), max_metric_calls=14, reflection_lm=lm, num_threads=1
    )
    assert isinstance(optimizer.compile(program, trainset=rows, valset=rows), Reader)
    assert "The answer 'Ghent' is wrong: right is 'Ostend'." in seen[0]
    assert "storm" not in seen[0]
