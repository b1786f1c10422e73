import { checkRequest, models } from "@sluice/core/schemas";
import type { Findings, Issue } from "../server/check.js";

/** Fields that only other gateways accept. */
interface ForeignFields {
  readonly model?: unknown;
  readonly messages?: unknown;
  readonly functions?: unknown;
  readonly response_format?: { readonly type?: unknown; readonly schema?: unknown } | null;
}

/**
 * Checks a request with the schemas of the core. Also refuses `functions` and `json_schema`: a gateway that ignores them
 * bills a reply in prose, which the client cannot parse.
 */
export function checkChatRequest(body: unknown): Findings {
  const { issues, warnings } = checkRequest(body);
  const { model, messages, functions, response_format: format } = (body ?? {}) as ForeignFields;
  const foreign: Issue[] = [];
  const addForeign = (path: string, message: string) => foreign.push({ path, message, rule: "chat.foreign" });
  if (functions !== undefined && functions !== null)
    addForeign("functions", "is not a field of the gateway; use `tools`");
  const hasJSONMode = Object.values(models).some(
    (row) => row.id === model && "jsonMode" in row && row.jsonMode,
  );
  if (!hasJSONMode && (format?.type === "json_schema" || format?.schema))
    addForeign(
      "response_format",
      "is not a field of this model; ask for JSON, with its schema, in the messages",
    );
  return {
    issues: [...issues.map((issue) => suggestSystemRole(issue, messages)), ...foreign],
    warnings: foreign.length > 0 ? [] : warnings,
  };
}

/** Adds the fix to an issue about the role `developer`, which newer OpenAI clients send in place of `system`. */
function suggestSystemRole(issue: Issue, messages: unknown): Issue {
  const [, index] = /^messages\.(\d+)\.role$/.exec(issue.path) ?? [];
  if (index === undefined || !Array.isArray(messages)) return issue;
  if (messages[Number(index)]?.role !== "developer") return issue;
  return { ...issue, message: `${issue.message}; send \`system\` in place of \`developer\`` };
}
