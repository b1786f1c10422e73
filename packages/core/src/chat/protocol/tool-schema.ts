import * as v from "valibot";
import { notEmpty, type RequestOf } from "../../base/validate.js";

/** A tool that the model may call: `function.parameters` is a JSON Schema. */
export const toolDefinition = v.object({
  /** Kind of tool; functions are the only kind. */
  type: v.picklist(["function"]),
  /** The function that the model may call. */
  function: v.object({
    /** Name of the function. Not empty. */
    name: v.pipe(v.string(), notEmpty()),
    /** Explanation for the model: what the function does and when to call it. */
    description: v.optional(v.string()),
    /** JSON Schema of the arguments. An object, not a JSON text. */
    parameters: v.custom<Record<string, unknown>>(
      (schema) => typeof schema === "object" && schema !== null && !Array.isArray(schema),
      "must be a JSON Schema object",
    ),
    /** Requests arguments that follow `parameters` exactly. The spec shows no default. */
    strict: v.optional(v.boolean()),
  }),
});

/** A function that the model may call (spec, Model `alpha-v4.1-flash`). */
export type ToolDefinition = RequestOf<typeof toolDefinition>;

const namedToolChoice = v.object({
  /** Kind of tool; functions are the only kind. */
  type: v.picklist(["function"]),
  /** The function to call. */
  function: v.object({
    /** Name of the function, as in `tools`. Not empty. */
    name: v.pipe(v.string(), notEmpty()),
  }),
});

/** The choice of one function that the model must call (spec, Model `alpha-v4.1-flash`). */
export type NamedToolChoice = RequestOf<typeof namedToolChoice>;

/** Schema of the tools that the model may call. */
export const tools = v.optional(v.array(toolDefinition as v.GenericSchema<ToolDefinition>));

/** Schema of `tool_choice`. */
export const toolChoice = v.optional(
  v.lazy(
    (input): v.GenericSchema<"none" | "auto" | "required" | NamedToolChoice> =>
      typeof input === "object" && input !== null
        ? namedToolChoice
        : v.picklist(["none", "auto", "required"]),
  ),
);
