"""LlamaIndex: run_code as a FunctionTool. Needs: pip install llama-index-core."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import brig


def make_run_code(box: brig.Sandbox) -> Callable[[str, str], str]:
    """The function that becomes a tool."""

    def run_code(language: str, code: str) -> str:
        """Run a program, in python or bash, in a jail without a network. Files in /work stay from call to call."""
        try:
            return json.dumps(box.run(code, language=language, timeout=60, max_output="32k").to_dict(), ensure_ascii=False)
        except brig.Refused as no:
            return json.dumps(no.to_dict(), ensure_ascii=False)

    return run_code


def make_tool(box: brig.Sandbox) -> Any:
    """A llama_index.core.tools.FunctionTool; give it to any of LlamaIndex's agents."""
    from llama_index.core.tools import FunctionTool

    return FunctionTool.from_defaults(fn=make_run_code(box), name="run_code")


def main() -> None:
    """Call the tool once, as an agent would."""
    try:
        import llama_index.core  # noqa: F401
    except ImportError:
        sys.exit("this example needs LlamaIndex: pip install llama-index-core")
    with brig.Client() as client, client.sandbox(ttl="1h") as box:
        print(make_tool(box).call(language="python", code="print(6 * 7)"))


if __name__ == "__main__":
    main()
