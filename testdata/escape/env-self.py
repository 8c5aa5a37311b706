# None of the caller's variables reaches the payload.
# setup: secret-env
# off: spec={"pass_env": ["ESCAPE_API_TOKEN"]}
import os
from kernel import *

seen = [name for name, value in os.environ.items() if "host-secret-env" in value]
escaped(f"secrets of the caller: {seen}") if seen else contained(sorted(os.environ))
