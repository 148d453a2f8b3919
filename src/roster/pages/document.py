"""A self-contained HTML page: its style and script are in it, and nothing is loaded from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark;
  --text: #1b1f24; --dim: #57606a; --paper: #fff; --panel: #f6f8fa; --line: #d0d7de;
  --accent: #0b57d0; --good: #116329; --bad: #a40e26; }
@media (prefers-color-scheme: dark) { :root {
  --text: #e6edf3; --dim: #9da7b1; --paper: #0d1117; --panel: #161b22; --line: #3d444d;
  --accent: #79b8ff; --good: #7ee787; --bad: #ff9b9b; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 76rem; padding: 1rem 1.25rem 4rem;
  color: var(--text); background: var(--paper); font: 1rem/1.5 system-ui, sans-serif; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.25rem; margin-top: 2.5rem; }
a { color: var(--accent); }
.dim { color: var(--dim); }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: .925rem; }
th, td { padding: .3rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line); }
th { background: var(--panel); }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; }
mark { padding: 0 .15em; border-radius: .2em; color: inherit;
  background: color-mix(in srgb, var(--accent) 22%, transparent); }
bdi { unicode-bidi: isolate; }
@media print {
  body { max-width: none; }
  h2, tr { break-inside: avoid; }
  .no-print { display: none; } }
"""


def document(title: str, body: str, style: str = "", script: str = "", *, sealed: bool = False) -> str:
    """A whole page. `body`, `style` and `script` are ready HTML, CSS and JavaScript; the title is text.

    The browser runs no other script and asks the network for nothing, whatever is in the body. With `sealed`
    it applies no other style either, nor one of an attribute, which drawings have.
    """
    policy = _policy(STYLE + style, script, sealed)
    code = f"<script>{script}</script>\n" if script else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"{policy}<title>{text(title)}</title>\n<style>{STYLE}{style}</style>\n</head>\n"
        f"<body>\n{body}\n{code}</body>\n</html>\n"
    )


def _policy(style: str, script: str, sealed: bool) -> str:
    """A Content-Security-Policy that allows one script by its hash, and that style or any."""

    def allowed(content: str) -> str:
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        return f"'sha256-{digest}'" if content else "'none'"

    styles = allowed(style) if sealed else "'unsafe-inline'"
    policy = (
        f"default-src 'none'; script-src {allowed(script)}; style-src {styles}; "
        "base-uri 'none'; form-action 'none'"
    )
    return f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'


def text(value: object) -> str:
    """Text as HTML, for content and attributes.

    >>> text('<b> & "c"')
    '&lt;b&gt; &amp; &quot;c&quot;'
    """
    return escape(str(value), quote=True)


def data(value: Any) -> str:
    """JSON that can stand in a `<script>` element, whatever strings it has.

    >>> data({"name": "</script><b>"})
    '{"name":"\\\\u003c/script>\\\\u003cb>"}'
    """
    code = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for character in "<\u2028\u2029":
        code = code.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate, which no file can hold, is written as JSON's escape of it.
    return code.encode("utf-8", "backslashreplace").decode()
