# The interpreter imports this module, usercustomize, before it opens the program's file: site.py. It ends as if there
# were no such module, and the interpreter goes on with the file that it has written.
import os, sys
if __name__ == "__main__":  # the program's file leads here until the interpreter has imported this
    sys.exit("it imports no usercustomize: " + ("PYTHONNOUSERSITE is set" if "PYTHONNOUSERSITE" in os.environ else
             "its virtual environment is without system site-packages" if sys.prefix != sys.base_prefix else
             "site.ENABLE_USER_SITE is not True"))
here, names = os.path.dirname(__file__), "IMPORTS".split()
sys.path.remove(here)
sys.path_importer_cache.pop(here, None)
sys.path_importer_cache[sys.argv[0]] = None  # it is no directory and no archive
os.environ["PYTHONPATH"] = os.environ["PYTHONPATH"][:-len(here) - 1]
try:
    for name in names:
        __import__(name)
except BaseException as e:
    os.write(2, ("%s: %s\n" % (type(e).__name__, e)).encode("utf-8", "replace"))
    os._exit(1)
loaded = "gc" in sys.modules
import gc
gc.collect()
gc.freeze()  # the collections at the end would look at every object that the imports have made
main = type(sys)("__main__")  # the program's is collected, with what it refers to
main.__dict__.update(sys.modules["__main__"].__dict__, __annotations__={})
sys.modules["__main__"] = main
if not loaded:
    del sys.modules["gc"]

def read(n):
    data = bytearray()
    while len(data) < n:
        more = os.read(0, n - len(data))
        if not more:
            os._exit(1)
        data += more
    return bytes(data)

os.unlink(sys.argv[0])
os.write(1, b"\6")
size, stdin = int.from_bytes(read(4), "big"), read(1)
*args, code = read(size).split(b"\0")
if stdin == b"-":
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 0)
    os.close(null)
with open(sys.argv[0], "xb", 0) as f:
    while code:
        code = code[f.write(code):]
os.chmod(sys.argv[0], 0o444)
os.chmod(os.path.dirname(sys.argv[0]), 0o555)
args = [os.fsdecode(a) for a in args]
sys.argv += args
if hasattr(sys, "orig_argv"):
    sys.orig_argv += args
del main, read
raise ImportError(name="usercustomize")
