import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("programs", "signatures", "optimizers", "metrics", "data", "runtime")


def test_every_package_folder_is_listed() -> None:
    config = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
    found = [
        p.parent.relative_to(ROOT) for top in FOLDERS for p in (ROOT / top).rglob("__init__.py")
    ]
    assert {"referee"} | {"referee." + ".".join(p.parts) for p in found} == set(config["packages"])
