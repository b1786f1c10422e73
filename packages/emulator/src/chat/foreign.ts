import { checkRequest, models } from "@sluice/core/schemas";
import type { Findings, Issue } from "../server/check.js";

/** Fields that other clients send. */
interface Foreign {
  readonly model?: unknown;
  readonly messages?: unknown;
  readonly functions?: unknown;
  readonly response_format?: { readonly type?: unknown; readonly schema?: unknown } | null;
}

/**
 * Checks a request with the schemas of the core. Also refuses the fields with which other clients request JSON that
 * this gateway never returns. A gateway that ignores such a field bills a reply in prose, which the client cannot
 * parse.
 */
export function checkForeign(body: unknown): Findings {
  const { issues, warnings } = checkRequest(body);
  const { model, messages, functions, response_format: format } = (body ?? {}) as Foreign;
  const foreign: [path: string, message: string][] = [];
  if (functions !== undefined && functions !== null)
    foreign.push(["functions", "is not a field of the gateway; use `tools`"]);
  const hasField = Object.values(models).some((row) => row.id === model && "jsonMode" in row && row.jsonMode);
  if (!hasField && (format?.type === "json_schema" || format?.schema))
    foreign.push([
      "response_format",
      "is not a field of this model; ask for JSON, with its schema, in the messages",
    ]);
  const found = foreign.map(([path, message]) => ({ path, message, rule: "chat.foreign" }));
  return {
    issues: [...issues.map((issue) => withRole(issue, messages)), ...found],
    warnings: found.length > 0 ? [] : warnings,
  };
}

/** Adds the fix to the issue about `developer`, the role that newer OpenAI clients send in place of `system`. */
function withRole(issue: Issue, messages: unknown): Issue {
  const [, index] = /^messages\.(\d+)\.role$/.exec(issue.path) ?? [];
  if (index === undefined || !Array.isArray(messages)) return issue;
  const isDeveloper = messages[Number(index)]?.role === "developer";
  return isDeveloper
    ? { ...issue, message: `${issue.message}; send \`system\` in place of \`developer\`` }
    : issue;
}
