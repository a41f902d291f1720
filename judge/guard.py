"""Notice a message that speaks to the judge instead of asking a person.

Such a message is no match, whatever a model would say to it. The patterns are narrow: each names
the judge's own machinery or gives it an order, which no question about a task does. Repetitions
are bounded, so that the time grows with the message's length alone: the whole message is looked at.
"""

from __future__ import annotations

import re

GUARD_VERSION = 2
SUSPECTED_INJECTION = "suspected_injection"

_RULES = r"(?:rules?|instructions?|prompts?|guidelines?|polic(?:y|ies)|criteria|directions?)"
_EARLIER = r"(?:above|before|previous|prior|earlier|your|system|judge(?:'s)?|judging)"
_DROP = r"(?:ignore|disregard|forget|override|bypass|set aside)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE | re.MULTILINE)
    for pattern in (
        r"\bblocker[_ ]?(?:key|id)s?\b",
        r"\bblockers?\s+(?:matched|registry|list)\b",
        r"\bavailable blockers\b",
        r"\bhow many blockers\b",
        r"\b(?:end|start|beginning) of (?:the )?(?:agent'?s? |user'?s? )?(?:message|prompt)\b",
        r"^[ \t]{0,8}(?:system|assistant|developer|agent message|blocker)\s{0,8}:",
        r"<\|?\s{0,4}/?\s{0,4}"
        r"(?:im_start|im_end|eot_id|start_header_id|end_header_id|system|think|thinking|question)\b",
        r"\[/?INST\]",
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


def speaks_to_the_judge(question: str) -> bool:
    """Whether the message orders the judge about or names its machinery."""
    return any(pattern.search(question) for pattern in _PATTERNS)
