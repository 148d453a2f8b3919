"""HTTP service of trained models (`roster serve`): routes, batches of concurrent requests, limits."""
