import { SignJWT } from "jose";
import { auth } from "./auth.ts"; // what you export from NextAuth(…)

export async function GET() {
  const id = (await auth())?.user?.id; // without a database, set it in the `session` callback
  if (!id) return new Response("sign in first", { status: 401 });
  const expiresAt = Math.floor(Date.now() / 1000) + 300;
  const token = await new SignJWT()
    .setProtectedHeader({ alg: "HS256" })
    .setIssuer("https://app.example.com")
    .setAudience("gateway-proxy")
    .setSubject(id)
    .setExpirationTime(expiresAt)
    .sign(new TextEncoder().encode(process.env["PROXY_TOKEN_SECRET"]));
  return Response.json({ token, expiresAt: expiresAt * 1000 }, { headers: { "cache-control": "no-store" } });
}
