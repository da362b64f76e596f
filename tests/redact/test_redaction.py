"""Secrets out of texts."""

from __future__ import annotations

import itertools
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from execledger.core.classify import classify
from execledger.redact import redact, suspicious
from execledger.redact.by_command import PROGRAMS
from execledger.redact.redaction import MARKERS
from execledger.vocabulary.actions import Action

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
    "ey" + "J" + "hbGciOiJkaXIiLCJlbmMiOiJBIn0..5eym8TW_c8SuK0ltJ3rpYIzOeDQz7TALvtu6UG9oMo4vpz",
    "github" + "_pat_" + "A1b2" * 20,
    "ghs" + "_" + "Z9y8" * 9,
    "glrt" + "-" + "x1Y2_" * 4,
    "pypi" + "-AgEIcHlwaS5vcmcC" + "aB3-" * 8,
    "dckr" + "_pat_" + "aB3-" * 7,
    "rubygems" + "_" + "0a1b" * 12,
    "ASI" + "A" + "Q1W2" * 4,
    "GOCSPX" + "-" + "aB3_" * 6,
    "abc" + "8Q~" + "aB3." * 8,
    "hvs" + "." + "aB3_" * 8,
    "dapi" + "0a1b" * 8,
    "sk" + "_live_" + "aB3d" * 6,
    "rk" + "_test_" + "aB3d" * 6,
    "whsec" + "_" + "aB3d" * 8,
    "xoxe" + ".xoxp-1-" + "aB3d" * 8,
    "xapp" + "-1-A0-" + "aB3d" * 6,
    "key" + "-" + "0a1b" * 8,
    "shpat" + "_" + "0a1b" * 8,
    "1234567890" + ":AA" + "aB3d" * 8 + "x",
    "sntrys" + "_" + "aB3d" * 8,
    "figd" + "_" + "aB3-" * 8,
    "AGE" + "-SECRET-KEY-1" + "Q2W3" * 12,
    "ATATT" + "3xFfGF0" + "aB3d" * 8,
    "nvapi" + "-" + "aB3_" * 8,
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
    ("Cookie: theme=dark; session={}", "0123456789"),
    ("Set-Cookie: sid={}; Path=/; HttpOnly\nServer: x", "abcdef"),
    ("Set-Cookie: a={}; Path=/", "4f9c2b71e0"),
    ("curl -b 'sid={}' https://example.com", "abcdefgh"),
    ("curl -s -u me:{} https://example.com", "swordfish"),
    ("sshpass -p {} ssh host", "swordfish"),
    ("mysql -u root -p{} main", "swordfish"),
    ('{{"token": "{}"}}', "abcdef123456"),
    ("https://hooks.slack.com/services/{}", "T000/B000/abcdefghijkl"),
    ("https://discord.com/api/webhooks/{}", "123456789/abcdefghijklmnopqrst_-"),
    ("Authorization: Negotiate {}", "YIIZbwYGKwYBBQUCoIIZ"),
    ("Proxy-Authorization: Basic {}", "dXNlcjpwYXNz"),
    ("x-api-key: {}", "swordfish"),
    ("'X-Auth-Token': '{}'", "swordfish"),
    ("PRIVATE-TOKEN: {}", "swordfish"),
    ("DB_PASS={}", "swordfish"),
    ("MYSQL_PWD={}", "swordfish"),
    ("Server=db;User Id=me;Pwd={};", "swordfish"),
    ("DefaultEndpointsProtocol=https;AccountKey={};", "Ab3/Cd4+" * 10 + "=="),
    ("Endpoint=sb://x.example/;SharedAccessKey={}", "Ab3/Cd4+"),
    ("https://x.example/blob?sv=2024&sig={}&se=1", "Ab3%2FCd4%2BEf5Gh6Ij7Kl8"),
    ("amqps://me:{}@mq.example/vhost", "swordfish"),
    ("redis://:{}@cache.example:6379/0", "swordfish"),
    ("git clone https://{}@git.example/a.git", "0123456789abcdef0123456789abcdef01234567"),
    ('  password: "{}"', "correct horse battery staple"),
    ("  password: '{}'", '$2b$12$KIXQ "quoted" too'),
    ("db:\n  password: {}\n  host: x", "swordfish"),
    ("     3\tpassword: {}", "swordfish"),
    ('password = "{}"', "(odd#start"),
    ('{{"password": "{}"}}', 'with \\"escapes\\" in it'),
    ("'password' => '{}'", "swordfish"),
    ("<password>{}</password>", "sword fish"),
    ("accessToken: '{}'", "swordfish"),
    ("refresh_token={}", "swordfish"),
    ("https://x.example/?token={}", "abcdef0123456789"),
    ("token: {}", "abcdef0123456789"),
    ('"auth": "{}"', "dXNlcjpwYXNz"),
    ("//registry.example/:_authToken={}", "abcdefgh"),
    ("_auth={}", "dXNlcjpwYXNz"),
    ("machine example.com\n  login me\n  password {}\n", "swordfish"),
    ("docker login -u me -p {} registry.example", "swordfish"),
    ("tool --client-secret {}", "swordfish"),
    ("aws configure set aws_secret_access_key {}", "wJalrXUtnFEMI/K7MDENG"),
    ("set -gx GITLAB_TOKEN {}", "swordfish"),
    ("CREATE USER me IDENTIFIED BY '{}';", "swordfish"),
    ("ALTER ROLE me WITH PASSWORD '{}';", "sword fish"),
    ('    password: Optional[str] = "{}"', "swordfish"),
    ('let password: &\'static str = "{}";', "swordfish"),
    ('var Password string = "{}"', "swordfish"),
    ('char password[] = "{}";', "swordfish"),
    ('user, password := "admin", "{}"', "swordfish"),
    ('builder.password("{}").build()', "swordfish"),
    ("const secret = process.env.SECRET || '{}'", "swordfish"),
    ('if ("{}" == password)', "swordfish"),
    ('#define API_KEY "{}"', "swordfish"),
    ("export PW=${{DB_PASSWORD:-{}}}", "swordfish"),
    ("INSERT INTO u (name, password) VALUES ('bob', '{}');", "swordfish"),
    ("SET PASSWORD FOR 'me'@'%' = '{}';", "swordfish"),
    ('<entry key="password">{}</entry>', "swordfish"),
    ("<key>Password</key>\n<string>{}</string>", "swordfish"),
    ('<input type="password" name="pw" value="{}">', "swordfish"),
    (" id | password\n----+---------\n  1 | {}\n(1 row)", "swordfish"),
    ("+---+----------+\n| u | password |\n+---+----------+\n| a | {} |\n+---+----------+", "swordfish"),
    ("| host | password | note |\n|---|---|---|\n| db | {} | old |", "swordfish"),
    ("user  password\n----  --------\nbob   {}", "swordfish"),
    ("user,password,mail\nbob,{},b@example.org", "sw0rdfish"),
    ("-[ RECORD 1 ]---\nname     | bob\npassword | {}", "swordfish"),
    ("db:5432:main:me:{}", "swordfish"),
    ("machine git password {}", "swordfish"),
    ("Your API key is {}", "4f9c2b71e0d8"),
    ("echo -n me:{} | base64", "swordfish"),
    ("{}", "AKI" + "AIOSFODNN7EXAMPLE" + ":" + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
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
        "token = tokenizer.next()\ntoken: Token = tokens[0]\nif token == 'a2b3c4d5':",
        "for token in tokens: key = cache_key(token)",
        "connect(host, password=password, api_key=api_key, token=token)",
        "connect(password=self.password, secret=settings.secret, db_password=old_db_password)",
        "password: str\n    password: Optional[str]\n  secret: SecretStr",
        "password = getpass.getpass()\npassword=hash_password(raw)\nsecret_key=keys[0]",
        'password = f"{user}-{host}"\nurl = f"https://{user}:{password}@{host}"',
        "cookie: str = None\nresponse.set_cookie('a', value)",
        "PWD=/repo\nOLDPWD=/tmp",
        "the bearer authentication scheme",
        "$ passwd\npasswords are hashed; tokens expire",
        "a ~Q~ b; sig=1; login page; set -e",
        "http://localhost:8080/path?user=a@b.c",
        "git log 0123456789abcdef0123456789abcdef01234567",
        'secret_santa = "alice1"; next_token = "NextToken"; START_TOKEN = "def start"',
        "print('All passwords:', count)\nlog(\"token: \" + token)",
        'headers = {"X-API-Key": key, "Authorization": auth_header}',
        'api_key: "UserKey | None" = None\nprivate_key: "_RSAPrivateKey", data: bytes',
        "password = r'([a-f0-9]{48})'; token_re = \"(?:[a-z]+|\\\\d)\"",
        "get_secret('API_BASE'); ask.PromptPassword('Password: '); Pass::run()",
        "   95\t    pass\n   96\t    return 1\n   97\t\treturn x2",
        "name, password\nreturn, value1",
        "| Token | Meaning |\n|---|---|\n| IDENT | a name |",
        "Set-Cookie: theme=dark; Path=/",
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


def test_a_private_key_that_was_cut_off_is_replaced_to_its_last_line() -> None:
    """The last line that is shown may be short, and numbered; what is no line of a key ends it."""
    cut = "-----BEGIN OPENSSH PRIVATE KEY-----\n" + "b3Blbn/+" * 8 + "\nAAAAB3Nza\nlast words of it\nAAAAB3Nza"
    assert redact(cut).splitlines()[1:] == ["[redacted]", "[redacted]", "last words of it", "AAAAB3Nza"]
    numbered = "     1\t-----BEGIN EC PRIVATE KEY-----\n     2\tMHcCAQEEIIrY"
    assert redact(numbered).splitlines()[1] == "     2\t[redacted]"


def test_letters_that_grow_in_lower_case_shift_nothing() -> None:
    """Some letters have a lower case of two characters."""
    assert redact("\u0130" * 9 + " api_key='swordfish' \u0130") == "\u0130" * 9 + " api_key='[redacted]' \u0130"


PIECES = [*TOKENS, PEM, *PEM.splitlines(), *(frame.format(value) for frame, value in VALUES), "[redacted]"]
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=5), max_size=8).map("".join)


@given(TEXTS)
def test_lines_stay_lines(text: str) -> None:
    """Whatever is replaced, the number of lines is kept, and nothing is replaced where nothing was suspicious."""
    assert redact(text).count("\n") == text.count("\n")
    assert suspicious(text) or redact(text) == text


@given(st.lists(st.sampled_from(PIECES), max_size=6).map(" ".join) | TEXTS)
def test_what_was_redacted_stays(text: str) -> None:
    """A second pass changes nothing."""
    assert redact(redact(text)) == redact(text)


def test_a_second_command_has_its_own_arguments() -> None:
    """A command ends where its program is named again; the text after that is still searched."""
    assert redact("curl a:curl -u bob:hunter22 b") == "curl a:curl -u bob:[redacted] b"
    assert redact("curl my-curl -u bob:hunter22") == "curl my-curl -u bob:[redacted]"


BEGINNINGS = sorted(
    {*MARKERS, *(token[:7] for token in TOKENS), *(frame.partition("{")[0] for frame, _ in VALUES), "secret>"} - {""}
)
LONG_TEXTS = """
import sys
from execledger.redact import redact
size, step, pieces = int(sys.argv[1]), int(sys.argv[2]), sys.stdin.read().split("\\0")
ends = ("", "(", "a" * (size // 3), "A1" * (size // 6) + "[", "\\n" * (size // 6))
for number, piece in enumerate(pieces):
    for end in ends[number % step :: step]:
        text = (piece * (size // len(piece)))[: size - len(end)] + end
        assert redact(text).count("\\n") == text.count("\\n"), piece
"""


def test_long_texts_of_beginnings_are_no_trap(full: bool) -> None:
    """Texts of nothing but beginnings of secrets are worked through: a search that backtracks would take hours."""
    size, step, pieces = (1_000_000, 3, BEGINNINGS) if full else (30_000, 4, BEGINNINGS[::2])
    command = [sys.executable, "-c", LONG_TEXTS, str(size), str(step)]
    subprocess.run(command, input="\0".join(pieces), text=True, check=True, timeout=3600 if full else 300)


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


@pytest.mark.parametrize(
    ("program", "form"), [(name, form) for names, forms in PROGRAMS.items() for name in names.split() for form in forms]
)
def test_every_form_of_the_table_is_found(program: str, form: str) -> None:
    """Each of the alternatives, with the secret bare and in quotes; a variable in its place is kept."""
    *words, last = (word.split("|") for word in form.replace("*?", "w").replace("-*", "-").split(" "))
    for choice in itertools.product(*words, last):
        command = f"{program} {' '.join(choice)} x".replace("?", "").replace("*", "w")
        secret = "Heron" + "w0rd9xyz"
        for quote in ("", "'", '"'):
            shown = command.replace("USER", "u").replace("SECRET", f"{quote}{secret}{quote}")
            assert secret not in redact(shown), shown
        shown = command.replace("USER", "user").replace("SECRET", "$PASSWORD")
        assert redact(shown) == shown


@pytest.mark.parametrize("options", ["", "--global ", "--add --local "])
def test_a_token_in_the_configuration_of_git_is_found(options: str) -> None:
    """The word behind the name is the secret; a command without a value is kept."""
    secret = "Heron" + "w0rd9xyz"
    assert redact(f"git config {options}user.token {secret}") == f"git config {options}user.token [redacted]"
    for kept in (f"git config {options}--get user.token", f"git config {options}user.token && ls -la"):
        assert redact(kept) == kept
