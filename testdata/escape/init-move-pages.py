# move_pages and migrate_pages are refused: they tell and change where others' memory lies.
# off: spec={"seccomp": "unconfined"}
from kernel import *

expect("move_pages of oneself", call("move_pages", 0, 0, 0, 0, 0, 0))
