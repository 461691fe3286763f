"""The formats of tokens by service: prefixes and lengths documented by services and secret scanners.

To add a service, add one line here. `tokens` searches for all of them at once.
"""

from __future__ import annotations

from typing import NamedTuple

TOKEN_CHARACTER = r"[A-Za-z0-9_-]"
UUID_FORM = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"


class TokenForm(NamedTuple):
    name: str
    start: str
    """A regular expression for the first characters."""
    rest: str
    end: str = r"(?![A-Za-z0-9])"
    dashed: bool = False
    """Whether its tokens may contain dashes, as ordinary names do, so that one part must look random."""
    address: bool = False
    """Whether the start is (part of) an address and is kept, so that only the rest is the secret."""


TOKEN_FORMS = (
    # Code hosts, registries and continuous integration
    TokenForm("github", r"gh[pousr]_", r"[A-Za-z0-9]{36,255}+"),
    TokenForm("github", r"github_pat_", r"\w{36,255}+"),
    TokenForm(
        "gitlab",
        r"gl(?:pat|dt|rt|rtr|cbt|ptt|ft|imt|agent|soat|oas|ffct|wt)-",
        rf"{TOKEN_CHARACTER}{{20,300}}+(?:\.[0-9a-z]{{2}}\.[0-9a-z]{{9}})?",
        dashed=True,
    ),
    TokenForm("bitbucket", r"ATBB", r"[A-Za-z0-9]{32}"),
    TokenForm("atlassian", r"AT(?:ATT|CTT|STT)3", r"[A-Za-z0-9_=-]{100,300}+"),
    TokenForm("npm", r"npm_", r"[A-Za-z0-9]{36,255}+"),
    TokenForm("pypi", r"pypi-A", rf"{TOKEN_CHARACTER}{{50,1000}}+"),
    TokenForm("rubygems", r"rubygems_", r"[0-9a-f]{48}"),
    TokenForm("nuget", r"oy2", r"[a-z0-9]{43}"),
    TokenForm("crates", r"cio", r"[A-Za-z0-9]{32}"),
    TokenForm("clojars", r"CLOJARS_", r"[a-z0-9]{60}"),
    TokenForm("docker", r"dckr_(?:pat|oat)_", rf"{TOKEN_CHARACTER}{{20,64}}+", dashed=True),
    TokenForm("artifactory", r"AKCp", r"[A-Za-z0-9]{66,76}"),
    TokenForm("circleci", r"CCI(?:PAT|PRJ)_", r"[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    TokenForm("buildkite", r"bk(?:ua|ct|pt)_", r"[A-Za-z0-9]{32,64}+"),
    TokenForm("sonar", r"sq[pua]_", r"[0-9a-f]{40}"),
    TokenForm("sourcegraph", r"sgp_", r"(?:(?:local|[0-9a-f]{16})_)?[0-9a-f]{40}"),
    TokenForm("octopus", r"API-", r"[A-Z0-9]{25,32}"),
    TokenForm("harness", r"[ps]at\.", r"[A-Za-z0-9_-]{22}\.[0-9a-f]{24}\.[A-Za-z0-9]{20}"),
    # Clouds and hosting
    TokenForm("aws", r"A(?:KIA|SIA|BIA|CCA)", r"[A-Z2-7]{16}"),
    TokenForm("aws", r"ABSK", r"[A-Za-z0-9+/]{100,300}+={0,2}"),
    TokenForm("aws", r"bedrock-api-key-", r"[A-Za-z0-9+/=]{40,4000}+"),
    TokenForm("google", r"AIza", rf"{TOKEN_CHARACTER}{{35}}(?!{TOKEN_CHARACTER})"),
    TokenForm("google", r"GOCSPX-", rf"{TOKEN_CHARACTER}{{20,64}}+"),
    TokenForm("google", r"ya29\.", rf"{TOKEN_CHARACTER}{{20,2048}}+"),
    TokenForm("google", r"1/(?=/0)", rf"/0{TOKEN_CHARACTER}{{30,256}}+"),
    TokenForm("azure", rf"{TOKEN_CHARACTER}{{3}}[78]Q~", r"[A-Za-z0-9_.~-]{31,34}"),
    TokenForm("alibaba", r"LTAI", r"[A-Za-z0-9]{16,24}"),
    TokenForm("tencent", r"AKID", r"[A-Za-z0-9]{32}"),
    TokenForm("yandex", r"AQVN", rf"{TOKEN_CHARACTER}{{35,40}}"),
    TokenForm("yandex", r"y[0-6]_", rf"{TOKEN_CHARACTER}{{55,60}}"),
    TokenForm("digitalocean", r"do[opr]_v1_", r"[0-9a-f]{64}"),
    TokenForm("heroku", r"HRKU-", rf"{TOKEN_CHARACTER}{{30,70}}+"),
    TokenForm("netlify", r"nf[pocub]_", r"[A-Za-z0-9]{36,50}+"),
    TokenForm("vercel", r"vc[kpiar]_", r"[A-Za-z0-9]{24,64}+"),
    TokenForm("fly", r"fo1_", rf"{TOKEN_CHARACTER}{{43}}"),
    TokenForm("fly", r"fm[12][ar]?_", r"[A-Za-z0-9+/=,_-]{80,2000}+"),
    TokenForm("render", r"rnd_", r"[A-Za-z0-9]{28,40}"),
    TokenForm("cloudflare", r"v1\.0-", r"[0-9a-f]{24}-[0-9a-f]{146}"),
    TokenForm("tailscale", r"tskey-[a-z]{2,12}-", r"[A-Za-z0-9]{8,40}+-[A-Za-z0-9]{16,64}+"),
    TokenForm("openshift", r"sha256~", rf"{TOKEN_CHARACTER}{{43}}"),
    TokenForm("terraform", r"atlasv1\.", rf"{TOKEN_CHARACTER}{{60,80}}"),
    TokenForm("pulumi", r"pul-", r"[0-9a-f]{40}"),
    TokenForm("vault", r"hv[sbr]\.", rf"{TOKEN_CHARACTER}{{24,300}}+"),
    TokenForm("doppler", r"dp\.(?:st|ct|pt|sa|scim|audit)\.", r"(?:[a-z0-9_-]{1,35}+\.)?[A-Za-z0-9]{40,44}"),
    TokenForm("1password", r"ops_eyJ", r"[A-Za-z0-9+/_-]{200,2000}+={0,2}"),
    TokenForm("1password", r"A3-", r"[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}"),
    # Databases and data platforms
    TokenForm("databricks", r"d(?:api|kea|ose)", r"[0-9a-f]{32}(?:-\d)?"),
    TokenForm("planetscale", r"pscale_(?:tkn|pw|oauth)_", r"[A-Za-z0-9_.=-]{32,64}+"),
    TokenForm("supabase", r"sb(?:p_|_secret_)", r"[A-Za-z0-9_]{30,64}+"),
    TokenForm("neon", r"napi_", r"[A-Za-z0-9]{60,80}"),
    TokenForm("prefect", r"pn[ub]_", r"[A-Za-z0-9]{36}"),
    TokenForm("pinecone", r"pcsk_", r"[A-Za-z0-9_]{50,90}+"),
    TokenForm("airtable", r"pat[A-Za-z0-9]{14}\.", r"[0-9a-f]{64}"),
    TokenForm("contentful", r"CFPAT-", rf"{TOKEN_CHARACTER}{{43}}"),
    TokenForm("mapbox", r"sk\.eyJ", rf"{TOKEN_CHARACTER}{{40,200}}+\.{TOKEN_CHARACTER}{{16,40}}+"),
    # Language models
    TokenForm("anthropic", r"sk-ant-", rf"{TOKEN_CHARACTER}{{20,255}}+", dashed=True),
    TokenForm("openrouter", r"sk-or-", rf"{TOKEN_CHARACTER}{{32,128}}+", dashed=True),
    TokenForm("openai", r"sk-", rf"{TOKEN_CHARACTER}{{20,255}}+", dashed=True),
    TokenForm("huggingface", r"hf_", r"[A-Za-z0-9]{30,64}+"),
    TokenForm("huggingface", r"api_org_", r"[A-Za-z0-9]{30,64}+"),
    TokenForm("groq", r"gsk_", r"[A-Za-z0-9]{40,64}+"),
    TokenForm("xai", r"xai-", r"[A-Za-z0-9]{60,100}+"),
    TokenForm("perplexity", r"pplx-", r"[A-Za-z0-9]{40,64}+"),
    TokenForm("replicate", r"r8_", r"[A-Za-z0-9]{37,40}+"),
    TokenForm("nvidia", r"nvapi-", rf"{TOKEN_CHARACTER}{{60,80}}+"),
    TokenForm("cerebras", r"csk-", r"[a-z0-9]{40,60}"),
    TokenForm("together", r"tgp_v1_", rf"{TOKEN_CHARACTER}{{40,50}}+"),
    TokenForm("jina", r"jina_", r"[A-Za-z0-9]{50,70}"),
    TokenForm("llamacloud", r"llx-", r"[A-Za-z0-9]{40,60}"),
    TokenForm("e2b", r"e2b_", r"[0-9a-f]{40}"),
    TokenForm("firecrawl", r"fc-", r"[0-9a-f]{32}"),
    TokenForm("runpod", r"rpa_", r"[A-Z0-9]{30,50}[a-z0-9]{0,8}"),
    TokenForm("apify", r"apify_api_", r"[A-Za-z0-9]{30,40}"),
    TokenForm("langsmith", r"lsv2_(?:pt|sk)_", r"[A-Za-z0-9_]{32,64}+"),
    TokenForm("tavily", r"tvly-", rf"{TOKEN_CHARACTER}{{28,64}}+", dashed=True),
    TokenForm("elevenlabs", r"sk_", r"[0-9a-f]{48}"),
    # Payments and shops
    TokenForm("stripe", r"[sr]k_(?:live|test|prod)_", r"[A-Za-z0-9]{16,255}+"),
    TokenForm("stripe", r"whsec_", r"[A-Za-z0-9+/]{24,255}+={0,2}"),
    TokenForm("square", r"sq0(?:atp|csp)-", rf"{TOKEN_CHARACTER}{{22,43}}+"),
    TokenForm("square", r"EAAA", rf"{TOKEN_CHARACTER}{{60}}(?!{TOKEN_CHARACTER})"),
    TokenForm("shopify", r"shp(?:at|ca|pa|ss|tka|ua)_", r"[0-9a-fA-F]{32}"),
    TokenForm("plaid", r"access-(?:sandbox|development|production)-", UUID_FORM),
    TokenForm("flutterwave", r"FLWSECK(?:_TEST)?-", r"[A-Za-z0-9]{12,40}(?:-X)?"),
    TokenForm("easypost", r"EZ[AT]K", r"[A-Za-z0-9]{54}"),
    TokenForm("shippo", r"shippo_(?:live|test)_", r"[0-9a-f]{40}"),
    TokenForm("duffel", r"duffel_(?:live|test)_", rf"{TOKEN_CHARACTER}{{43}}"),
    TokenForm("paddle", r"pdl_(?:live|sdbx)_apikey_", r"\w{40,80}+"),
    TokenForm("lob", r"(?:live|test)_", r"[0-9a-f]{35}"),
    # Messages, mail and people
    TokenForm("slack", r"xox[abeprso](?:\.xox[bp])?-", r"[A-Za-z0-9-]{10,255}+", dashed=True),
    TokenForm("slack", r"(?:xapp-\d|xwfp)-", r"[A-Za-z0-9-]{20,255}+", dashed=True),
    TokenForm("slack", r"hooks\.slack\.com/(?:services|workflows|triggers)/", r"[A-Za-z0-9/]{20,255}+", address=True),
    TokenForm(
        "discord", r"[MNO][DTjz]", rf"{TOKEN_CHARACTER}{{20,28}}+\.{TOKEN_CHARACTER}{{6}}\.{TOKEN_CHARACTER}{{27,40}}+"
    ),
    TokenForm(
        "discord",
        r"discord(?:app)?\.com/api/(?:v\d+/)?webhooks/",
        rf"\d{{15,21}}/{TOKEN_CHARACTER}{{50,90}}+",
        address=True,
    ),
    TokenForm("teams", r"IncomingWebhook/", rf"[0-9a-f]{{32}}(?:/{UUID_FORM})?", address=True),
    TokenForm(
        "zapier", r"hooks\.zapier\.com/hooks/catch/", r"\d{4,12}/[A-Za-z0-9]{5,12}(?:/[A-Za-z0-9]{5,12})?", address=True
    ),
    TokenForm("ifttt", r"with/key/", rf"{TOKEN_CHARACTER}{{20,60}}+", address=True),
    TokenForm("telegram", r"[0-9]{8,10}(?::|%3A)AA", rf"{TOKEN_CHARACTER}{{32,35}}+"),
    TokenForm("telegram", r"bot(?=[0-9]{8})", rf"[0-9]{{8,10}}(?::|%3A)AA{TOKEN_CHARACTER}{{32,35}}+", address=True),
    TokenForm("matrix", r"sy[tr]_", r"[A-Za-z0-9]{2,60}+_[A-Za-z]{20}_[A-Za-z0-9]{6}"),
    TokenForm("twilio", r"SK", r"[0-9a-f]{32}"),
    TokenForm("sendgrid", r"SG\.", rf"{TOKEN_CHARACTER}{{16,32}}+\.{TOKEN_CHARACTER}{{16,64}}+"),
    TokenForm("mailgun", r"key-", r"[0-9a-f]{32}"),
    TokenForm("mailchimp", r"[0-9a-f]{32}-us", r"[0-9]{1,2}"),
    TokenForm("brevo", r"x(?:key|smtp)sib-", r"[0-9a-f]{64}-[A-Za-z0-9]{16}"),
    TokenForm("resend", r"re_", r"[A-Za-z0-9]{8}_[A-Za-z0-9]{24}"),
    TokenForm("hubspot", r"pat-(?:na|eu|ap)\d-", UUID_FORM),
    TokenForm("facebook", r"EAA[A-Z]", r"[A-Za-z0-9]{80,400}+"),
    TokenForm("twitter", r"A(?:A{19})", r"[A-Za-z0-9%]{60,120}+"),
    TokenForm("pinterest", r"pina_", r"[A-Za-z0-9]{32,80}+"),
    # Productivity
    TokenForm("linear", r"lin_(?:api|oauth)_", r"[A-Za-z0-9]{32,64}+"),
    TokenForm("notion", r"ntn_", r"[A-Za-z0-9]{40,60}+"),
    TokenForm("notion", r"secret_", r"[A-Za-z0-9]{43}"),
    TokenForm("figma", r"fig[duo]_", rf"{TOKEN_CHARACTER}{{36,64}}+"),
    TokenForm("asana", r"[0-2]/[0-9]{12,20}:", r"[0-9a-f]{32}"),
    TokenForm("clickup", r"pk_[0-9]{5,9}_", r"[A-Z0-9]{32}"),
    TokenForm("postman", r"PMAK-", r"[0-9a-f]{24}-[0-9a-f]{34}"),
    TokenForm("readme", r"rdme_", r"[a-z0-9]{70}"),
    TokenForm("typeform", r"tfp_", r"[A-Za-z0-9_.=-]{59}"),
    TokenForm("frameio", r"fio-u-", rf"{TOKEN_CHARACTER}{{64}}"),
    TokenForm("dropbox", r"sl\.", rf"{TOKEN_CHARACTER}{{130,200}}+"),
    TokenForm("infracost", r"ico-", r"[A-Za-z0-9]{32}"),
    TokenForm("scalingo", r"tk-us-", rf"{TOKEN_CHARACTER}{{48}}"),
    TokenForm("adobe", r"p8e-", r"[A-Za-z0-9]{32}"),
    # Monitoring
    TokenForm("newrelic", r"NR(?:AK|II|IQ|RA|AA|JS)-", rf"{TOKEN_CHARACTER}{{19,40}}"),
    TokenForm("grafana", r"gl(?:sa|c)_", r"[A-Za-z0-9_+/]{32,400}+={0,2}"),
    TokenForm("sentry", r"sntry[su]_", r"[A-Za-z0-9+/=_-]{60,300}+"),
    TokenForm("dynatrace", r"dt0[a-z][0-9]{2}\.", r"[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    TokenForm("posthog", r"ph[xs]_", rf"{TOKEN_CHARACTER}{{40,50}}"),
    TokenForm("honeycomb", r"hc[abx][il][kc]_", r"[A-Za-z0-9]{50,70}"),
    TokenForm("axiom", r"xa[ap]t-", UUID_FORM),
    # Formats of many services
    TokenForm(
        "jwt",
        r"eyJ",
        rf"{TOKEN_CHARACTER}{{10,2000}}+\.(?:{TOKEN_CHARACTER}{{0,16000}}+\.{TOKEN_CHARACTER}{{0,16000}}+(?:\.{TOKEN_CHARACTER}{{0,16000}}+\.{TOKEN_CHARACTER}{{1,99}}+)?"
        rf"|eyJ{TOKEN_CHARACTER}{{8,16000}}+)",
    ),
    TokenForm("private-key", r"AGE-SECRET-KEY-1", r"[A-Z0-9]{58}"),
    TokenForm("private-key", r"[xyz]prv", r"[1-9A-HJ-NP-Za-km-z]{107,108}"),
    TokenForm("private-key", r"nsec1", r"[a-z0-9]{58}"),
)
