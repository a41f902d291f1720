"""What of a question's form may explain why a judge and a label differ. Never decides anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from judge.prompt import clean_example

if TYPE_CHECKING:
    from judge.verdict import RegistryView

OWN_EXAMPLE = "own_example"
"""The question is word for word an example of the registry as the judge was shown it."""
NO_QUESTION_WORD = "no_question_word"
"""Neither one of the released rules' six words nor a verb of request: their rule 2."""
RUBRIC_CONTRADICTION = "rubric_contradiction"
"""Background before a question: asked for by the released rule 8, forbidden by their rule E."""

_QUESTION_WORD = re.compile(
    r"\b(?:what|why|how|where|when|which|define|explain|describe|differentiate|specify|clarify"
    r"|tell|identify|state|elaborate|list|name|provide)\b",
    re.IGNORECASE,
)
# Ends that a capital follows: "e.g. 18.30" is no end.
_SENTENCE_END = re.compile(r"(?<=[.?!])\s+(?=[A-Z])")


def tags_of(question: str, registry: RegistryView) -> tuple[str, ...]:
    """The tags that hold for one question, in a fixed order.

    Args:
        question: As it was asked.
        registry: As the judge was shown it.
    """
    examples = {
        clean_example(example)
        for blocker in registry.blockers
        for example in blocker.example_questions
    }
    sentences = _SENTENCE_END.split(question.strip())
    has_background = any(not sentence.endswith("?") for sentence in sentences[:-1])
    tags = {
        OWN_EXAMPLE: clean_example(question) in examples,
        NO_QUESTION_WORD: _QUESTION_WORD.search(question) is None,
        RUBRIC_CONTRADICTION: has_background and question.rstrip().endswith("?"),
    }
    return tuple(tag for tag, holds in tags.items() if holds)
