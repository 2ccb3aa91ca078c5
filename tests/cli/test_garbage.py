"""The command line delays garbage collection while it starts."""

import subprocess
import sys

CODE = """
import gc
import quorum.cli.garbage as garbage
usual_threshold = gc.get_threshold()
garbage.OBJECTS_BEFORE_COLLECTION = 5000
garbage.delay_garbage_collection()
living_objects = [[number] for number in range(4000)]
# no collection yet: the threshold is 5000, and no object is frozen (exempt from collections)
print(gc.get_threshold() == usual_threshold, gc.get_freeze_count() > 4000)
for number in range(20000):
    ring = []
    ring.append(ring)  # garbage that only the collector finds
# the first collection has restored the threshold and frozen the living objects; later ones have removed the rings
print(gc.get_threshold() == usual_threshold, gc.get_freeze_count() > 4000)
print(len(gc.get_objects()) < 20000)
"""


def test_garbage_collection_waits_for_many_objects_and_then_skips_those_that_exist() -> None:
    process = subprocess.run([sys.executable, "-c", CODE], check=True, stdout=subprocess.PIPE, text=True)
    assert process.stdout.split("\n")[:3] == ["False False", "True True", "True"]
