"""Keys of `--sign`: which are taken, and what is said of those that are not; cards of models."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import onnx
import pytest

from edgec.apps.app import App
from edgec.apps.web import _npm
from edgec.base.environment import OURS as VARIABLE
from edgec.base.errors import UsageError
from edgec.frontend.file.origin import origin_of
from edgec.package.card import card_of
from edgec.provenance.signature import read_signature, sign
from edgec.provenance.signing_keys import fingerprint, read_private_key, read_public_key
from edgec.settings import FILE, ConfigFile, resolve
from edgec.settings.config import configure
from tests.apps.signers import PASSPHRASE, keys_in
from tests.calling import QUICK, Program


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("keys")
    keys_in(folder)
    (folder / "garbage").write_bytes(b"-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA\n-----END OPENSSH PRIVATE KEY-----\n")
    (folder / "garbage").chmod(0o600)
    return folder


def test_every_form_of_a_key_signs_alike(keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, PASSPHRASE)
    texts = {sign({"manifest.json": b"{}"}, read_private_key(keys / name)) for name in ("key", "pem", "locked", "locked_pem")}
    assert len(texts) == 1
    found = read_signature(texts.pop(), [])
    assert found is not None and found.signer == fingerprint(read_public_key(keys / "pem.pub")) and list(found.signed) == ["manifest.json"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("none", "no such file"), ("rsa", "not an ed25519 key"), ("key.pub", "is a public key"), ("pem.pub", "is a public key"),
        ("garbage", "not a private key"), ("locked", f"needs a passphrase    hint: put it into the environment variable {VARIABLE}"),
        ("locked_pem", "needs a passphrase"), (".", "no such file"),
    ],
)  # fmt: skip
def test_keys_that_cannot_sign(keys: Path, name: str, words: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    with pytest.raises(UsageError) as caught:
        read_private_key(keys / name)
    assert words in str(caught.value)


@pytest.mark.parametrize("name", ["locked", "locked_pem"])
def test_a_wrong_passphrase(keys: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "wrong")
    with pytest.raises(UsageError, match="does not open it") as caught:
        read_private_key(keys / name)
    assert "wrong" not in str(caught.value), "a passphrase is never shown"


def test_a_key_that_others_may_read(keys: Path, tmp_path: Path) -> None:
    (tmp_path / "key").write_bytes((keys / "key").read_bytes())
    (tmp_path / "key").chmod(0o640)
    with pytest.raises(UsageError, match="chmod 600"):
        read_private_key(tmp_path / "key")


def test_a_build_says_so_before_the_long_work_and_with_all_else(keys: Path, program: Program) -> None:
    done = program("build", "digits.onnx", "--sign", keys / "rsa", "--calib", "missing.npz", *QUICK)
    done.failed(2, "2 things stand in the way", "not an ed25519 key", "missing.npz")


def test_openssh_knows_the_key_by_the_same_name(keys: Path, tmp_path: Path, needs: Callable[..., None]) -> None:
    needs("ssh-keygen")
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "made")], check=True)
    shown = subprocess.run(["ssh-keygen", "-l", "-f", str(tmp_path / "made.pub")], capture_output=True, text=True, check=True).stdout
    assert fingerprint(read_private_key(tmp_path / "made").public_key()) == shown.split()[1]


def test_a_card_of_the_settings_is_strict(tmp_path: Path) -> None:
    (tmp_path / "edgec.toml").write_text('[card]\nlicence = "x"\nauthor = 3\n[preprocess]\n')
    with pytest.raises(UsageError) as caught:
        resolve({}, {}, ConfigFile(tmp_path / FILE, True))
    assert "licence" in str(caught.value) and "did you mean 'license'?" in str(caught.value) and "[card] author" in str(caught.value)
    (tmp_path / "edgec.toml").write_text('card = "x"\n')
    with pytest.raises(UsageError, match="card must be a table"):
        resolve({}, {}, ConfigFile(tmp_path / FILE, True))
    (tmp_path / "edgec.toml").write_text('[card]\nlicense = "MIT"\n')
    assert resolve({}, {}, ConfigFile(tmp_path / FILE, True)).card == {"license": "MIT"} == configure(card={"license": "MIT\n"}).card
    with pytest.raises(UsageError, match="at most 2000"):
        configure(card={"url": "x" * 2001})


def test_what_a_model_file_says_of_itself_is_kept_under_known_names() -> None:
    model = onnx.ModelProto(producer_name="lab", domain="org.example", doc_string="by\x00 ONNX", model_version=2)
    onnx.helper.set_model_props(model, {"License": "MIT", "Model Author": "Ada", "secret": "x", "producer": "forged", "name": " "})
    card = card_of(origin_of(model), {"author": "Bo"})
    assert card == {"description": "by ONNX", "version": "2", "author": "Bo", "license": "MIT", "producer": "lab", "domain": "org.example"}
    assert list(card) == ["description", "version", "author", "license", "producer", "domain"], "the order is not the file's"
    assert card_of(origin_of(onnx.ModelProto()), {}) == {}


def test_the_card_is_in_the_package_for_npm() -> None:
    app = App(
        "digits", "int8", (), (), 0, 0, 0, card={"version": "2.10.0", "license": "MIT", "author": '"Ada"', "url": "https://a.example"}
    )
    facts = _npm(app)
    assert (
        facts["version"] == "2.10.0"
        and facts["license"] == "MIT"
        and facts["author"] == '"Ada"'
        and facts["homepage"] == "https://a.example"
    )
    assert _npm(replace(app, card={"version": "2.1"}))["version"] == "1.0.0"
