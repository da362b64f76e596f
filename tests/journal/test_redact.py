"""Secrets out of texts."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.core.actions import Action
from execledger.core.redact import redact, suspicious
from execledger.core.understand import classify

# Each is put together here, so that no scanner of repositories takes this file for a leak.
TOKENS = [
    "sk-" + "ant-api03-AbCdEfGh12345678",
    "sk-" + "proj-AbCdEfGh12345678",
    "sk-" + "Ab3" * 16,
    "ghp" + "_" + "a1B2" * 9,
    "gho" + "_" + "a1B2" * 9,
    "github" + "_pat_" + "11ABC_" * 8,
    "AKI" + "AIOSFODNN7EXAMPLE",
    "AIz" + "aSyA-" + "b1_C" * 8,
    "xoxb" + "-123456789012-abcdefABCDEF",
    "hf" + "_" + "AbCd" * 8,
    "glpat" + "-" + "x1Y2_" * 4,
    "npm" + "_" + "a1B2" * 9,
    "gsk" + "_" + "a1B2" * 12,
    "xai" + "-" + "a1B2" * 12,
    "ya29" + "." + "a0Af-" * 6,
    "dop" + "_v1_" + "0a1b" * 10,
    "glsa" + "_" + "aB3d" * 8,
    "SG" + "." + "aB-3" * 6 + "." + "cD_4" * 10,
    "ey" + "J" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.dozjgNryP4J3jVmNHl0w5N",
]
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1c7\nq+Zz09/x\nQ==\n-----END RSA PRIVATE KEY-----"
VALUES = [
    ("Authorization: Bearer {}", "abc.def-123456"),
    ("authorization: Basic {}", "dXNlcjpwYXNz"),
    ("-H 'Authorization: token {}'", "0123456789abcdef"),
    ("got Bearer {} back", "Zm9vYmFyYmF6cXV4"),
    ("OPENAI_API_KEY={}", "swordfish"),
    ("export GITHUB_TOKEN='{}'", "swordfish"),
    ('"api_key": "{}"', "swordfish"),
    ('{{\\"api_key\\": \\"{}\\"}}', "swordfish"),
    ("config['apiKey'] = '{}'", "swordfish"),
    ("aws_secret_access_key = {}", "wJalrXUtnFEMI/K7MDENG/bPx"),
    ("password: {}", "hunter22"),
    ("https://example.com/?x=1&password={}&y=2", "correcthorse"),
    ("postgres://me:{}@db.example.com:5432/main", "p@ss:word"),
    ("--password={} --user=me", "swordfish"),
    ("tool --password {} --user me", "swordfish"),
    ("tool --api-key '{}'", "swordfish"),
    ("machine example.com login me password {}", "swordfish"),
    ("Cookie: {}; theme=dark", "session=0123456789"),
    ("curl -s -u me:{} https://example.com", "swordfish"),
    ("sshpass -p {} ssh host", "swordfish"),
    ("mysql -u root -p{} main", "swordfish"),
    ('{{"token": "{}"}}', "abcdef123456"),
    ("https://hooks.slack.com/services/{}", "T000/B000/abcdefghijkl"),
]


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("frame", ["{}", "a {}, b", '"{}"', "key\\n{}\\n", "\x1b[31m{}\x1b[0m", "=%3D{}&"])
def test_tokens_are_replaced(token: str, frame: str) -> None:
    """A token is replaced wherever it stands, and nothing around it is."""
    assert redact(frame.format(token)) == frame.format("[redacted]")


@pytest.mark.parametrize(("frame", "value"), VALUES)
def test_values_are_replaced(frame: str, value: str) -> None:
    """What a header, a name or an address says is secret is replaced."""
    assert redact(frame.format(value)) == frame.format("[redacted]")


@pytest.mark.parametrize(
    "text",
    [
        "password = forms.CharField(widget=PasswordInput)",
        "def login(user, password=None, token=''):",
        "password: str\napi_key: Optional[str] = None",
        'os.environ["API_KEY"]',
        'curl -H "Authorization: Bearer $TOKEN" https://${USER}:${PASS}@host/',
        "pip install scikit-learn; div.sk-toggleable__content-arrow",
        "risk-assessment-1234567890123 task-0123456789abcdef",
        "max_tokens=16384, pad_token_id = 50256",
        "http://localhost:8080/path?user=a@b.c",
        "git log 0123456789abcdef0123456789abcdef01234567",
        "-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----",
    ],
)
def test_code_stays_as_it_is(text: str) -> None:
    """Code and prose that only speak of secrets, and digests, are kept."""
    assert redact(text) == text


def test_private_keys_lose_their_body() -> None:
    """A private key keeps its edges, its lines and printed line numbers, and nothing else."""
    edges = PEM.splitlines()
    assert redact(PEM).splitlines() == [edges[0], *["[redacted]"] * 3, edges[-1]]
    numbered = "\n".join(f"{number:6}\t{line}" for number, line in enumerate(PEM.splitlines(), 1998))
    assert redact(numbered).splitlines()[2] == "  2000\t[redacted]"
    one_line = PEM.replace("\n", "\\n")
    assert "MIIE" not in redact(one_line) and "Zz09" not in redact(one_line)


def test_half_a_private_key_is_replaced() -> None:
    """Where only one edge is shown, what looks like a key's line is replaced, and other text is not."""
    line = "Ab1/" * 16
    head = f"-----BEGIN PRIVATE KEY-----\n{line}\nsome text"
    tail = f"some text\n{line}\n-----END PRIVATE KEY-----"
    assert redact(head) == "-----BEGIN PRIVATE KEY-----\n[redacted]\nsome text"
    assert redact(tail) == "some text\n[redacted]\n-----END PRIVATE KEY-----"


PIECES = [*TOKENS, PEM, *PEM.splitlines(), *(frame.format(value) for frame, value in VALUES), "[redacted]"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)


@given(TEXTS)
def test_lines_stay_lines(text: str) -> None:
    """Whatever is replaced, the number of lines is kept, and nothing is replaced where nothing was suspicious."""
    assert redact(text).count("\n") == text.count("\n")
    assert suspicious(text) or redact(text) == text


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join))
def test_what_was_redacted_stays(text: str) -> None:
    """A second pass changes nothing."""
    assert redact(redact(text)) == redact(text)


@pytest.mark.parametrize(
    "piece", ["sk-", "eyJ", "eyJaaaaaaa.", "_token", "password=", "://a:", "-----BEGIN PRIVATE KEY-----", "bearer "]
)
def test_long_texts_of_markers_are_no_trap(piece: str) -> None:
    """A text of nothing but beginnings is worked through: with a search that backtracks it would take hours."""
    text = piece * 40_000
    assert redact(text).count("\n") == 0


@pytest.mark.parametrize(
    "command",
    [
        f"curl -H 'Authorization: Bearer {TOKENS[0]}' https://x.example/a > out.json",
        f"export OPENAI_API_KEY={TOKENS[2]} && cat src/a.py",
        "git clone https://me:swordfish@example.com/a.git",
        f"sed -i 's/{TOKENS[3]}/x/' config.py",
        "PGPASSWORD=swordfish psql -c 'select 1'",
    ],
)
def test_a_redacted_command_is_understood_alike(command: str) -> None:
    """Redaction leaves what a command is understood to do as it was."""
    before, after = (classify(Action(text, "/repo")) for text in (command, redact(command)))
    assert redact(command) != command
    assert (after.category, after.effects, after.writes) == (before.category, before.effects, before.writes)
