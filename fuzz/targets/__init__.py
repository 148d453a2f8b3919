"""All targets by name."""

from fuzz.target import Target
from fuzz.targets import corpora, folders, labelling, requests, words

TARGETS: dict[str, Target] = {
    target.name: target
    for module in (corpora, words, labelling, folders, requests)
    for target in module.targets()
}
