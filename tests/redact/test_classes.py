"""Secrets by class: each row is one way to write one down, made up for this test."""

from __future__ import annotations

import pytest

from turnlog.redact.redactor import Redactor

SECRETS = (
    ("SMTP_PASS=kestrel-Nine4", "kestrel-Nine4"),
    ("MAIL_PW: 'hx82!kLm'", "hx82!kLm"),
    ('"dbPass": "wintergarten"', "wintergarten"),
    ("GITLAB_PAT=aB3dE5fG7hJ9kL1mN3pQ", "aB3dE5fG7hJ9kL1mN3pQ"),
    ("azure_pat: q7w8e9r0t1y2u3i4o5p6a7s8d9f0g1h2", "q7w8e9r0t1y2u3i4o5p6a7s8d9f0g1h2"),
    ("wpa_psk=ab12cd34ef", "ab12cd34ef"),
    ("  psk: 'garden gate 77'", "garden gate 77"),
    (
        "https://x.example/f?token=abc&Signature=fT%2B9zQk2mWxL0pYr7sVn4bJd%3D&Expires=1",
        "fT%2B9zQk2mWxL0pYr7sVn4bJd%3D",
    ),
    ("https://maker.ifttt.com/trigger/door/with/key/dQ3kLm9ZxWv7TyUiOpAs2", "dQ3kLm9ZxWv7TyUiOpAs2"),
    ("https://hooks.zapier.com/hooks/catch/1234567/b4kq9zx/", "b4kq9zx"),
    (
        "https://oss.example/a?OSSAccessKeyId=x&Signature=kQ9zLm3XwV7TyUiOpAs2dF5gH8j%3D",
        "kQ9zLm3XwV7TyUiOpAs2dF5gH8j%3D",
    ),
    ("https://api.x.io/cb?code=4aXk29LmQz81TyVb7Wn3", "4aXk29LmQz81TyVb7Wn3"),
    ("mysqldump -u root -pOak7Ridge shop > d.sql", "Oak7Ridge"),
    ("mysql --password=Oak7Ridge", "Oak7Ridge"),
    ("PGPASSWORD=tinylighthouse psql -h db", "tinylighthouse"),
    ("sshpass -p 'n0rth&south' ssh a@b", "n0rth&south"),
    ("redis-cli -h r -a fox7Trot ping", "fox7Trot"),
    ("curl -u ada:Lov3lace https://x", "Lov3lace"),
    ("curl --user 'ada:Lov3lace' x", "Lov3lace"),
    ("wget --http-user=a --http-password=Lov3lace x", "Lov3lace"),
    ("http -a ada:Lov3lace GET x", "Lov3lace"),
    ("docker login -u ada -p Lov3lace reg.example", "Lov3lace"),
    ("az login --service-principal -u x -p Zk7-Lov3lace --tenant t", "Zk7-Lov3lace"),
    ("unzip -P Lov3lace a.zip", "Lov3lace"),
    ("7z x -pLov3lace a.7z", "Lov3lace"),
    ("openssl enc -aes-256-cbc -k Lov3lace -in a", "Lov3lace"),
    ("openssl rsa -in k.pem -passin pass:Lov3lace", "Lov3lace"),
    ("sqlcmd -S db -U sa -P 'Lov3lace!'", "Lov3lace!"),
    ("mosquitto_pub -u a -P Lov3lace -t x", "Lov3lace"),
    ("rabbitmqctl add_user ada Lov3lace", "Lov3lace"),
    ("echo 'ada:Lov3lace' | chpasswd", "Lov3lace"),
    ("echo Lov3lace | sudo -S apt update", "Lov3lace"),
    ('echo "Lov3lace" | docker login -u a --password-stdin', "Lov3lace"),
    ("nmcli dev wifi connect Home password 'Lov3lace99'", "Lov3lace99"),
    ("wpa_passphrase Home Lov3lace99", "Lov3lace99"),
    ("vault login s.9fKq2LmXz81TyVb7Wn3aBcDe", "s.9fKq2LmXz81TyVb7Wn3aBcDe"),
    ("kubectl create secret generic db --from-literal=password=Lov3lace", "Lov3lace"),
    ("kubectl create secret generic db --from-literal=user=ada --from-literal=pin='Lov3lace7'", "Lov3lace7"),
    (
        "aws configure set aws_secret_access_key kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9zLm3XwV7Ty",
        "kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9zLm3XwV7Ty",
    ),
    ("mc alias set minio https://m.example adaaccess Lov3laceKey9", "Lov3laceKey9"),
    ('dotnet user-secrets set "Db:Password" "Lov3 lace"', "Lov3 lace"),
    ("poetry config http-basic.corp ada Lov3lace", "Lov3lace"),
    ("twine upload -u ada -p Lov3lace dist/*", "Lov3lace"),
    ("keytool -list -keystore a.jks -storepass teapotlid7", "teapotlid7"),
    ("jarsigner -keypass teapot7lid a.jar x", "teapot7lid"),
    ("lftp -u ada,Lov3lace ftp.example", "Lov3lace"),
    ("smbclient //n/s -U ada%Lov3lace", "Lov3lace"),
    ("plink -pw Lov3lace ada@h", "Lov3lace"),
    ("sqlplus ada/Lov3lace@orcl", "Lov3lace"),
    ("mongosh 'mongodb://h' -u ada -p Lov3lace", "Lov3lace"),
    ("ldapadd -x -D cn=a -w Lov3lace -f x", "Lov3lace"),
    ("htpasswd -nbB ada Lov3lace", "Lov3lace"),
    ("ansible all -m ping -e ansible_password=Lov3lace", "Lov3lace"),
    ("mysql \\\n  -h db \\\n  -pLov3lace", "Lov3lace"),
    ("tool login \\\n  --token \\\n  k3jd8sjq92mx", "k3jd8sjq92mx"),
    ("helm install x --set auth.password=Lov3lace", "Lov3lace"),
    ("security add-generic-password -a ada -s x -w Lov3lace", "Lov3lace"),
    ("net use Z: \\\\nas\\s /user:ada Lov3lace", "Lov3lace"),
    ("requests.get(u, auth=('ada', 'wintergarten'))", "wintergarten"),
    ("HTTPBasicAuth('ada', 'wintergarten')", "wintergarten"),
    ("smtp.login('ada@x', 'Lov3lace')", "Lov3lace"),
    ("conn = pymysql.connect('db', 'ada', 'Lov3lace', 'shop')", "Lov3lace"),
    ("new PDO('mysql:host=d', 'ada', 'Lov3lace')", "Lov3lace"),
    ('DriverManager.getConnection("jdbc:x", "ada", "Lov3lace")', "Lov3lace"),
    ('new NetworkCredential("ada", "Lov3lace")', "Lov3lace"),
    ('smtp.PlainAuth("", "ada", "Lov3lace", "h")', "Lov3lace"),
    ('driver = GraphDatabase.driver(uri, auth=("neo4j", "Lov3lace"))', "Lov3lace"),
    ('client.username_pw_set("ada", "Lov3lace")', "Lov3lace"),
    ('req.SetBasicAuth("ada", "Lov3lace")', "Lov3lace"),
    ("l.simple_bind_s('cn=a', 'Lov3lace')", "Lov3lace"),
    ("auth: ['ada', 'Lov3lace'],", "Lov3lace"),
    ("db:5433:shop:ada:Lov3lace\n", "Lov3lace"),
    ("machine x\n  login ada\n  password Lov3lace\n", "Lov3lace"),
    ('set imap_pass = "Lov3lace"', "Lov3lace"),
    ("account x\nhost y\nuser ada\npassword Lov3lace\n", "Lov3lace"),
    ("password: Lov3lace", "Lov3lace"),
    ('<add key="ClearTextPassword" value="Lov3lace" />', "Lov3lace"),
    ("- name: DB_PASSWORD\n  value: wintergarten", "wintergarten"),
    ('{"name": "API_TOKEN", "value": "k3jd8sjq92mx"}', "k3jd8sjq92mx"),
    ("remotepass = Lov3lace", "Lov3lace"),
    ("[github]\n\ttoken = 5d41402abc4b2a76b9719d911017c592aabbccdd", "5d41402abc4b2a76b9719d911017c592aabbccdd"),
    ("ada:$apr1$k3l4m5n6$Qw8eRt9yUi0oPaS1dFgH2.", "Qw8eRt9yUi0oPaS1dFgH2."),
    ("{SSHA}kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9z=", "kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9z"),
    (
        "$2y$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
        "N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy",
    ),
    (
        "scrypt:32768:8:1$kQ9zLm3XwV7T$ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
        "ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12ab12",
    ),
    (
        "SCRAM-SHA-256$4096:kQ9zLm3XwV7TyUiO==$Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3=:Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4Yk4=",
        "Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3Zk3",
    ),
    ("BORG_PASSPHRASE='amber otter sings softly'", "amber otter sings softly"),
    ("passphrase: amber otter sings softly\n", "amber otter sings softly"),
    ('gpg --passphrase "amber otter sings" -d x', "amber otter sings"),
    ('"passphrase": "amber otter sings softly"', "amber otter sings softly"),
    ("Cookie: session=k3jd8sjq92mxk3jd8sjq; lang=de", "k3jd8sjq92mxk3jd8sjq"),
    ("Set-Cookie: sid=k3jd8sjq92mx; Path=/", "k3jd8sjq92mx"),
    ("requests.get(u, cookies={'sessionid': 'k3jd8sjq92mxk3jd8sjq92'})", "k3jd8sjq92mxk3jd8sjq92"),
    ("curl -b 'auth=k3jd8sjq92mxk3jd8sjq92' x", "k3jd8sjq92mxk3jd8sjq92"),
    ('document.cookie = "sid=k3jd8sjq92mxk3jd8sjq92"', "k3jd8sjq92mxk3jd8sjq92"),
    ("PHPSESSID=k3jd8sjq92mxk3jd8sjq92a", "k3jd8sjq92mxk3jd8sjq92a"),
    (".example.com\tTRUE\t/\tTRUE\t0\tsid\tk3jd8sjq92mxk3jd8sjq92", "k3jd8sjq92mxk3jd8sjq92"),
    ("AES_KEY=5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592", "5d41402abc4b2a76b9719d911017c592"),
    ("encryptionKey: '5d41402abc4b2a76b9719d911017c592'", "5d41402abc4b2a76b9719d911017c592"),
    ("APP_KEY=base64:kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9zLm3XwV7TyUi=", "kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9zLm3XwV7TyUi"),
    ("DATADOG_APP_KEY: 5d41402abc4b2a76b9719d911017c5925d41402a", "5d41402abc4b2a76b9719d911017c5925d41402a"),
    ("AUTH_SALT='kQ9zLm3XwV7TyUiOpAs2dF5gH8j'", "kQ9zLm3XwV7TyUiOpAs2dF5gH8j"),
    ("REDIS_PASSWORD=SilverBirchLane", "SilverBirchLane"),
    ('password = "correcthorse"', "correcthorse"),
    ("mongodb:\n  username: app\n  password: hollowmoon\n", "hollowmoon"),
    ("API_TOKEN=qwzxkjvhbnmplktrdsf", "qwzxkjvhbnmplktrdsf"),
    ('token = "k3jd8sj" + "q92mxabc"', "q92mxabc"),
    ("PASSWORD = ('Tulip-'\n            'Gate-88')", "Gate-88"),
    ('const k = "sk_live_" + "k3jd8sjq92mxk3jd8sjq92ab"', "k3jd8sjq92mxk3jd8sjq92ab"),
    ("log in with user `ada` and password `moss#granite`", "moss#granite"),
    ("username: ada, password: Lov3lace", "Lov3lace"),
    ("creds: ada / Lov3lace9x", "Lov3lace9x"),
    ("The wifi password is Lov3lace99.", "Lov3lace99"),
    ("pw: Lov3lace", "Lov3lace"),
    ("Passwort: Lov3lace", "Lov3lace"),
    ("token ist k3jd8sjq92mxk3jd8sjq92", "k3jd8sjq92mxk3jd8sjq92"),
    ("Authorization: Token 5d41402abc4b2a76b9719d911017c592aabbccdd", "5d41402abc4b2a76b9719d911017c592aabbccdd"),
    ("Authorization: ApiKey k3jd8sjq92mxk3jd8sjq92", "k3jd8sjq92mxk3jd8sjq92"),
    (
        "Authorization: AWS4-HMAC-SHA256 Credential=x/20250101/us/s3/aws4_request, SignedHeaders=host, Signature=5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592",  # noqa: E501
        "5d41402abc4b2a76b9719d911017c5925d41402abc4b2a76b9719d911017c592",
    ),
    ('Authorization: Hawk id="a", ts="1", mac="kQ9zLm3XwV7TyUiOpAs2dF5gH8j="', "kQ9zLm3XwV7TyUiOpAs2dF5gH8j"),
    ("Proxy-Authorization: Basic YWRhOkxvdjNsYWNl", "YWRhOkxvdjNsYWNl"),
    ("X-Vault-Token: s.9fKq2LmXz81TyVb7Wn3aBcDe", "s.9fKq2LmXz81TyVb7Wn3aBcDe"),
    ("headers: {'x-api-key': 'k3jd8sjq92mxk3jd8sjq92'}", "k3jd8sjq92mxk3jd8sjq92"),
    (
        'MNEMONIC="abandon ability able about above absent absorb abstract absurd abuse access accident"',
        "absorb abstract",
    ),
    ("seed phrase: legal winner thank year wave sausage worth useful legal winner thank yellow", "sausage worth"),
    ("ALTER USER ada IDENTIFIED BY 'Lov3lace';", "Lov3lace"),
    ("CREATE USER ada WITH PASSWORD 'Lov3lace';", "Lov3lace"),
    ("Server=x;User Id=ada;Pwd=Lov3lace;", "Lov3lace"),
    ("AccountKey=kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9zLm3XwV7TyUiOpAs2dF5gH8j==", "kQ9zLm3XwV7TyUiOpAs2dF5gH8jkQ9z"),
    ("dsn: https://5d41402abc4b2a76b9719d911017c592@sentry.example/2", "5d41402abc4b2a76b9719d911017c592"),
    ("mongodb+srv://ada:Lov3lace@c.example/db", "Lov3lace"),
    ("redis://:Lov3lace@h:6379", "Lov3lace"),
    ("$ cat /run/secrets/db_password\nLov3lace-oak\n$ ls", "Lov3lace-oak"),
    ("# cat ~/.vault-token\nhvs.CAESIJk3jd8sjq92mxk3jd8sjq92\n", "hvs.CAESIJk3jd8sjq92mxk3jd8sjq92"),
    (
        "Administrator:500:aad3b435b51404eeaad3b435b51404ee:5d41402abc4b2a76b9719d911017c592:::",
        "5d41402abc4b2a76b9719d911017c592",
    ),
    ("define('DB_PASSWORD', 'wintergarten');", "wintergarten"),
    ("ENV MYSQL_ROOT_PASSWORD wintergarten", "wintergarten"),
    ("setx API_KEY k3jd8sjq92mxk3jd8sjq92", "k3jd8sjq92mxk3jd8sjq92"),
    ("$env:DB_PASSWORD = 'Lov3lace'", "Lov3lace"),
    ("spring.datasource.password=wintergarten", "wintergarten"),
    ("export DB_PASS=wintergarten", "wintergarten"),
    ("--db-pass wintergarten", "wintergarten"),
    ("| password | Lov3lace9x |", "Lov3lace9x"),
    ("set -x PASSWORD wintergarten", "wintergarten"),
    ("oathtool --base32 --totp JBSWY3DPEHPK3PXP", "JBSWY3DPEHPK3PXP"),
    ("totp_secret: JBSWY3DPEHPK3PXQ", "JBSWY3DPEHPK3PXQ"),
)
HARMLESS = (
    "PASS src/oauth2/login2fa.spec.ts (5 s)",
    "first_pass = 'shadow1'",
    "render_pass: opaque",
    "pass: 12",
    "compass=north42x",
    "def login(self, username='a', password='b')",
    "use the --password option",
    "token: Token",
    "key=lambda x: x[1]",
    "cache_key = 'user-5d41402abc4b2a76b9719d911017c592'",
    "public_key: AAAAB3NzaC1yc2EAAAADAQABAAABgQC7",
    "auth=(user, password)",
    "login('username', 'password')",
    "connect('localhost', 'events')",
    "signal.connect('clicked', 'on_button1_clicked')",
    "docker run -p 8080:80 nginx",
    "ssh -p 2222 host",
    "mkdir -p a/b1c2",
    "curl -u $USER:$PASS x",
    "cookie: theme=dark; lang=en",
    "Set-Cookie: theme=dark; Path=/",
    "session_id=28c304f6-3c5f-4539-af1d-07ae450e639d",
    "the password is required",
    "passphrase = input('Enter passphrase for key: ')",
    "password: 'Enter your new password here'",
    'secret: "the api secret of your app"',
    "--token TOKEN",
    "sha256-abc",
    "pat = re.compile(r'[a-z]{3}[0-9]{20,}')",
    "PATH=/usr/bin:/home/a/b2",
    "identified by its id 42;",
    "psk = compute_psk(a)",
    '"password" + "field1"',
    'a = "abc" + "def"',
    "x.sort(key=operator.itemgetter(1))",
    "tokens = 5d",
    "'token': 'abc'",
    "salt = os.urandom(16)",
    "pw = getpass.getpass()",
    "pwd\n/home/a",
    "PWD=/tmp/x1y2z3w4",
    "https://x/?key=value&code=200",
    "?v=5d41402abc4b2a76b9719d911017c592",
    "integrity sha512-aB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3daB3d",
    'etag: W/"5d41402abc4b2a76b9719d911017c592"',
    "primary_key=True",
    "foreign_key: user_id2",
    "sort_key: created_at2",
    "Authorization: Bearer <token>",
    "auth: { username: user, password: pass }",
    "git log -p file1",
    "zip -p x",
    "gh pr create -b 'text1 abc'",
    "7z a -pX",
    "mysql -p",
    "mysql -u root -p shop",
    "password:\n  required: true",
    "api_key: str = Field(..., alias='apiKey')",
    "const { password, ...rest } = user1",
    "mnemonic: MOV",
    "mnemonic = 'abc'",
)


@pytest.mark.parametrize(("text", "secret"), SECRETS, ids=[str(number) for number in range(len(SECRETS))])
def test_a_secret_of_a_known_class_is_found(text: str, secret: str) -> None:
    assert secret in text
    assert secret not in Redactor().redact_text(text)


@pytest.mark.parametrize("text", HARMLESS, ids=[str(number) for number in range(len(HARMLESS))])
def test_what_only_has_the_form_of_a_class_stays(text: str) -> None:
    assert Redactor().redact_text(text) == text


def test_values_in_a_table_of_hashes_stay() -> None:
    rows = [f'"{name}": "{number:032x}",' for number, name in enumerate(NAMES, 0xA1B2C3D4E5F60718293A4B5C6D7E8F90)]
    table = "HASHES = {\n    " + "\n    ".join(rows) + "\n}"
    assert Redactor().redact_text(table) == table


def test_several_hashes_that_are_all_named_secrets_go() -> None:
    text = "".join(f"{name}={number:064x}\n" for number, name in enumerate(("JWT_SECRET", "SESSION_SECRET"), 7**90))
    assert Redactor().redact_text(text) == "JWT_SECRET=[secret:secret:1]\nSESSION_SECRET=[secret:secret:2]\n"


def test_a_secret_in_pieces_leaves_code_that_still_reads() -> None:
    assert Redactor().redact_text('token = "k3jd8sj" + "q92mxabc"') == 'token = "[secret:token:1]"'
    text = "PASSWORD = (\n    'Tulip-'\n    'Gate-88'\n)"
    assert Redactor().redact_text(text) == "PASSWORD = (\n    '[secret:password:1]'\n)"


def test_a_token_that_a_terminal_broke_goes_with_all_its_lines() -> None:
    first, second = "k3Jd8sJq92mXk3jd8Sjq92Ab" * 2, "Zx7Tq2LmKp9WvB4nRs6YdF8h"
    assert Redactor().redact_text(f"API_TOKEN={first}\n{second}\n$ ls") == "API_TOKEN=[secret:token:1]\n$ ls"


NAMES = ("auth.py", "token", "secret", "views.py", "password", "models.py", "api_key", "urls.py")
