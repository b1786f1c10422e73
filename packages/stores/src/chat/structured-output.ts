import {
  type ChatModel,
  type Client,
  ConfigurationError,
  ResponseError,
  type StandardSchema,
} from "@sluice/core";
import { chatModels, describeThrown, parseJSON } from "@sluice/core/extend";
import { createPartialJSON } from "@sluice/core/partial-json";
import { checkBySchema } from "./check-by-schema.js";
import type { ChatMessage } from "./message.js";

/** Parts of a request whose response has to fit a schema. */
interface JSONParts {
  /** The schema as text for the system message; undefined without a JSON Schema. */
  readonly instructions: string | undefined;
  /** JSON mode of the model, if it has one. */
  readonly mode: object | undefined;
}

/** Creates the parts that a request for JSON needs. Warns about a schema without a JSON Schema. */
export async function createJSONParts(
  client: Client,
  model: string,
  schema: StandardSchema,
): Promise<JSONParts> {
  // checked before the request, because a response that can't be checked is billed all the same
  if (!schema["~standard"])
    throw new ConfigurationError(
      "outputSchema: give a schema of valibot, zod or another library that follows Standard Schema; a JSON Schema checks nothing",
    );
  return {
    instructions: await writeInstructions(client, schema),
    mode: chatModels[model as ChatModel]?.jsonMode ? { response_format: { type: "json_object" } } : undefined,
  };
}

async function writeInstructions(client: Client, schema: StandardSchema): Promise<string | undefined> {
  const { vendor, jsonSchema } = schema["~standard"];
  try {
    if (!jsonSchema)
      throw new Error(
        `the schema (${vendor}) cannot write its JSON Schema; give withJSONSchema(schema${vendor === "valibot" ? "" : ", jsonSchema"})`,
      );
    const written = JSON.stringify(await jsonSchema.input({ target: "draft-2020-12" }));
    return `Answer with JSON only, without any other text. The JSON must fit this JSON Schema:\n${written}`;
  } catch (error) {
    const message = `${describeThrown(error)}; the prompt has to ask for the JSON`;
    client.warn({ path: "outputSchema", message, rule: "chat.output-schema" });
    return undefined;
  }
}

/** Parses the value of a complete response. A value that does not fit the schema becomes an error. */
export async function parseOutput(message: ChatMessage, schema: StandardSchema): Promise<ChatMessage> {
  const { content } = message;
  const end = Math.max(content.lastIndexOf("}"), content.lastIndexOf("]")) + 1;
  const value = parseJSON(content.slice(Math.max(content.search(/[{[]/), 0), end));
  const checked =
    value === undefined
      ? { problem: "the response is not JSON", path: "" }
      : await checkBySchema(schema, value);
  if (checked.problem === undefined) return { ...message, output: checked.value };
  const fields = { path: checked.path, body: content };
  return {
    ...message,
    outcome: "error",
    error: new ResponseError(`the response does not fit the schema: ${checked.problem}`, fields),
  };
}

/** Creates the reader of the incomplete JSON of one response. A value is undefined before it begins. */
export function createJSONReader() {
  const inputs: ((text: string) => unknown)[] = [];
  const readValue = createValueReader();
  return {
    /** Reads the JSON in the text so far. It begins at the first bracket, because models write words around the JSON. */
    readOutput(content: string): unknown {
      const start = content.search(/[{[]/);
      return start === -1 ? undefined : readValue(content.slice(start));
    },
    /** Reads the arguments so far of the call at `index`. */
    readInput(index: number, text: string): unknown {
      inputs[index] ??= createValueReader();
      return inputs[index](text);
    },
  };
}

/** Creates a function that reads a text which has grown since its last call. */
function createValueReader(): (text: string) => unknown {
  const parser = createPartialJSON();
  let length = 0;
  return (text) => {
    parser.push(text.slice(length));
    length = text.length;
    return parser.value;
  };
}
