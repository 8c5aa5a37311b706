# None of the caller's variables reaches the payload.
# setup: secret-env
# off: spec={"pass_env": ["ESCAPE_API_TOKEN"]}
import os
from kernel import *

escaped("the token is in the environment") if "ESCAPE_API_TOKEN" in os.environ else contained(sorted(os.environ))
