import { createECDH } from "node:crypto";
import { encryptNotification } from "@block65/webcrypto-web-push";
import { decrypt } from "http_ece";
import { afterEach, expect, test, vi } from "vitest";

/** The example of RFC 8291, section 5 and appendix A. */
const rfc = {
  text: "When I grow up, I want to be a watermelon",
  salt: "DGv6ra1nlYgDCS1FRnbzlw",
  auth: "BTBZMqHH6r4Tts7J_aSIgg",
  browser: {
    public: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    private: "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94",
  },
  sender: {
    public: "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8",
    private: "yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw",
  },
  body:
    "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_" +
    "yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN",
};

const bytes = (text: string) => new Uint8Array(Buffer.from(text, "base64url"));

afterEach(() => vi.restoreAllMocks());

test("the library encrypts the example of RFC 8291 to the bytes of the RFC", async () => {
  const point = bytes(rfc.sender.public);
  const algorithm = { name: "ECDH", namedCurve: "P-256" };
  const coordinate = (from: number) => Buffer.from(point.slice(from, from + 32)).toString("base64url");
  const jwk = { kty: "EC", crv: "P-256", x: coordinate(1), y: coordinate(33), d: rfc.sender.private };
  const pair = {
    privateKey: await crypto.subtle.importKey("jwk", jwk, algorithm, false, ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", point, algorithm, true, []),
  };
  vi.spyOn(crypto.subtle, "generateKey").mockResolvedValueOnce(pair as never);
  vi.spyOn(crypto, "getRandomValues").mockImplementationOnce((given) => {
    (given as Uint8Array).set(bytes(rfc.salt));
    return given;
  });
  const target = { endpoint: "https://push.example/x", expirationTime: null };
  const keys = { p256dh: rfc.browser.public, auth: rfc.auth };
  const text = new TextEncoder().encode(rfc.text);
  const body = await encryptNotification({ ...target, keys }, text, { pad: false });
  expect(Buffer.from(body).toString("base64url")).toBe(rfc.body);
});

test("the decryption that the tests of notices use reads the example of RFC 8291", () => {
  const privateKey = createECDH("prime256v1");
  privateKey.setPrivateKey(Buffer.from(bytes(rfc.browser.private)));
  const keys = { version: "aes128gcm", privateKey, authSecret: rfc.auth } as const;
  expect(decrypt(Buffer.from(bytes(rfc.body)), keys).toString()).toBe(rfc.text);
});
