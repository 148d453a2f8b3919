"""Work over inputs that one process would take too long for: cut into shards, each written once.

`plan` cuts files into shards, a job of `jobs/` is what becomes of one, `worker` does it in whatever process,
`engines/` gives shards to this process, to several, or to a Ray cluster, and `output` keeps what is finished.
"""
