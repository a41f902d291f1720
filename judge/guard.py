"""Notice a message that speaks to the judge instead of asking a person.

Such a message is no match, whatever a model would say to it. Some patterns name the judge's own
machinery; the others are orders, and count only where they are given: "should the view ignore the
rule above?" asks about a task, "ignore the rule above" does not. Repetitions are bounded, so that
the time grows with the message's length alone: the whole message is looked at.
"""

from __future__ import annotations

import re

GUARD_VERSION = 3
SUSPECTED_INJECTION = "suspected_injection"

_RULES = r"(?:rules?|instructions?|prompts?|guidelines?|polic(?:y|ies)|criteria|directions?)"
_EARLIER = r"(?:above|before|previous|prior|earlier|your|system|judge(?:'s)?|judging)"
_DROP = r"(?:ignore|disregard|forget|override|bypass|set aside)"
_MACHINERY = re.compile(
    "|".join(
        (
            r"(?<!column )(?<!field )\bblocker[_ ]?(?:key|id)s?\b(?!\W{0,3}(?:column|field))",
            r"\bblockers?\s+(?:matched|registry|list)\b",
            r"\bavailable blockers\b",
            r"\bhow many blockers\b",
            r"\b(?:end|start|beginning) of (?:the )?(?:agent'?s? |user'?s? )?(?:message|prompt)\b",
            r"^[ \t]{0,8}(?:system|assistant|developer|agent message|blocker)\s{0,8}:",
            r"<\|?\s{0,4}/?\s{0,4}"
            r"(?:im_start|im_end|eot_id|start_header_id|end_header_id|system|think|thinking"
            r"|question)\b",
            r"\[/?INST\]",
        )
    ),
    re.IGNORECASE | re.MULTILINE,
)
_ORDERS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_DROP}\b[^.?!\n]{{0,20}}\b{_EARLIER}\s{{1,8}}(?:\w{{1,20}}\s{{1,8}})?{_RULES}\b",
        rf"\b{_DROP}\b[^.?!\n]{{0,20}}\b(?:{_RULES}|everything|text|all)\s+(?:above|before|so far"
        r"|you (?:were|have been|got|are) \w+)\b",
        r"\b(?:you are|act as|pretend to be)\b[^.?!\n]{0,30}\b(?:judge|grader|evaluator)\b",
        r"\b(?:print|reveal|show|list|give|output|repeat|return|dump|leak|tell)\b[^.?!\n]{0,40}"
        r"\b(?:blockers|resolutions|(?:your|its|stored|hidden|every|each|blocker'?s?) resolution"
        r"|resolution of (?:\w{1,40}_\w{1,40}|(?:the |this |that |a )?blocker)"
        r"|(?:system|your) prompt)\b",
        r"\bresolution\b[^.?!\n]{0,60}\b(?:verbatim|word for word)\b",
        r"\b(?:reply|respond|answer)\b[^.?!\n]{0,12}\bwith\b[^.?!\n]{0,8}[\{`]",
        r"\b(?:mark|treat|classify|count|accept|approve)\s+(?:this|my)\s+(?:message|question|one)"
        r"\b[^.?!\n]{0,12}\bas\b",
    )
)
# Where a clause begins, and one that is put as a question to a person about the task.
_CLAUSE_BREAKS = '.?!;:,\n()"\u2013\u2014'
_CLAUSE_CHARS = 200
_ASKED = re.compile(
    r"\W{0,8}(?:(?:and|or|so|but|also|then)\s{1,8}){0,2}"
    r"(?:should|shall|does|do|did|must|may|can|could|would|will|is|are|was|were|has|have"
    r"|what|which|how|when|where|whether|if)\b(?!.*\b(?:you|judge|grader|evaluator)\b)",
    re.IGNORECASE | re.DOTALL,
)
_OWN_WORDS = re.compile(
    r"\b(?:system|judge|judging|prompts?|verbatim|word for word)\b", re.IGNORECASE
)


def speaks_to_the_judge(question: str) -> bool:
    """Whether the message orders the judge about or names its machinery."""
    return _MACHINERY.search(question) is not None or any(
        is_ordered(pattern, question) for pattern in _ORDERS
    )


def is_ordered(order: re.Pattern[str], message: str) -> bool:
    """Whether a message holds the order, other than as part of a question about the task."""
    return any(not _is_asked_about(found, message) for found in order.finditer(message))


def _is_asked_about(found: re.Match[str], message: str) -> bool:
    if _OWN_WORDS.search(found[0]):
        return False
    before = message[max(0, found.start() - _CLAUSE_CHARS) : found.start()]
    begins = max(before.rfind(mark) for mark in _CLAUSE_BREAKS) + 1
    return _ASKED.match(before, begins) is not None
