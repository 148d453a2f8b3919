"""From the entries of dictionaries to a lexicon: numbered subtokens, automata, a cache on disk."""
