import { createHmac } from "node:crypto";

/*
 * Prints a token for one hour, as your own server would hand it out: `JWT_SECRET=… node scripts/token.ts ada`.
 * Reads the secret from the environment, because the shell's history stores arguments.
 */

const [, , sub] = process.argv;
const secret = process.env["JWT_SECRET"];
if (!sub || !secret) {
  console.error("usage: JWT_SECRET=… node scripts/token.ts <user id>");
  process.exit(1);
}

const now = Math.floor(Date.now() / 1000);
const claims = { iss: "https://app.example.com", aud: "gateway-proxy", sub, iat: now, exp: now + 3600 };
const signed = `${encoded({ alg: "HS256", typ: "JWT" })}.${encoded(claims)}`;
console.log(`${signed}.${createHmac("sha256", secret).update(signed).digest("base64url")}`);

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString("base64url");
}
