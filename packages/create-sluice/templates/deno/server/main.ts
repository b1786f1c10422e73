import type { Env } from "./proxy.ts";
import { respond } from "./respond.ts";

const port = Number(Deno.env.get("PORT") || 8787);
const hostname = Deno.env.get("HOST") || "127.0.0.1";

Deno.serve({ port, hostname }, (request) => respond(request, Deno.env.toObject() as unknown as Env));
