import { Hono } from "hono";
import { respond } from "./respond.ts";

export const app = new Hono();
app.post("/api/v1/chat/completions", async ({ req }) =>
  respond(await req.json().catch(() => undefined), req.raw.signal),
);
