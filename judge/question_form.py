"""What can be told of a question's form without a model of language.

Pure functions over text: the injection guard, the clauses that may each hold a topic of their own,
and the skeleton of function words by which a trained head tells questions from statements.
"""

from __future__ import annotations

import math
import re
from functools import lru_cache

from judge.guard import is_ordered

# None of the 1,328 matching questions of the public tasks has any of these.
_MACHINERY = re.compile(
    r"blocker_?(?:key|id)(?!\W{0,3}(?:column|field))"
    r"|\b(?:system|assistant|developer)\s*(?:prompt|message|:)|end of (?:agent |user )?message"
    r"|\bverbatim\b|\"reasoning\"|example questions\s*:",
    re.IGNORECASE,
)
_ORDER = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\b.{0,60}"
    r"\b(?:rule|instruct|prompt|above|previous|prior|guideline|polic)"
    r"|\bblockers?\b|\bresolutions?\b.{0,40}\b(?:verbatim|each|every|all)",
    re.IGNORECASE | re.DOTALL,
)
_REQUEST = re.compile(
    r"\b(?:clarify|specify|explain|define|describe|tell me|let me know|provide|give me|please|"
    r"confirm|elaborate)\b",
    re.IGNORECASE,
)
_APPROVAL = re.compile(
    r"\s*(?:and )?(?:(?:is|was|are|am|would|will|does|do) (?:that|this|it|so|i|you|these|those)"
    r"(?: (?:be|all|sound|look|seem))?"
    r" (?:correct|right|so|true|fine|ok|okay|good|alright|agree)"
    r"|right|correct|ok|okay|agreed|yes|no)\s*",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+|[?.!,;:]")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_ASKING_WORDS = "what which how where when why who whom whose"
_AUXILIARY_WORDS = (
    "is are was were do does did should shall can could may might must will would has have"
)
_GRAMMAR_WORDS = (
    "a an the this that these those it its they them their there here i me my we us our you "
    "your he she someone somebody anyone one nobody of to in for on with or and by as at from "
    "if any not no than then so but be been being into over under within after before since "
    "until unless while about because each every all both either neither more most some such "
    "only just also too below above among beyond upon instead rather else other another same "
    "per between during against "
    "without"
)
_SPEECH_WORDS = (
    "assume presume suppose guess believe think expect take say said right correct ok okay fine "
    "please kindly tell give show list print reveal output display repeat quote copy send write "
    "read echo dump leak enumerate summarise answer answers question questions explain describe "
    "define specify clarify elaborate confirm pretend imagine act treat respond reply return "
    "hidden secret stored confidential internal notes note hint hints guidance registry entry "
    "entries instructions instruction match verdict know need want consider handle handled work "
    "works mean means count counts use used apply anything something everything special rules "
    "rule general details background information best let lets would wouldn don doesn isn aren "
    "shouldn now always surely clearly obviously probably altogether yes"
)
_INTERROGATIVES = frozenset(_ASKING_WORDS.split())
_AUXILIARIES = frozenset(_AUXILIARY_WORDS.split())
_FUNCTION_WORDS = frozenset(
    [*_INTERROGATIVES, *_AUXILIARIES, *_GRAMMAR_WORDS.split(), *_SPEECH_WORDS.split()]
)
_CLAUSE_BREAK = re.compile(
    r"(?<=[?.!;:])\s+|,\s+(?:(?:and|or|plus|but|while)\s+)?|\s+(?:and|plus|while|also|"
    r"together with|as well as)\s+",
    re.IGNORECASE,
)
_PART_BREAK = re.compile(r"[?.!,;:\u2013\u2014]|\s-\s")
_MOST_CLAUSES = 4
# An evaluation comes by the same examples with every variant of their registry.
_KEPT_TEXTS = 4096


def is_injection(question: str) -> bool:
    """Whether the text speaks to the judge, or of blockers as such, in one of the known ways."""
    return _MACHINERY.search(question) is not None or is_ordered(_ORDER, question)


def asks(question: str) -> bool:
    """Whether any clause is put as a question, or as a request to explain.

    To ask for approval of what was said is not to ask: "I'd take two weeks. Is that correct?"
    """
    own = [part for part in _PART_BREAK.split(question) if not _APPROVAL.fullmatch(part)]
    return any(map(_asks, _parts("?".join(own)))) or _REQUEST.search(question) is not None


@lru_cache(_KEPT_TEXTS)
def content_words(text: str) -> frozenset[str]:
    """The words that carry a topic, in lower case, cut to a rough stem; identifiers are split."""
    return frozenset(
        _stem(word)
        for word in _words(text)
        if word not in _FUNCTION_WORDS and word[0].isalnum() and len(word) > 1
    )


def clauses(question: str) -> list[str]:
    """Split where another topic may begin.

    Returns:
        Two to four clauses with a content word each, or nothing when there is only one.
    """
    parts = [part for part in _CLAUSE_BREAK.split(question) if content_words(part)]
    if len(parts) > _MOST_CLAUSES:
        parts = [*parts[: _MOST_CLAUSES - 1], " ".join(parts[_MOST_CLAUSES - 1 :])]
    return parts if len(parts) > 1 else []


def skeleton(question: str) -> set[str]:
    """One to three function words in a row, with `_` for any run of other words and `^` the start.

    Says how a text is put, and nothing of what it is about.
    """
    places = ["^"]
    for word in _words(question):
        place = word if word in _FUNCTION_WORDS or not word[0].isalnum() else "_"
        if place != "_" or places[-1] != "_":
            places.append(place)
    places.append("$")
    return {
        " ".join(places[start : start + length])
        for length in (1, 2, 3)
        for start in range(len(places) - length + 1)
    }


def form_features(question: str) -> list[float]:
    """Counts and marks of a question's form, always as many."""
    words = _words(question)
    plain = [word for word in words if word[0].isalnum()]
    asking = [_asks(part) for part in _parts(question)]
    sentences = [s for s in re.split(r"(?<=[?.!])\s+", question.strip()) if s]
    topics = len(content_words(question))
    return [
        float(is_injection(question)),
        float(question.count("?")),
        float(question.strip().endswith("?")),
        float(len(sentences)),
        float(sum("?" not in s for s in sentences)),
        math.log1p(len(plain)),
        math.log1p(topics),
        float(any(asking)),
        float(bool(asking) and asking[0]),
        float(sum(asking)),
        float(sum(word in _INTERROGATIVES for word in plain)),
        float(plain.count("and")),
        float(words.count(",") + words.count(";")),
        float(plain.count("or")),
        float(len(clauses(question))),
        float("_" in question or '"' in question),
        float(any(map(_APPROVAL.fullmatch, _PART_BREAK.split(question)))),
    ]


def _asks(clause: list[str]) -> bool:
    """Whether a clause is put as a question: an auxiliary first, or an interrogative near the head.

    After a word with a topic an interrogative is a relative pronoun: "people who moved".
    """
    if clause[0] in _AUXILIARIES:
        return True
    for position, word in enumerate(clause[:3]):
        if word in _INTERROGATIVES:
            return all(before in _FUNCTION_WORDS for before in clause[:position])
    return False


def _parts(question: str) -> list[list[str]]:
    """The words between marks and dashes, without empty parts."""
    return [words for part in _PART_BREAK.split(question) if (words := _words(part))]


def _words(text: str) -> list[str]:
    return _WORD.findall(_CAMEL.sub(" ", text).replace("_", " ").lower())


def _stem(word: str) -> str:
    for ending in ("ing", "ies", "ed", "es", "s"):
        if len(word) > len(ending) + 3 and word.endswith(ending):
            return word[: -len(ending)]
    return word
