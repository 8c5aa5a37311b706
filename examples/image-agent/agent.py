"""agent.py INPUT OUTPUT: turn a picture into shades of grey, and say what of the machine can be seen."""
import os
import socket
import sys

from PIL import Image


def main():
    source, target = sys.argv[1:]
    with Image.open(source) as picture:
        picture.convert("L").save(target)
    print(f"{os.path.basename(source)} is grey in {os.path.basename(target)}")
    for what, attempt in {
        "the image": lambda: open("/app/agent.py", "a"),
        "the picture": lambda: open(source, "a"),
        "the network": lambda: socket.create_connection(("192.0.2.1", 80), 1),
    }.items():
        try:
            attempt()
            print(f"{what}: within reach")
        except OSError as e:
            print(f"{what}: {e.strerror}")


main()
