# A glob that passes variables on does not pass one with a secret's name.
# setup: secret-env
# spec: {"pass_env": ["ESCAPE_*", "*"]}
# off: spec={"pass_env": ["ESCAPE_API_TOKEN"]}
import os
from kernel import *

escaped("the token is in the environment") if "ESCAPE_API_TOKEN" in os.environ else contained(f"{len(os.environ)} variables")
