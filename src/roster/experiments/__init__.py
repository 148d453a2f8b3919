"""The experiments of the paper and further ones, with one module for each table or figure.

An experiment lists points (one training each) and converts their scores to tables and figures. The training,
storage and drawing of points are the same for all experiments.
"""
