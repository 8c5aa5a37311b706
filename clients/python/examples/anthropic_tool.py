"""Anthropic's Messages API: a loop with one tool, run_code. Needs: pip install anthropic, and $ANTHROPIC_API_KEY."""

from __future__ import annotations

import json
import os
import sys
from typing import Any, Dict, List, Mapping

import brig

TOOL: Dict[str, Any] = {
    "name": "run_code",
    "description": "Run a program in a jail without a network. Files in /work stay from call to call. Returns status, exit_code, stdout and stderr.",
    "input_schema": {
        "type": "object",
        "properties": {
            "language": {"type": "string", "enum": ["python", "bash"], "description": "what the code is written in"},
            "code": {"type": "string", "description": "the whole program"},
        },
        "required": ["language", "code"],
    },
}


def call(box: brig.Sandbox, arguments: Mapping[str, Any]) -> Dict[str, Any]:
    """Do what the model asks; a refusal becomes an answer that it can act on."""
    try:
        result = box.run(str(arguments.get("code", "")), language=str(arguments.get("language", "python")), timeout=60, max_output="32k")
        return {"content": json.dumps(result.to_dict(), ensure_ascii=False), "is_error": not result.ok}
    except brig.Refused as no:
        return {"content": json.dumps(no.to_dict(), ensure_ascii=False), "is_error": True}


def converse(model: Any, box: brig.Sandbox, question: str, turns: int = 10) -> str:
    """Ask, run the tools that are asked for, and go on until there is an answer. model is an anthropic.Anthropic."""
    messages: List[Dict[str, Any]] = [{"role": "user", "content": question}]
    for _ in range(turns):
        reply = model.messages.create(model=os.environ.get("ANTHROPIC_MODEL", "claude-sonnet-4-5"), max_tokens=4096, tools=[TOOL], messages=messages)
        if reply.stop_reason != "tool_use":
            return "".join(block.text for block in reply.content if block.type == "text")
        messages.append({"role": "assistant", "content": reply.content})
        results = [dict(type="tool_result", tool_use_id=b.id, **call(box, b.input)) for b in reply.content if b.type == "tool_use"]
        messages.append({"role": "user", "content": results})
    return "no answer after %d turns" % turns


def main() -> None:
    """Ask the question on the command line."""
    try:
        import anthropic
    except ImportError:
        sys.exit("this example needs the package anthropic: pip install anthropic")
    with brig.Client() as client, client.sandbox(ttl="1h") as box:
        print(converse(anthropic.Anthropic(), box, " ".join(sys.argv[1:]) or "What is the 100th prime? Compute it."))


if __name__ == "__main__":
    main()
