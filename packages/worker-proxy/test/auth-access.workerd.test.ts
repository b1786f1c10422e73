import { cloudflareAccess } from "@sluice/worker-proxy/auth";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Issuer, openIssuer } from "./support/auth-issuer.js";
import { checkFailed, openAuthProxy, recordLog, rejected } from "./support/auth-proxy.js";
import { expectLog } from "./support/expected-log.js";

expectLog(": 401 ");

const TEAM = "https://acme.cloudflareaccess.com";
const TAG = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";
const HEADER = "cf-access-jwt-assertion";
let issuer: Issuer;
afterEach(() => void vi.restoreAllMocks());
let authProxy: ReturnType<typeof openAuthProxy>;
beforeAll(async () => {
  issuer = await openIssuer();
  authProxy = openAuthProxy(
    cloudflareAccess({ teamDomain: "acme.cloudflareaccess.com", audience: TAG, fetch: issuer.fetch }),
  );
});
const token = (claims = {}) => issuer.token({ iss: TEAM, aud: [TAG], ...claims });

test("a person that Access let through is known by `sub`, with the team's keys", async () => {
  const sub = "7335d417-61da-459d-899c-0a01c76a2f94";
  expect(await authProxy.sendRequest({ [HEADER]: await token({ sub }) })).toEqual([200, sub]);
  expect(issuer.keyRequests.map(({ url }) => url)).toEqual([`${TEAM}/cdn-cgi/access/certs`]);
});

test("the team's domain may be given as an address", async () => {
  const { sendRequest } = openAuthProxy(
    cloudflareAccess({ teamDomain: `${TEAM}/`, audience: TAG, fetch: issuer.fetch }),
  );
  expect(await sendRequest({ [HEADER]: await token() })).toEqual([200, "user-1"]);
});

test.each([
  ["of another application", { aud: ["other"] }],
  ["of another team", { iss: "https://evil.cloudflareaccess.com" }],
  ["that has expired", { exp: -60 }],
  ["that is not valid yet", { nbf: 60 }],
])("a token %s signs no user in (case 32)", async (_, claims) => {
  expect(await authProxy.sendRequest({ [HEADER]: await token(claims) })).toEqual(rejected);
});

test("a token of another issuer, or with another algorithm, is refused (case 32)", async () => {
  const claims = { iss: TEAM, aud: [TAG], kid: "key-1" };
  expect(await authProxy.sendRequest({ [HEADER]: await (await openIssuer()).token(claims) })).toEqual(
    rejected,
  );
  const other = await openIssuer("PS256");
  const { sendRequest } = openAuthProxy(
    cloudflareAccess({ teamDomain: TEAM, audience: TAG, fetch: other.fetch }),
  );
  expect(await sendRequest({ [HEADER]: await other.token(claims) })).toEqual(rejected);
});

test("a token is read from its header alone: browsers send a cookie for any page (case 32)", async () => {
  const good = await token();
  expect(await authProxy.sendRequest({ cookie: `CF_Authorization=${good}` })).toEqual(rejected);
  expect(await authProxy.sendToken(good)).toEqual(rejected);
  expect(await authProxy.sendRequest({ [HEADER]: `Bearer ${good}` })).toEqual(rejected);
  expect(await authProxy.sendRequest({ [HEADER]: `${good}, ${good}` })).toEqual(rejected);
  expect(await authProxy.sendRequest({ [HEADER]: "" })).toEqual(rejected);
});

test("a service token is refused unless it is listed, and its id can't be a person's", async () => {
  const named = (name: unknown) => token({ sub: "", more: { common_name: name } });
  expect(await authProxy.sendRequest({ [HEADER]: await named("bot.access") })).toEqual(rejected);
  const options = { teamDomain: TEAM, audience: TAG, fetch: issuer.fetch };
  const { sendRequest } = openAuthProxy(cloudflareAccess({ ...options, serviceTokens: ["bot.access"] }));
  expect(await sendRequest({ [HEADER]: await named("bot.access") })).toEqual([200, "service:bot.access"]);
  for (const name of ["other.access", "", undefined, ["bot.access"]])
    expect(await sendRequest({ [HEADER]: await named(name) })).toEqual(rejected);
  expect(await sendRequest({ [HEADER]: await token() })).toEqual([200, "user-1"]);
});

test("every token is refused without the team's keys (case 33)", async () => {
  const log = recordLog();
  const fetch = async () => Response.redirect("https://evil.example/certs", 302);
  const { sendRequest } = openAuthProxy(cloudflareAccess({ teamDomain: TEAM, audience: TAG, fetch }));
  expect(await sendRequest({ [HEADER]: await token() })).toEqual(checkFailed);
  expect(log).toEqual([
    expect.stringContaining("authenticate failed: jwks: the request for the keys failed with status 302"),
  ]);
});
