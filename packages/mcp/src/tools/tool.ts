import type { Client } from "@sluice/core";
import { jsonSchemaOf } from "@sluice/core/schemas";
import type { Report } from "../progress.js";
import type { Saved } from "../save.js";

/** Part of a result: a text, or the address of a file. */
export type Content =
  | { type: "text"; text: string }
  | { type: "resource_link"; uri: string; name: string; mimeType?: string };

/** Result of a tool. */
export interface Result {
  readonly content: Content[];
  /** The same as data, for programs. */
  readonly structuredContent?: Record<string, unknown>;
}

/** Arguments of a call, as the model wrote them. */
export type Input = Readonly<Record<string, unknown>>;

/** Settings of one call. */
export interface Call {
  readonly client: Client;
  /** Aborts when the caller cancels. */
  readonly signal: AbortSignal;
  /** Name of what is paid for; undefined for a call that costs nothing. */
  readonly idempotencyKey: string | undefined;
  readonly report: Report;
  /** Saves the file at a link in the folder, if there is one. */
  readonly save: (url: string, name: string) => Promise<Saved>;
}

/** A tool of the server. */
export interface Tool {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly inputSchema: InputSchema;
  /** Offer of a proxy that knows the calls of this tool by their keys; absent for a tool that costs nothing. */
  readonly paid?: "once" | "chat-once";
  run(input: Input, call: Call): Promise<Result>;
}

/** JSON Schema of the arguments of a tool. */
export type InputSchema = {
  type: "object";
  properties: Record<string, Record<string, unknown>>;
  required?: string[];
};

/** Fields that the server sets. */
const OWN = ["model", "stream", "stream_options"];
const KEY = {
  type: "string",
  pattern: "^[!-~]{8,255}$",
  description:
    "Name of this call, chosen by you at random. After an error that says that it may have been billed, repeat the call with the same one: then nothing is paid twice.",
};

/** Returns the arguments of a paid tool: the request of a model, without what the server sets, and with a key. */
export function requestSchema(model: string): InputSchema {
  const { properties = {}, required = [] } = jsonSchemaOf(model) ?? {};
  const fields = Object.entries(properties).filter(
    ([name, field]) => !OWN.includes(name) && !("not" in field),
  );
  return {
    type: "object",
    properties: { ...Object.fromEntries(fields), idempotency_key: KEY },
    required: required.filter((name) => !OWN.includes(name)),
  };
}

/** Returns the name of the tool of a model. Hosts take letters, digits, `_` and `-` alone. */
export function toolName(verb: string, model: string): string {
  return `${verb}_${model.replace(/[^\w-]/g, "_")}`;
}

export function text(value: string): Content {
  return { type: "text", text: value };
}
