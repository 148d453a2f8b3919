"""Language-specific rules of the tokenizer: abbreviations and clitics; English is the default."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Rules:
    """`abbreviations` (lower case, without the period) keep their period and do not end a sentence;
    `clitics` (lower case, without the apostrophe) are split off a word together with the apostrophe."""

    abbreviations: frozenset[str] = frozenset()
    clitics: tuple[str, ...] = ()


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


ENGLISH = Rules(
    abbreviations=_words(
        """
        mr mrs ms dr prof rev hon st messrs mt ft gen col lt capt sgt maj cmdr adm gov sen rep pres
        jr sr inc corp co ltd bros dept univ assn ph.d
        vs etc al cf ca approx fig figs eq vol pp ed eds
        jan feb mar apr jun jul aug sep sept oct nov dec
        """
    ),
    clitics=("s",),
)
