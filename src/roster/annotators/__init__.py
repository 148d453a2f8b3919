"""Models that annotate a corpus while it is labelled: `roster label --model`.

Each module makes an annotator of one kind of model, a function from sentences to spans with scores
(`roster.distant.matching.span_mentions.Annotate`).
"""
