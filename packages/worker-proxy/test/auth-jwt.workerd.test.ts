import { jwt } from "@sluice/worker-proxy/auth";
import { decodeJwt, exportSPKI, importJWK } from "jose";
import { beforeAll, describe, expect, test } from "vitest";
import { AUDIENCE, ISSUER, type Issuer, JWKS, openIssuer, secretToken } from "./support/auth-issuer.js";
import { openAuthProxy, rejected } from "./support/auth-proxy.js";
import { expectLog } from "./support/expected-log.js";

expectLog(": 401 ");

const SECRET = "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A";
let issuer: Issuer;
let authProxy: ReturnType<typeof openAuthProxy>;
beforeAll(async () => {
  issuer = await openIssuer();
  authProxy = openAuthProxy(jwt({ jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch }));
});

describe("a token that is signed with the issuer's key", () => {
  test("signs its user in", async () => {
    expect(await authProxy.sendToken(await issuer.token())).toEqual([200, "user-1"]);
    expect(await authProxy.sendRequest({ authorization: `bearer  ${await issuer.token()}` })).toEqual([
      200,
      "user-1",
    ]);
  });

  test("passes if the token and the proxy have an audience in common", async () => {
    expect(await authProxy.sendToken(await issuer.token({ aud: ["other", AUDIENCE] }))).toEqual([
      200,
      "user-1",
    ]);
    const either = jwt({ jwks: JWKS, issuer: ISSUER, audience: ["a", "b"], fetch: issuer.fetch });
    expect(await openAuthProxy(either).sendToken(await issuer.token({ aud: "b" }))).toEqual([200, "user-1"]);
    expect(await openAuthProxy(either).sendToken(await issuer.token({ aud: "c" }))).toEqual(rejected);
  });

  test.each([
    ["is a second too old, as clocks differ", { exp: -1 }],
    ["is of a second from now", { nbf: 1 }],
  ])("passes if it %s", async (_, claims) => {
    expect(await authProxy.sendToken(await issuer.token(claims))).toEqual([200, "user-1"]);
  });

  test.each([
    ["has expired", { exp: -60 }],
    ["never expires", { exp: null }],
    ["expires at a word", { exp: null, more: { exp: "tomorrow" } }],
    ["is not valid yet", { nbf: 60 }],
    ["is for somebody else", { aud: "other" }],
    ["is for a part of us", { aud: AUDIENCE.slice(0, 7) }],
    ["is for nobody", { aud: [] }],
    ["comes from somebody else", { iss: "https://evil.example/" }],
    ["comes almost from us", { iss: ISSUER.slice(0, -1) }],
    ["has a critical part that nobody knows", { header: { crit: ["x"], x: 1 } }],
    ["has no subject", { sub: undefined }],
    ["has an empty subject", { sub: "" }],
    ["has a subject of 256 characters", { sub: "u".repeat(256) }],
    ["has a number for a subject", { sub: 7 }],
  ])("signs no user in if it %s (case 32)", async (_, claims) => {
    expect(await authProxy.sendToken(await issuer.token(claims))).toEqual(rejected);
  });

  test("accepts a user id of up to 255 characters", async () => {
    const sub = "u".repeat(255);
    expect(await authProxy.sendToken(await issuer.token({ sub }))).toEqual([200, sub]);
  });
});

describe("a token without a valid signature (case 32)", () => {
  test("is refused if it signs no claims", async () => {
    for (const text of ["", "null", "[]", '"user-1"', "{", "\u0000"])
      expect(await authProxy.sendToken(await issuer.signed(text))).toEqual(rejected);
  });

  const base64 = (json: object) =>
    btoa(JSON.stringify(json)).replace(/[=+/]/g, (sign) => ({ "+": "-", "/": "_" })[sign] ?? "");

  test("is refused if it has alg:none, with a signature or without", async () => {
    const [, payload, signature] = (await issuer.token()).split(".");
    for (const alg of ["none", "None", "NONE", "", undefined])
      for (const end of ["", signature])
        expect(await authProxy.sendToken(`${base64({ alg, kid: "key-1" })}.${payload}.${end}`)).toEqual(
          rejected,
        );
  });

  test("is refused if the public key was used as a secret, in any of its forms", async () => {
    const [jwk = {}] = issuer.keys();
    const pem = await exportSPKI((await importJWK(jwk, "RS256")) as CryptoKey);
    for (const secret of [pem, pem.trim(), JSON.stringify(jwk), String(jwk.n)])
      for (const kid of ["key-1", "other"])
        expect(await authProxy.sendToken(await secretToken(secret, { kid }))).toEqual(rejected);
  });

  test("is refused with another's signature, none, or a changed payload", async () => {
    const [header, payload, signature] = (await issuer.token()).split(".");
    const stranger = await openIssuer();
    expect(await authProxy.sendToken(await stranger.token({ kid: "key-1" }))).toEqual(rejected);
    const more = base64({ ...decodeJwt(`${header}.${payload}.`), sub: "admin" });
    expect(await authProxy.sendToken(`${header}.${more}.${signature}`)).toEqual(rejected);
    expect(await authProxy.sendToken(`${header}.${payload}.`)).toEqual(rejected);
    expect(await authProxy.sendToken(`${header}.${payload}.AAAA`)).toEqual(rejected);
  });

  test("is refused with a key that it brings along", async () => {
    const stranger = await openIssuer();
    const [jwk] = stranger.keys();
    for (const header of [{ jwk }, { jku: "https://evil.example/jwks" }, { x5u: "https://evil.example/x" }])
      expect(await authProxy.sendToken(await stranger.token({ kid: "key-1", header }))).toEqual(rejected);
  });

  test("is refused if it is not a JWT", async () => {
    const long = `e30.${"A".repeat(20_000)}.e30`;
    for (const token of ["", "a", "a.b", "a.b.c", "a.b.c.d", "..", "e30.e30.e30", "bnVsbA.bnVsbA.AAAA", long])
      expect(await authProxy.sendToken(token)).toEqual(rejected);
  });
});

describe("a token in the wrong place is refused (case 32):", () => {
  test("A token without Bearer, with another scheme, or twice is refused", async () => {
    const token = await issuer.token();
    for (const authorization of ["", token, `Basic ${token}`, `Bearer${token}`, `Bearer ${token} x`])
      expect(await authProxy.sendRequest({ authorization })).toEqual(rejected);
    expect(await authProxy.sendRequest({ authorization: `Bearer ${token}, Bearer ${token}` })).toEqual(
      rejected,
    );
    const authenticate = jwt({ jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch });
    const headers = new Headers({ authorization: `Bearer ${token}` });
    headers.append("authorization", `Bearer ${token}`);
    expect(await authenticate(new Request("https://proxy.example", { headers }), {})).toBeNull();
  });

  test("A token in a cookie, in other headers or in the query is refused", async () => {
    const token = await issuer.token();
    for (const name of ["cookie", "x-api-key", "proxy-authorization", "cf-access-jwt-assertion"])
      expect(await authProxy.sendRequest({ [name]: `authorization=Bearer ${token}` })).toEqual(rejected);
    expect((await authProxy.sendRequest({}, `/v1/chat/completions?access_token=${token}`))[0]).toBe(400);
    const authenticate = jwt({ jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch });
    expect(await authenticate(new Request(`https://proxy.example/?access_token=${token}`), {})).toBeNull();
  });
});

describe("the algorithm is the operator's choice:", () => {
  test.each(["PS256", "ES256", "EdDSA"])("%s is taken without being listed", async (alg) => {
    const { fetch, token } = await openIssuer(alg);
    const { sendToken } = openAuthProxy(jwt({ jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch }));
    expect(await sendToken(await token())).toEqual([200, "user-1"]);
  });

  test("refuses an algorithm that is not listed, though the key fits", async () => {
    const options = { jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch };
    const { sendToken } = openAuthProxy(jwt({ ...options, algorithms: ["RS512"] }));
    expect(await sendToken(await issuer.token())).toEqual(rejected);
  });

  test("a secret accepts HS256 only, unless `algorithms` has more", async () => {
    const options = { secret: () => SECRET.repeat(2), issuer: ISSUER, audience: AUDIENCE };
    const [usual, strict] = [jwt(options), jwt({ ...options, algorithms: ["HS512"] })].map(openAuthProxy);
    const tokens = await Promise.all(["HS256", "HS512"].map((alg) => secretToken(SECRET.repeat(2), { alg })));
    expect(await Promise.all(tokens.map((token) => usual?.sendToken(token)))).toEqual([
      [200, "user-1"],
      rejected,
    ]);
    expect(await Promise.all(tokens.map((token) => strict?.sendToken(token)))).toEqual([
      rejected,
      [200, "user-1"],
    ]);
  });
});

test("a token that is signed with another secret is refused (case 32)", async () => {
  const { sendToken } = openAuthProxy(jwt({ secret: () => SECRET, issuer: ISSUER, audience: AUDIENCE }));
  expect(await sendToken(await secretToken(SECRET))).toEqual([200, "user-1"]);
  expect(await sendToken(await secretToken(`${SECRET.slice(0, -1)}B`))).toEqual(rejected);
  expect(await sendToken(await issuer.token())).toEqual(rejected);
});

test("`userId` gives the user's id, or none", async () => {
  const userId = ({ email, email_verified }: Record<string, unknown>) => (email_verified ? email : null);
  const options = { jwks: JWKS, issuer: ISSUER, audience: AUDIENCE, fetch: issuer.fetch };
  const { sendToken } = openAuthProxy(jwt({ ...options, userId }));
  const email = "a@example.com";
  expect(await sendToken(await issuer.token({ more: { email, email_verified: true } }))).toEqual([
    200,
    email,
  ]);
  expect(await sendToken(await issuer.token({ more: { email } }))).toEqual(rejected);
});
