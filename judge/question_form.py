"""What can be told of a question's form without a model: injections, confirmations, lists.

Pure functions over text. They are guards against what a question must not be; whether it is about
a blocker is decided elsewhere.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_INTERROGATIVE = r"(?:what|which|how|where|when|why|who|whom|whose|should|shall|does|do|is|are|can)"
# A question mark or "and" followed by a second interrogative clause.
_SECOND_QUESTION = re.compile(
    rf"\?.*\b{_INTERROGATIVE}\b.*\?|[,;]?\s(?:and|also|plus|or)\s+(?:also\s+)?"
    r"(?:what|which|how|where|when|why|who|should)\b",
    re.IGNORECASE | re.DOTALL,
)
_CONFIRMATION = re.compile(
    r"\b(?:i(?:'m| am| have|'ve|'ll| will)?\s+(?:been\s+)?(?:assum|presum|suppos|go(?:ing)? with)"
    r"|is (?:that|this|it) (?:correct|right|ok|okay|fine|accurate)|(?:correct|right)\?\s*$"
    r"|am i (?:right|correct)|(?:can|could) you confirm|please confirm)",
    re.IGNORECASE,
)
_INJECTION = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}\b"
    r"(?:rule|instruct|prompt|above|previous|prior|"
    r"guideline|polic)"
    r"|\bblockers?\b|blocker_?(?:key|id)|"
    r"\bresolutions?\b.{0,40}\b(?:verbatim|each|every|all)"
    r"|\b(?:system|assistant|developer)\s*(?:prompt|message|:)|end of (?:agent |user )?message"
    r"|\bverbatim\b|\"reasoning\"|available blockers|example questions\s*:",
    re.IGNORECASE | re.DOTALL,
)
_ASKING = re.compile(
    rf"\?|^\W*(?:{_INTERROGATIVE})\b|\b(?:define|explain|describe|differentiate|specify|clarify|"
    r"tell me|let me know)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionForm:
    """The form of one question."""

    asks: bool
    """Whether it asks at all: a question mark, an interrogative at its head, or a request."""
    several: bool
    """Whether it holds more than one question."""
    confirms: bool
    """Whether it wants an assumption of its own confirmed."""
    injects: bool
    """Whether it speaks to the judge instead of asking, or of blockers as such."""


def read_form(question: str) -> QuestionForm:
    """Read the form off one question."""
    return QuestionForm(
        asks=_ASKING.search(question) is not None,
        several=_SECOND_QUESTION.search(question) is not None,
        confirms=_CONFIRMATION.search(question) is not None,
        injects=_INJECTION.search(question) is not None,
    )
