"""smolagents: a CodeAgent whose code runs in a jail instead of this process. Needs: pip install smolagents (1.20 or newer).

Each step is a program of its own: variables do not live from step to step, files in /work do. Tools of this process cannot
be called from the jail, so that the agent gets none but final_answer.
"""

from __future__ import annotations

import json
import sys
from typing import Any, Dict, Mapping, Tuple

import brig

ANSWER = "/output/.final_answer"

PRELUDE = """
def final_answer(answer):
    import json, sys
    with open(%r, "w") as f:
        json.dump(answer, f, default=str)
    sys.exit(0)
""" % ANSWER


def run_step(box: brig.Sandbox, code: str) -> Tuple[Any, str, bool]:
    """Run one step; gives the final answer if there is one, what was printed, and whether it is final."""
    result = box.run("exec(compile(open('/input/step.py').read(), 'step.py', 'exec'))",
                     language="python", files={"step.py": PRELUDE + code}, timeout=120, max_output="64k")
    logs = result.stdout + result.stderr
    if not result.ok:
        raise RuntimeError("%s (exit code %d)\n%s" % (result.status, result.exit_code, logs))
    try:
        answer = json.loads(box.read(ANSWER))
    except brig.NotFound:
        return None, logs, False
    box.delete(ANSWER)
    return answer, logs, True


def make_executor(box: brig.Sandbox) -> Any:
    """A smolagents.PythonExecutor: CodeAgent(tools=[], model=..., executor=make_executor(box))."""
    from smolagents.local_python_executor import CodeOutput, PythonExecutor

    class BrigExecutor(PythonExecutor):  # type: ignore[misc]
        """Runs each step in a sandbox."""

        def send_tools(self, tools: Mapping[str, Any]) -> None:
            """Refuse tools that the jail cannot have."""
            other = sorted(set(tools) - {"final_answer"})
            if other:
                raise ValueError("tools of this process cannot be called from the jail: " + ", ".join(other))

        def send_variables(self, variables: Dict[str, Any]) -> None:
            """Put variables into /input/variables.json: the jail is another process."""
            if variables:
                box.put("/input/variables.json", json.dumps(variables, default=str))

        def __call__(self, code_action: str) -> Any:
            """Run a step."""
            output, logs, final = run_step(box, code_action)
            return CodeOutput(output=output, logs=logs, is_final_answer=final)

    return BrigExecutor()


def main() -> None:
    """Run two steps, as a CodeAgent would."""
    try:
        import smolagents  # noqa: F401
    except ImportError:
        sys.exit("this example needs smolagents: pip install smolagents")
    with brig.Client() as client, client.sandbox(ttl="1h") as box:
        executor = make_executor(box)
        print(executor("print(6 * 7)"))
        print(executor("final_answer({'n': 42})"))


if __name__ == "__main__":
    main()
