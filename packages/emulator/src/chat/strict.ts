import type { ChatRequest } from "@sluice/core";
import type { Issue } from "../server/check.js";
import { readText } from "./message-text.js";

/**
 * Finds what the specification refuses but the schemas of the core accept.
 *
 * @param getReasoning returns the thinking of the message with this tool call, or undefined for a call of another
 * gateway
 */
export function findStrictIssues(
  request: ChatRequest,
  getReasoning: (callId: string) => string | undefined,
): Issue[] {
  const issues: Issue[] = [];
  const refuse = (path: string, message: string) => issues.push({ path, message, rule: "chat.strict" });
  const callIds = new Set<string>();
  for (const [index, message] of request.messages.entries()) {
    const at = `messages.${index}`;
    for (const [nth, { id, function: called }] of (message.tool_calls ?? []).entries()) {
      if (called.name === "") refuse(`${at}.tool_calls.${nth}.function.name`, "must not be empty");
      if (id === "") refuse(`${at}.tool_calls.${nth}.id`, "must not be empty");
      callIds.add(id);
      const reasoning = request.model === "alpha-v4.1-flash" ? getReasoning(id) : undefined;
      if (reasoning && message.reasoning_content !== reasoning)
        refuse(`${at}.reasoning_content`, "must be sent back unchanged beside tool calls");
    }
    if (message.role === "tool" && !callIds.has(message.tool_call_id))
      refuse(`${at}.tool_call_id`, "must be the id of a tool call before it");
  }
  const wantsJSON = "response_format" in request && request.response_format?.type === "json_object";
  const prompts = request.messages.filter(({ role }) => role === "system" || role === "user");
  if (wantsJSON && !prompts.some((message) => /json/i.test(readText(message))))
    refuse("messages", "must ask for JSON in a system or user message, as `json_object` requires");
  return issues;
}
