"""One run: every system in turn, round by round, on the same servers; results are kept after each step."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, suppress
from functools import partial
from typing import NamedTuple

from benchmarks.machine import machine, moment
from benchmarks.peers.adapter import Adapter, AdapterFailed, Refused
from benchmarks.peers.catalogue import BARE, OURS, SYSTEMS, System
from benchmarks.peers.install import HERE, CannotBeHad, install
from benchmarks.peers.limits import limits
from benchmarks.peers.measure import Figures, bulk, pilot, whole
from benchmarks.peers.place import Places, places
from benchmarks.peers.plan import MAIN, SIZES, Plan
from benchmarks.peers.results import Results
from benchmarks.peers.scenes import EMPTY, HELD, LONGER, WORKERS, Crowd, Scene, Stage, stage
from benchmarks.peers.session import Session

FIFO = 100_000


class Options(NamedTuple):
    """What is asked of a run."""

    systems: Sequence[System]
    plan: Plan
    rounds: int
    sizes: Sequence[str]
    crowd: Crowd | None
    fifo: int = FIFO
    peers: int = 2
    """How many peers of a store, the best, are in the long matrix beside RowMQ."""
    resume: bool = False
    """Whether rounds that are there already are kept."""

    def rounds_of(self, case: str) -> int:
        """Other sizes than the main one, and scenes, have fewer rounds."""
        return self.rounds if case == MAIN else min(self.rounds, 2)

    def about(self) -> dict[str, object]:
        """What the page says of it."""
        long = {WORKERS: f"{WORKERS} (steps {LONGER} times as long)"}
        scenes = [long.get(each, each) for each in self.crowd.scenes] if self.crowd else []
        plan = {"messages": self.plan.messages, "seconds": self.plan.seconds, "rounds": self.rounds}
        return {**plan, "sizes": list(self.sizes), "scenes": scenes}


class Act(NamedTuple):
    """A system whose transaction is held open: what it reached before, and its scene, if it has one."""

    system: System
    stage: Stage
    empty: list[float]
    scenes: dict[str, Scene]


class Progress:
    """A line for each step: which, how far, and since when."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._step = 0

    def say(self, text: str) -> None:
        """Begin a step."""
        self._step += 1
        minutes, seconds = divmod(int(time.monotonic() - self._began), 60)
        print(f"# {minutes:3}:{seconds:02} step {self._step}: {text}", file=sys.stderr, flush=True)


class Run:
    """A run, which adds to what is known already."""

    def __init__(self, options: Options, results: Results, keep: Callable[[Results], object]) -> None:
        self.options, self.results, self._keep = options, results, keep
        self.book = results.book
        self._progress = Progress()

    def all(self) -> None:
        """Install, then measure store by store."""
        ready = [system for system in self.options.systems if self._installed(system)]
        for store in dict.fromkeys(system.store for system in ready):
            with places(store) as spots:
                self.results.servers[store] = spots.settings()
                part = {"store": store, **moment(), **machine(), **self.options.about()}
                self.results.parts.append(part)
                self._store(spots, [system for system in ready if system.store == store])
                self._supersede(part)
        self._keep(self.results)

    def _supersede(self, part: dict[str, object]) -> None:
        """Forget earlier parts of which nothing is left, once all of a store has been measured anew."""
        asked = {system.name for system in self.options.systems if system.store == part["store"]}
        known = {system.name for system in SYSTEMS if system.store == part["store"]}
        if asked == known and not self.options.resume:
            self.results.supersede(part)

    def _installed(self, system: System) -> bool:
        self._progress.say(f"{system.store}, {system.name}: installing, asking for its settings")
        known = {"store": system.store, "system": system.name}
        try:
            install(system)
            with Adapter(system) as adapter:
                self.results.describe(known | adapter.ask("describe"))
        except (CannotBeHad, AdapterFailed) as error:
            self.results.miss(known | {"reason": str(error)[:600]})
            return False
        return True

    def _store(self, spots: Places, systems: Sequence[System]) -> None:
        for case in self.options.sizes:
            for system in systems:
                self._missing(spots, system, case)
            for number in range(self.options.rounds_of(case)):
                # Another one first each time, so that nobody always runs after the same.
                turned = [*systems[number % len(systems) :], *systems[: number % len(systems)]]
                for system in turned:
                    if not self.book.has(spots.kind, system.name, case, number):
                        self._progress.say(f"{spots.kind}, {case}, round {number + 1}: {system.name}")
                        self._tried(spots, system, case, partial(self._round, spots, system, case, number))
                        if spots.kind == "sqs" and case == MAIN:
                            self._tried(spots, system, case, partial(self._cycles, spots, system, number))
        if self.options.crowd and spots.kind != "sqs":
            self._crowds(spots, systems, self.options.crowd)

    def _missing(self, spots: Places, system: System, case: str) -> bool:
        """Whether a case is to be measured; what was found before is forgotten, unless the run resumes it."""
        known, rounds = (spots.kind, system.name, case), self.options.rounds_of(case)
        if not self.options.resume:
            self.results.forget(*known)
        missing = not all(self.book.has(*known, number) for number in range(rounds))
        if missing:
            self.results.excuse(*known)
        return missing

    def _tried(self, spots: Places, system: System, case: str, step: Callable[[], None]) -> None:
        """Whatever goes wrong with one system is written down, and the run goes on."""
        try:
            step()
        except Exception as error:  # noqa: BLE001 - a peer may fail in any way
            told = str(error) if isinstance(error, AdapterFailed) else traceback.format_exc(limit=-2)
            self._trouble(spots.kind, system.name, case, told[-800:].replace(f"{HERE.parent.parent}/", ""))
        self._keep(self.results)

    def _trouble(self, store: str, system: str, case: str, told: str) -> None:
        """Write down what went wrong, once however often it did."""
        self._progress.say(f"{store}, {system} failed: {told}")
        trouble = {"store": store, "system": system, "case": case, "what": told}
        self.results.troubles += [trouble] if trouble not in self.results.troubles else []

    def _round(self, spots: Places, system: System, case: str, number: int) -> None:
        """One system at one size in one round; a failed one leaves a gap: rounds stay side by side."""
        found: Figures = {"work": None}
        try:
            found = self._figures(spots, system, case, number)
        finally:
            self.book.put(spots.kind, system.name, case, number, found)

    def _figures(self, spots: Places, system: System, case: str, number: int) -> Figures:
        plan, brief = self.options.plan.of_size(SIZES[case]), number > 0 and case != MAIN
        known = self.book.get(spots.kind, system.name, case, "work")
        guess = known.median or 0.0 if known else 0.0
        with spots.fresh() as place:
            if system.name == BARE:
                return limits(system, place, plan, brief=brief)
            with Session(system, place, plan) as session:
                # What it says of its settings once it is open is the truth.
                self.results.describe({"store": system.store, "system": system.name, **session.said})
                return bulk(session, pilot(session, guess)) if brief else whole(session, guess)

    def _cycles(self, spots: Places, system: System, number: int) -> None:
        """What SQS has: send, receive, delete, in a standard queue and in a crowded FIFO queue."""
        plan = self.options.plan.of_size(SIZES[MAIN])
        asked = {"count": plan.messages, "seconds": plan.seconds, "size": plan.size}
        with spots.fresh() as place, Session(system, place, plan) as session:
            for name, fifo, waiting in (("cycle", False, 0), ("cycle, FIFO", True, self.options.fifo)):
                said = session.control.ask("cycle", fifo=fifo, waiting=waiting, **asked)
                found = {name: said["count"] / said["seconds"]}
                found |= {"waiting in FIFO": said["waiting"]} if fifo else {}
                self.book.put(spots.kind, system.name, MAIN, number, found)

    # ---- the long matrix --------------------------------------------------------------------------------

    def _crowds(self, spots: Places, systems: Sequence[System], crowd: Crowd) -> None:
        """RowMQ and the best peers: each in its crowds, then all beside a transaction held open."""
        again = {system.name for system in systems if system.again}
        best = self.book.best(spots.kind, MAIN, "work", self.options.peers, {OURS, BARE} | again)
        chosen = [system for system in systems if system.name in (OURS, *best)]
        missing = {
            system: [case for case in crowd.cases(system, spots.kind) if self._missing(spots, system, case)]
            for system in chosen
        }
        for system, cases in missing.items():
            some = [case for case in cases if case != HELD]
            if some:
                self.results.excuse(spots.kind, system.name, "long matrix")
                self._tried(spots, system, "long matrix", partial(self._scenes, spots, system, crowd, some))
        self._held(spots, [system for system, cases in missing.items() if HELD in cases], crowd)

    def _scenes(self, spots: Places, system: System, crowd: Crowd, cases: Sequence[str]) -> None:
        """Build scenes, and measure them round by round beside an empty place."""
        scenes = dict[str, Scene]()
        with stage(system, spots, self.options.plan, crowd) as made:
            for case in cases:
                self._progress.say(f"{spots.kind}, {case}: filling for {system.name}")
                self._tried(spots, system, case, partial(self._build, scenes, case, made.scene))
            for number in range(self.options.rounds_of(WORKERS)) if scenes else ():
                self._beside(spots, system, made.empty.work(), scenes, number)
            self._ended(spots, system, scenes)

    def _held(self, spots: Places, systems: Sequence[System], crowd: Crowd) -> None:
        """Measure beside transactions that were held open for minutes in which all systems worked.

        Nothing else is measured meanwhile, an empty place before it: InnoDB then removes nothing anywhere.
        """
        acts = list[Act]()
        with ExitStack() as stack:
            for system in systems:
                made = stage(system, spots, self.options.plan, crowd)
                self._tried(spots, system, HELD, partial(self._before, acts, system, made, stack))
            for act in acts:
                self._tried(spots, act.system, HELD, partial(self._build, act.scenes, HELD, act.stage.scene))
            self._aged(spots, [act for act in acts if act.scenes], crowd.held)
            for number in range(self.options.rounds_of(HELD)):
                for act in acts:
                    self._beside(spots, act.system, act.empty[number], act.scenes, number)
            for act in acts:
                self._ended(spots, act.system, act.scenes)

    def _before(
        self, acts: list[Act], system: System, made: AbstractContextManager[Stage], stack: ExitStack
    ) -> None:
        self._progress.say(f"{system.store}, before {HELD}: {system.name}")
        built = stack.enter_context(made)
        empty = [built.empty.work() for _ in range(self.options.rounds_of(HELD))]
        acts.append(Act(system, built, empty, {}))

    def _aged(self, spots: Places, acts: Sequence[Act], seconds: float) -> None:
        """Let all work beside their open transactions; who cannot go on is left out."""
        names = ", ".join(act.system.name for act in acts)
        self._progress.say(f"{spots.kind}, {HELD} for {seconds:g} s: {names}")
        with ThreadPoolExecutor(max(1, len(acts))) as pool:
            aging = [pool.submit(act.scenes[HELD].age, seconds) for act in acts]
        for act, aged in zip(acts, aging, strict=True):
            self._tried(spots, act.system, HELD, aged.result)
            if aged.exception():
                act.scenes.clear()

    def _build(self, scenes: dict[str, Scene], case: str, build: Callable[[str], Scene]) -> None:
        with suppress(Refused):
            scenes[case] = build(case)

    def _beside(
        self, spots: Places, system: System, beside: float, scenes: dict[str, Scene], number: int
    ) -> None:
        """One round of every scene, beside what an empty place has reached."""

        def one(case: str, scene: Scene) -> None:
            found: Figures = {"work": None, EMPTY: None}
            try:
                found = {"work": scene.work(), EMPTY: beside}
            finally:
                self.book.put(spots.kind, system.name, case, number, found)

        for case, scene in scenes.items():
            self._progress.say(f"{spots.kind}, {case}, round {number + 1}: {system.name}")
            self._tried(spots, system, case, partial(one, case, scene))

    def _ended(self, spots: Places, system: System, scenes: dict[str, Scene]) -> None:
        """What the places were full of, and what is there at the end."""
        for case, scene in scenes.items():
            found = scene.crowd | {"dead tuples": scene.session.place.dead()}
            self.book.put(spots.kind, system.name, case, 0, found)
