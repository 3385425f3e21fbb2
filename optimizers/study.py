"""The study of a tuning in Optuna: its storage, its seeded sampler, what its trials hold.

Optuna's names stay in this module. A trial that was begun and never ended (its process was killed)
does not count: the next one takes its seed, so that a study that was interrupted finds what an
uninterrupted one finds.
"""

from __future__ import annotations

import json
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock

from ..errors import InputError
from ..programs.tunables import DIGITS, Tunable
from .rehearsal import Pass

NAME = "referee"
_BUSY = 60  # seconds that a worker waits for another one's transaction


@dataclass(frozen=True)
class Trial:
    """One trial that ended.

    Attributes:
        number: Optuna's; 0 is the unchanged program.
        values: By parameter.
        score: Mean over the rows that the defaults could score.
        requests: For each row, on average, as if nothing had been kept.
        new_requests: Requests that were really made.
        seconds: How long it took.
        scores: One for each row; None where it was not measured in this trial.
    """

    number: int
    values: Mapping[str, float]
    score: float
    requests: float
    new_requests: int
    seconds: float
    scores: tuple[float | None, ...]


class Study:
    """Trials in a storage that several processes may share.

    Args:
        tunables: What is searched, by name.
        pareto: Whether few requests are a second objective.
        seed: Of the sampler.
        storage: ``sqlite:///...``, ``journal:PATH`` or another URL that Optuna takes; None keeps
            the trials in memory.

    Raises:
        InputError: The storage cannot be opened.
    """

    def __init__(
        self, tunables: Mapping[str, Tunable], *, pareto: bool, seed: int, storage: str | None
    ) -> None:
        import optuna

        self.tunables, self.pareto, self.seed = tunables, pareto, seed
        with _quiet():
            try:
                self.optuna = optuna.create_study(
                    study_name=NAME,
                    storage=_opened(storage),
                    directions=["maximize", "minimize"] if pareto else ["maximize"],
                    load_if_exists=True,
                )
            except _storage_errors() as error:
                raise _unusable(storage, error) from None

    def describe(self, what: Mapping[str, Any]) -> None:
        """Say what the study is of; one of something else is refused.

        Raises:
            InputError: The storage holds a study of other data, settings or directions.
        """
        stored = self.optuna.user_attrs.get("of")
        plain = json.loads(json.dumps(what))
        if stored is None:
            self.optuna.set_user_attr("of", plain)
        elif stored != plain:
            names = ", ".join(k for k in plain if stored.get(k) != plain[k])
            raise InputError(
                f"The study found there differs in: {names}. Choose another folder or storage."
            )

    def trials(self) -> list[Trial]:
        """The trials that ended, in order."""
        return [_trial(t) for t in self._in_state("COMPLETE")]

    def add_default(self, found: Pass) -> None:
        """Enter the unchanged program as a trial of its own."""
        import optuna

        values = {name: t.nearest for name, t in self.tunables.items()}
        self.optuna.add_trial(
            optuna.trial.create_trial(
                params=values,
                distributions={name: _distribution(t) for name, t in self.tunables.items()},
                values=self._objectives(found, found),
                user_attrs={"run": _record(found, found)},
            )
        )

    def ask(self) -> tuple[Any, dict[str, float]]:
        """Begin a trial; returns what `tell` takes, and its values."""
        trial = self.optuna.ask()
        gone = sum(t.number < trial.number for t in self._in_state("FAIL"))
        # A sampler of its own for each trial: a resumed study draws what it would have drawn.
        self.optuna.sampler = _sampler(self.seed, trial.number - gone)
        return trial, {name: _suggested(trial, name, t) for name, t in self.tunables.items()}

    def tell(self, trial: Any, found: Pass, default: Pass) -> None:
        """End a trial."""
        trial.set_user_attr("run", _record(found, default))
        self.optuna.tell(trial, self._objectives(found, default))

    def give_up(self, trial: Any) -> None:
        """End a trial without a result; it does not count."""
        import optuna

        self.optuna.tell(trial, state=optuna.trial.TrialState.FAIL)

    def bury(self) -> None:
        """End the trials of processes that are gone; only for one who knows that they are."""
        for trial in self._in_state("RUNNING"):
            self.give_up(trial.number)

    def importances(self) -> dict[str, float] | None:
        """How much each value matters for the score, summing to 1; None when nothing does."""
        import optuna

        if len(self.tunables) < 2 or len({t.score for t in self.trials()}) < 2:
            return None
        evaluator = optuna.importance.FanovaImportanceEvaluator(seed=self.seed)
        with _quiet():
            found = optuna.importance.get_param_importances(
                self.optuna, evaluator=evaluator, target=lambda t: t.values[0]
            )
        return {name: round(float(share), 4) for name, share in found.items()}

    def _in_state(self, name: str) -> list[Any]:
        import optuna

        state = optuna.trial.TrialState[name]
        return list(self.optuna.get_trials(deepcopy=False, states=(state,)))

    def _objectives(self, found: Pass, default: Pass) -> list[float]:
        score = comparable(found.scores, default.scores)
        return [score, found.requests] if self.pareto else [score]


def comparable(scores: Sequence[float | None], default: Sequence[float | None]) -> float:
    """Mean over the rows that the defaults could score.

    A row that a trial could not score counts as it did at the defaults: trials are compared on the
    same rows, and a failure is neither a wrong answer nor a right one.
    """
    pairs = [(s, d) for s, d in zip(scores, default, strict=True) if d is not None]
    return sum(d if s is None else s for s, d in pairs) / len(pairs)


@contextmanager
def working(folder: Path) -> Iterator[bool]:
    """Be a worker of a folder; yields whether it is the only one alive.

    Each worker holds a lock that its death, of whatever kind, releases.
    """
    workers = folder / "workers"
    workers.mkdir(parents=True, exist_ok=True)
    others = [path for path in workers.glob("*.lock") if _held(path)]
    own = workers / f"{uuid.uuid4().hex}.lock"
    try:
        with filelock.FileLock(own):
            yield not others
    finally:
        own.unlink(missing_ok=True)


def _held(path: Path) -> bool:
    try:
        with filelock.FileLock(path, timeout=0):
            pass
    except filelock.Timeout:
        return True
    with suppress(OSError):
        path.unlink(missing_ok=True)
    return False


def _opened(storage: str | None) -> Any:
    import sqlalchemy
    from optuna.storages import JournalStorage, RDBStorage
    from optuna.storages.journal import JournalFileBackend

    if storage is None:
        return None
    if storage.startswith("journal:"):
        path = storage.removeprefix("journal:").removeprefix("//")
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        return JournalStorage(JournalFileBackend(path))
    if not storage.startswith("sqlite"):
        return RDBStorage(storage)
    found = RDBStorage(storage, engine_kwargs={"connect_args": {"timeout": _BUSY}})
    # Waiting for the disk at each of a trial's ten writes took longer than the trial. What a killed
    # process wrote is safe without it.
    sqlalchemy.event.listen(found.engine, "connect", _unhurried)
    found.engine.dispose()  # connections made so far
    return found


def _unhurried(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA synchronous=OFF")


def _storage_errors() -> tuple[type[Exception], ...]:
    from optuna.exceptions import OptunaError
    from sqlalchemy.exc import SQLAlchemyError

    return OptunaError, SQLAlchemyError, ImportError, OSError, ValueError


@contextmanager
def usable(storage: str | None) -> Iterator[None]:
    """Whatever a storage fails with inside, such as a full disk, becomes one sentence.

    Raises:
        InputError: It cannot be read or written.
    """
    from optuna.exceptions import OptunaError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (OptunaError, SQLAlchemyError) as error:
        raise _unusable(storage, error) from None


def _unusable(storage: str | None, error: Exception) -> InputError:
    """One sentence without the URL of a server, which may hold a password."""
    kind, _, place = (storage or "").partition(":")
    if isinstance(error, ImportError):
        return InputError(f"A {kind} storage needs a driver: {error}")
    # Optuna wraps SQLAlchemy's error, and that the database's own, which alone says what it is.
    wrapped = (getattr(e, "orig", None) for e in (error, error.__cause__))
    why = next(filter(None, wrapped), type(error).__name__)
    if kind in ("sqlite", "journal"):
        path = place.removeprefix("//" if kind == "journal" else "///")
        return InputError(
            f"The trials in {path} cannot be read or written ({why}): make room, or delete it and "
            "start again; replies are kept apart."
        )
    return InputError(
        f"The {kind} storage cannot be used ({type(error).__name__}): give sqlite:///FILE, "
        "journal:FILE, or the URL of a PostgreSQL or MySQL database that answers."
    )


def _sampler(seed: int, place: int) -> Any:
    import optuna

    return optuna.samplers.TPESampler(seed=(seed * 1_000_003 + place) % 2**32)


def _distribution(tunable: Tunable) -> Any:
    from optuna.distributions import FloatDistribution, IntDistribution

    if tunable.whole:
        return IntDistribution(int(tunable.low), int(tunable.last), step=int(tunable.step))
    return FloatDistribution(tunable.low, tunable.last, step=tunable.step)


def _suggested(trial: Any, name: str, tunable: Tunable) -> float:
    low, high, step = tunable.low, tunable.last, tunable.step
    if tunable.whole:
        return int(trial.suggest_int(name, int(low), int(high), step=int(step)))
    return round(float(trial.suggest_float(name, low, high, step=step)), DIGITS)


def _record(found: Pass, default: Pass) -> dict[str, Any]:
    return {
        "scores": list(found.scores),
        "score": comparable(found.scores, default.scores),
        "requests": found.requests,
        "new_requests": found.new_requests,
        "seconds": round(found.seconds, 3),
    }


def _trial(found: Any) -> Trial:
    values = {name: round(value, DIGITS) for name, value in found.params.items()}
    try:
        run = dict(found.user_attrs["run"])
        return Trial(found.number, values, scores=tuple(run.pop("scores")), **run)
    except (KeyError, TypeError, ValueError):
        raise InputError(
            f"Trial {found.number} of the study is damaged: delete the study and start again; "
            "replies are kept apart."
        ) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Optuna tells of every study on stderr, and warns of what it calls experimental."""
    import optuna

    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(level)
