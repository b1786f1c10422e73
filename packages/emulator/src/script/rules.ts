import type { Scripted, ScriptedReply } from "../server/exchange.js";
import { listToolResults, readPrompt } from "./prompt.js";
import type { Script, ScriptedRule } from "./script.js";

/** Creates the rules of a script, and counts the requests that each rule handles. */
export function createRules({ replies }: Script) {
  const used = new Map<ScriptedRule, number>();
  return { take, clear: () => used.clear() };

  /** Finds the first rule that matches a request body, and counts it. */
  function take(body: unknown): Scripted | undefined {
    const found = replies.find(
      (rule) => (used.get(rule) ?? 0) < (rule.times ?? Infinity) && matchesRequest(rule, body),
    );
    if (!found) return undefined;
    used.set(found, (used.get(found) ?? 0) + 1);
    return { reply: toReply(found), faults: (found.faults ?? []).map((fault) => `[[${fault}]]`).join("") };
  }
}

function matchesRequest({ model, prompt, tool }: ScriptedRule, body: unknown): boolean {
  if (typeof body !== "object" || body === null) return false;
  const results = listToolResults(body);
  if (tool === undefined ? results.length > 0 : !results.includes(tool)) return false;
  if (model !== undefined && (body as { model?: unknown }).model !== model) return false;
  return prompt === undefined || readPrompt(body).toLowerCase().includes(prompt.toLowerCase());
}

/** Returns the reply of a rule, or undefined if it has only faults. */
function toReply({ content, reasoning, toolCalls }: ScriptedRule): ScriptedReply | undefined {
  if (content === undefined && reasoning === undefined && toolCalls === undefined) return undefined;
  return {
    ...(content === undefined ? {} : { content }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
  };
}
