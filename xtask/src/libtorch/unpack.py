"""Unpacks parts of a wheel: `unpack.py WHEEL [FROM=TO ...]`, FROM a file or a folder (ending in `/`) of the wheel."""

import os
import shutil
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as wheel:
    for name in (name for name in wheel.namelist() if not name.endswith("/")):
        for source, target in (part.split("=", 1) for part in sys.argv[2:]):
            inside = source.endswith("/") and name.startswith(source)
            if not inside and name != source:
                continue
            path = os.path.join(target, name[len(source):]) if inside else target
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with wheel.open(name) as packed, open(path, "wb") as unpacked:
                shutil.copyfileobj(packed, unpacked, 1 << 20)
