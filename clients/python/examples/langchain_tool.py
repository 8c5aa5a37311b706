"""LangChain: run_code as a StructuredTool. Needs: pip install langchain-core."""

from __future__ import annotations

import json
import sys
from typing import Any

import brig


def run_code(box: brig.Sandbox, language: str, code: str) -> str:
    """Run a program, and say what happened as JSON."""
    try:
        return json.dumps(box.run(code, language=language, timeout=60, max_output="32k").to_dict(), ensure_ascii=False)
    except brig.Refused as no:
        return json.dumps(no.to_dict(), ensure_ascii=False)


def make_tool(box: brig.Sandbox) -> Any:
    """A langchain_core.tools.StructuredTool; give it to any agent or to model.bind_tools."""
    from langchain_core.tools import StructuredTool

    def tool(language: str, code: str) -> str:
        return run_code(box, language, code)

    return StructuredTool.from_function(
        func=tool, name="run_code",
        description="Run a program, in python or bash, in a jail without a network. Files in /work stay from call to call.")


def main() -> None:
    """Call the tool once, as an agent would."""
    try:
        import langchain_core  # noqa: F401
    except ImportError:
        sys.exit("this example needs LangChain: pip install langchain-core")
    with brig.Client() as client, client.sandbox(ttl="1h") as box:
        print(make_tool(box).invoke({"language": "python", "code": "print(6 * 7)"}))


if __name__ == "__main__":
    main()
