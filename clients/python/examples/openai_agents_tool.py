"""OpenAI Agents SDK: run_code as a function tool. Needs: pip install openai-agents, and $OPENAI_API_KEY."""

from __future__ import annotations

import json
import sys
from typing import Any, Callable

import brig


def make_run_code(box: brig.Sandbox) -> Callable[[str, str], str]:
    """The function that becomes a tool: its docstring and annotations are what the model sees."""

    def run_code(language: str, code: str) -> str:
        """Run a program in a jail without a network. Files in /work stay from call to call.

        Args:
            language: what the code is written in, python or bash
            code: the whole program
        """
        try:
            return json.dumps(box.run(code, language=language, timeout=60, max_output="32k").to_dict(), ensure_ascii=False)
        except brig.Refused as no:
            return json.dumps(no.to_dict(), ensure_ascii=False)

    return run_code


def make_agent(box: brig.Sandbox) -> Any:
    """An agents.Agent that has the tool."""
    from agents import Agent, function_tool

    return Agent(name="analyst", instructions="Compute with run_code instead of guessing.", tools=[function_tool(make_run_code(box))])


def main() -> None:
    """Ask the question on the command line."""
    try:
        from agents import Runner
    except ImportError:
        sys.exit("this example needs the OpenAI Agents SDK: pip install openai-agents")
    with brig.Client() as client, client.sandbox(ttl="1h") as box:
        print(Runner.run_sync(make_agent(box), " ".join(sys.argv[1:]) or "What is the 100th prime?").final_output)


if __name__ == "__main__":
    main()
