import { cloudflareAccess, jwt } from "@sluice/worker-proxy/auth";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { AUDIENCE, ISSUER, secretToken } from "./support/auth-issuer.js";
import { checkFailed, expectNoPart, openAuthProxy, recordLog } from "./support/auth-proxy.js";

const SECRET = "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A";
const shared = { issuer: ISSUER, audience: AUDIENCE };
const jwks = "https://sign-in.example/jwks";
const secret = () => SECRET;

describe("jwt throws for an option that can't work:", () => {
  test.each([
    [/^jwks, secret: /, {}],
    [/^jwks, secret: /, { jwks, secret }],
    [/^jwks: /, { jwks: "http://sign-in.example/jwks" }],
    [/^jwks: /, { jwks: "http://localhost.example/jwks" }],
    [/^jwks: /, { jwks: "sign-in.example/jwks" }],
    [/^jwks: /, { jwks: "https://user:password@sign-in.example/jwks" }],
    [/^jwks: /, { jwks: "data:application/json,{}" }],
    [/^secret: /, { secret: SECRET }],
    [/^issuer: /, { jwks, issuer: undefined }],
    [/^issuer: /, { jwks, issuer: "" }],
    [/^audience: /, { jwks, audience: undefined }],
    [/^audience: /, { jwks, audience: "" }],
    [/^audience: /, { jwks, audience: [] }],
    [/^audience: /, { jwks, audience: ["a", ""] }],
    [/^algorithms: /, { jwks, algorithms: [] }],
    [/^algorithms: /, { jwks, algorithms: ["none"] }],
    [/^algorithms: /, { jwks, algorithms: ["RS256", "HS256"] }],
    [/^algorithms: /, { jwks, algorithms: ["rs256"] }],
    [/^algorithms: /, { secret, algorithms: ["none"] }],
    [/^algorithms: /, { secret, algorithms: ["HS256", "RS256"] }],
    [/^userId: /, { jwks, userId: "email" }],
  ])("%s for %j", (message, options) => {
    const make = () => jwt({ ...shared, ...options } as never);
    expect(make).toThrow(TypeError);
    expect(make).toThrow(message);
    expect(make).not.toThrow(SECRET);
  });

  test.each([
    { jwks: "http://localhost:8787/jwks" },
    { jwks: new URL(jwks) },
    { jwks, algorithms: ["ES384", "Ed25519"] },
    { secret, algorithms: ["HS256", "HS512"] },
  ])("accepts %j", (options) => {
    expect(() => jwt({ ...shared, ...options } as never)).not.toThrow();
  });
});

describe("cloudflareAccess throws for an option that can't work:", () => {
  const teamDomain = "acme.cloudflareaccess.com";
  test.each([
    [/^teamDomain: /, { teamDomain: undefined }],
    [/^teamDomain: /, { teamDomain: "acme" }],
    [/^teamDomain: /, { teamDomain: "evil.example/.cloudflareaccess.com" }],
    [/^teamDomain: /, { teamDomain: "acme.cloudflareaccess.com.evil.example" }],
    [/^teamDomain: /, { teamDomain: "http://acme.cloudflareaccess.com" }],
    [/^audience: /, { teamDomain }],
    [/^audience: /, { teamDomain, audience: "" }],
    [/^serviceTokens: /, { teamDomain, audience: "tag", serviceTokens: [""] }],
  ])("%s for %j", (message, options) => {
    expect(() => cloudflareAccess(options as never)).toThrow(message);
  });
});

describe("with a secret that can't be used every token is refused, and the log has no part of it (case 33):", () => {
  let log: string[];
  beforeEach(() => {
    log = recordLog();
  });
  afterEach(() => vi.restoreAllMocks());

  test.each([
    ["is not set", () => undefined, ["HS256"], /authenticate failed: jwt: secret: is empty/],
    ["is empty", () => "", ["HS256"], /authenticate failed: jwt: secret: is empty/],
    ["is no text", () => 7, ["HS256"], /authenticate failed: jwt: secret: is empty/],
    ["has 31 bytes", () => SECRET.slice(1), ["HS256"], /shorter than 32 bytes/],
    ["is too short for its hash", () => SECRET, ["HS256", "HS512"], /shorter than 64 bytes/],
    ["throws", () => Promise.reject(new Error(SECRET)), ["HS256"], /secret failed/],
  ])("a secret that %s", async (_, given, algorithms, problem) => {
    const authProxy = openAuthProxy(jwt({ ...shared, algorithms, secret: given as never }));
    const token = await secretToken(SECRET);
    expect(await authProxy.sendToken(token)).toEqual(checkFailed);
    expect(log).toEqual([expect.stringMatching(problem)]);
    for (const hidden of [SECRET, token]) expect(() => expectNoPart(hidden, log.join())).not.toThrow();
  });

  test("a secret of 32 bytes in fewer characters is long enough, and may come late", async () => {
    const umlauts = "äöüßÄÖÜ€".repeat(2);
    const authProxy = openAuthProxy(jwt({ ...shared, secret: async () => umlauts }));
    expect(await authProxy.sendToken(await secretToken(umlauts))).toEqual([200, "user-1"]);
  });
});
