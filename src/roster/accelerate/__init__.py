"""K models trained as one: the same encoder K times, its weights stacked, each product a batched one.

On a GPU one model of this size leaves most of the chip idle; K of them in step do not. The
arithmetic is that of the plain modules, `roster.model.heads`; tests hold the two together.
"""
