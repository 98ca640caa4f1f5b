"""The search over the whole catalogue: all answered, with few evaluations each (`make bench` measures the seconds)."""

from headwater.sizing import search as room
from tests.questions import catalogue_questions
from tests.sizing_placement.test_placement import H100, H200


def test_every_question_is_answered_with_few_evaluations(monkeypatch):
    counted = []
    real = room.evaluate

    def evaluate(*args, **more):
        counted.append(1)
        return real(*args, **more)

    monkeypatch.setattr(room, "evaluate", evaluate)
    room.search.cache_clear()
    answers = [room.search(question, hardware) for question in catalogue_questions() for hardware in (H100, H200)]
    room.search.cache_clear()
    assert len(answers) >= 500
    assert all(answer.best is not None or answer.rejected for answer in answers)
    assert len(counted) <= 24 * len(answers)
