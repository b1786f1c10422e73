import { describeThrown, formatSuggestion } from "@sluice/core/internal";
import type { ModelInfo } from "@sluice/core/schemas";
import type { Exchange } from "./exchange.js";
import { type Answer, badRequest } from "./http.js";
import { modelIds } from "./model-ids.js";

/** A broken rule, or a part that the gateway may ignore. */
export interface Issue {
  readonly path: string;
  readonly message: string;
  readonly rule: string;
}

/** Rules that strict mode makes errors: what the spec does not list, or refuses. */
const STRICT = /\.(?:unknown-field|(?!role-)[\w-]+-unlisted|image-empty|strict)$/;

/** Result of a check of the core. */
export interface Findings {
  readonly issues: readonly Issue[];
  readonly warnings: readonly Issue[];
}

/** A checked body, or the answer that refuses it. */
export type Checked<Body> = { readonly body: Body } | { readonly refusal: Answer };

/** Parses the JSON of a request. */
export function parseBody({ request, text }: Exchange): Checked<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get("content-type") ?? "")) {
    const message = "The body must be JSON, sent with `Content-Type: application/json`.";
    return { refusal: badRequest(message, "content-type") };
  }
  try {
    return { body: JSON.parse(text) };
  } catch (error) {
    return { refusal: badRequest(`The body is not valid JSON: ${describeThrown(error)}`, "body") };
  }
}

/**
 * Checks a body by the schemas of the core (wire, 4.3). Fields that the spec does not list for the model are noted in
 * the record and removed, so that they change nothing. Strict mode refuses them, and what the spec refuses beyond the
 * schemas (wire, 4.1).
 *
 * @param kind kind of the models of this endpoint
 */
export function checkAgainst<Body>(
  { record, strict }: Exchange,
  body: unknown,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Checked<Body> {
  const { issues, warnings } = checkOfKind(body, check, kind);
  const unknown = warnings.filter(({ rule }) => rule.endsWith(".unknown-field"));
  record.unknownFields = unknown.map(({ path }) => path);
  const broken = strict ? [...issues, ...warnings.filter(({ rule }) => STRICT.test(rule))] : issues;
  const [first] = broken;
  if (!first) {
    const fields = Object.entries(body as object).filter(([name]) => !record.unknownFields.includes(name));
    return { body: Object.fromEntries(fields) as Body };
  }
  if (first.rule === WRONG_MODEL && typeof Object(body).model === "string")
    return { refusal: badRequest(`model ${first.message}.`.replace("?.", "?"), "model", "model_not_found") };
  const message = broken.map((issue) => `${issue.path || "body"} ${issue.message}`).join("; ");
  return { refusal: badRequest(message, first.path) };
}

const WRONG_MODEL = "model";

/** Checks a body of an endpoint, which takes the models of one kind alone. */
export function checkOfKind(
  body: unknown,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Findings {
  const { model }: { readonly model?: unknown } = Object(body);
  const known: readonly string[] = modelIds(kind);
  if (typeof model === "string" && known.includes(model)) return check(body);
  const hint = typeof model === "string" ? formatSuggestion(model, known) : "";
  const message = `must be one of ${known.join(", ")}${hint}`;
  return { issues: [{ path: "model", message, rule: WRONG_MODEL }], warnings: [] };
}

/** Parses and checks the JSON of a request. */
export function checkBody<Body>(
  exchange: Exchange,
  check: (body: unknown) => Findings,
  kind: ModelInfo["kind"],
): Checked<Body> {
  const parsed = parseBody(exchange);
  return "refusal" in parsed ? parsed : checkAgainst<Body>(exchange, parsed.body, check, kind);
}
