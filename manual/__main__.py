"""`python -m manual`: draws the figures of the documentation again."""

from manual.figures import write

if __name__ == "__main__":
    print("\n".join(map(str, write())))
