"""Notice a message that speaks to the judge instead of asking a person.

The guard only ever takes a match away. Its patterns are narrow: each names the judge's own
machinery or gives it an order, which no question about a task does.
"""

from __future__ import annotations

import re

GUARD_VERSION = 1
SUSPECTED_INJECTION = "suspected_injection"

_RULES = r"(?:rules?|instructions?|prompts?|guidelines?|polic(?:y|ies)|criteria|above|previous)"
_PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"blocker[_ ]?(?:key|id)s?\b",
        r"\bblocker(?:s)?\s+(?:matched|registry|list)\b",
        r"\bavailable blockers\b",
        r"\b(?:end|start|begin(?:ning)?) of (?:the )?(?:agent'?s? )?(?:message|question|prompt)\b",
        r"(?:^|\n)\s*(?:system|assistant|developer|agent message|blocker)\s*:",
        r"<\|?\s*/?\s*(?:im_start|im_end|eot_id|start_header_id|end_header_id|system|question)\b",
        r"\[/?INST\]",
        rf"\b(?:ignore|disregard|forget|override|bypass|skip)\b[^.?!\n]{{0,40}}\b{_RULES}\b",
        r"\b(?:you are|act as|pretend to be)\b[^.?!\n]{0,30}\b(?:judge|grader|evaluator)\b",
        r"\b(?:print|reveal|show|list|give|output|repeat|return|dump|leak)\b[^.?!\n]{0,40}"
        r"\b(?:every|all|each)?\s*(?:the )?(?:blockers?|resolutions?|system prompt|your prompt)\b",
        r"\b(?:reply|respond|answer|output|return)\b[^.?!\n]{0,20}[\{`]",
        r"\b(?:mark|treat|classify|count|accept|approve)\b[^.?!\n]{0,30}\bas\b[^.?!\n]{0,20}"
        r"\b(?:match(?:ed|ing)?|valid|relevant|approved)\b",
        r"\bhow many blockers\b",
    )
)


def speaks_to_the_judge(question: str) -> bool:
    """Whether the message orders the judge about or names its machinery."""
    return any(pattern.search(question) for pattern in _PATTERNS)
