"""The whole chain from a web page: projects on disk, uploads, jobs, results, reviews (`roster serve
--projects`)."""
