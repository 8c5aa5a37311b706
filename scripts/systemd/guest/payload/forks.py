# forks.py: fork up to 100 processes that stay, and print how many that were before the kernel said no.
import os, signal

children = []
try:
    while len(children) < 100:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except BlockingIOError:
    pass
for child in children:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
print(len(children))
