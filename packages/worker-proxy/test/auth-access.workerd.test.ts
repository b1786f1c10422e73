import { cloudflareAccess } from "@sluice/worker-proxy/auth";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import { type Issuer, openIssuer } from "./support/auth-issuer.js";
import { listenToLog, nobody, openSite, unavailable } from "./support/auth-visit.js";
import { expectLog } from "./support/expected-log.js";

expectLog(": 401 ");

const TEAM = "https://acme.cloudflareaccess.com";
const TAG = "4714c1358e65fe4b408ad6d432a5f878f08194bdb4752441fd56faefa9b2b6f2";
const HEADER = "cf-access-jwt-assertion";
let issuer: Issuer;
afterEach(() => void vi.restoreAllMocks());
let site: ReturnType<typeof openSite>;
beforeAll(async () => {
  issuer = await openIssuer();
  site = openSite(
    cloudflareAccess({ teamDomain: "acme.cloudflareaccess.com", audience: TAG, fetch: issuer.fetch }),
  );
});
const token = (claims = {}) => issuer.token({ iss: TEAM, aud: [TAG], ...claims });

test("a person that Access let through is known by `sub`, with the team's keys", async () => {
  const sub = "7335d417-61da-459d-899c-0a01c76a2f94";
  expect(await site.visit({ [HEADER]: await token({ sub }) })).toEqual([200, sub]);
  expect(issuer.keyRequests.map(({ url }) => url)).toEqual([`${TEAM}/cdn-cgi/access/certs`]);
});

test("the team's domain may be given as an address", async () => {
  const { visit } = openSite(
    cloudflareAccess({ teamDomain: `${TEAM}/`, audience: TAG, fetch: issuer.fetch }),
  );
  expect(await visit({ [HEADER]: await token() })).toEqual([200, "user-1"]);
});

test.each([
  ["of another application", { aud: ["other"] }],
  ["of another team", { iss: "https://evil.cloudflareaccess.com" }],
  ["that has expired", { exp: -60 }],
  ["that is not valid yet", { nbf: 60 }],
])("a token %s signs no user in (case 32)", async (_, claims) => {
  expect(await site.visit({ [HEADER]: await token(claims) })).toEqual(nobody);
});

test("a token of another issuer, or with another algorithm, is refused (case 32)", async () => {
  const claims = { iss: TEAM, aud: [TAG], kid: "key-1" };
  expect(await site.visit({ [HEADER]: await (await openIssuer()).token(claims) })).toEqual(nobody);
  const other = await openIssuer("PS256");
  const { visit } = openSite(cloudflareAccess({ teamDomain: TEAM, audience: TAG, fetch: other.fetch }));
  expect(await visit({ [HEADER]: await other.token(claims) })).toEqual(nobody);
});

test("a token is read from its header alone: browsers send a cookie for any page (case 32)", async () => {
  const good = await token();
  expect(await site.visit({ cookie: `CF_Authorization=${good}` })).toEqual(nobody);
  expect(await site.bearer(good)).toEqual(nobody);
  expect(await site.visit({ [HEADER]: `Bearer ${good}` })).toEqual(nobody);
  expect(await site.visit({ [HEADER]: `${good}, ${good}` })).toEqual(nobody);
  expect(await site.visit({ [HEADER]: "" })).toEqual(nobody);
});

test("a service token is refused unless it is listed, and its id can't be a person's", async () => {
  const named = (name: unknown) => token({ sub: "", more: { common_name: name } });
  expect(await site.visit({ [HEADER]: await named("bot.access") })).toEqual(nobody);
  const options = { teamDomain: TEAM, audience: TAG, fetch: issuer.fetch };
  const { visit } = openSite(cloudflareAccess({ ...options, serviceTokens: ["bot.access"] }));
  expect(await visit({ [HEADER]: await named("bot.access") })).toEqual([200, "service:bot.access"]);
  for (const name of ["other.access", "", undefined, ["bot.access"]])
    expect(await visit({ [HEADER]: await named(name) })).toEqual(nobody);
  expect(await visit({ [HEADER]: await token() })).toEqual([200, "user-1"]);
});

test("every token is refused without the team's keys (case 33)", async () => {
  const log = listenToLog();
  const fetch = async () => Response.redirect("https://evil.example/certs", 302);
  const { visit } = openSite(cloudflareAccess({ teamDomain: TEAM, audience: TAG, fetch }));
  expect(await visit({ [HEADER]: await token() })).toEqual(unavailable);
  expect(log).toEqual([
    expect.stringContaining("authenticate failed: jwks: the request for the keys failed with status 302"),
  ]);
});
