# SPDX-License-Identifier: MIT
"""The build backend of this package: writes a wheel of pure Python with the standard library
alone, so that `pip install .` works without any index."""
import base64
import hashlib
import os
import re
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))


def _version():
    with open(os.path.join(HERE, "pyproject.toml"), encoding="utf-8") as f:
        return re.search(r'^version = "([^"]+)"', f.read(), re.M).group(1)


def _sources():
    folder = os.path.join(HERE, "memtracer")
    for name in sorted(os.listdir(folder)):
        if name.endswith((".py", ".pyi", ".typed")):
            with open(os.path.join(folder, name), "rb") as f:
                yield "memtracer/" + name, f.read()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    version = _version()
    info = "memtracer-%s.dist-info/" % version
    files = list(_sources())
    files.append((info + "METADATA",
                  b"Metadata-Version: 2.1\nName: memtracer\nVersion: %s\n" % version.encode()))
    files.append((info + "WHEEL", b"Wheel-Version: 1.0\nGenerator: memtracer\n"
                                  b"Root-Is-Purelib: true\nTag: py3-none-any\n"))
    record = "".join(
        "%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(
            hashlib.sha256(data).digest()).rstrip(b"=").decode(), len(data))
        for name, data in files) + info + "RECORD,,\n"
    name = "memtracer-%s-py3-none-any.whl" % version
    with zipfile.ZipFile(os.path.join(wheel_directory, name), "w", zipfile.ZIP_DEFLATED) as z:
        for path, data in files + [(info + "RECORD", record.encode())]:
            z.writestr(zipfile.ZipInfo(path, (2020, 1, 1, 0, 0, 0)), data)
    return name
