"""What tokens look like, by service: the first characters and the lengths that services and secret scanners document.

A new service is one line here. `tokens` looks for all of them at once.
"""

from __future__ import annotations

from typing import NamedTuple

WORD = r"[A-Za-z0-9_-]"
UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class Form(NamedTuple):
    """What tokens of one kind look like."""

    name: str
    start: str
    """An expression for its first characters."""
    rest: str
    end: str = r"(?![A-Za-z0-9])"
    dashed: bool = False
    """Its tokens may hold dashes, as ordinary names do: one part must look drawn at random."""
    address: bool = False
    """The start is an address or a word of one and stays; the rest is the secret."""


FORMS = (
    # Code hosts, registries and continuous integration
    Form("github", r"gh[pousr]_", r"[A-Za-z0-9]{36,255}+"),
    Form("github", r"github_pat_", r"\w{36,255}+"),
    Form(
        "gitlab",
        r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-",
        rf"{WORD}{{20,300}}+(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{9}})?",
        dashed=True,
    ),
    Form("bitbucket", r"ATBB", r"[A-Za-z0-9]{32}"),
    Form("atlassian", r"AT(?:ATT|CTT|STT)3", r"[A-Za-z0-9_=-]{100,300}+"),
    Form("npm", r"npm_", r"[A-Za-z0-9]{36,255}+"),
    Form("pypi", r"pypi-A", rf"{WORD}{{50,1000}}+"),
    Form("rubygems", r"rubygems_", r"[0-9a-f]{48}"),
    Form("nuget", r"oy2", r"[a-z0-9]{43}"),
    Form("crates", r"cio", r"[A-Za-z0-9]{32}"),
    Form("clojars", r"CLOJARS_", r"[a-z0-9]{60}"),
    Form("docker", r"dckr_(?:pat|oat)_", rf"{WORD}{{20,64}}+", dashed=True),
    Form("artifactory", r"AKCp", r"[A-Za-z0-9]{66,76}"),
    Form("circleci", r"CCI(?:PAT|PRJ)_", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    Form("buildkite", r"bk(?:ua|ct|pt)_", r"[A-Za-z0-9]{32,64}+"),
    Form("sonar", r"sq[pua]_", r"[0-9a-f]{40}"),
    Form("sourcegraph", r"sgp_", r"(?:(?:local|[0-9a-f]{16})_)?[0-9a-f]{40}"),
    Form("octopus", r"API-", r"[A-Z0-9]{25,32}"),
    Form("harness", r"[ps]at\.", r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    # Clouds and hosting
    Form("aws", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}"),
    Form("aws", r"ABSK", r"[A-Za-z0-9+/]{100,300}+={0,2}"),
    Form("aws", r"bedrock-api-key-", r"[A-Za-z0-9+/=]{40,4000}+"),
    Form("google", r"AIza", rf"{WORD}{{35}}(?!{WORD})"),
    Form("google", r"GOCSPX-", rf"{WORD}{{20,64}}+"),
    Form("google", r"ya29\.", rf"{WORD}{{20,2048}}+"),
    Form("google", r"1/(?=/0)", rf"/0{WORD}{{30,256}}+"),
    Form("azure", rf"{WORD}{{3}}[78]Q~", r"[A-Za-z0-9_.~-]{31,34}"),
    Form("alibaba", r"LTAI", r"[A-Za-z0-9]{16,24}"),
    Form("tencent", r"AKID", r"[A-Za-z0-9]{32}"),
    Form("yandex", r"AQVN", rf"{WORD}{{35,40}}"),
    Form("yandex", r"y[0-6]_", rf"{WORD}{{55,60}}"),
    Form("digitalocean", r"do[opr]_v1_", r"[0-9a-f]{64}"),
    Form("heroku", r"HRKU-", rf"{WORD}{{30,70}}+"),
    Form("netlify", r"nf[pocub]_", r"[A-Za-z0-9]{36,50}+"),
    Form("vercel", r"vc[kpiar]_", r"[A-Za-z0-9]{24,64}+"),
    Form("fly", r"fo1_", rf"{WORD}{{43}}"),
    Form("fly", r"fm[12][ar]?_", r"[A-Za-z0-9+/=,_-]{80,2000}+"),
    Form("render", r"rnd_", r"[A-Za-z0-9]{28,40}"),
    Form("cloudflare", r"v1\.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    Form("tailscale", r"tskey-[a-z]{2,12}-", r"[A-Za-z0-9]{8,40}+-[A-Za-z0-9]{16,64}+"),
    Form("openshift", r"sha256~", rf"{WORD}{{43}}"),
    Form("terraform", r"atlasv1\.", rf"{WORD}{{60,80}}"),
    Form("pulumi", r"pul-", r"[0-9a-f]{40}"),
    Form("vault", r"hv[sbr]\.", rf"{WORD}{{24,300}}+"),
    Form("doppler", r"dp\.(?:st|ct|pt|sa|scim|audit)\.", r"(?:[a-z0-9_-]{1,35}+\.)?[A-Za-z0-9]{40,44}"),
    Form("1password", r"ops_eyJ", r"[A-Za-z0-9+/_-]{200,2000}+={0,2}"),
    Form("1password", r"A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    # Databases and data platforms
    Form("databricks", r"d(?:api|kea|ose)", r"[0-9a-f]{32}(?:-\d)?"),
    Form("planetscale", r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{32,64}+"),
    Form("supabase", r"sb(?:p_|_secret_)", r"[A-Za-z0-9_]{30,64}+"),
    Form("neon", r"napi_", r"[A-Za-z0-9]{60,80}"),
    Form("prefect", r"pn[ub]_", r"[A-Za-z0-9]{36}"),
    Form("pinecone", r"pcsk_", r"[A-Za-z0-9_]{50,90}+"),
    Form("airtable", r"pat[A-Za-z0-9]{14}\.", r"[0-9a-f]{64}"),
    Form("contentful", r"CFPAT-", rf"{WORD}{{43}}"),
    Form("mapbox", r"sk\.eyJ", rf"{WORD}{{40,200}}+\.{WORD}{{16,40}}+"),
    # Language models
    Form("anthropic", r"sk-ant-", rf"{WORD}{{20,255}}+", dashed=True),
    Form("openrouter", r"sk-or-", rf"{WORD}{{32,128}}+", dashed=True),
    Form("openai", r"sk-", rf"{WORD}{{20,255}}+", dashed=True),
    Form("huggingface", r"hf_", r"[A-Za-z0-9]{30,64}+"),
    Form("huggingface", r"api_org_", r"[A-Za-z0-9]{30,64}+"),
    Form("groq", r"gsk_", r"[A-Za-z0-9]{40,64}+"),
    Form("xai", r"xai-", r"[A-Za-z0-9]{60,100}+"),
    Form("perplexity", r"pplx-", r"[A-Za-z0-9]{40,64}+"),
    Form("replicate", r"r8_", r"[A-Za-z0-9]{37,40}+"),
    Form("nvidia", r"nvapi-", rf"{WORD}{{60,80}}+"),
    Form("cerebras", r"csk-", r"[a-z0-9]{40,60}"),
    Form("together", r"tgp_v1_", rf"{WORD}{{40,50}}+"),
    Form("jina", r"jina_", r"[A-Za-z0-9]{50,70}"),
    Form("llamacloud", r"llx-", r"[A-Za-z0-9]{40,60}"),
    Form("e2b", r"e2b_", r"[0-9a-f]{40}"),
    Form("firecrawl", r"fc-", r"[0-9a-f]{32}"),
    Form("runpod", r"rpa_", r"[A-Z0-9]{30,50}[a-z0-9]{0,8}"),
    Form("apify", r"apify_api_", r"[A-Za-z0-9]{30,40}"),
    Form("langsmith", r"lsv2_(?:pt|sk)_", r"[A-Za-z0-9_]{32,64}+"),
    Form("tavily", r"tvly-", rf"{WORD}{{28,64}}+", dashed=True),
    Form("elevenlabs", r"sk_", r"[0-9a-f]{48}"),
    # Payments and shops
    Form("stripe", r"[sr]k_(?:live|test|prod)_", r"[A-Za-z0-9]{16,255}+"),
    Form("stripe", r"whsec_", r"[A-Za-z0-9+/]{24,255}+={0,2}"),
    Form("square", r"sq0(?:atp|csp)-", rf"{WORD}{{22,43}}+"),
    Form("square", r"EAAA", rf"{WORD}{{60}}(?!{WORD})"),
    Form("shopify", r"shp(?:at|ca|pa|ss|tka|ua)_", r"[0-9a-fA-F]{32}"),
    Form("plaid", r"access-(?:sandbox|development|production)-", UUID),
    Form("flutterwave", r"FLWSECK(?:_TEST)?-", r"[A-Za-z0-9]{12,40}(?:-X)?"),
    Form("easypost", r"EZ[AT]K", r"[A-Za-z0-9]{54}"),
    Form("shippo", r"shippo_(?:live|test)_", r"[0-9a-f]{40}"),
    Form("duffel", r"duffel_(?:live|test)_", rf"{WORD}{{43}}"),
    Form("paddle", r"pdl_(?:live|sdbx)_apikey_", r"\w{40,80}+"),
    Form("lob", r"(?:live|test)_", r"[0-9a-f]{35}"),
    # Messages, mail and people
    Form("slack", r"xox[abeprso](?:\.xox[bp])?-", r"[A-Za-z0-9-]{10,255}+", dashed=True),
    Form("slack", r"(?:xapp-\d|xwfp)-", r"[A-Za-z0-9-]{20,255}+", dashed=True),
    Form("slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9/]{20,255}+", address=True),
    Form("discord", r"[MNO][DTjz]", rf"{WORD}{{20,28}}+\.{WORD}{{6}}\.{WORD}{{27,40}}+"),
    Form(
        "discord",
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/",
        rf"\d{{15,21}}/{WORD}{{50,90}}+",
        address=True,
    ),
    Form("teams", r"IncomingWebhook/", rf"[0-9a-f]{{32}}(?:/{UUID})?", address=True),
    Form(
        "zapier", r"hooks\.zapier\.com/hooks/catch/", r"\d{4,12}/[A-Za-z0-9]{5,12}(?:/[A-Za-z0-9]{5,12})?", address=True
    ),
    Form("ifttt", r"with/key/", rf"{WORD}{{20,60}}+", address=True),
    Form("telegram", r"[0-9]{8,10}(?::|%3A)AA", rf"{WORD}{{32,35}}+"),
    Form("telegram", r"bot(?=[0-9]{8})", rf"[0-9]{{8,10}}(?::|%3A)AA{WORD}{{32,35}}+", address=True),
    Form("matrix", r"sy[tr]_", r"[A-Za-z0-9]{2,60}+_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    Form("twilio", r"SK", r"[0-9a-f]{32}"),
    Form("sendgrid", r"SG\.", rf"{WORD}{{16,32}}+\.{WORD}{{16,64}}+"),
    Form("mailgun", r"key-", r"[0-9a-f]{32}"),
    Form("mailchimp", r"[0-9a-f]{32}-us", r"[0-9]{1,2}"),
    Form("brevo", r"x(?:key|smtp)sib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    Form("resend", r"re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    Form("hubspot", r"pat-(?:na|eu|ap)\d-", UUID),
    Form("facebook", r"EAA[A-Z]", r"[A-Za-z0-9]{80,400}+"),
    Form("twitter", r"A(?:A{19})", r"[A-Za-z0-9%]{60,120}+"),
    Form("pinterest", r"pina_", r"[A-Za-z0-9]{32,80}+"),
    # Tools of work
    Form("linear", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,64}+"),
    Form("notion", r"ntn_", r"[A-Za-z0-9]{40,60}+"),
    Form("notion", r"secret_", r"[A-Za-z0-9]{43}"),
    Form("figma", r"fig[duo]_", rf"{WORD}{{36,64}}+"),
    Form("asana", r"[0-2]/[0-9]{12,20}:", r"[0-9a-f]{32}"),
    Form("clickup", r"pk_[0-9]{5,9}_", r"[A-Z0-9]{32}"),
    Form("postman", r"PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    Form("readme", r"rdme_", r"[a-z0-9]{70}"),
    Form("typeform", r"tfp_", r"[A-Za-z0-9_.=-]{59}"),
    Form("frameio", r"fio-u-", rf"{WORD}{{64}}"),
    Form("dropbox", r"sl\.", rf"{WORD}{{130,200}}+"),
    Form("infracost", r"ico-", r"[A-Za-z0-9]{32}"),
    Form("scalingo", r"tk-us-", rf"{WORD}{{48}}"),
    Form("adobe", r"p8e-", r"[A-Za-z0-9]{32}"),
    # What watches programs
    Form("newrelic", r"NR(?:AK|II|IQ|RA|AA|JS)-", rf"{WORD}{{19,40}}"),
    Form("grafana", r"gl(?:sa|c)_", r"[A-Za-z0-9_+/]{32,400}+={0,2}"),
    Form("sentry", r"sntry[su]_", r"[A-Za-z0-9+/=_-]{60,300}+"),
    Form("dynatrace", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    Form("posthog", r"ph[xs]_", rf"{WORD}{{40,50}}"),
    Form("honeycomb", r"hc[abx][il][kc]_", r"[A-Za-z0-9]{50,70}"),
    Form("axiom", r"xa[ap]t-", UUID),
    # Forms of many services
    Form(
        "jwt",
        r"eyJ",
        rf"{WORD}{{10,2000}}+\.(?:{WORD}{{0,16000}}+\.{WORD}{{0,16000}}+(?:\.{WORD}{{0,16000}}+\.{WORD}{{1,99}}+)?"
        rf"|eyJ{WORD}{{8,16000}}+)",
    ),
    Form("private-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    Form("private-key", r"[xyz]prv", r"[1-9A-HJ-NP-Za-km-z]{107,108}"),
    Form("private-key", r"nsec1", r"[a-z0-9]{58}"),
)
