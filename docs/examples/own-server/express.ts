import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";
import express from "express";
import { respond } from "./respond.ts";

export const app = express();
app.post("/api/v1/chat/completions", express.json({ limit: "1mb" }), async (request, response) => {
  const left = new AbortController();
  response.on("close", () => left.abort());
  const { status, headers, body } = await respond(request.body, left.signal);
  response.status(status).setHeaders(headers);
  if (!body) return void response.end();
  // a page that disconnects ends the pipeline
  await pipeline(Readable.fromWeb(body as ReadableStream), response).catch(() => {});
});
