import { describe, isKeyRefused, readError } from "./check-connection.js";
import { type Checks, combine, confirm, refute, skip } from "./findings.js";
import type { Exchange } from "./send.js";

/** Headers that the client reads in a page of another origin. */
const READ_HEADERS = ["retry-after", "x-request-id", "x-sluice-features", "x-sluice-source", "x-stream-id"];

/** Checks of a Worker. */
export const workerChecks = {
  "worker-health": ({ exchanges: { health } }) =>
    health.status === 200 && (health.json as { status?: unknown } | undefined)?.status === "ok"
      ? confirm()
      : refute(describe(health)),
  "worker-sign-in": ({ exchanges: { chatNoKey } }) =>
    chatNoKey.status === 401 && isFromWorker(chatNoKey) ? confirm() : refute(describe(chatNoKey)),
  "worker-origins": ({ exchanges: { foreignPage } }) => {
    if (!foreignPage) return skip("no response");
    const allowed = foreignPage.headers.get("access-control-allow-origin");
    if (foreignPage.status === 403 && allowed === null) return confirm();
    return refute(allowed === null ? describe(foreignPage) : `access-control-allow-origin: ${allowed}`);
  },
  "worker-own-origin": ({ exchanges, origins }) =>
    combine(
      origins.map((origin) => {
        const preflight = exchanges[`preflight ${origin}`];
        const allowed = preflight?.headers.get("access-control-allow-origin") ?? "no origin";
        if (!preflight || allowed !== origin) return refute(`${origin}: it allows ${allowed}`);
        const exposed = preflight.headers.get("access-control-expose-headers")?.toLowerCase() ?? "";
        const missing = READ_HEADERS.filter((name) => !exposed.split(/\s*,\s*/).includes(name));
        return missing.length === 0 ? confirm() : refute(`${origin}: it cannot read ${missing.join(", ")}`);
      }),
      "no page is named: --origin https://app.example.com",
    ),
  "worker-models": (evidence) => {
    const { unlistedModel } = evidence.exchanges;
    if (!unlistedModel || isKeyRefused(evidence)) return skip("the Worker refuses the token");
    return unlistedModel.status === 403 && isFromWorker(unlistedModel)
      ? confirm()
      : refute(describe(unlistedModel));
  },
  "worker-limits": (evidence) => {
    if (isKeyRefused(evidence)) return skip("the Worker refuses the token");
    const limits = Object.entries(evidence.exchanges).filter(([name]) => name.startsWith("limit "));
    const findings = limits.flatMap(([, exchange]) => {
      if (!exchange || readError(exchange)?.["code"] === "model_not_allowed") return [];
      if (isFromWorker(exchange)) return confirm(describe(exchange));
      const isAboutTokens = /max_tokens/.test(exchange.text);
      // a gateway that refuses only the empty list of messages has got a lower `max_tokens`
      return isAboutTokens ? refute(describe(exchange)) : confirm("the Worker lowers it");
    });
    return combine(findings, "no model of the interface is listed");
  },
  "worker-headers": ({ exchanges: { chat } }) => {
    const cache = chat.headers.get("cache-control");
    const type = chat.headers.get("x-content-type-options");
    if (!/no-store/.test(cache ?? "")) return refute(`cache-control: ${cache ?? "absent"}`);
    return type === "nosniff" ? confirm() : refute(`x-content-type-options: ${type ?? "absent"}`);
  },
  "worker-abort": ({ chats, sawAbort }) => {
    if (sawAbort === undefined) return skip("no emulator is named behind it: --behind http://localhost:8788");
    if (!chats.some(({ isAborted }) => isAborted)) return skip("no stream was aborted");
    return sawAbort ? confirm() : refute("the gateway wrote the stream to its end");
  },
} satisfies Checks;

/** Checks if a response is from the Worker itself, not from the gateway behind it. */
function isFromWorker({ headers }: Exchange): boolean {
  return headers.get("x-sluice-source") === "proxy";
}
