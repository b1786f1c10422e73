import { isObject } from "./json.js";

/* The records of a chat, as the protocol describes them. */

/** Returns true for a response that a page still reads, or whose tools still run. It is sent once it has ended. */
export function isInFlight(value: unknown): boolean {
  if (!isMessage(value) || hasTurn(value)) return false;
  const { role, outcome, toolCalls } = value["message"];
  if (role !== "assistant") return false;
  const calls = Array.isArray(toolCalls) ? (toolCalls as readonly unknown[]) : [];
  return (
    outcome === undefined ||
    calls.some((call) => isObject(call) && (call["state"] === "running" || call["state"] === "streaming"))
  );
}

/** Returns true for a record that a turn of the server has written. Devices never change it. */
export function hasTurn(value: unknown): boolean {
  return isObject(value) && typeof value["turn"] === "string";
}

/** Returns the key of a message's parent, which must be sent before the message. */
export function findParent(value: unknown): string | undefined {
  return isMessage(value) && typeof value["parent"] === "string" ? value["parent"] : undefined;
}

export function isMessage(
  value: unknown,
): value is Record<string, unknown> & { message: Record<string, unknown> } {
  return isObject(value) && isObject(value["message"]);
}
