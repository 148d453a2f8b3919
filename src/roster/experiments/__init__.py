"""The experiments of the paper, and past it: one module for each table or figure.

An experiment lists points (one training each) and says how their scores are drawn. What trains, keeps and
draws them is the same for all.
"""
