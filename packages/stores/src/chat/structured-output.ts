import { type Client, ConfigurationError, ResponseError, type StandardSchema } from "@sluice/core";
import {
  checkBySchema,
  describeThrown,
  findChatModel,
  formatIssues,
  parseJSON,
  writeJSONSchema,
} from "@sluice/core/internal";
import type { ChatMessage } from "./message.js";

/* Loaded where a chat has a schema for its responses. */

/** Parts of a request whose answer has to fit a schema. */
interface JSONParts {
  /** The schema, for the system message; undefined if it has no JSON Schema. */
  readonly instructions: string | undefined;
  /** JSON mode of the model, if it has one. */
  readonly mode: object | undefined;
}

/** Writes what a request for JSON adds. Warns if the schema has no JSON Schema. */
export async function jsonPartsOf(client: Client, model: string, schema: StandardSchema): Promise<JSONParts> {
  // otherwise the answer would be paid before it could not be checked
  if (!schema["~standard"])
    throw new ConfigurationError(
      "outputSchema: give a schema of valibot, zod or another library that follows Standard Schema; a JSON Schema checks nothing",
    );
  return {
    instructions: await instructionsOf(client, schema),
    mode: findChatModel(model)?.jsonMode ? { response_format: { type: "json_object" } } : undefined,
  };
}

async function instructionsOf(client: Client, schema: StandardSchema): Promise<string | undefined> {
  try {
    const written = JSON.stringify(await writeJSONSchema(schema, "outputSchema"));
    return `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${written}`;
  } catch (error) {
    const message = `${describeThrown(error)}; the prompt has to ask for the JSON`;
    client.warn({ path: "outputSchema", message, rule: "chat.output-schema" });
    return undefined;
  }
}

/** Reads the value of a whole answer. One that does not fit the schema becomes an error. */
export async function withOutputValue(message: ChatMessage, schema: StandardSchema): Promise<ChatMessage> {
  const { content } = message;
  const end = Math.max(content.lastIndexOf("}"), content.lastIndexOf("]")) + 1;
  const value = parseJSON(content.slice(Math.max(content.search(/[{[]/), 0), end));
  const checked =
    value === undefined
      ? { issues: [{ path: "", message: "the answer is no JSON" }] }
      : await checkBySchema(schema, value);
  if (!checked.issues) return { ...message, output: checked.value };
  const fields = { path: checked.issues[0]?.path ?? "", body: content };
  return {
    ...message,
    outcome: "error",
    error: new ResponseError(`the answer does not fit the schema: ${formatIssues(checked.issues)}`, fields),
  };
}
