import { checkRequest, type ModelInfo } from "@sluice/core/schemas";
import { checkOfKind } from "../../server/check.js";
import type { Recording } from "../recording.js";
import type { Found } from "./finding.js";

/** Kind of the models of each endpoint whose requests have rules. */
const kinds: Readonly<Record<string, ModelInfo["kind"]>> = {
  "POST /v1/chat/completions": "chat",
  "POST /v1/images/generations": "image",
  "POST /v1/video/generations": "video",
  "POST /gamma/asset/CreateAsset": "asset",
};

/** Compares the gateway's verdict on a request with the rules of the specification. */
export function checkRecordedRequest({ request, response }: Recording, endpoint: string): Found[] {
  const kind = kinds[endpoint];
  if (!kind) return [];
  const { issues, warnings } = checkOfKind(request.body, checkRequest, kind);
  // redacted values can't be checked
  const broken = issues.filter(({ path }) => !isRedacted(request.body, path));
  const unknown = warnings.filter(({ rule }) => rule.endsWith(".unknown-field"));
  if (response.status === 200)
    return [
      ...broken.map(({ path, message }) =>
        createDifference(`accepts ${path}, which ${message} by the specification`),
      ),
      ...unknown.map(({ path }): Found => ({ kind: "unlisted", text: `request: ${path} is accepted` })),
    ];
  const isRefusal = response.status === 400 && broken.length === 0 && issues.length === 0;
  const named = unknown.map(({ path }) => path).join(", ");
  const because = named === "" ? "" : `, with the unlisted ${named}`;
  return isRefusal
    ? [createDifference(`refuses what the specification allows${because}: ${readReason(response.body)}`)]
    : [];
}

function createDifference(text: string): Found {
  return { kind: "differs", text: `request: ${text}` };
}

function isRedacted(body: unknown, path: string): boolean {
  let value = body;
  for (const step of path.split(".")) value = (value as Record<string, unknown> | null | undefined)?.[step];
  return JSON.stringify(value)?.includes("[redacted") ?? false;
}

function readReason(body: unknown): string {
  const { error } = (body ?? {}) as { error?: { message?: unknown } };
  return typeof error?.message === "string" ? error.message : "no message";
}
