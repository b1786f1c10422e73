import { z } from "zod";
import type { ChatCall, RiverTool } from "./client.ts";

/* The prompt, the tools and the schemas that the scenarios of all clients share. */

export const prompt = "Tell me of rivers";

/** An image of one pixel. */
export const dot =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

export const depth: RiverTool = {
  name: "get_depth",
  description: "The depth of a river in metres",
  run: () => "7 metres",
};

export const width: RiverTool = {
  name: "get_width",
  description: "The width of a river in metres",
  run: () => "300 metres",
};

export const toolInput = z.object({ river: z.string() });

/** The input of a tool, for clients that take JSON Schema. */
export const toolSchema = {
  type: "object" as const,
  properties: { river: { type: "string" as const } },
  required: ["river"],
  additionalProperties: false as const,
};

/** The schema of the object in tests of structured output. */
export const riverSchema = z.object({ river: z.string().min(3), locks: z.int().min(0).max(7) });

/** `riverSchema` as JSON Schema, without `$schema`, which some clients refuse. */
export const riverJSONSchema = {
  type: "object" as const,
  properties: { river: { type: "string", minLength: 3 }, locks: { type: "integer", minimum: 0, maximum: 7 } },
  required: ["river", "locks"],
  additionalProperties: false as const,
};

/** Instructions for clients without a schema in their JSON mode. */
export const schemaInWords = `Answer with JSON that fits this JSON Schema: ${JSON.stringify(riverJSONSchema)}`;

/** Converts a call to the messages of a chat request. An image belongs to the last message. */
export function toMessages({ turns, system, image }: ChatCall, role: "system" | "developer" = "system") {
  const last = turns.length - 1;
  return [
    ...(system === undefined ? [] : [{ role, content: system }]),
    ...turns.map(({ role: author, text }, at) =>
      author === "assistant"
        ? { role: "assistant" as const, content: text }
        : { role: "user" as const, content: image && at === last ? createParts(text, image) : text },
    ),
  ];
}

function createParts(text: string, url: string) {
  return [
    { type: "text" as const, text },
    { type: "image_url" as const, image_url: { url } },
  ];
}
