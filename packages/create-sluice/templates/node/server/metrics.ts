import { createHash, timingSafeEqual } from "node:crypto";
import type { ProxyEvent } from "@sluice/worker-proxy";
import { Counter, Histogram, register } from "prom-client";

const counter = (name: string, help: string, labelNames: string[]) => new Counter({ name, help, labelNames });
const buckets = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const histogram = (name: string, help: string) =>
  new Histogram({ name, help, labelNames: ["route", "model"], buckets });

const requests = counter("sluice_requests_total", "Ended requests", ["route", "model", "status", "outcome"]);
const jobs = counter("sluice_jobs_total", "Ended jobs", ["job", "model", "outcome"]);
const tokens = counter("sluice_tokens_total", "Tokens, as the gateway counts them", ["model"]);
const spent = counter("sluice_spent_total", "Amounts spent, in the unit of the budget", ["model"]);
const firstByte = histogram("sluice_first_byte_seconds", "Time to the first byte of a response");
const duration = histogram("sluice_request_seconds", "Time to the end of a response");

/** Returns a listener of events that counts. `models` are labels. Other models are `other`: a user can send any text. */
export function countEvents(models: readonly string[]): (event: ProxyEvent) => void {
  return (event) => {
    const { outcome, usage, durationMs = 0 } = event;
    const model =
      models.find((name) => name === event.model) ?? (event.model === undefined ? "none" : "other");
    if (event.type === "request") {
      const { route = "none", status, firstByteMs } = event;
      requests.inc({ route, model, status, outcome });
      duration.observe({ route, model }, durationMs / 1000);
      if (firstByteMs !== undefined) firstByte.observe({ route, model }, firstByteMs / 1000);
    } else jobs.inc({ job: event.job, model, outcome });
    spent.inc({ model }, event.spent ?? 0);
    tokens.inc({ model }, Number(usage?.["total_tokens"]) || 0);
  };
}

/** Responds to a scraper that sends the token. Other requests get 404, and a token that is too short is never accepted. */
export async function serveMetrics({ headers }: Request, token = ""): Promise<Response> {
  const digest = (text: string) => createHash("sha256").update(text).digest();
  const isScraper = timingSafeEqual(digest(headers.get("authorization") ?? ""), digest(`Bearer ${token}`));
  if (!isScraper || token.length < 32) return new Response(null, { status: 404 });
  return new Response(await register.metrics(), { headers: { "content-type": register.contentType } });
}
