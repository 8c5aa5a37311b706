# forks.py: fork up to 100 processes that stay, and print how many that were before the kernel said no.
import os

end, hold = os.pipe()
children = []
try:
    while len(children) < 100:
        child = os.fork()
        if child == 0:
            os.close(hold)
            os.read(end, 1)  # until the parent closes its end
            os._exit(0)
        children.append(child)
except BlockingIOError:
    pass
os.close(hold)
for child in children:
    os.waitpid(child, 0)
print(len(children))
