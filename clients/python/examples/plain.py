"""No framework: what an agent's tool does with brig, and what it gives back to the model."""

from __future__ import annotations

import json

import brig


def run_python(client: brig.Client, code: str, timeout: float = 30) -> str:
    """Run code and say what happened as JSON, for a model: refusals too, with their next steps."""
    try:
        return json.dumps(client.run(code, language="python", timeout=timeout).to_dict(), ensure_ascii=False)
    except brig.Refused as no:
        return json.dumps(no.to_dict(), ensure_ascii=False)


def main() -> None:
    """Run a few things that a model might write."""
    with brig.Client() as client:
        for code in ("print(sum(range(10)))", "import urllib.request; urllib.request.urlopen('http://example.org')", "1/0"):
            print(run_python(client, code))
        with client.sandbox(ttl="10m") as box:
            box.put("/input/numbers", "3\n1\n2\n")
            print(box.run(cmd=["sort", "-o", "/output/sorted", "/input/numbers"]).status)
            print(box.read_text("/output/sorted"))


if __name__ == "__main__":
    main()
